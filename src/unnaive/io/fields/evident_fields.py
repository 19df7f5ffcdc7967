"""The columns of a table with the fields that --fields auto chooses, or a note suggests, for files and for Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from unnaive.data.fields.column_kinds import ENOUGH, LABEL_NAMES
from unnaive.data.fields.field_choice import LOOKED_AT, FieldChoice, arrange_fields, choose_fields
from unnaive.data.fields.fields import with_lengths
from unnaive.io.batches import read_columns
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import FIXED_KINDS, Columns
from unnaive.io.tables.tables import Table
from unnaive.text.field import TEXT, Field, field_kinds, text_names

LOOK_BLOCK = 1 << 20  # bytes parsed at a time
LABEL_WORDS = frozenset(word for group in LABEL_NAMES for word in group)


def look_for_fields(
    source: DataFile, *, labelled: bool = True, unused: Sequence[str] = (), vectors: bool = True
) -> tuple[Columns, str | None]:
    """(columns of the first file, a line that describes the chosen fields); the line is None without --fields auto.

    unused   names and patterns of columns that are no fields, such as those of soft labels
    vectors  whether the model can use vectors
    """
    if source.fields != "auto":
        return next(_as_look(source).tables(labelled=labelled))[1], None
    table, columns, names = _open_sample(source, labelled=labelled, unused=unused)
    return add_evident_fields(columns, _read_first_rows(table, columns, names), vectors=vectors)


def _open_sample(
    source: DataFile, *, labelled: bool = True, unused: Sequence[str] = ()
) -> tuple[Table, Columns, list[str]]:
    """(the first table of a source, its columns, the names of all of them except the unused ones)."""
    table, columns = next(_as_look(source).tables(labelled=labelled))
    names = [
        name for name in dict.fromkeys((*table.names, *columns.names))
        if name in columns.names or not any(fnmatchcase(name, pattern) for pattern in unused)
    ]  # fmt: skip
    return table, columns, names


def _read_first_rows(table: Table, columns: Columns, names: Sequence[str]) -> dict[str, list[Any]]:
    """The values of the named columns in the first rows of a table."""
    table.allow_absent([name for name in names if name not in (columns.label, *columns.label_columns)])
    values: list[list[Any]] = [[] for _ in names]
    for batch in read_columns(table, names):
        for column, more in zip(values, batch, strict=True):
            column += more[: LOOKED_AT - len(column)]
        if len(values[0]) == LOOKED_AT:
            break
    return dict(zip(names, values, strict=True))


def _as_look(source: DataFile) -> DataFile:
    """The source, read without a trace in its log and progress; the next reader gets what is read."""
    return replace(source, options=replace(source.options.as_look(), block=LOOK_BLOCK))


def add_evident_fields(
    columns: Columns, values: Mapping[str, Sequence[Any]], *, vectors: bool = True
) -> tuple[Columns, str]:
    """(columns with the fields chosen by the `values` of the first rows, a line that describes the choice)."""
    choice, named = choose_evident_fields(columns, values, vectors=vectors)
    kinds = with_lengths(choice.kinds, values) if choice.kinds else {}
    line = choice._replace(kinds=kinds).describe(named)
    fixed = any(Field.of(name, kind).kind in FIXED_KINDS for name, kind in kinds.items())
    fields = arrange_fields(columns.texts, kinds) if fixed or len(kinds) > 1 else ()
    texts = text_names(fields)
    return replace(columns, texts=texts if fields else columns.texts, fields=fields), line


def choose_evident_fields(
    columns: Columns, values: Mapping[str, Sequence[Any]], *, vectors: bool = True
) -> tuple[FieldChoice, dict[str, str]]:
    """(the fields chosen by the `values` of the first rows, those among them that are given with their kinds)."""
    named = dict.fromkeys(columns.texts, TEXT) | field_kinds(columns.fields)
    targets = columns.label_columns if columns.label is None else (columns.label,)
    free = {name: column for name, column in values.items() if name not in (*targets, columns.id)}
    label_values = [values[name] for name in targets]
    labels = list(zip(*label_values, strict=True)) if len(targets) > 1 else next(iter(label_values), ())
    return choose_fields(free, labels, named, vectors=vectors), named


def suggest_fields(source: DataFile, *, vectors: bool = True) -> str | None:
    """A line that names the columns beside the text which would help, and the options; None if there are none."""
    table, columns, names = _open_sample(source)
    if not set(names) - set(columns.names):
        return None  # rows of long texts take a while to read
    values = _read_first_rows(table, columns, names)
    choice, named = choose_evident_fields(columns, values, vectors=vectors)
    # a column called like labels, such as tags, is likely to be another one of labels
    others = [name for name in choice.promising if name not in named and name.strip().casefold() not in LABEL_WORDS]
    if not columns.texts or not others or len(next(iter(values.values()))) < ENOUGH:
        return None
    suspects = {name: share for name, share in choice.suspects.items() if name in others}
    remark = choice._replace(suspects=suspects).describe_suspects()
    return (
        f"the model learns only from the text ({' and '.join(columns.texts)}); --fields auto also learns from "
        f"{choice.list_kinds(others)}, which predictions then need{remark}; --fields none hides this note"
    )
