"""Counts of a DataFrame of texts and labels: each partition by the kernel, merged by term across the cluster.

A partition's sums are cut into runs by a hash of the term. All runs with the same hash meet on one machine, which adds
them up; no machine ever holds the vocabularies of all partitions, and the driver gets each term once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from unnaive.data.accumulator import Accumulator, name_counts
from unnaive.data.named_counts import NamedCounts
from unnaive.data.runs import Run, merge_runs
from unnaive.io.corpus import check_some_documents
from unnaive.scaleout.spark.rows import complete_rows, has_label_arrays, report_missing
from unnaive.scaleout.spark.session import default_parallelism, map_in_arrow, reading_errors
from unnaive.text.tokens import TokenRule

RUN_SCHEMA = "part int, missing long, run binary"


def count_rows(rows: Any, rule: TokenRule, *, missing: str = "error") -> NamedCounts:
    """The counts of all rows (columns text, label), terms and classes in order.

    Of rows without a text or a label `missing` says what becomes: "error", "skip" with a warning, or "drop" without.
    """
    return count_complete_rows(rows, rule, missing=missing)[0]


def count_complete_rows(rows: Any, rule: TokenRule, *, missing: str) -> tuple[NamedCounts, int]:
    """The same, and how many rows have no text or no label.

    The counts do not depend on the partitions and the order of rows: they are sums of whole numbers.
    """
    n_parts = default_parallelism(rows)
    found = map_in_arrow(rows, partition_counter(rule, n_parts), RUN_SCHEMA)
    if n_parts > 1:
        found = map_in_arrow(found.repartition(n_parts, "part"), merge_partition, RUN_SCHEMA)
    with reading_errors():
        parts = found.toArrow()
    total, n_missing = _merge_batch(iter(parts.to_batches()))
    n_docs = 0 if total is None else total.n_docs
    check_some_documents(n_docs + n_missing)
    report_missing(n_missing, n_docs + n_missing, missing)
    if total is None:
        return NamedCounts.empty(), n_missing
    counts, vocabulary = total.counts()
    return name_counts(counts, total.labels, vocabulary, multilabel=has_label_arrays(rows)), n_missing


def partition_counter(rule: TokenRule, n_parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What counts a partition: batches of texts and labels in, its runs, cut by term, out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        accumulator, n_missing = Accumulator(rule, threads=1), 0
        for batch in batches:
            texts, labels, lost = complete_rows(batch)
            accumulator.add(texts, labels)
            n_missing += lost
        for part, run in accumulator.run().cut(n_parts):
            yield _run_row(part, run, 0 if part else n_missing)

    return count


def merge_partition(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in, their sum out."""
    total, n_missing = _merge_batch(batches)
    if total is not None:
        yield _run_row(0, total, n_missing)


def _merge_batch(batches: Iterator[Any]) -> tuple[Run | None, int]:
    """(the sum of all runs in the batches, how many rows lacked a text or a label)."""
    n_missing = 0

    def runs() -> Iterator[Run]:
        nonlocal n_missing
        for batch in batches:
            n_missing += sum(batch.column("missing").to_pylist())
            for packed in batch.column("run"):
                yield Run.from_bytes(packed.as_py())

    return merge_runs(runs()), n_missing


def _run_row(part: int, run: Run, n_missing: int) -> Any:
    columns = {"part": pa.array([part], pa.int32()), "missing": pa.array([n_missing], pa.int64())}
    return pa.record_batch(columns | {"run": pa.array([run.to_bytes()])})
