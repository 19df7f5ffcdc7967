"""Counts of a DataFrame of texts and labels: the native kernel counts each partition; Spark merges counts by term.

The counts of a partition are split into runs by a hash of the term. One machine adds all runs with the same hash. So no
machine holds the vocabularies of all partitions, and the driver receives each term once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, issparse

from unnaive.data.accumulator import Accumulator, name_counts
from unnaive.data.corpus import check_some_documents
from unnaive.data.counts import Counts
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sorted_runs import Run, merge_runs
from unnaive.scaleout.spark.rows import complete_rows, has_label_arrays, report_missing
from unnaive.scaleout.spark.spark_session import default_parallelism, map_in_arrow, reading_errors
from unnaive.text.tokens import TokenRule

RUN_SCHEMA = "part int, n_rows long, left_out long, several long, run binary"
NUMBERS = ("n_rows", "left_out", "several")


def count_rows(rows: Any, rule: TokenRule, *, missing: str = "error") -> NamedCounts:
    """The counts of all rows (columns text, label), with sorted terms and classes.

    Rows without a text or a label raise an error; missing="skip" leaves them out with a warning.
    """
    counted = count_complete_rows(rows, rule)
    report_missing(counted.left_out, counted.n_rows, missing)
    return counted.named(multilabel=has_label_arrays(rows))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The counts of the rows with text and label.

    n_complete  the number of these rows
    left_out    the number of rows without text or label
    n_several   the number of multilabel rows
    units       the integer that a document of weight 1 counts as
    """

    run: Run | None
    n_complete: int
    left_out: int
    n_several: int
    units: int = 1

    @property
    def n_rows(self) -> int:
        """The number of all rows, complete or not."""
        return self.n_complete + self.left_out

    def named(self, *, multilabel: bool) -> NamedCounts:
        """The counts with the names of terms and classes."""
        if self.run is None:
            return NamedCounts.empty()
        counts, vocabulary = self.run.counts()
        counts = counts if self.units == 1 else divide_counts(counts, self.units)
        return name_counts(counts, self.run.labels, vocabulary, multilabel=multilabel)


def count_complete_rows(rows: Any, rule: TokenRule) -> CountedRows:
    """Count all rows; the sums are integers, so they do not depend on the partitions or the order of rows."""
    return collect_runs(rows, lambda n_parts: partition_counter(rule, n_parts))


def collect_runs(rows: Any, counter: Callable[[int], Any], *, units: int = 1) -> CountedRows:
    """The sum of the runs of all partitions; `counter` returns the function that counts one, for a number of parts."""
    n_parts = default_parallelism(rows.sparkSession)
    runs = map_in_arrow(rows, counter(n_parts), RUN_SCHEMA)
    if n_parts > 1:
        runs = map_in_arrow(runs.repartitionById(n_parts, "part"), merge_partition, RUN_SCHEMA)
    with reading_errors():
        parts = runs.toArrow()
    counted = _merge_rows(iter(parts.to_batches()))
    check_some_documents(counted.n_rows)
    return replace(counted, units=units)


def divide_counts(counts: Counts, units: int) -> Counts:
    """Sums in units as sums in documents: whole numbers stay integers, as in local training.

    >>> table = csr_array(np.array([[3]]))
    >>> counts = Counts(np.int64(6), np.array([6]), table, table, np.array([3]), np.array([3]))
    >>> divide_counts(counts, 2).class_terms.toarray(), divide_counts(counts, 3).n_docs
    (array([[1.5]]), np.int64(2))
    """
    values = {field.name: getattr(counts, field.name) for field in fields(Counts)}
    numbers = {name: value.data if issparse(value) else value for name, value in values.items()}
    whole = all(not np.any(np.asarray(array) % units) for array in numbers.values())
    divided = {name: array // units if whole else array / units for name, array in numbers.items()}
    tables = {
        name: csr_array((divided[name], table.indices, table.indptr), shape=table.shape)
        for name, table in values.items()
        if issparse(table)
    }
    return Counts(**(divided | tables))


def partition_counter(rule: TokenRule, n_parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: batches of texts and labels in, runs split by term out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        accumulator, n_missing = Accumulator(rule, threads=1), 0
        for batch in batches:
            texts, labels, lost = complete_rows(batch)
            accumulator.add(texts, labels)
            n_missing += lost
        for part, run in accumulator.run().cut(n_parts):
            numbers = (0, 0, 0) if part else (accumulator.n_docs, n_missing, accumulator.n_multilabel)
            yield run_row(part, run, *numbers)

    return count


def merge_partition(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in, their sum out."""
    counted = _merge_rows(batches)
    if counted.run is not None:
        yield run_row(0, counted.run, counted.n_complete, counted.left_out, counted.n_several)


def _merge_rows(batches: Iterator[Any]) -> CountedRows:
    """The sum of all runs in the batches."""
    numbers = [0] * len(NUMBERS)

    def runs() -> Iterator[Run]:
        for batch in batches:
            for position, name in enumerate(NUMBERS):
                numbers[position] += sum(batch.column(name).to_pylist())
            for packed in batch.column("run"):
                yield Run.from_bytes(packed.as_py())

    return CountedRows(merge_runs(runs()), *numbers)


def run_row(part: int, run: Run, *numbers: int) -> Any:
    """A row of RUN_SCHEMA, with the values of NUMBERS."""
    columns = {"part": pa.array([part], pa.int32())}
    columns |= {name: pa.array([number]) for name, number in zip(NUMBERS, numbers, strict=True)}
    return pa.record_batch(columns | {"run": pa.array([run.to_bytes()])})
