"""When work with a budget in seconds began: where data is read, not where learning starts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_began: ContextVar[float | None] = ContextVar("began", default=None)


@contextmanager
def work_begins() -> Iterator[None]:
    """A budget in seconds counts from here, unless a caller further out has said so before."""
    if _began.get() is not None:
        yield
        return
    token = _began.set(time.perf_counter())
    try:
        yield
    finally:
        _began.reset(token)


def work_start() -> float | None:
    """When the work began, by time.perf_counter; None where nobody said so."""
    return _began.get()
