"""Soft labels beyond memory: each document is read once per label, and its probabilities become weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from unnaive.base.types import Floats
from unnaive.data.soft_labels import expand_probabilities, sum_probabilities, warn_about_sums
from unnaive.data.training_data import TrainingData
from unnaive.io.datafiles import Batch, DataFile
from unnaive.io.soft_columns import SoftColumns
from unnaive.scaleout.matrix import documents_on_disk
from unnaive.scaleout.streaming import LearntHashes, Resources
from unnaive.text.buffer import TextBuffer
from unnaive.text.tokens import TokenRule


@dataclass(frozen=True)
class SoftDataFile(DataFile):
    """A data file read as labelled documents: each text occurs once for each label with a probability above 0.

    once     yield each text only once, with one of its labels
    soft     names or patterns of the columns with the probability of each label
    weights  the probabilities of the documents of the last reading, batch by batch
    sums     the sum of the probabilities of each text, batch by batch
    hashes   hashes of the texts, each once
    """

    soft: tuple[str, ...] = ()
    once: bool = False
    weights: list[Floats] = field(default_factory=list)
    sums: list[Floats] = field(default_factory=list)
    hashes: LearntHashes = field(default_factory=LearntHashes)

    def batches(self, *, labelled: bool, keep: bool = False) -> Iterator[Batch]:
        """All documents, batch by batch; their weights are complete after the last batch."""
        self.weights.clear()
        self.sums.clear()
        self.hashes.clear()
        columns, first = SoftColumns(self.soft), 0
        for batch in super().batches(labelled=False, keep=True):
            rows, labels, weight = expand_probabilities(columns.values(batch, self.name), len(batch.texts), first)
            self.sums.append(sum_probabilities(rows, weight, len(batch.texts)))
            if self.once:
                rows, positions = np.unique(rows, return_index=True)
                labels, weight = [labels[at] for at in positions.tolist()], weight[positions]
            self.hashes.add(batch.texts, [("",)] * len(batch.texts))
            self.weights.append(weight)
            first += len(batch.texts)
            texts = batch.texts
            texts = texts.take(rows) if isinstance(texts, TextBuffer) else [texts[row] for row in rows.tolist()]
            yield Batch(texts, [(label,) for label in labels], [])
        columns.leave_labels_out(self.options.log)


@contextmanager
def soft_documents_on_disk(
    source: DataFile, soft: tuple[str, ...], rule: TokenRule, *, n_jobs: int | None, resources: Resources
) -> Iterator[tuple[TrainingData, int]]:
    """The training data, as in memory but with the counted documents in a matrix on disk, and the number of texts."""
    options = {name: getattr(source, name) for name in source.__dataclass_fields__}
    file = SoftDataFile(**options, soft=soft, hashes=LearntHashes(resources.memory))
    each_once = SoftDataFile(**options, soft=soft, once=True, hashes=LearntHashes(0))
    with documents_on_disk(file, rule, n_jobs=n_jobs, resources=resources, each_once=each_once) as data:
        weight = np.concatenate([np.zeros(0), *file.weights])
        warn_about_sums(np.concatenate([np.zeros(0), *file.sums]))
        file.weights.clear()
        file.sums.clear()
        report = data.report | ({"without_hashes": True} if file.hashes.given_up else {})
        rows = None if data.rows is None else replace(data.rows, weight=weight)
        hashes = file.hashes.total(multilabel=False)
        yield replace(data, rows=rows, report=report).with_reading(text_hashes=hashes), file.hashes.n_texts
