"""The columns of a table with the fields that --fields auto chooses, for files and for Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from unnaive.io.columns import FIXED_KINDS, Columns
from unnaive.io.datafiles import DataFile
from unnaive.io.field_choice import LOOKED_AT, arrange_fields, choose_fields
from unnaive.io.fields import with_lengths
from unnaive.io.options import ReadLog
from unnaive.text.sections import TEXT, TEXT_KINDS, base_kind, field_kinds


def look_for_fields(source: DataFile, *, labelled: bool = True) -> tuple[Columns, str | None]:
    """(columns of the first file, a line that describes the chosen fields); the line is None without --fields auto."""
    how = replace(source.options, log=ReadLog(), on_read=None)
    table, columns = next(replace(source, options=how).tables(labelled=labelled))
    if source.fields != "auto":
        return columns, None
    names = list(dict.fromkeys((*table.names, *columns.names)))
    rows = list(islice((row for batch in table.batches(names) for row in zip(*batch, strict=True)), LOOKED_AT))
    return add_evident_fields(columns, {name: [row[at] for row in rows] for at, name in enumerate(names)})


def add_evident_fields(columns: Columns, values: Mapping[str, Sequence[Any]]) -> tuple[Columns, str]:
    """(columns with the fields chosen by the `values` of the first rows, a line that describes the choice)."""
    named = dict.fromkeys(columns.texts, TEXT) | field_kinds(columns.fields)
    told = columns.label_columns if columns.label is None else (columns.label,)
    free = {name: column for name, column in values.items() if name not in (*told, columns.id)}
    labels = (
        list(zip(*(values[name] for name in told), strict=True)) if len(told) > 1 else values[told[0]] if told else ()
    )
    choice = choose_fields(free, labels, named)
    kinds = with_lengths(choice.kinds, values) if choice.kinds else {}
    line = choice._replace(kinds=kinds).describe(named)
    fixed = any(base_kind(kind) in FIXED_KINDS for kind in kinds.values())
    fields = arrange_fields(columns.texts, kinds) if fixed or len(kinds) > 1 else ()
    texts = tuple(name for name, kind in field_kinds(fields).items() if kind in TEXT_KINDS)
    return replace(columns, texts=texts if fields else columns.texts, fields=fields), line
