"""Apply the memory limit of training to pages of mapped files too, although the system could reclaim them.

Pages of a mapped file that were read or written count as memory of the process. If the process exceeds its limit, a
thread drops the pages of all files that training has mapped. Written pages stay in the system's file cache, which does
not count for the process, and are mapped again when they are used. This affects only the running time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from unnaive.base.system_memory import drop_mapped_pages, find_resident_bytes
from unnaive.scaleout.scratch import drop_scratch_pages

EVERY = 0.01  # seconds between two checks
# share of the limit above which pages are dropped, since memory may grow before the next check; with a smaller share, a
# solver whose documents need nearly all of the limit would wait for its pages most of the time
SHARE = 0.85


@contextmanager
def resident_pages_limited(limit: int | None, arrays: Sequence[Any] = ()) -> Iterator[None]:
    """Keep this process near `limit` bytes inside the block, as far as its memory is in mapped files; None: no limit.

    arrays  memory maps whose pages are dropped, in addition to those of `arrays_on_disk`
    """
    if limit is None or find_resident_bytes() is None:
        yield
        return
    mapped = [file for file in map(_mapped_file, arrays) if file is not None]
    done = Event()
    thread = Thread(target=_watch, args=(done, SHARE * limit, mapped), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _watch(
    done: Event, most: float, mapped: list[Any], resident: Callable[[], int | None] = find_resident_bytes
) -> None:
    """Drop pages whenever the process has more than `most` bytes, until `done`."""
    while not done.wait(EVERY):
        if (resident() or 0) > most:
            drop_scratch_pages()
            for file in mapped:
                drop_mapped_pages(file)


def _mapped_file(array: Any) -> Any:
    """The memory map that contains an array; None for an array in memory."""
    while array is not None and getattr(array, "_mmap", None) is None:
        array = getattr(array, "base", None)
    return None if array is None else array._mmap
