"""Which engine reads texts: the native kernel, or the Python reference when the kernel was not built."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from unnaive.base.errors import UnnaiveError, UnnaiveWarning, choose

kernel: Any = None
_CAUSE = ""
try:
    kernel = import_module("unnaive.text._kernel")
except ImportError as error:
    _CAUSE = str(error)

KEPT_PAGES = 16 << 20  # bytes that the kernel may keep for its next tables if memory is limited
BACKEND = "reference" if kernel is None else "native"


@cache
def _warn_once() -> None:
    warnings.warn(
        f"unnaive was built without a compiler, so Python reads the texts, at least 50 times more slowly ({_CAUSE})",
        UnnaiveWarning,
        stacklevel=4,
    )


def engine_kind(backend: str | None) -> str:
    """ "native" or "reference": `backend` if given, otherwise the one available; warns once if it is the slow one."""
    if backend is None:
        if BACKEND == "reference":
            _warn_once()
        return BACKEND
    choose(["native", "reference"], backend, "backend")
    if backend == "native" and kernel is None:
        raise UnnaiveError("there is no native backend in this build; install a C++ compiler and reinstall unnaive")
    return backend


@contextmanager
def few_kept_pages() -> Iterator[None]:
    """Inside this context, the kernel returns most of the memory of old tables to the system at once.

    Otherwise it keeps up to 96 MB for the next tables, because new pages cost time.
    """
    if kernel is None:
        yield
        return
    kernel.limit_kept_pages(KEPT_PAGES)
    try:
        yield
    finally:
        kernel.limit_kept_pages(kernel.MOST_KEPT)
