"""Counts of a DataFrame of texts and labels: each partition by the kernel, merged by term across the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from unnaive.base.errors import BadData
from unnaive.base.types import Sparse
from unnaive.data.count_tables import stack_rows
from unnaive.data.counts import Counts
from unnaive.data.named_counts import NamedCounts
from unnaive.scaleout.spark.packing import Run, merge_all, term_array
from unnaive.scaleout.spark.rows import LabelCodes, complete_rows, report_missing
from unnaive.scaleout.spark.session import default_parallelism, map_in_arrow, reading_errors
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule

ENTRIES = 1 << 22  # of documents × terms that a partition holds before they are added up
RUN_SCHEMA = "part int, run binary"


def count_rows(rows: Any, rule: TokenRule, *, missing: str = "error") -> NamedCounts:
    """The counts of all rows (columns text, label), terms and classes in order.

    The same whatever the partitions and the order of rows: they are sums of whole numbers.
    """
    n_parts = default_parallelism(rows)
    found = map_in_arrow(rows, partition_counter(rule, n_parts), RUN_SCHEMA)
    if n_parts > 1:
        found = map_in_arrow(found.repartition(n_parts, "part"), merge_partition, RUN_SCHEMA)
    with reading_errors():
        parts = found.toArrow()
    total = merge_all(Run.from_bytes(packed.as_py()) for packed in parts.column("run"))
    if total is None:
        raise BadData("the DataFrame has no rows; give at least one document")
    report_missing(total.missing, int(total.counts.n_docs) + total.missing, missing)
    if not total.counts.n_docs:
        raise BadData("no row has both a text and a label; check the columns")
    return total.named()


def partition_counter(rule: TokenRule, n_parts: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What counts a partition: batches of texts and labels in, its counts cut by term out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        run = count_batches(batches, rule)
        if run is not None:
            for part, cut in run.cut(n_parts):
                yield pa.record_batch({"part": pa.array([part], pa.int32()), "run": pa.array([cut.to_bytes()])})

    return count


def merge_partition(batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in, their sum out."""
    total = merge_all(Run.from_bytes(packed.as_py()) for batch in batches for packed in batch.column("run"))
    if total is not None:
        yield pa.record_batch({"part": pa.array([0], pa.int32()), "run": pa.array([total.to_bytes()])})


def count_batches(batches: Iterator[Any], rule: TokenRule) -> Run | None:
    """The counts of one partition's batches; None of an empty partition."""
    counter, codes = TextCounter(rule, threads=1), LabelCodes()
    total, missing, seen = Counts.zero(0, 0), 0, 0
    waiting: list[tuple[Sparse, Sparse]] = []
    for batch in batches:
        texts, labels, lost = complete_rows(batch)
        seen, missing = seen + batch.num_rows, missing + lost
        waiting.append((counter.count(texts, grow=True), codes.matrix(labels)))
        if sum(X.nnz for X, _ in waiting) >= ENTRIES:
            total, waiting = _added(total, waiting), []
    if not seen:
        return None
    total = _added(total, waiting)
    return Run(tuple(codes.labels), term_array(*counter.vocabulary.to_arrays()), total, missing)


def _added(total: Counts, documents: list[tuple[Sparse, Sparse]]) -> Counts:
    """The counts with those of further documents, whose later batches have the most columns."""
    if not documents:
        return total
    matrices, labels = (list(parts) for parts in zip(*documents, strict=True))
    X, Y = (stack_rows(parts, parts[-1].shape[1]) for parts in (matrices, labels))
    return total.grown(Y.shape[1], X.shape[1]) + Counts.of(X, Y)
