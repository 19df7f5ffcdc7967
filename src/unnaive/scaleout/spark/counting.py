"""Counts of a DataFrame of texts and labels: the native kernel counts each partition; Spark merges counts by term.

The counts of a partition are split into runs by a hash of the term. One machine adds all runs with the same hash. So no
machine holds the vocabularies of all partitions, and the driver receives each term once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unnaive.data.accumulator import Accumulator, name_counts
from unnaive.data.named_counts import NamedCounts
from unnaive.data.runs import Run, merge_runs
from unnaive.io.corpus import check_some_documents
from unnaive.scaleout.spark.rows import complete_rows, has_label_arrays, report_missing
from unnaive.scaleout.spark.session import default_parallelism, map_in_arrow, reading_errors
from unnaive.text.tokens import TokenRule

RUN_SCHEMA = "part int, left_out long, several long, run binary"


def count_rows(rows: Any, rule: TokenRule, *, missing: str = "error") -> NamedCounts:
    """The counts of all rows (columns text, label), with sorted terms and classes.

    Rows without a text or a label raise an error; missing="skip" leaves them out with a warning.
    """
    counted = count_complete_rows(rows, rule)
    report_missing(counted.left_out, counted.n_rows, missing)
    return counted.named(multilabel=has_label_arrays(rows))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The counts of the rows with text and label, the number of rows without, and the number of multilabel rows."""

    run: Run | None
    left_out: int
    n_several: int

    @property
    def n_rows(self) -> int:
        """The number of all rows, complete or not."""
        return self.left_out + (0 if self.run is None else self.run.n_docs)

    def named(self, *, multilabel: bool) -> NamedCounts:
        """The counts with the names of terms and classes."""
        if self.run is None:
            return NamedCounts.empty()
        counts, vocabulary = self.run.counts()
        return name_counts(counts, self.run.labels, vocabulary, multilabel=multilabel)


def count_complete_rows(rows: Any, rule: TokenRule) -> CountedRows:
    """Count all rows; the sums are integers, so they do not depend on the partitions or the order of rows."""
    n_parts = default_parallelism(rows)
    runs = map_in_arrow(rows, partition_counter(rule, n_parts), RUN_SCHEMA)
    if n_parts > 1:
        runs = map_in_arrow(runs.repartition(n_parts, "part"), merge_partition, RUN_SCHEMA)
    with reading_errors():
        parts = runs.toArrow()
    counted = _merge_rows(iter(parts.to_batches()))
    check_some_documents(counted.n_rows)
    return counted


def partition_counter(rule: TokenRule, n_parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: batches of texts and labels in, runs split by term out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        accumulator, n_missing = Accumulator(rule, threads=1), 0
        for batch in batches:
            texts, labels, lost = complete_rows(batch)
            accumulator.add(texts, labels)
            n_missing += lost
        for part, run in accumulator.run().cut(n_parts):
            yield _run_row(part, run, *((0, 0) if part else (n_missing, accumulator.n_multilabel)))

    return count


def merge_partition(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in, their sum out."""
    counted = _merge_rows(batches)
    if counted.run is not None:
        yield _run_row(0, counted.run, counted.left_out, counted.n_several)


def _merge_rows(batches: Iterator[Any]) -> CountedRows:
    """The sum of all runs in the batches."""
    numbers = [0, 0]

    def runs() -> Iterator[Run]:
        for batch in batches:
            for position, name in enumerate(("left_out", "several")):
                numbers[position] += sum(batch.column(name).to_pylist())
            for packed in batch.column("run"):
                yield Run.from_bytes(packed.as_py())

    return CountedRows(merge_runs(runs()), *numbers)


def _run_row(part: int, run: Run, left_out: int, n_several: int) -> Any:
    columns = {"part": pa.array([part], pa.int32()), "left_out": pa.array([left_out]), "several": pa.array([n_several])}
    return pa.record_batch(columns | {"run": pa.array([run.to_bytes()])})
