"""The number of threads: as asked for, else that of the environment, else one for each core."""

from __future__ import annotations

import os

from unnaive.base.errors import UnnaiveError
from unnaive.base.system import count_cores

MOST_THREADS = 1024
THREADS = "UNNAIVE_THREADS"  # environment variable: the default number of threads


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
            f"n_jobs, or --jobs, is {threads!r}; give a whole number from 1 to {MOST_THREADS}, or None for all cores"
        )
    return threads
