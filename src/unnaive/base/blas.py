"""Limit BLAS to one thread for small problems.

On a busy machine, several threads spend longer waiting than computing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from unnaive.base.locks import fork_safe_lock


class _Limit:
    """The limit shared by all threads inside the block: the first thread sets it, the last one lifts it."""

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._inside = 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS in this process to one thread inside the block; sums then also have the same order on every machine.

    >>> with one_blas_thread():
    ...     pass
    """
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


@cache
def _controller() -> Any:
    """A controller of the BLAS libraries that numpy and scipy have loaded."""
    import scipy.linalg  # noqa: F401  # loads scipy's separate BLAS library, if there is one
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
