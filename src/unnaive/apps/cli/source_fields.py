"""Which columns of a file are fields: named by options, or evident; ids and leaks are named and left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from unnaive.apps.cli.screen import note
from unnaive.base.errors import UnnaiveError
from unnaive.io.columns import FIXED_KINDS, Columns, join_names
from unnaive.io.vector_tables import split_vector_file
from unnaive.text.sections import TEXT, VECTOR, base_kind, field_kinds

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile

LOOKED_AT = 4000  # rows in which ids and leaks are looked for
MOSTLY_DIFFERENT = 0.9  # of the values of a category: it names the row
LEAK = 0.99  # of the held-out labels that one column tells


def settle_fields(source: DataFile, *, labelled: bool = True) -> tuple[DataFile, tuple[str, ...] | None]:
    """The source with its fields named, and the fields as a token rule has them; None where documents are texts."""
    recorded = _recorded_fields(source)
    if recorded is not None:
        return source, recorded
    if source.fields != "auto" and not source.fixed_fields:
        return source, None
    if "-" in source.paths:
        if source.fields == "auto":
            raise UnnaiveError("the fields of stdin cannot be guessed; name them with --category, --number and --date")
        if source.vector:
            raise UnnaiveError("vectors of stdin cannot be learnt from, whose length is not known; give a file")
        if not source.text:
            raise UnnaiveError("stdin with fields needs the columns of text by name; say --text NAME")
        return source, (*(f"{name}:{TEXT}" for name in source.text), *source.fixed_fields)
    columns, rows = _look(source, labelled)
    kinds = field_kinds(columns.fields)
    if source.fields == "auto" and kinds:
        named = {*source.text, *columns.texts, *field_kinds(source.fixed_fields)}
        kinds = _without_telling(source, columns, rows, named)
    if not any(base_kind(kind) in FIXED_KINDS for kind in kinds.values()) and len(kinds) < 2:
        return replace(source, fields=None), None
    texts = tuple(name for name in kinds if kinds[name] == TEXT)
    files = {split_vector_file(one)[0]: one for one in source.vector}
    category, number, date, vector = (
        tuple(files.get(name, name) for name in kinds if base_kind(kinds[name]) == kind) for kind in FIXED_KINDS
    )
    settled = replace(source, text=texts, fields=None, category=category, number=number, date=date, vector=vector)
    return settled, tuple(f"{name}:{kind}" for name, kind in kinds.items())


def _recorded_fields(source: DataFile) -> tuple[str, ...] | None:
    """The fields of a record of labels; None where the source is none, or has texts."""
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


def _look(source: DataFile, labelled: bool) -> tuple[Columns, list[tuple[Any, ...]]]:
    """The columns of the first file, and its first rows: the fields' values, then the label's."""
    from unnaive.io.options import ReadLog

    how = replace(source.options, log=ReadLog(), on_read=None)
    table, columns = next(replace(source, options=how).tables(labelled=labelled))
    if source.fields != "auto" or columns.label is None:
        return columns, []
    names = [*columns.inputs, columns.label]
    rows = (row for batch in table.batches(names) for row in zip(*batch, strict=True))
    return columns, list(islice(rows, LOOKED_AT))


def _without_telling(
    source: DataFile, columns: Columns, rows: list[tuple[Any, ...]], named: set[str]
) -> dict[str, str]:
    """The kinds of the fields, without those that nobody named and that are ids or leaks; a line says which."""
    kinds, left_out = field_kinds(columns.fields), []
    labels = [str(row[-1]).strip() for row in rows]
    for place, (name, kind) in enumerate(list(kinds.items())):
        reason = None if name in named else find_reason(kind, [row[place] for row in rows], labels)
        if reason is not None:
            left_out.append(f"{name} ({reason})")
            del kinds[name]
    found = [f"{name} ({kind})" for name, kind in kinds.items() if name not in named]
    read = f"read as fields: {join_names(found)}" if found else "no column is evidently a field"
    note(f"{source.name}: {read}" + (f"; left out: {join_names(left_out)}" if left_out else ""))
    return kinds


def find_reason(kind: str, values: Sequence[Any], labels: Sequence[str]) -> str | None:
    """Why a column is no field: "nearly all values differ", "tells the label"; None if it may be one.

    >>> find_reason("category", ["a", "b"] * 20, ["yes", "no"] * 20), find_reason("category", ["a"] * 40, ["b"] * 40)
    ('tells the label by itself', None)
    """
    filled = [str(value) for value in values if value is not None and str(value).strip()]
    if kind == "category" and len(filled) >= 20 and len(set(filled)) > MOSTLY_DIFFERENT * len(filled):
        return "nearly all values differ"
    if base_kind(kind) in (TEXT, VECTOR) or len(labels) < 20:
        return None
    told, plain = share_told(values, labels)
    return "tells the label by itself" if told >= LEAK and plain < LEAK - 0.05 else None


def share_told(values: Sequence[Any], labels: Sequence[str]) -> tuple[float, float]:
    """The share of held-out labels, about every second one, that the column and that the most frequent label tell.

    The label of a value is its most frequent one among the others; a value that none of these has tells nothing.
    """
    pairs = list(zip(values, labels, strict=True))
    pairs = [pairs[row] for row in sorted(range(len(pairs)), key=lambda row: crc32(row.to_bytes(4)))]  # in some order
    half = len(pairs) // 2
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for value, label in pairs[half:]:
        seen[str(value)][label] += 1
    usual = Counter(label for _, label in pairs[half:]).most_common(1)[0][0]
    best = {value: counts.most_common(1)[0][0] for value, counts in seen.items()}
    held_out = pairs[:half]
    told = sum(best.get(str(value)) == label for value, label in held_out)
    return told / len(held_out), sum(label == usual for _, label in held_out) / len(held_out)
