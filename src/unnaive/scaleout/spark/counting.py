"""Counts of a DataFrame of texts and labels: each partition by the kernel, merged by term across the cluster.

A partition's sums are cut into runs by a hash of the term. All runs with the same hash meet on one machine, which adds
them up; no machine ever holds the vocabularies of all partitions, and the driver gets each term once.
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
    """The counts of all rows (columns text, label), terms and classes in order.

    Rows without a text or a label are an error, or with missing="skip" left out with a warning.
    """
    counted = count_complete_rows(rows, rule)
    report_missing(counted.left_out, counted.n_rows, missing)
    return counted.named(multilabel=has_label_arrays(rows))


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The sums over the rows that have a text and a label; how many rows lack one, and how many are multilabel."""

    run: Run | None
    left_out: int
    n_several: int

    @property
    def n_rows(self) -> int:
        """All rows."""
        return self.left_out + (0 if self.run is None else self.run.n_docs)

    def named(self, *, multilabel: bool) -> NamedCounts:
        """The sums by name, as the accumulator gives them."""
        if self.run is None:
            return NamedCounts.empty()
        counts, vocabulary = self.run.counts()
        return name_counts(counts, self.run.labels, vocabulary, multilabel=multilabel)


def count_complete_rows(rows: Any, rule: TokenRule) -> CountedRows:
    """Count all rows; the sums do not depend on the partitions and the order of rows: they are whole numbers."""
    n_parts = default_parallelism(rows)
    found = map_in_arrow(rows, partition_counter(rule, n_parts), RUN_SCHEMA)
    if n_parts > 1:
        found = map_in_arrow(found.repartition(n_parts, "part"), merge_partition, RUN_SCHEMA)
    with reading_errors():
        parts = found.toArrow()
    counted = _merge_rows(iter(parts.to_batches()))
    check_some_documents(counted.n_rows)
    return counted


def partition_counter(rule: TokenRule, n_parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What counts a partition: batches of texts and labels in, its runs, cut by term, out."""

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
    """The sum of all that the batches hold."""
    numbers = [0, 0]

    def runs() -> Iterator[Run]:
        for batch in batches:
            for place, name in enumerate(("left_out", "several")):
                numbers[place] += sum(batch.column(name).to_pylist())
            for packed in batch.column("run"):
                yield Run.from_bytes(packed.as_py())

    return CountedRows(merge_runs(runs()), *numbers)


def _run_row(part: int, run: Run, left_out: int, n_several: int) -> Any:
    columns = {"part": pa.array([part], pa.int32()), "left_out": pa.array([left_out]), "several": pa.array([n_several])}
    return pa.record_batch(columns | {"run": pa.array([run.to_bytes()])})
