"""One thread of BLAS for small problems: on a busy machine several wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS of this process has one thread inside; sums then come in one order on every machine, too.

    >>> with one_blas_thread():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    """What knows the libraries that numpy and scipy have loaded."""
    import scipy.linalg  # noqa: F401  # loads scipy's own library, if it has one
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
