"""Find the columns of a file that are fields: recorded, named by options, or chosen by --fields auto with a note."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.apps.cli.screen import note
from unnaive.base.errors import UnnaiveError
from unnaive.text.sections import TEXT, base_kind, field_kinds

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


def settle_fields(source: DataFile, *, labelled: bool = True) -> tuple[DataFile, tuple[str, ...] | None]:
    """(the source with its fields named, the fields for a token rule); the fields are None if documents are texts."""
    recorded = recorded_fields(source)
    if recorded is not None:
        return source, recorded
    if source.fields != "auto" and not source.fixed_fields:
        return source, None
    if "-" in source.paths:
        if source.fields == "auto":
            raise UnnaiveError("the fields of stdin cannot be guessed; name them, e.g. with --category")
        if source.vector:
            raise UnnaiveError("vectors of stdin cannot be learnt from, whose length is not known; give a file")
        if not source.text:
            raise UnnaiveError("stdin with fields needs the columns of text by name; say --text NAME")
        return source, (*(f"{name}:{TEXT}" for name in source.text), *source.fixed_fields)
    from unnaive.io.columns import FIXED_KINDS
    from unnaive.io.evident_fields import look_for_fields
    from unnaive.io.vector_tables import split_vector_file

    columns, line = look_for_fields(source, labelled=labelled)
    if line is not None:
        note(f"{source.name}: {line}")
    if not columns.fields:
        return replace(source, fields=None), None
    kinds = field_kinds(columns.fields)
    files = {split_vector_file(option)[0]: option for option in source.vector}
    named: dict[str, Any] = {
        kind: tuple(files.get(name, name) for name in kinds if base_kind(kinds[name]) == kind) for kind in FIXED_KINDS
    }
    return replace(source, text=columns.texts, fields=None, **named), columns.fields


def recorded_fields(source: DataFile) -> tuple[str, ...] | None:
    """The fields of a record of labels; None if the source is not such a record, or has texts."""
    path = Path(source.paths[0])
    if len(source.paths) > 1 or source.format not in (None, "sqlite") or not path.is_file():
        return None
    from unnaive.curation.labelling.record import LabelRecord, is_label_record

    if not is_label_record(path):
        return None
    record = LabelRecord(path)
    try:
        return record.fields()
    finally:
        record.close()
