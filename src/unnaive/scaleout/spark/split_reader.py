"""What executors run: the reader of local files on splits of them → Arrow batches, and a summary of what was read.

The driver has chosen the columns. Everything else, such as the delimiter, the encoding or the kind of labels, is found
by the same code as in local reading, from the same start of the file.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from unnaive.base import errors
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import path_mode
from unnaive.data.soft_labels import expand_probabilities
from unnaive.io import batches
from unnaive.io.batches import Batch
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.io.file_ranges import Range, find_part, take_range
from unnaive.io.part_files import PartFile
from unnaive.io.read_options import ReadLog
from unnaive.io.row_reader import RowReader
from unnaive.io.soft_columns import SoftColumns
from unnaive.io.tables.binary_tables import SQLITE
from unnaive.io.tables.kept_columns import KeptColumn
from unnaive.io.tables.tables import NotPlain, Table
from unnaive.io.writing.csv_writer import column_texts
from unnaive.scaleout.spark.column_types import hold_values, json_texts, storable_type
from unnaive.scaleout.spark.rows import LABEL, TEXT
from unnaive.text.buffer import TextBuffer, as_texts
from unnaive.text.messages import read_message


@dataclass(frozen=True)
class FileSplit:
    """Rows that one task reads: files that are one table, or a part of a file.

    size  in bytes
    seen  the number of rows before, in all files
    """

    files: tuple[PartFile, ...]
    columns: Columns
    size: int
    part: Range | None = None
    seen: int = 0


@dataclass
class SplitSummary:
    """What a split has, as the log of a local reader would say it.

    error    the first error, which ends local reading here
    plain    False if the file must be read whole, because a part of it cannot be read alone
    several  the number of multilabel documents, those with two labels or more
    types    for each kept column the Arrow type that holds its values; None if no type does
    late     the kept columns that appeared while rows were read
    """

    log: ReadLog
    empty: int = 0
    missing: int = 0
    several: int = 0
    plain: bool = True
    error: UnnaiveError | None = None
    warnings: list[str] = field(default_factory=list)
    types: dict[str, Any] = field(default_factory=dict)
    late: tuple[str, ...] = ()
    soft_labels: tuple[str, ...] = ()

    def pack(self) -> tuple[str, bytes]:
        """JSON of all but the types, with the columns that have none; the types as a serialised Arrow schema."""
        log, error = self.log, self.error
        counted = {name: getattr(self, name) for name in _PLAIN_FIELDS}
        read = {"rows": log.rows, "skipped": log.skipped, "repeated_headers": log.repeated_headers}
        raised = None if error is None else [type(error).__name__, str(error)]
        untyped = [name for name, kind in self.types.items() if kind is None]
        text = json.dumps([counted, read, list(log.label_sets.items()), raised, untyped])
        schema = pa.schema([(name, pa.null() if kind is None else kind) for name, kind in self.types.items()])
        return text, schema.serialize().to_pybytes()

    @classmethod
    def unpack(cls, text: str, schema: bytes) -> SplitSummary:
        """The summary that `pack` took apart; lists of its JSON are tuples again."""
        counted, read, label_sets, raised, untyped = json.loads(text)
        log = ReadLog(label_sets=Counter({tuple(labels): size for labels, size in label_sets}))
        log.rows, log.repeated_headers = read["rows"], read["repeated_headers"]
        log.skipped = [(first, last) for first, last in read["skipped"]]
        columns = pa.ipc.read_schema(pa.py_buffer(schema))
        summary = cls(log, types={column.name: None if column.name in untyped else column.type for column in columns})
        for name, value in counted.items():
            setattr(summary, name, tuple(value) if isinstance(getattr(summary, name), tuple) else value)
        if raised is not None:
            summary.error = getattr(errors, raised[0], UnnaiveError)(raised[1])
        return summary


_PLAIN_FIELDS = ("empty", "missing", "several", "plain", "warnings", "late", "soft_labels")


@dataclass(frozen=True)
class SplitReader:
    """Reads splits of `source`.

    labelled  whether label sets are read
    message   the parts of e-mail messages to read; None to read texts as they are
    soft      names or patterns of columns with the probability of each label
    format    the format in which kept columns will be written: csv, tsv, jsonl, parquet or orc; None if none are kept
    """

    source: DataFile
    labelled: bool
    message: str | None = None
    soft: tuple[str, ...] = ()
    format: str | None = None

    def read(self, split: FileSplit, log: ReadLog, lines_before: bool = False) -> Iterator[Batch]:
        """The batches of a split; `log` is filled as by a local reader.

        lines_before  whether to count the lines of the file before the split, for line numbers in messages
        """
        absent = next((file.path for file in split.files if not _is_here(file.path)), None)
        if absent is not None:
            raise BadData(
                f"an executor has no file {absent}, which the driver has; put it where all machines find it by this "
                "path, or at an address such as hdfs://"
            )
        source = replace(self.source, listed=split.files, options=replace(self.source.options, log=log))
        (inspection,) = source.inspections(labelled=self.labelled)
        table: Table = inspection.table
        if self.keeps_columns:
            table.kept_names()
        if split.part is not None:
            table = take_range(table, split.part)
            part = find_part(table)
            if lines_before and part is not None:
                part.count_lines()
        for batch in RowReader(source, table, split.columns).read_batches(split.seen):
            log.rows += len(batch.texts)
            log.label_sets.update(batch.labels if self.labelled else ())
            if self.message is not None:
                batch = replace(batch, texts=[read_message(text, self.message) for text in batch.texts])
            yield batch

    @property
    def keeps_columns(self) -> bool:
        """Whether columns besides the document are read."""
        return bool(self.soft) or self.format is not None

    def summarise(self, split: FileSplit) -> SplitSummary:
        """Read the split once, for what a local reader would say about it; its errors and warnings have true lines."""
        summary = self._summarise(split)
        spoken = summary.error is not None or summary.warnings or summary.log.skipped
        if spoken and split.part is not None and split.part.start:
            summary = self._summarise(split, lines_before=True)
        return summary

    def _summarise(self, split: FileSplit, lines_before: bool = False) -> SplitSummary:
        summary = SplitSummary(ReadLog())
        soft = SoftColumns(self.soft)
        with warnings.catch_warnings(record=True) as spoken:
            warnings.simplefilter("always")
            try:
                for batch in self.read(split, summary.log, lines_before):
                    summary.empty += batches.count_empty(batch.texts)
                    summary.missing += batches.count_missing(batch.texts)
                    summary.several += sum(len(names) > 1 for names in batch.labels)
                    summary.late = tuple(dict.fromkeys((*summary.late, *batch.late)))
                    if self.soft:
                        first = summary.log.rows - len(batch.texts) + (split.part.rows_before if split.part else 0)
                        values = soft.values(batch, self.source.name)
                        summary.soft_labels = tuple(values)
                        expand_probabilities(values, len(batch.texts), first)
                    elif self.format is not None:
                        for name, column in batch.kept.items():
                            kind = self._find_type(name, column, batch.types.get(name))
                            held = [kind, summary.types[name]] if name in summary.types else [kind]
                            summary.types[name] = hold_values(name, held, as_json=self.format == "jsonl")
            except NotPlain:
                summary.plain = False
            except UnnaiveError as problem:
                summary.error = problem
        ours = [str(item.message) for item in spoken if issubclass(item.category, UnnaiveWarning)]
        summary.warnings = list(dict.fromkeys(ours))
        return summary

    def _find_type(self, name: str, column: Sequence[Any], known: Any) -> Any:
        if self.format in ("csv", "tsv"):
            return pa.string()
        return storable_type(name, column, known, as_json=self.format == "jsonl")

    def documents(self, split: FileSplit, layout: DocumentLayout) -> Iterator[Any]:
        """The rows of a split as Arrow batches: kept columns, text, label set or probabilities."""
        soft = SoftColumns(self.soft)
        warnings.simplefilter("ignore", UnnaiveWarning)  # the summary has said them
        for batch in self.read(split, ReadLog()):
            arrays = {TEXT: string_array(batch.texts)}
            if self.soft:
                columns = soft.values(batch, self.source.name)
                table = np.array([[float(value) for value in column] for column in columns.values()], np.float64)
                ends = np.arange(0, table.size + 1, len(table), dtype=np.int32)
                arrays[LABEL] = pa.ListArray.from_arrays(pa.array(ends), pa.array(table.T.ravel()))
            elif self.labelled:
                arrays[LABEL] = layout.label_array(batch.labels)
            kept = {name: layout.kept_array(batch, name) for name in layout.types}
            record = pa.RecordBatch.from_arrays([*kept.values(), *arrays.values()], schema=layout.schema)
            if self.labelled and layout.one_label:
                record = record.filter(record.column(len(kept) + 1).is_valid())
            yield record


@dataclass(frozen=True)
class DocumentLayout:
    """The columns of the documents on Spark.

    types      the Arrow type of each kept column; None for JSON as text
    labels     the type of the labels: strings, lists of strings, lists of probabilities, or None for no labels
    spelling   labels as the model spells them, such as True for true
    as_text    whether kept columns are the cells of CSV
    """

    types: Mapping[str, Any] = field(default_factory=dict)
    labels: Any = None
    spelling: Mapping[str, str] = field(default_factory=dict)
    as_text: bool = False

    @property
    def one_label(self) -> bool:
        """Whether each document has one label; those without one are left out."""
        return bool(self.labels == pa.string())

    @property
    def schema(self) -> Any:
        """The Arrow schema; kept columns have numbers as names, because Spark's names do not differ in case."""
        kept = [(f"kept{number}", kind or pa.string()) for number, kind in enumerate(self.types.values())]
        return pa.schema([*kept, (TEXT, pa.string()), *([] if self.labels is None else [(LABEL, self.labels)])])

    def label_array(self, labels: Sequence[tuple[str, ...]]) -> Any:
        """The label sets of documents as an Arrow array; null for no label where each document has one."""
        spelt = [[self.spelling.get(name, name) for name in names] for names in labels]
        if self.one_label:
            return pa.array([names[0] if names else None for names in spelt], self.labels)
        return pa.array(spelt, self.labels)

    def kept_array(self, batch: Batch, name: str) -> Any:
        """A column of the input; null where a file does not have it."""
        column, kind = batch.kept.get(name), self.types[name]
        if column is None and not batch.kept:
            column = batch.ids
        if column is None:
            return pa.nulls(len(batch.texts), kind or pa.string())
        if self.as_text:
            return string_array(column_texts(column))
        if kind is None or kind == pa.string():
            return json_texts(column, known=batch.types.get(name), quoted=kind is None)
        array = column.array if isinstance(column, KeptColumn) else None
        return pa.array(list(column), kind) if array is None else array.cast(kind)


def _is_here(path: str) -> bool:
    return path.startswith(SQLITE) or path_mode(path) is not None


def string_array(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array of strings."""
    texts = as_texts(texts)
    if not isinstance(texts, TextBuffer):
        texts = TextBuffer.of(texts)
    parts = [
        pa.LargeStringArray.from_buffers(len(part), pa.py_buffer(np.ascontiguousarray(part.offsets, np.int64)),
                                         pa.py_buffer(np.ascontiguousarray(part.blob)))
        for part in texts.chunks
    ]  # fmt: skip
    return pa.concat_arrays([part.cast(pa.string()) for part in parts]) if parts else pa.array([], pa.string())


def document_reader(
    reader: SplitReader, tasks: Sequence[Sequence[FileSplit]], layout: DocumentLayout
) -> Callable[[Any], Any]:
    """A function for `map_in_arrow`: numbers of tasks in, the documents of their splits out."""

    def read(numbers: Iterator[Any]) -> Iterator[Any]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for split in tasks[number]:
                    yield from reader.documents(split, layout)

    return read


def summary_reader(reader: SplitReader, tasks: Sequence[Sequence[FileSplit]]) -> Callable[[Any], Any]:
    """A function for `map_in_arrow`: numbers of tasks in, a row with the summary of each of their splits out."""

    def read(numbers: Iterator[Any]) -> Iterator[Any]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for place, split in enumerate(tasks[number]):
                    text, types = reader.summarise(split).pack()
                    yield pa.record_batch(
                        [[number], [place], [text], [types]], names=["task", "place", "text", "types"]
                    )

    return read
