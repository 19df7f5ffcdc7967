"""The second pass over a data file: documents are distributed to shards on disk, and a model is trained by shard."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.progress import shard_events
from unnaive.base.system import scratch_folder
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Label, ProgressCallback, Sparse
from unnaive.data.count_tables import stack_rows
from unnaive.data.counts import Counts
from unnaive.data.partly_labelled import take_labelled
from unnaive.data.targets import label_matrix
from unnaive.io.datafiles import DataFile
from unnaive.linear.linear import Linear
from unnaive.models.svm.sharded import ShardDocuments, ShardedNBSVM, ShardSolution, ShardTask, learn_in_rounds
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead, reading_again
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

HELD = 8 << 20  # bytes of documents that wait in memory before they are written to their shards


@dataclass(frozen=True)
class Rereading:
    """How to read the counted documents again.

    classes     the labels, sorted
    multilabel  whether documents without a label are learnt from
    scratch     folder for the shards; by default the system's folder for temporary files
    """

    source: DataFile
    rule: TokenRule
    classes: Sequence[Label]
    multilabel: bool
    n_jobs: int | None = None
    scratch: Path | None = None

    def learn(
        self, model: ShardedNBSVM, counts: Counts, vocabulary: Vocabulary, *,
        exclusive: bool, progress: ProgressCallback | None,
    ) -> tuple[ShardedNBSVM, Linear]:  # fmt: skip
        """Train the model; returns it and its scorer. `counts` and `vocabulary` have only the terms in use."""
        task = ShardTask.of(model, counts)
        report = shard_events(progress, model.traits.name, task.n_shards, task.n_rounds)
        with scratch_folder(self.scratch) as folder:
            files = ShardFiles(folder, task)
            n_docs = self._deal(vocabulary, files)
            if n_docs != counts.n_docs:
                raise BadData(
                    f"{self.source.name} had {int(counts.n_docs):,} documents when it was first read, and "
                    f"{n_docs:,} the second time; train again when no program writes to it"
                )
            solutions = SolutionFiles(folder)
            threads = thread_count(self.n_jobs)
            return model, learn_in_rounds(task, range(task.n_shards), files.read, solutions, threads, report)

    def _deal(self, vocabulary: Vocabulary, files: ShardFiles) -> int:
        """Write all documents to their shards; returns their number."""
        counter = TextCounter(self.rule, vocabulary, threads=counting_threads(self.n_jobs))
        n_docs = 0
        with (
            reading_again(self.source) as again,
            read_ahead(in_small_blocks(again, self.n_jobs).batches(labelled=True)) as batches,
        ):
            for batch in batches:
                texts, labels = batch.texts, batch.labels
                if not self.multilabel and not all(labels):
                    texts, labels = take_labelled(texts, labels)
                files.add(counter.count(texts), label_matrix(labels, self.classes))
                n_docs += len(labels)
        files.flush()
        return n_docs


class ShardFiles:
    """Documents of weight 1 on disk, in one file per shard.

    A file consists of pieces of int32: the numbers of documents, terms and labels in it; the number of terms of each
    document; these terms; how often each occurs; the number of labels of each document; these labels. Documents wait in
    memory until there are many, so that a piece has a fair number of them even with hundreds of shards.
    """

    def __init__(self, folder: Path, task: ShardTask) -> None:
        self.folder, self.task = folder, task
        self._waiting: list[tuple[Sparse, Sparse]] = []
        self._held = 0

    def add(self, X: Sparse, Y: Sparse) -> None:
        """Add documents X (n_docs, n_terms) of counts with labels Y (n_docs, n_classes)."""
        self._waiting.append((X, Y))
        self._held += 12 * X.nnz + 20 * (X.shape[0] + Y.nnz)
        if self._held > HELD:
            self.flush()

    def flush(self) -> None:
        """Write the waiting documents."""
        if not self._waiting:
            return
        X, Y = (stack_rows(list(tables), tables[0].shape[1]) for tables in zip(*self._waiting, strict=True))
        self._waiting, self._held = [], 0
        shard = self.task.deal(X)
        order = np.argsort(shard, kind="stable")
        X, Y = X[order], Y[order]
        numbers, starts = np.unique(shard[order], return_index=True)
        for number, first, last in zip(numbers.tolist(), starts, [*starts[1:], len(order)], strict=True):
            rows = [table.indptr[first : last + 1] for table in (X, Y)]
            terms, labels = (slice(ends[0], ends[-1]) for ends in rows)
            sizes = last - first, terms.stop - terms.start, labels.stop - labels.start
            values = sizes, np.diff(rows[0]), X.indices[terms], X.data[terms], np.diff(rows[1]), Y.indices[labels]
            with self._path(number).open("ab") as file:
                file.write(np.concatenate(values).astype(np.int32).tobytes())

    def read(self, number: int) -> ShardDocuments:
        """The documents of a shard, in order."""
        path, parts = self._path(number), [list[Any]() for _ in range(5)]
        values = np.fromfile(path, np.int32) if path.exists() else np.zeros(0, np.int32)
        at = 0
        while at < len(values):
            n_docs, n_terms, n_labels = values[at : at + 3].tolist()
            at += 3
            for part, size in zip(parts, (n_docs, n_terms, n_terms, n_docs, n_labels), strict=True):
                part.append(values[at : at + size])
                at += size
        lengths, indices, data, label_lengths, labels = (
            np.concatenate([np.zeros(0, np.int32), *arrays]) for arrays in parts
        )
        X = csr_array((data, indices, _ends(lengths)), shape=(len(lengths), len(self.task.df)))
        ones = np.ones(len(labels), np.int64)
        Y = csr_array((ones, labels, _ends(label_lengths)), shape=(len(lengths), len(self.task.class_docs)))
        del values, parts
        return ShardDocuments(X, Y, np.ones(len(lengths))).in_order()

    def _path(self, number: int) -> Path:
        return self.folder / f"shard-{number:06d}"


class SolutionFiles(MutableMapping[int, ShardSolution]):
    """Solutions of shards on disk, by the number of the shard.

    >>> import tempfile
    >>> files = SolutionFiles(Path(tempfile.mkdtemp()))
    >>> files[3] = ShardSolution(np.array([1]), np.array([[0.5]]), np.array([2.0]), np.array([0.0]))
    >>> list(files), files[3].weights, files.get(4)
    ([3], array([[0.5]]), None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers: set[int] = set()

    def __setitem__(self, number: int, solution: ShardSolution) -> None:
        with self._path(number).open("wb") as file:
            for field in fields(ShardSolution):
                np.save(file, getattr(solution, field.name), allow_pickle=False)
        self._numbers.add(number)

    def __getitem__(self, number: int) -> ShardSolution:
        if number not in self._numbers:
            raise KeyError(number)
        with self._path(number).open("rb") as file:
            return ShardSolution(*(np.load(file, allow_pickle=False) for _ in fields(ShardSolution)))

    def __delitem__(self, number: int) -> None:
        self._numbers.remove(number)
        self._path(number).unlink()

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def _path(self, number: int) -> Path:
        return self.folder / f"solution-{number:06d}"


def _ends(lengths: Any) -> Any:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
