"""One thread of BLAS for small problems: on a busy machine several wait for each other longer than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from unnaive.base.locks import fork_safe_lock


class _Limit:
    """The limit that all threads inside share: the first one sets it, and the last one lifts it."""

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
    """BLAS of this process has one thread inside; sums then come in one order on every machine, too.

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
    """What knows the libraries that numpy and scipy have loaded."""
    import scipy.linalg  # noqa: F401  # loads scipy's own library, if it has one
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
