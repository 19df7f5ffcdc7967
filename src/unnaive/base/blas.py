"""Limit BLAS to one thread for small problems.

On a busy machine, several threads spend longer waiting than computing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from unnaive.base.locks import fork_safe_lock

SCIPY = "scipy.linalg"  # importing it loads scipy's separate BLAS library, if there is one


class _Limit:
    """The limit shared by all threads inside the block: the first thread sets it, the last one lifts it.

    A thread that finds another library loaded sets a further limit for all of them; they are lifted in reverse order.
    """

    def __init__(self) -> None:
        self._lock = fork_safe_lock()
        self._inside = 0
        self._limiters: dict[bool, Any] = {}  # keys say whether scipy's library was loaded

    def enter(self) -> None:
        with self._lock:
            loaded = SCIPY in sys.modules
            if loaded not in self._limiters:
                self._limiters[loaded] = _controller(loaded).limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            while self._inside == 0 and self._limiters:
                self._limiters.popitem()[1].restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread(*, uses_scipy: bool = False) -> Iterator[None]:
    """Limit BLAS in this process to one thread inside the block; sums then also have the same order on every machine.

    uses_scipy  whether the block uses scipy.linalg or scipy.optimize, which load a library of their own

    >>> with one_blas_thread():
    ...     pass
    """
    if uses_scipy:
        import scipy.linalg  # noqa: F401
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


@cache
def _controller(with_scipy: bool) -> Any:
    """A controller of the BLAS libraries that are loaded: numpy's, and scipy's if `with_scipy`."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
