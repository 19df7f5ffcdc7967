"""Rows of a table → batches of documents: texts joined, labels parsed, ids assigned; datafiles.py uses it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.base.open_files import STDIN
from unnaive.data.corpus import Labels
from unnaive.data.fields.bad_values import BadRecord
from unnaive.data.fields.fields import encode_records
from unnaive.io import batches
from unnaive.io.batches import Batch
from unnaive.io.fields.columns import Columns
from unnaive.io.folders import FilesTable
from unnaive.io.labels import LISTS, describe_kind, holds_fractions_of_zero, holds_lists, parse_flags, parse_labels
from unnaive.io.tables.tables import NotPlain, Table

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile


class RowReader:
    """Values of columns → documents: texts joined, labels parsed, ids assigned."""

    def __init__(self, source: DataFile, table: Table, columns: Columns) -> None:
        self.name, self.table, self.columns = source.name, table, columns
        self.separator, self.spelling, self.log = source.separator, source.spelling, source.options.log
        if columns.fields:
            table.allow_absent(columns.inputs)
        self.whole_numbers = False
        if columns.label is not None and source.separator is None:
            sample = table.sample().get(columns.label, [])
            if holds_fractions_of_zero(sample):
                self.whole_numbers = True
                warnings.warn(f"{source.name}: the labels of {columns.label} are whole numbers with .0, as pandas "
                              "writes them where a row has none; they are read without it", UnnaiveWarning,
                              stacklevel=4)  # fmt: skip
            elif holds_lists(sample):
                self.separator = LISTS
                warnings.warn(f"{source.name}: the cells of {columns.label} are lists such as "
                              f"{sample[0]}; each list is "
                              "read as a set of labels", UnnaiveWarning, stacklevel=4)  # fmt: skip

    def read_batches(self, seen: int) -> Iterator[Batch]:
        """The rows in batches, after `seen` earlier ones; texts stay bytes in buffers where the result is the same."""
        if isinstance(self.table, FilesTable) and self.columns.label is not None:
            for texts, labels, ids in self.table.documents():
                yield Batch(texts, [self.parse_label(label) for label in labels], list(ids))
            return
        n_read = 0
        try:
            for batch in batches.read_batches(self.table, self.columns, self.parse_label, seen):
                yield batch
                n_read += len(batch.texts)
        except NotPlain:
            yield from self._read_rows(seen, n_read)
        except BadRecord as problem:
            raise self._name_row(problem, n_read) from None

    def _name_row(self, problem: BadRecord, n_read: int) -> BadRecord:
        """The error with the number of its row in the file, counted from 1 without the header."""
        path = getattr(self.table, "path", STDIN)
        row = self.table.rows_before + n_read + problem.row + 1
        return problem.at(f"row {row} of {self.name if path == STDIN else path}")

    def _read_rows(self, seen: int, skip: int = 0) -> Iterator[Batch]:
        """Row by row, without the first `skip`, which were read already."""
        at = 0
        for values in self.table.batches(self.columns.names):
            size = len(values[0])
            if at + size > skip:
                first = max(skip - at, 0)
                try:
                    batch = self.make_batch([column[first:] for column in values], seen + at + first)
                except BadRecord as problem:
                    raise self._name_row(problem, at + first) from None
                yield batch
            at += size

    def make_batch(self, values: list[list[Any]], seen: int) -> Batch:
        """The documents of one batch, after `seen` earlier ones."""
        columns = self.columns
        values = self.without_headers(values)
        n_inputs = len(columns.inputs)
        texts = self.read_texts(values[:n_inputs])
        rest = values[n_inputs:]
        labels: list[Labels] = [()] * len(texts)
        if columns.label is not None:
            labels = [self.parse_label(value) for value in rest[0]]
        elif columns.label_columns:
            rows = zip(*rest[: len(columns.label_columns)], strict=True)
            labels = [self.spelling.apply(parse_flags(row, columns.flag_labels)) for row in rows]
        at = len(columns.names) - len(columns.kept)
        ids = list(map(batches.spell_id, values[at - 1])) if columns.id else batches.number_rows(seen, len(texts))
        kept = (*columns.kept, *self.table.late_names) if columns.kept else ()
        return Batch(
            texts, labels, ids, dict(zip(kept, values[at:], strict=True)), self.table.types, self.table.late_names
        )

    def read_texts(self, values: list[list[Any]]) -> list[str]:
        """The texts of the columns that documents consist of: joined, or records with fields."""
        if self.columns.fields:
            named = dict(zip(self.columns.inputs, values, strict=True))
            return encode_records(named, self.columns.fields, f"the rows of {self.name}")
        parts = [[parse_text(value, self.name) for value in column] for column in values]
        return parts[0] if len(parts) == 1 else ["\n".join(row) for row in zip(*parts, strict=True)]

    def without_headers(self, values: list[list[Any]]) -> list[list[Any]]:
        """The columns of a labelled batch without repeated header rows, which concatenated files have."""
        names = self.columns.names[: len(self.columns.names) - len(self.columns.kept)]
        labelled = self.columns.label is not None or self.columns.label_columns
        if not labelled or self.table.numbered or names[0] not in values[0]:
            return values
        header = tuple(name.strip() for name in names)
        rows = zip(*values[: len(names)], strict=True)
        row_indices = [row_index for row_index, row in enumerate(rows) if tuple(map(_strip, row)) != header]
        self.log.repeated_headers += len(values[0]) - len(row_indices)
        return (
            [[column[row_index] for row_index in row_indices] for column in values]
            if len(row_indices) < len(values[0])
            else values
        )

    def parse_label(self, value: Any) -> Labels:
        """The labels in one cell."""
        labels = parse_labels(value, self.separator)
        if self.whole_numbers:
            labels = tuple(name.removesuffix(".0") for name in labels)
        return self.spelling.apply(labels) if self.spelling else labels


def parse_text(value: Any, name: str) -> str:
    """The text in a cell of the table called `name`; None is an empty text, a number is its digits."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    raise BadData(f"a text of {name} is {describe_kind(value)}; expected a string; name another column with --text")


def _strip(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value
