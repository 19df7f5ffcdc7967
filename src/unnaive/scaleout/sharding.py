"""The second pass over a data file: documents are distributed to shards on disk, and a model is trained by shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.progress import rounds_of
from unnaive.base.system import scratch_folder
from unnaive.base.types import Label, ProgressCallback
from unnaive.data.counts import Counts
from unnaive.data.targets import label_matrix
from unnaive.data.unlabelled import take_labelled
from unnaive.io.datafiles import DataFile
from unnaive.linear.linear import Linear
from unnaive.models.svm.sharded import ShardDocuments, ShardedNBSVM, ShardTask, learn_in_rounds
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead, reading_again
from unnaive.text.backend import thread_count
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
        report = rounds_of(progress, model.name, task.n_rounds * task.n_shards)
        with scratch_folder(self.scratch) as folder:
            files = ShardFiles(folder, len(vocabulary), len(self.classes))
            n_docs = self._deal(task, vocabulary, files)
            if n_docs != counts.n_docs:
                raise BadData(
                    f"{self.source.name} had {int(counts.n_docs):,} documents when it was first read, and {n_docs:,} "
                    "the second time; train again when nobody writes to it"
                )
            return model, learn_in_rounds(task, range(task.n_shards), files.read, thread_count(self.n_jobs), report)

    def _deal(self, task: ShardTask, vocabulary: Vocabulary, files: ShardFiles) -> int:
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
                for number, documents in task.split(counter.count(texts), label_matrix(labels, self.classes)):
                    files.add(number, documents)
                n_docs += len(labels)
        files.flush()
        return n_docs


class ShardFiles:
    """Documents on disk, in one file per shard; rows are appended as they arrive.

    >>> import tempfile
    >>> files = ShardFiles(Path(tempfile.mkdtemp()), 2, 1)
    >>> files.add(1, ShardDocuments(csr_array([[2, 1], [0, 3]]), csr_array([[1], [0]]), np.ones(2)))
    >>> files.flush()
    >>> sorted(files.read(1).X.toarray().tolist()), sorted(files.read(1).Y.toarray().tolist()), files.read(0).X.shape
    ([[0, 3], [2, 1]], [[0], [1]], (0, 2))
    """

    def __init__(self, folder: Path, n_terms: int, n_classes: int) -> None:
        self.folder, self.n_terms, self.n_classes = folder, n_terms, n_classes
        self._waiting: dict[int, list[ShardDocuments]] = {}
        self._held = 0

    def add(self, number: int, documents: ShardDocuments) -> None:
        """Add documents of a shard, each with weight 1."""
        self._waiting.setdefault(number, []).append(documents)
        self._held += 8 * documents.X.nnz + 12 * (documents.X.shape[0] + documents.Y.nnz)
        if self._held > HELD:
            self.flush()

    def flush(self) -> None:
        """Write the waiting documents."""
        for number, parts in self._waiting.items():
            with self._path(number).open("ab") as file:
                for part in parts:
                    X, Y = part.X, part.Y
                    for values in (np.diff(X.indptr), X.indices, X.data, np.diff(Y.indptr), Y.indices):
                        np.save(file, values.astype(np.int32), allow_pickle=False)
        self._waiting, self._held = {}, 0

    def read(self, number: int) -> ShardDocuments:
        """The documents of a shard, in order."""
        parts: list[list[Any]] = [[] for _ in range(5)]
        path = self._path(number)
        if path.exists():
            size = path.stat().st_size
            with path.open("rb") as file:
                while file.tell() < size:
                    for part in parts:
                        part.append(np.load(file, allow_pickle=False))
        lengths, indices, data, label_lengths, labels = (
            np.concatenate([np.zeros(0, np.int32), *arrays]) for arrays in parts
        )
        X = csr_array((data, indices, _ends(lengths)), shape=(len(lengths), self.n_terms))
        ones = np.ones(len(labels), np.int64)
        Y = csr_array((ones, labels, _ends(label_lengths)), shape=(len(lengths), self.n_classes))
        return ShardDocuments(X, Y, np.ones(len(lengths))).in_order()

    def _path(self, number: int) -> Path:
        return self.folder / f"shard-{number:06d}"


def _ends(lengths: Any) -> Any:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
