"""Large arrays in files instead of memory, so that learners need little memory for intermediate results.

The system can write pages of a mapped file out and read them again, so training on documents that do not fit in memory
is slower, but possible. The results are the same, since the same code runs on the arrays.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.system_memory import is_in_memory

try:
    import unnaive.data._products as _products
    import unnaive.models.svm._dual as _dual
    import unnaive.scaleout._scratch as _scratch

    NATIVE: Any = _scratch
except ImportError:  # built without a compiler
    NATIVE = None

LEAST = 1 << 20  # bytes: smaller arrays are not worth a file
LEAST_FREE = 256 << 20  # bytes free on the disk; with less, a failed allocation is attributed to the disk


@contextmanager
def arrays_on_disk(folder: Path | None = None, *, least: int | None = None) -> Iterator[None]:
    """Place arrays of at least `least` bytes, 1 MB by default, that this thread creates in files of `folder`.

    The default is the system's folder for temporary files. The files have no name and disappear with their arrays, also
    after a crash. Native solvers place data that grows with the documents in the same way, in any thread. Without the
    native module this does nothing.

    >>> import numpy as np
    >>> with arrays_on_disk(least=1000):
    ...     squares = np.arange(1000) ** 2
    >>> int(squares[-1])
    998001
    """
    if NATIVE is None:
        yield
        return
    directory = str(tempfile.gettempdir() if folder is None else folder)
    if is_in_memory(directory):
        warnings.warn(
            f"{directory} keeps its files in memory, so training takes more than its limit; set TMPDIR to a folder on "
            "a disk",
            UnnaiveWarning,
            stacklevel=3,
        )
    before = NATIVE.set_handler(NATIVE.scratch_handler())
    _set_folder(directory, LEAST if least is None else least)
    try:
        yield
    except MemoryError as problem:
        raise UnnaiveError(_find_what_is_short(directory)) from problem
    finally:
        NATIVE.set_handler(before)
        _set_folder("", 0)


def drop_scratch_pages() -> None:
    """Remove the pages of all arrays on disk from the memory of this process; they are read again when used."""
    if NATIVE is not None:
        for module in (NATIVE, _dual, _products):
            module.drop_pages()


def _find_what_is_short(folder: str) -> str:
    """The resource that an allocation failed for: the disk if it is full, else memory."""
    import shutil

    try:
        free = shutil.disk_usage(folder).free
    except OSError:  # there is no such folder, so nothing fits there
        free = 0
    if free < LEAST_FREE:
        return (
            f"{folder} has too little space for the temporary files of training; free some space on that "
            "disk, or write to another"
        )
    return (
        "there is not enough memory for training, even with its arrays on disk; use fewer documents or "
        "classes, --set select fewer terms, or --model label-tree for thousands of classes"
    )


def _set_folder(folder: str, least: int) -> None:
    for module in (NATIVE, _dual, _products):
        module.set_folder(folder, least)
