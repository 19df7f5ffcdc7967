"""Models that learn shard by shard, on Spark: documents are shuffled by shard, and solutions by block of columns.

The shard of a document and the order in which solutions are added depend on the documents alone. So the model is
identical, bit for bit, to that of local training, for any partitioning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from scipy.sparse import csr_array

from unnaive.base.types import Label
from unnaive.data.count_tables import stack_rows
from unnaive.data.counts import Counts
from unnaive.data.targets import label_matrix
from unnaive.linear.linear import Linear
from unnaive.models.svm.sharded import HyperplaneMean, ShardDocuments, ShardSolution, ShardTask
from unnaive.scaleout.spark.pass_check import COLUMNS, Fingerprints, check_same_documents, split_fingerprint
from unnaive.scaleout.spark.passes import BLOCK, pack_table, unpack_table
from unnaive.scaleout.spark.rows import BatchReader, read_label_batch
from unnaive.scaleout.spark.spark_session import default_parallelism, map_in_arrow, reading_errors, share
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

DOCUMENTS_SCHEMA = f"shard int, {COLUMNS}, documents binary"
SOLUTIONS_SCHEMA = "block int, shard int, columns binary, weights binary"
TASKS = 8  # maximum number of tasks per core: shards differ in duration
BIAS = -1  # the block number of the biases


def learn_from_shards(
    rows: Any, rule: TokenRule, vocabulary: Vocabulary | None, classes: Sequence[Label], task: ShardTask,
    counts: Counts, read: BatchReader = read_label_batch,
) -> Linear:  # fmt: skip
    """Train the scorer on all rows, whose sums are `counts`; `read` makes documents of an Arrow batch of them."""
    from pyspark import StorageLevel

    spark, fingerprints = rows.sparkSession, Fingerprints(len(classes), counts.n_terms)
    n_parts = default_parallelism(spark)
    shared = share(spark, (rule, vocabulary, tuple(classes), task, read, fingerprints))
    dealt = map_in_arrow(rows, document_dealer(shared), DOCUMENTS_SCHEMA)
    gathered = dealt.repartitionById(min(task.n_shards, TASKS * n_parts), "shard").sortWithinPartitions("shard")
    gathered, mean = gathered.persist(StorageLevel.MEMORY_AND_DISK), HyperplaneMean(task)
    try:
        with reading_errors():
            check_same_documents(gathered, fingerprints, counts)
        for number in range(task.n_rounds):
            mean = mean.next() if number else mean
            _add_round(gathered, mean, spark, n_parts)
    finally:
        gathered.unpersist()
        shared.unpersist()
    return mean.linear()


def _add_round(gathered: Any, mean: HyperplaneMean, spark: Any, n_parts: int) -> None:
    """Add the solutions of all shards to the mean."""
    shared = share(spark, (mean.task, mean.before))
    solutions = map_in_arrow(gathered, shard_solver(shared), SOLUTIONS_SCHEMA)
    ordered = solutions.repartitionById(n_parts, "block").sortWithinPartitions("block", "shard")
    with reading_errors():
        sums = map_in_arrow(ordered, solution_adder(shared), SOLUTIONS_SCHEMA).toArrow()
    shared.unpersist()
    for row in sums.to_pylist():
        mean.add(_read_solution(row, len(mean.bias)))


def document_dealer(shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: batches of rows in, counted documents grouped by shard out."""

    def deal(batches: Iterator[Any]) -> Iterator[Any]:
        rule, vocabulary, classes, task, read, fingerprints = shared.value
        counter = TextCounter(rule, vocabulary, threads=1)
        for batch in batches:
            documents, _ = read(batch)
            if not len(documents.labels):
                continue
            X, Y = documents.count(counter), label_matrix(documents.labels, classes, ignore_unknown=True)
            low, high = split_fingerprint(fingerprints.of_documents(X, Y, documents.weights()))
            for number, part in task.split(X, Y, documents.weights()):
                packed = save_arrays(pack_table("X", part.X) | pack_table("Y", part.Y) | {"weight": part.weight})
                columns = {"shard": pa.array([number], pa.int32()), "low": pa.array([low]), "high": pa.array([high])}
                yield pa.record_batch(columns | {"documents": pa.array([packed])})
                low = high = 0  # the first row has the fingerprint of the batch

    return deal


def shard_solver(shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: documents sorted by shard in, solutions split into blocks of columns out."""

    def solve(batches: Iterator[Any]) -> Iterator[Any]:
        task, mean = shared.value
        for number, parts in _by_shard(batches):
            width = parts[0].X.shape[1], parts[0].Y.shape[1]
            X, Y = stack_rows([part.X for part in parts], width[0]), stack_rows([part.Y for part in parts], width[1])
            documents = ShardDocuments(X, Y, np.concatenate([part.weight for part in parts])).in_order()
            yield from _cut_solution(number, task.solve(documents, mean))

    return solve


def _by_shard(batches: Iterator[Any]) -> Iterator[tuple[int, list[ShardDocuments]]]:
    """The documents of each shard; the rows must be sorted by shard."""
    number, parts = -1, list[ShardDocuments]()
    for batch in batches:
        for at, packed in zip(batch.column("shard").to_pylist(), batch.column("documents"), strict=True):
            if at != number and parts:
                yield number, parts
                parts = []
            arrays, number = load_arrays(packed.as_py()), at
            X, Y = unpack_table(arrays, "X"), unpack_table(arrays, "Y")
            parts.append(ShardDocuments(X, csr_array(Y), arrays["weight"]))
    if parts:
        yield number, parts


def _cut_solution(shard: int, solution: ShardSolution) -> Iterator[Any]:
    yield _solution_row(BIAS, shard, replace(solution, columns=solution.columns[:0]))
    width = block_width(len(solution.bias))
    blocks, starts = np.unique(solution.columns // width, return_index=True)
    for block, start, end in zip(blocks.tolist(), starts, [*starts[1:], len(solution.columns)], strict=True):
        part = replace(solution, columns=solution.columns[start:end], weights=solution.weights[:, start:end])
        yield _solution_row(block, shard, part)


def block_width(n_classes: int) -> int:
    """The number of columns in a block; the solutions of a block are added on one machine."""
    return max(1, BLOCK // max(1, n_classes))


def _solution_row(block: int, shard: int, solution: ShardSolution) -> Any:
    values = np.stack([solution.bias, solution.gain]) if block == BIAS else np.ascontiguousarray(solution.weights)
    return pa.record_batch(
        {
            "block": pa.array([block], pa.int32()),
            "shard": pa.array([shard], pa.int32()),
            "columns": pa.array([solution.columns.astype(np.int64).tobytes()]),
            "weights": pa.array([values.tobytes()]),
        }
    )


def _read_solution(row: dict[str, Any], n_classes: int) -> ShardSolution:
    columns = np.frombuffer(row["columns"], np.int64)
    values = np.frombuffer(row["weights"], np.float64)
    if row["block"] == BIAS:
        return ShardSolution(columns, np.zeros((n_classes, 0)), *values.reshape(2, n_classes))
    nothing = np.zeros(n_classes)
    return ShardSolution(columns, values.reshape(n_classes, len(columns)), nothing, nothing)


def solution_adder(shared: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `map_in_arrow`: solutions sorted by block and shard in, the sum of each block out."""

    def add(batches: Iterator[Any]) -> Iterator[Any]:
        task, _ = shared.value
        block, total = BIAS - 1, _zero_solution(task, BIAS)
        for batch in batches:
            for row in batch.to_pylist():
                if row["block"] != block:
                    if block >= BIAS:
                        yield _solution_row(block, 0, total)
                    block, total = row["block"], _zero_solution(task, row["block"])
                _add_to(total, _read_solution(row, len(task.class_docs)))
        if block >= BIAS:
            yield _solution_row(block, 0, total)

    return add


def _zero_solution(task: ShardTask, block: int) -> ShardSolution:
    """A solution of zeros for a block of columns, or for the biases."""
    n_classes = len(task.class_docs)
    width = block_width(n_classes)
    columns = np.arange(*((0, 0) if block == BIAS else (block * width, min((block + 1) * width, len(task.df)))))
    return ShardSolution(columns, np.zeros((n_classes, len(columns))), np.zeros(n_classes), np.zeros(n_classes))


def _add_to(total: ShardSolution, solution: ShardSolution) -> None:
    if len(total.columns):
        total.weights[:, solution.columns - total.columns[0]] += solution.weights
    np.add(total.bias, solution.bias, out=total.bias)
    np.add(total.gain, solution.gain, out=total.gain)
