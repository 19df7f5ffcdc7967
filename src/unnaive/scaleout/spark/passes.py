"""Counted documents that stay on the executors, and sums over them for iterative learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Label, Sparse
from unnaive.data.counts import Counts
from unnaive.data.targets import label_matrix
from unnaive.data.weighting import Weighting
from unnaive.scaleout.spark.pass_check import COLUMNS, Fingerprints, check_same_documents, split_fingerprint
from unnaive.scaleout.spark.rows import complete_rows
from unnaive.scaleout.spark.spark_session import default_parallelism, is_remote, map_in_arrow, reading_errors, share
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

Sums = Callable[[Sparse, Sparse, Any], Sequence[Any]]  # documents Z, labels Y, state → arrays or numbers to add up

BLOCK = 1 << 20  # numbers in a block, which one task adds up: 8 MB
DIRECT = 1 << 23  # up to this total over all partitions, the driver adds the numbers itself: 64 MB
DOCUMENTS_SCHEMA = f"source int, chunk int, longest double, {COLUMNS}, documents binary"
SUMS_SCHEMA = "block int, source int, sums binary"


@dataclass(eq=False)
class CountedDocuments:
    """Weighted documents with their labels, counted once and kept by Spark in memory or on disk; a context manager.

    `sum` is a pass: it applies a function to every chunk of documents and adds the results, first within each
    partition, then block by block across the cluster in the order of the partitions. So the sums do not depend on the
    order of tasks or on repeated tasks, and no machine holds the sums of all partitions, unless they are small.
    """

    table: Any
    n_parts: int
    small: bool = False

    @classmethod
    def of(
        cls, rows: Any, rule: TokenRule, vocabulary: Vocabulary | None, classes: Sequence[Label], weighting: Weighting,
        counts: Counts,
    ) -> Self:  # fmt: skip
        """Count the rows (columns text, label) with the vocabulary and the classes of all rows.

        counts  the sums over the same documents with the same terms, from the first pass
        """
        from pyspark import StorageLevel

        spark, fingerprints = rows.sparkSession, Fingerprints(len(classes), counts.n_terms)
        shared = share(spark, (rule, vocabulary, tuple(classes), weighting, fingerprints))
        table = map_in_arrow(rows, document_counter(shared), DOCUMENTS_SCHEMA)
        table = table.persist(StorageLevel.MEMORY_AND_DISK)
        with reading_errors():
            check_same_documents(table, fingerprints, counts)
        # Spark Connect does not say how many partitions there are
        n_parts = DIRECT if is_remote(spark) else table.rdd.getNumPartitions()
        return cls(table, default_parallelism(spark), n_parts * len(vocabulary or ()) * len(classes) <= DIRECT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.table.unpersist()

    def longest(self) -> float:
        """max_d Σ_t z_dt."""
        with reading_errors():
            return float(self.table.agg({"longest": "max"}).collect()[0][0])

    def sum(self, function: Sums, state: Any) -> list[Any]:
        """Σ function(Z, Y, state) over all chunks of documents: floats, and arrays with their shapes."""
        shared = share(self.table.sparkSession, state)
        partial = map_in_arrow(self.table, partition_summer(function, shared), SUMS_SCHEMA)
        if not self.small:
            ordered = partial.repartitionById(self.n_parts, "block").sortWithinPartitions("block", "source")
            partial = map_in_arrow(ordered, add_blocks, SUMS_SCHEMA)
        with reading_errors():
            sums = partial.toArrow().sort_by([("block", "ascending"), ("source", "ascending")])
        shared.unpersist()
        if self.small:
            sums = pa.Table.from_batches(add_blocks(iter(sums.to_batches())))
        flat = np.concatenate([np.frombuffer(block.as_buffer(), np.float64) for block in sums.column("sums")])
        return unflatten(flat)


def document_counter(shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: batches of texts and labels in, weighted documents over a fixed vocabulary out."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        rule, vocabulary, classes, weighting, fingerprints = shared.value
        counter, source = TextCounter(rule, vocabulary, threads=1), TaskContext.get().partitionId()
        for chunk, batch in enumerate(batches):
            texts, labels, _ = complete_rows(batch)
            if not len(texts):
                continue
            X, Y = counter.count(texts), label_matrix(labels, classes, ignore_unknown=True)
            low, high = split_fingerprint(fingerprints.of_documents(X, Y, np.ones(X.shape[0])))
            Z = weighting.apply(X)
            packed = save_arrays(pack_table("Z", Z) | pack_table("Y", Y))
            yield pa.record_batch(
                {
                    "source": pa.array([source], pa.int32()),
                    "chunk": pa.array([chunk], pa.int32()),
                    "longest": pa.array([float(Z.sum(axis=1).max(initial=0.0))]),
                    "low": pa.array([low]),
                    "high": pa.array([high]),
                    "documents": pa.array([packed]),
                }
            )

    return count


def pack_table(name: str, table: Sparse) -> dict[str, Any]:
    """The arrays of a sparse table by name, for safetensors."""
    parts = {f"{name}.{part}": np.ascontiguousarray(getattr(table, part)) for part in ("data", "indices", "indptr")}
    return parts | {f"{name}.shape": np.array(table.shape, np.int64)}


def unpack_table(arrays: dict[str, Any], name: str) -> Sparse:
    """The inverse of `pack_table`."""
    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(parts, shape=tuple(arrays[f"{name}.shape"].tolist()))


def partition_summer(function: Sums, shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: the documents of a partition in, their sums in blocks out."""

    def add(batches: Iterator[Any]) -> Iterator[Any]:
        total, source = None, 0
        for batch in batches:
            for row in batch.to_pylist():
                arrays = load_arrays(row["documents"])
                part = flatten(function(unpack_table(arrays, "Z"), unpack_table(arrays, "Y"), shared.value))
                total, source = part if total is None else _added(total, part), row["source"]
        if total is not None:
            for block, start in enumerate(range(0, len(total), BLOCK)):
                yield _block_row(block, source, total[start : start + BLOCK])

    return add


def add_blocks(batches: Iterator[Any]) -> Iterator[Any]:
    """Add blocks that are sorted by number; yield one sum for each number."""
    block, total = -1, np.zeros(0)
    for batch in batches:
        for at, packed in zip(batch.column("block").to_pylist(), batch.column("sums"), strict=True):
            values = np.frombuffer(packed.as_buffer(), np.float64)
            if at != block:
                if block >= 0:
                    yield _block_row(block, 0, total)
                block, total = at, values
            else:
                total = _added(total, values, header=at == 0)
    if block >= 0:
        yield _block_row(block, 0, total)


def _block_row(block: int, source: int, values: Floats) -> Any:
    return pa.record_batch(
        {
            "block": pa.array([block], pa.int32()),
            "source": pa.array([source], pa.int32()),
            "sums": pa.array([values.tobytes()]),
        }
    )


def flatten(values: Sequence[Any]) -> Floats:
    """Arrays and numbers as one array: how many, the dimensions and shape of each, then the values.

    >>> unflatten(flatten([2.0, np.ones((1, 2))]))
    [2.0, array([[1., 1.]])]
    """
    arrays = [np.asarray(value, np.float64) for value in values]
    header = [float(len(arrays))] + [float(size) for array in arrays for size in (array.ndim, *array.shape)]
    return np.concatenate([[len(header) + 1.0], header, *(array.ravel() for array in arrays)])


def unflatten(flat: Floats) -> list[Any]:
    """The inverse of `flatten`."""
    at, position = int(flat[0]), 2
    parts: list[Any] = []
    for _ in range(int(flat[1])):
        n_dim = int(flat[position])
        shape = tuple(int(size) for size in flat[position + 1 : position + 1 + n_dim])
        position += 1 + n_dim
        size = int(np.prod(shape)) if shape else 1
        values = flat[at : at + size]
        parts.append(values.reshape(shape).copy() if shape else float(values[0]))
        at += size
    return parts


def _added(first: Floats, second: Floats, *, header: bool = True) -> Floats:
    """The sum of two flat arrays or of two blocks of them; `header` says whether they begin with a header."""
    out = first + second
    if header:
        out[: int(first[0])] = first[: int(first[0])]
    return out
