"""Find the columns of a file that are fields: recorded, named by options, or chosen by --fields auto with a note."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.data.fields.cell_styles import find_style
from unnaive.io.formats import find_format
from unnaive.text.field import STYLED, TEXT, Field, Fields

if TYPE_CHECKING:
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.io.datafiles import DataFile
    from unnaive.workflows.feedback import Feedback

QUICK_TO_OPEN = ("csv", "tsv", "jsonl", "parquet")  # formats that are read twice for a note


def settle_fields(
    source: DataFile, feedback: Feedback, *, labelled: bool = True, unused: Sequence[str] = (), vectors: bool = True
) -> tuple[DataFile, Fields | None]:
    """(the source with its fields named, the fields for a token rule); the fields are None if documents are texts.

    unused   names and patterns of columns that are no fields, such as those of soft labels
    vectors  whether the model can use vectors; otherwise --fields auto leaves them out
    """
    recorded = recorded_fields(source)
    if recorded is not None:
        return source, recorded
    if source.fields != "auto" and not source.fixed_fields:
        return source, None
    if "-" in source.paths:
        if source.fields == "auto":
            raise UnnaiveError("the fields of stdin cannot be guessed; name them, e.g. with --category")
        if source.vector:
            raise UnnaiveError(
                "vectors cannot be read from stdin, because their length is not known in advance; give a file"
            )
        if not source.text:
            raise UnnaiveError("fields from stdin need the names of the text columns; add --text NAME")
        return source, (*(Field(name, TEXT) for name in source.text), *source.fixed_fields)
    from unnaive.io.fields.columns import FIXED_KINDS
    from unnaive.io.fields.evident_fields import look_for_fields
    from unnaive.io.tables.vector_tables import split_vector_file

    columns, line = look_for_fields(source, labelled=labelled, unused=unused, vectors=vectors)
    if line is not None:
        feedback.note(f"{source.name}: {line}")
    if not columns.fields:
        return replace(source, fields=None), None
    files = {split_vector_file(option)[0]: option for option in source.vector}
    named: dict[str, Any] = {
        kind: tuple(files.get(field.name, field.name) for field in columns.fields if field.kind == kind)
        for kind in FIXED_KINDS
    }
    settled = replace(source, text=columns.texts, fields=None, **named)
    fields = columns.fields
    if source.fields == "auto":  # how cells are written is decided by the rows that the reader looks at
        read, _ = look_for_fields(settled, labelled=labelled, unused=unused, vectors=vectors)
        styles = {field.name: field.style for field in read.fields}
        fields = tuple(replace(field, style=styles.get(field.name, field.style)) for field in fields)
    _note_styles(settled, fields, feedback, labelled=labelled)
    return settled, fields


def _note_styles(source: DataFile, fields: Fields, feedback: Feedback, *, labelled: bool) -> None:
    """Say how the cells of columns of dates and numbers are read, where they could be read in two ways."""
    styled = [field for field in fields if field.kind in STYLED]
    if not styled:
        return
    look = replace(source, options=source.options.as_look())
    sample = next(look.inspections(labelled=labelled)).sample
    for field in styled:
        _, sentence = find_style(field.name, field.kind, sample.get(field.name, ()))
        if sentence:
            feedback.note(f"{source.name}: {sentence}")


def note_other_columns(source: DataFile, feedback: Feedback, *, vectors: bool = True) -> None:
    """Name the columns that --fields auto would read as well, unless the command names columns or files are texts."""
    if source.fields is not None or source.text or source.fixed_fields or "-" in source.paths:
        return
    from unnaive.io.fields.evident_fields import suggest_fields

    try:
        files = source.files()
        if (source.format or find_format(files[0])) not in QUICK_TO_OPEN or not Path(files[0]).is_file():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnnaiveWarning)
            line = suggest_fields(source, vectors=vectors)
    except UnnaiveError:
        return  # reported when all is read
    if line is not None:
        feedback.note(f"{source.name}: {line}")


def recorded_fields(source: DataFile) -> Fields | None:
    """The fields of a record of labels; None if the source is not such a record, or has texts."""
    with label_record(source) as record:
        return None if record is None else record.fields()


def count_chosen(source: DataFile) -> int:
    """The number of texts of a record of labels that were not drawn at random; 0 if the source is not such a record."""
    with label_record(source) as record:
        return 0 if record is None else record.count_chosen()


@contextmanager
def label_record(source: DataFile) -> Iterator[LabelRecord | None]:
    """The record of labels that a source is; None if it is something else."""
    path = Path(source.paths[0])
    shown = source.format or find_format(source.paths[0])
    if len(source.paths) > 1 or shown not in (None, "sqlite") or not path.is_file():
        yield None
        return
    from unnaive.curation.labelling.label_log import LabelRecord
    from unnaive.curation.labelling.record_tables import is_label_record

    if not is_label_record(path):
        yield None
        return
    record = LabelRecord(path)
    try:
        yield record
    finally:
        record.close()
