"""Tell the record of a served model that a command modifies the model file; without a record, SQLite is not loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from unnaive.base.open_files import hash_file

SUFFIX = ".record"  # appended to the model's file name, it names the record


@contextmanager
def noting_change(model: Path) -> Iterator[Callable[[str], None] | None]:
    """A callback for a command that modifies a model file: it gets the new file's hash before the file is put in place.

    If the model is or was served, the record then knows that the new file includes the same events as the old one, and
    a service loads it without teaching them again. None if there is no record.
    """
    if not model.with_name(model.name + SUFFIX).exists():
        yield None
        return
    from unnaive.curation.teaching.teaching_log import TeachingRecord  # imports SQLite

    record = TeachingRecord(model, alone=False)
    try:
        yield lambda after: record.note_derived(hash_file(model), after)
    finally:
        record.close()
