"""Files named on the command line → documents on Spark: executors read them with the reader of local files.

A first pass reads all rows once and returns what a local reader would say: errors, warnings, rows that are left out,
the labels. So the first error in the order of the files is raised, whichever task met it. Rows, types and labels are
then known, and later passes only read. What only Spark can open, spark_tables.py reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.base.open_files import STDIN
from unnaive.io.batches import Batch, check_same_columns
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.io.file_ranges import cut_table
from unnaive.io.first_looks import FirstLooks
from unnaive.io.read_options import ReadLog
from unnaive.io.row_reader import RowReader
from unnaive.io.tables.binary_tables import ParquetTable
from unnaive.io.tables.tables import Table
from unnaive.scaleout.spark.column_types import hold_values
from unnaive.scaleout.spark.rows import LABEL, TEXT
from unnaive.scaleout.spark.spark_session import default_parallelism, map_in_arrow, reading_errors
from unnaive.scaleout.spark.split_reader import (
    DocumentLayout,
    FileSplit,
    SplitReader,
    SplitSummary,
    document_reader,
    summary_reader,
)
from unnaive.text.messages import PARTS

SUMMARY_SCHEMA = "task long, place long, text string, types binary"
OPEN_COST = 4 << 20  # bytes that are read in the time that opening a file takes, as in spark.sql.files.openCostInBytes


@dataclass(frozen=True, eq=False)
class SparkDocuments:
    """Documents on Spark.

    rows         a DataFrame of kept columns, texts (TEXT) and, if they were asked for, labels or probabilities (LABEL)
    columns      the columns of the files
    kept         the names of the kept columns, which are the first ones of `rows`
    multilabel   whether documents have any number of labels; None if it is not known
    soft_labels  the labels of the probabilities
    """

    rows: Any
    columns: Columns
    kept: tuple[str, ...] = ()
    multilabel: bool | None = None
    soft_labels: tuple[str, ...] = ()

    @property
    def labelled_rows(self) -> Any:
        """The rows of texts and labels."""
        return self.rows.select(TEXT, LABEL)


def read_documents(
    spark: Any, source: DataFile, *, labelled: bool, soft: Sequence[str] = (), format: str | None = None,
    taken: Sequence[str] = (), spelling: Mapping[str, str] | None = None,
) -> SparkDocuments:  # fmt: skip
    """The documents of files, read by the executors; warnings and errors are those of local reading.

    labelled  whether label sets are read
    soft      names or patterns of columns with the probability of each label
    format    that in which kept columns will be written; None to keep none
    taken     the names of new columns in JSON
    spelling  the spelling of labels, such as True for true
    """
    once = source.read_once()
    if once is not None:
        raise BadData(f"Spark reads files several times, and {'stdin' if once == STDIN else once} can be read only "
                      "once; save it to a file first")  # fmt: skip
    keep = bool(soft) or format is not None
    log = source.start_log()
    parallelism, most = _read_sizes(spark)
    plan = _SplitPlan(source, labelled, keep, bool(soft), parallelism, most)
    how = replace(
        source, looks=FirstLooks(),
        options=replace(source.options, log=ReadLog(), on_read=None, ahead=None, threads=1),
    )  # fmt: skip
    message = plan.find_message()
    reader = SplitReader(how, labelled, message, tuple(soft), format)
    summaries = _summarise(spark, reader, plan)
    _report(source, summaries, plan.problem, labelled)
    several = sum(summary.several for summary in summaries)
    multilabel = bool(source.multilabel) or several > 0
    late = tuple(dict.fromkeys(name for summary in summaries for name in summary.late))
    if format is not None:
        Batch([], [], [], late=late).check_late(source.name, format, taken)
    types = _merge_types(source, summaries, format) if format is not None else {}
    labels = pa.list_(pa.float64()) if soft else None
    if labelled:
        labels = pa.list_(pa.string()) if multilabel else pa.string()
    layout = DocumentLayout(types, labels, spelling or {}, as_text=format in ("csv", "tsv"))
    tasks = plan.tasks()
    rows = _run_tasks(spark, document_reader(reader, tasks, layout), len(tasks), _spark_schema(layout.schema))
    soft_labels = next((summary.soft_labels for summary in summaries if summary.soft_labels), ())
    columns = log.columns or Columns(())
    return SparkDocuments(rows, columns, tuple(types), multilabel if labelled else None, soft_labels)


class _SplitPlan:
    """The splits of all files, in order, and the first error of opening one, which ends the list."""

    def __init__(
        self, source: DataFile, labelled: bool, keep: bool, soft: bool, parallelism: int, most: int
    ) -> None:  # fmt: skip
        self.problem: UnnaiveError | None = None
        self.splits: list[FileSplit] = []
        self.source, self._first = source, None
        parts = source.parts()
        tables: list[Table] = []
        try:
            for number, (table, columns) in enumerate(source.tables(labelled, keep)):
                files = tuple(parts) if source.options.log.format == "files" else (parts[number],)
                self.splits.append(FileSplit(files, columns, sum(_file_size(file.path) for file in files)))
                tables.append(table)
                self._first = self._first or (table, columns)
        except UnnaiveError as problem:
            self.problem = problem
        total = sum(split.size for split in self.splits)
        self.size = min(most, max(OPEN_COST, total // parallelism))
        self.splits = [
            part for split, table in zip(self.splits, tables, strict=True) for part in self._cut(split, table, soft)
        ]

    def _cut(self, split: FileSplit, table: Table, soft: bool) -> list[FileSplit]:
        """The parts of a file that is large; messages about values count rows, which only Parquet counts itself."""
        counted = bool(split.columns.fields) or soft
        if split.size < 2 * self.size or (counted and not isinstance(table, ParquetTable)):
            return [split]
        parts = cut_table(table, self.size)
        return [replace(split, part=part, size=split.size // len(parts)) for part in parts] or [split]

    def find_message(self) -> str | None:
        """The parts of e-mail messages to read, if the documents are some; by a first batch, as in local reading."""
        source = self.source
        if source.message is None or self._first is None or self._first[1].fields:
            return None
        table, columns = self._first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnnaiveWarning)
            try:
                look = replace(source, options=source.options.as_look())
                reader = RowReader(look, table.for_reading(look.options), columns)
                batch = next(reader.read_batches(0), None)
            except UnnaiveError:
                return None  # reported when all is read
        return source.message or PARTS if batch is not None and source.is_mail(batch.texts) else None

    def read_whole(self, paths: set[str]) -> None:
        """Do not cut these files."""
        whole: list[FileSplit] = []
        for split in self.splits:
            if split.part is None or split.files[0].path not in paths:
                whole.append(split)
            elif not split.part.start:
                whole.append(replace(split, part=None, size=_file_size(split.files[0].path)))
        self.splits = whole

    def tasks(self) -> list[list[FileSplit]]:
        """The splits in groups of about the same size, in order."""
        tasks: list[list[FileSplit]] = []
        left = 0
        for split in self.splits:
            if left <= 0:
                tasks.append([])
                left = self.size
            tasks[-1].append(split)
            left -= split.size + OPEN_COST // 16
        return tasks


def _file_size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _read_sizes(spark: Any) -> tuple[int, int]:
    """(tasks that run at the same time, most bytes of a split)."""
    most = spark.conf.get("spark.sql.files.maxPartitionBytes", "134217728b")
    digits = str(most).rstrip("bB")
    return default_parallelism(spark), int(digits) if digits.isdecimal() else 128 << 20


def _run_tasks(spark: Any, function: Any, n_tasks: int, schema: Any) -> Any:
    """The rows that `function` gives for the numbers of the tasks, one task in each partition."""
    return map_in_arrow(spark.range(0, n_tasks, 1, max(1, n_tasks)), function, schema)


def _spark_schema(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _summarise(spark: Any, reader: SplitReader, plan: _SplitPlan) -> list[SplitSummary]:
    """The summary of every split, in order; files whose parts cannot be read alone are read whole."""
    while True:
        summaries = _summarise_splits(spark, reader, plan.tasks())
        whole = {
            split.files[0].path for split, summary in zip(plan.splits, summaries, strict=True) if not summary.plain
        }
        if not whole:
            break
        plan.read_whole(whole)
    seen = 0
    for number, summary in enumerate(summaries):
        plan.splits[number] = replace(plan.splits[number], seen=seen)
        seen += summary.log.rows
    return summaries


def _summarise_splits(spark: Any, reader: SplitReader, tasks: Sequence[Sequence[FileSplit]]) -> list[SplitSummary]:
    if not tasks:
        return []
    with reading_errors():
        table = _run_tasks(spark, summary_reader(reader, tasks), len(tasks), SUMMARY_SCHEMA).toArrow()
    columns = (table.column(name).to_pylist() for name in ("task", "place", "text", "types"))
    rows = sorted(zip(*columns, strict=True), key=lambda row: row[:2])
    return [SplitSummary.unpack(text, types) for _, _, text, types in rows]


def _report(source: DataFile, summaries: list[SplitSummary], problem: UnnaiveError | None, labelled: bool) -> None:
    """Say what local reading would say: warnings in the order of the files, up to the first error, which is raised."""
    log = source.options.log
    spoken: dict[str, None] = {}
    for summary in summaries:
        for sentence in summary.warnings:
            if sentence not in spoken:
                warnings.warn(sentence, UnnaiveWarning, stacklevel=3)
            spoken[sentence] = None
        if summary.error is not None:
            raise summary.error
        log.rows += summary.log.rows
        log.skipped += summary.log.skipped
        log.repeated_headers += summary.log.repeated_headers
        log.label_sets.update(summary.log.label_sets)
    if problem is not None:
        raise problem
    if not (labelled and log.format == "folder"):
        empty, missing = (sum(getattr(summary, name) for summary in summaries) for name in ("empty", "missing"))
        source.warn_about_rows(log.rows, empty, missing)
    if labelled:
        several = any(summary.several for summary in summaries)
        unlabelled = log.label_sets[()]
        source.warn_about_labels(
            sorted(log.label_sizes()), log.rows, unlabelled, multilabel=bool(source.multilabel) or several
        )


def _merge_types(source: DataFile, summaries: Sequence[SplitSummary], format: str) -> dict[str, Any]:
    """The type of each kept column: those of the first rows, then those that came late; ids if there are none."""
    first = next((summary for summary in summaries if summary.log.rows), SplitSummary(ReadLog()))
    late = list(dict.fromkeys(name for summary in summaries for name in summary.late))
    names = dict.fromkeys((*(name for name in first.types if name not in late), *late))
    later = dict.fromkeys(name for summary in summaries for name in summary.types if name not in late)
    check_same_columns(source.name, list(names), later, format)
    names |= later
    held = {
        name: hold_values(
            name, [summary.types[name] for summary in summaries if name in summary.types], as_json=format == "jsonl"
        )
        for name in names
    }
    return {name: pa.string() if kind == pa.null() else kind for name, kind in held.items()} or {"id": pa.string()}
