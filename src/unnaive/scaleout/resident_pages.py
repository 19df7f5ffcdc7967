"""The memory limit of training holds for pages of mapped files too, although the system could take these back.

A file that is mapped counts as memory of the process as far as it was read or written. Where the process has more than
its limit allows, a thread takes the pages of all files that training has mapped out of it; what was written stays in
the system's cache of the files, which is nobody's memory, and comes back when it is next used. Only time depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from unnaive.base.system import drop_mapped_pages, find_resident_bytes
from unnaive.scaleout.scratch import drop_scratch_pages

EVERY = 0.01  # seconds between two looks
# of the limit: from here on pages are taken out, since more may come before the next look; with less, a solver whose
# documents take nearly all of it would wait for its pages most of the time
SHARE = 0.85


@contextmanager
def resident_pages_limited(limit: int | None, arrays: Sequence[Any] = ()) -> Iterator[None]:
    """Keep this process near `limit` bytes of memory inside, as far as its memory is in files; None for no limit.

    arrays  memory maps whose pages are taken out, beside those of `arrays_on_disk`
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
    """Take pages out whenever the process has more than `most` bytes, until `done`."""
    while not done.wait(EVERY):
        if (resident() or 0) > most:
            drop_scratch_pages()
            for file in mapped:
                drop_mapped_pages(file)


def _mapped_file(array: Any) -> Any:
    """The file map that an array lies in; None for one in memory."""
    while array is not None and getattr(array, "_mmap", None) is None:
        array = getattr(array, "base", None)
    return None if array is None else array._mmap
