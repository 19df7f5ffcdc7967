"""Large arrays in files instead of memory: what learners make on the way takes memory only where there is some.

The system may write a page of a mapped file out and read it again, so that a model of documents that do not fit in
memory is slower, not impossible. The numbers are the same, since it is the same code on arrays that lie elsewhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError

try:
    import unnaive.data._products as _products
    import unnaive.models.svm._dual as _dual
    import unnaive.scaleout._scratch as _scratch

    NATIVE: Any = _scratch
except ImportError:  # built without a compiler
    NATIVE = None

LEAST = 1 << 20  # bytes: smaller arrays are not worth a file
LEAST_FREE = 256 << 20  # bytes: with less on the disk, that is what an array found no room on


@contextmanager
def arrays_on_disk(folder: Path | None = None, *, least: int | None = None) -> Iterator[None]:
    """Arrays of at least `least` bytes, 1 MB by default, that this thread makes inside lie in files of `folder`.

    Without a folder it is the system's for temporary files. The files have no name and are gone with their arrays,
    whatever becomes of the program. Native solvers keep what grows with the documents in the same way, whichever thread
    runs them. Without the native module nothing changes.

    >>> import numpy as np
    >>> with arrays_on_disk(least=1000):
    ...     squares = np.arange(1000) ** 2
    >>> int(squares[-1])
    998001
    """
    if NATIVE is None:
        yield
        return
    place = str(tempfile.gettempdir() if folder is None else folder)
    before = NATIVE.set_handler(NATIVE.scratch_handler())
    _set_folder(place, LEAST if least is None else least)
    try:
        yield
    except MemoryError as problem:
        raise UnnaiveError(_find_what_is_short(place)) from problem
    finally:
        NATIVE.set_handler(before)
        _set_folder("", 0)


def drop_scratch_pages() -> None:
    """Take the pages of all arrays on disk out of this process's memory; they come back from their files when used."""
    if NATIVE is not None:
        for module in (NATIVE, _dual, _products):
            module.drop_pages()


def _find_what_is_short(place: str) -> str:
    """Which resource an allocation failed for: the disk if it is full, else memory, which small arrays still take."""
    import shutil

    try:
        free = shutil.disk_usage(place).free
    except OSError:  # there is no such folder, so that nothing has room there
        free = 0
    if free < LEAST_FREE:
        return f"{place} has no room for what training puts there; free some space on that disk, or write to another"
    return (
        "there is not enough memory for what training needs beside its arrays on disk; use fewer documents or classes, "
        "--select fewer terms, or --model label-tree for thousands of classes"
    )


def _set_folder(folder: str, least: int) -> None:
    for module in (NATIVE, _dual, _products):
        module.set_folder(folder, least)
