"""Tables → batches of documents whose texts are bytes in one buffer, not a Python string each; datafiles.py tries it
first.

`read_batches` is the entry point: JSON lines and CSV by native_parser.py, Parquet by pyarrow (arrow.py),
each only if the result is the same as row by row. Otherwise they raise NotPlain, possibly after some batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.data.corpus import Labels
from unnaive.data.fields.fields import encode_records
from unnaive.data.missing_values import LONGEST, is_missing_value
from unnaive.io.fields.columns import Columns
from unnaive.io.labels import decode_name
from unnaive.io.part_files import PartTable
from unnaive.io.tables.binary_tables import ParquetTable
from unnaive.io.tables.csv_tables import CsvTable
from unnaive.io.tables.json_tables import JsonTable
from unnaive.io.tables.kept_columns import KeptColumn
from unnaive.io.tables.native_parser import read_csv, read_json
from unnaive.io.tables.tables import NotPlain, Table
from unnaive.text.buffer import TextBuffer, TextChunks, as_texts

Parse = Callable[[Any], Labels]
ColumnBatch = dict[str, Any]  # Cells, or ArrowCells, by column name


@dataclass(frozen=True)
class Batch:
    """Some documents of a data file; `ids` are those of the file, else row numbers from 1.

    `kept` has the columns of the table by name, if requested; `late` those that its first rows did not have; `types`
    their Arrow types, if the file has types.
    """

    texts: Sequence[str]
    labels: list[Labels]
    ids: list[str]
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    late: tuple[str, ...] = ()

    def check_late(self, source: str, format: str, taken: Sequence[str] = ()) -> None:
        """Raise an error for a late column without a place in the output; JSON has one, unless the name is `taken`."""
        name = next((name for name in self.late if format != "jsonl" or name in taken), None)
        if name is None:
            return
        advice = "rename it" if format == "jsonl" else "write a file that ends in .jsonl, or give the first row the key"
        raise BadData(
            f"the first rows of {source} have no key {name!r}, but a later one has, and there is no column for it; "
            f"{advice}"
        )


def check_same_columns(source: str, first: Sequence[str], later: Iterable[str], format: str) -> None:
    """Raise an error if a later file has a column that the first has not, and the output has no place for it.

    >>> check_same_columns("a.csv and 1 more", ("text", "n"), ("text", "z"), "csv")
    Traceback (most recent call last):
    unnaive.base.errors.BadData: the first file of a.csv and 1 more has no column 'z', but a later one ...
    """
    name = next((name for name in later if name not in first), None)
    if name is not None and format != "jsonl":
        raise BadData(
            f"the first file of {source} has no column {name!r}, but a later one has, and there is no column for it; "
            "write a file that ends in .jsonl, or give files with the same columns"
        )


def read_batches(table: Table, columns: Columns, parse: Parse, seen: int = 0) -> Iterator[Batch]:
    """All rows of a table, some megabytes at a time, in constant memory; `parse` reads the labels of a cell.

    Rows without ids are numbered after `seen` earlier ones. Raises NotPlain,
    before the first batch or later, if the Python reader of the table must continue.
    """
    if type(table) not in READERS or columns.label_columns:
        raise NotPlain
    for rows in READERS[type(table)](table, columns):
        texts, labels = _documents(rows, columns, parse)
        if len(texts):
            named = None if columns.id is None else list(map(spell_id, rows[columns.id].values()))
            ids = number_rows(seen, len(texts)) if named is None else named
            yield Batch(texts, labels, ids, {name: KeptColumn(rows[name]) for name in columns.kept}, table.types)
            seen += len(texts)


def read_columns(table: Table, names: Sequence[str]) -> Iterator[list[list[Any]]]:
    """The values of the named columns in batches, by the fast reader as long as it gives the same values."""
    n_read = 0
    try:
        if type(table) not in READERS:
            raise NotPlain
        for rows in READERS[type(table)](table, Columns(tuple(names))):
            values = [rows[name].values() for name in names]
            yield values
            n_read += len(values[0])
    except NotPlain:
        for values in table.batches(names):
            if n_read < len(values[0]):
                yield [column[n_read:] for column in values]
            n_read = max(0, n_read - len(values[0]))


def _documents(rows: ColumnBatch, columns: Columns, parse: Parse) -> tuple[TextBuffer, list[Labels]]:
    """(texts, label sets) of some rows."""
    if columns.fields:
        if columns.label is not None and columns.label in rows[columns.label].distinct()[1]:
            raise NotPlain  # may be a repeated header, whose cells are not of the kinds of the fields
        values = {name: rows[name].values() for name in columns.inputs}
        texts = TextBuffer.of(encode_records(values, columns.fields, "the rows"))
    else:
        texts = join_texts([rows[name].texts() for name in columns.texts])
    labels: list[Labels] = [()] * len(texts)
    if columns.label is not None and len(texts):
        codes, values = rows[columns.label].distinct()
        if columns.label in values:  # may be a repeated header, which the row reader leaves out
            name = "\n".join(columns.texts)
            if any(texts[row] == name for row in np.flatnonzero(codes == values.index(columns.label)).tolist()):
                raise NotPlain
        sets = [parse(value) for value in values]  # a repeated value is parsed once
        labels = [sets[code] for code in codes.tolist()]
    return texts, labels


def join_texts(columns: Sequence[TextBuffer]) -> TextBuffer:
    """The texts of several columns joined by newlines."""
    if len(columns) == 1:
        return columns[0]
    joined = as_texts(["\n".join(row) for row in zip(*columns, strict=True)])
    return joined if isinstance(joined, TextBuffer) else TextBuffer.of(joined)


def _read_parquet(table: ParquetTable, columns: Columns) -> Iterator[ColumnBatch]:
    from unnaive.io.tables.arrow import read_parquet

    return read_parquet(table, columns)


@dataclass(frozen=True)
class RepeatedCells:
    """A column with one value in all rows; the methods are those of native_parser.Cells."""

    value: str | None
    size: int

    def __len__(self) -> int:
        return self.size

    def part(self, start: int, stop: int) -> RepeatedCells:
        """The rows from `start` to before `stop`."""
        return RepeatedCells(self.value, stop - start)

    def texts(self, *, missing: bool = True) -> TextBuffer:
        """The cells as texts."""
        return TextBuffer.of([self.value or ""] * self.size)

    def values(self) -> list[str | None]:
        """The cells as Python values."""
        return [self.value] * self.size

    def distinct(self) -> tuple[NDArray[np.int32], list[str | None]]:
        """(a code for each cell, the value of each code)."""
        return np.zeros(self.size, np.int32), [self.value]


def _read_part(table: PartTable, columns: Columns) -> Iterator[ColumnBatch]:
    """The rows of a part file, with the columns of its path."""
    if type(table.table) not in READERS:
        raise NotPlain
    wanted = columns.names[: len(columns.names) - len(columns.kept)]
    kept = tuple(name for name in columns.kept if name not in table.columns)
    inside = Columns(tuple(table.inside(wanted)), kept=kept)
    for rows in READERS[type(table.table)](table.table, inside):
        size = len(next(iter(rows.values())))
        yield rows | {name: RepeatedCells(value, size) for name, value in table.columns.items()}


READERS: dict[type[Table], Callable[..., Iterator[ColumnBatch]]] = {
    CsvTable: read_csv, JsonTable: read_json, ParquetTable: _read_parquet, PartTable: _read_part,
}  # fmt: skip


def concatenate(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """Concatenate the texts of several batches: in buffers if all of them are."""
    if len(parts) == 1:
        return parts[0]
    buffers = [part for part in parts if isinstance(part, TextBuffer)]
    if len(buffers) < len(parts):
        return [text for part in parts for text in part]
    return TextChunks(buffers)


def count_empty(texts: Sequence[str]) -> int:
    """The number of empty texts."""
    if isinstance(texts, TextBuffer):
        return texts.count_empty()
    return sum(not text for text in texts)


def count_missing(texts: Sequence[str]) -> int:
    """The number of texts that are only a marker of a missing value, such as NaN.

    >>> count_missing(["NaN", "none of it", "", "N/A"])
    2
    """
    if not isinstance(texts, TextBuffer):
        return sum(map(is_missing_value, texts))
    short = ((chunk, np.flatnonzero(np.diff(chunk.offsets) < LONGEST).tolist()) for chunk in texts.chunks)
    return sum(is_missing_value(chunk[row]) for chunk, rows in short for row in rows)


def spell_id(value: Any) -> str:
    """An id as text.

    >>> spell_id(7), spell_id(b"T7")
    ('7', 'T7')
    """
    return decode_name(value, "an id") if isinstance(value, bytes) else str(value)


def number_rows(seen: int, size: int) -> list[str]:
    """Ids for rows without ids: their numbers, from 1."""
    return list(map(str, range(seen + 1, seen + size + 1)))
