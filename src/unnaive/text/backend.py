"""Which engine reads texts: the native kernel, or the Python reference when the kernel was not built."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from unnaive.base.errors import UnnaiveError, UnnaiveWarning, choose
from unnaive.base.system import count_cores

kernel: Any = None
_CAUSE = ""
try:
    kernel = import_module("unnaive.text._kernel")
except ImportError as error:
    _CAUSE = str(error)

KEPT_PAGES = 16 << 20  # bytes that the kernel may keep for its next tables if memory is limited
MOST_THREADS = 1024
THREADS = "UNNAIVE_THREADS"  # environment variable: the default number of threads
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


def thread_count(threads: int | None) -> int:
    """`threads` if given; for None the value of UNNAIVE_THREADS if set; otherwise, and for −1, the number of cores."""
    if threads is None and os.environ.get(THREADS, "").strip():
        word = os.environ[THREADS].strip()
        if not word.isdecimal() or not 1 <= int(word) <= MOST_THREADS:
            raise UnnaiveError(f"{THREADS} is {word!r}; give a whole number from 1 to {MOST_THREADS}, or unset it")
        threads = int(word)
    if threads is None or threads == -1:
        return count_cores()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise UnnaiveError(
            f"n_jobs, or --threads, is {threads!r}; give a whole number from 1 to {MOST_THREADS}, or None for all cores"
        )
    return threads
