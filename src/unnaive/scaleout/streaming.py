"""A data file of any size → sums over its documents, in bounded memory: TrainingData from a stream.

Batches are read and decoded in one thread and counted by the kernel's threads; sums are merged at once, or written to
disk. They equal the sums of all documents, and so does a model that learns from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.system import scratch_folder
from unnaive.base.system_memory import return_large_blocks
from unnaive.data.accumulator import Accumulator
from unnaive.data.source_section import SourceSection
from unnaive.data.text_hashes import SIZE, TextHashes
from unnaive.data.text_hashes import hash_texts as hashes_of
from unnaive.data.training_data import TrainingData
from unnaive.io.datafiles import DataFile
from unnaive.io.fields.columns import Columns
from unnaive.scaleout.checkpoint import Checkpoint
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead
from unnaive.text.backend import few_kept_pages
from unnaive.text.buffer import TextBuffer
from unnaive.text.tokens import TokenRule

LabelledTexts = tuple[Any, Sequence[tuple[Any, ...]]]  # texts and their label sets
OnDocuments = Callable[[Any, Sequence[tuple[Any, ...]]], None]

HASHES_SHARE = 64  # hashes of texts may take this fraction of the memory
# bytes per class and term of models that learn in passes: their weights, twice while they are written
WEIGHT_BYTES = 24


@dataclass(frozen=True)
class Resources:
    """Resources for training.

    memory      approximate maximum bytes of the process; None for no limit
    scratch     folder for runs when memory is full; by default the system's folder for temporary files
    checkpoint  where progress is recorded, to continue from
    """

    memory: int | None = None
    scratch: Path | None = None
    checkpoint: Checkpoint | None = None


class NeedsDocuments(Exception):
    """The documents are multilabel, and their thresholds are tuned on the documents themselves."""


@contextmanager
def stream_documents(
    source: DataFile,
    rule: TokenRule,
    *,
    n_jobs: int | None = None,
    resources: Resources | None = None,
    hash_texts: bool = False,
    tunes_multilabel: bool = False,
    second_pass: bool = False,
) -> Iterator[TrainingData]:
    """The sums over all documents of a source, read in batches.

    With `hash_texts`, short hashes of the texts are kept. With `tunes_multilabel`, NeedsDocuments is raised as soon as
    documents are multilabel: their thresholds are tuned on the documents, now or after an update. With `second_pass`,
    models that learn in passes can read the documents again. A checkpoint is removed when the block ends without an
    error.
    """
    return_large_blocks()
    resources = resources or Resources()
    with ExitStack() as stack:
        if resources.memory is not None:
            stack.enter_context(few_kept_pages())
        folder = _scratch_folder(resources, stack)
        weight_bytes = WEIGHT_BYTES if second_pass else 0
        counter = Accumulator(
            rule, counting_threads(n_jobs), resources.memory, folder, weight_bytes=weight_bytes
        )  # fmt: skip
        source = in_small_blocks(source, n_jobs)
        hashes = LearntHashes(resources.memory) if hash_texts else None

        def after_batch() -> None:
            if tunes_multilabel and is_multilabel(source, counter):
                raise NeedsDocuments

        resumed = count_source(counter, source, resources.checkpoint, hashes.add if hashes else None, after_batch)
        multilabel = is_multilabel(source, counter)
        unlabelled = 0 if multilabel else counter.n_unlabelled
        source.warn_about_labels(counter.labels, counter.n_docs, unlabelled, multilabel=multilabel)
        named = counter.total(multilabel=multilabel)
        counter.clear()
        reading = {
            "token_rule": rule, "n_jobs": n_jobs, "source": learnt_section(source),
            "text_hashes": hashes and hashes.total(multilabel=multilabel),
        }  # fmt: skip
        report = {"resumed_at": resumed, "runs_written": counter.n_spilled, "pruned_terms": counter.n_pruned}
        report = {name: value for name, value in report.items() if value}
        report |= {"pruned_below_df": counter.min_df} if counter.n_pruned else {}
        report |= {"without_hashes": True} if hashes and hashes.given_up else {}
        passes = None
        if second_pass:
            from unnaive.scaleout.sharding import Rereading  # it needs SciPy, which other models do not

            passes = Rereading(source, rule, named.classes, multilabel, n_jobs, resources.scratch).learn
        target_type = "sets" if multilabel else "single"
        yield TrainingData(target_type, named, passes=passes, reading=reading, report=report).checked()
        if resources.checkpoint is not None:
            resources.checkpoint.remove(counter)


class LearntHashes:
    """Hashes of texts by batch; those of unlabelled documents separately, until it is known whether they count.

    memory  memory limit of the process; if the hashes exceed a small share of it, none are kept (`given_up`)
    """

    def __init__(self, memory: int | None = None) -> None:
        self._most = None if memory is None else memory // (HASHES_SHARE * SIZE)
        self.clear()

    def clear(self) -> None:
        """Start again."""
        self._labelled: list[NDArray[np.uint64]] = []
        self._unlabelled: list[NDArray[np.uint64]] = []
        self.n_texts = 0

    @property
    def given_up(self) -> bool:
        """Whether there were more texts than fit in the memory."""
        return self._most is not None and self.n_texts > self._most

    def add(self, texts: Any, labels: Sequence[tuple[Any, ...]]) -> None:
        """Add the hashes of some documents."""
        self.n_texts += len(labels)
        if self.given_up:
            self._labelled, self._unlabelled = [], []
            return
        hashes = hashes_of(texts)
        has_label = np.fromiter(map(bool, labels), np.bool_, len(labels))
        self._labelled.append(hashes[has_label])
        self._unlabelled.append(hashes[~has_label])

    def total(self, *, multilabel: bool) -> TextHashes | None:
        """The hashes of all learnt documents; None if there were too many."""
        if self.given_up:
            return None
        parts = [*self._labelled, *(self._unlabelled if multilabel else ())]
        return TextHashes(np.sort(np.concatenate([np.zeros(0, np.uint64), *parts])))


def learnt_columns(source: DataFile) -> Columns | None:
    """The columns that a model stores about its training data; None for a folder with a folder for each class."""
    log = source.options.log
    if log.format == "folder" and log.files == 1:
        log.columns = None
    return log.columns and replace(log.columns, separator=source.separator)


def learnt_section(source: DataFile) -> SourceSection | None:
    """The same for the model."""
    columns = learnt_columns(source)
    return None if columns is None else columns.section()


def _scratch_folder(resources: Resources, stack: ExitStack) -> Path | None:
    if resources.checkpoint is not None:
        return resources.checkpoint.folder
    if resources.memory is None:
        return None
    return stack.enter_context(scratch_folder(resources.scratch))


def count_source(
    counter: Accumulator,
    source: DataFile,
    checkpoint: Checkpoint | None,
    on_documents: OnDocuments | None = None,
    after_batch: Callable[[], None] = lambda: None,
) -> int:
    """Count all documents of a source, from the checkpoint; returns the number of rows in it.

    `on_documents` is called with them in the reading thread, `after_batch` after some were counted.
    """
    rows = resumed = 0 if checkpoint is None else checkpoint.open(counter)
    held = 0
    with read_ahead(_shown(_skip_rows(source, rows), on_documents)) as batches:
        for texts, labels in batches:
            counter.add(texts, labels)
            after_batch()
            rows += len(labels)
            held += text_bytes(texts)
            if checkpoint is not None and held >= checkpoint.every:
                checkpoint.save(counter, rows)
                held = 0
    return resumed


def _skip_rows(source: DataFile, rows: int) -> Iterator[LabelledTexts]:
    """The documents of a source without the first `rows`."""
    at = 0
    for batch in source.batches(labelled=True):
        size = len(batch.labels)
        if at + size > rows:
            first = max(rows - at, 0)
            yield (batch.texts, batch.labels) if not first else (batch.texts[first:], batch.labels[first:])
        at += size
    if at < rows:
        raise UnnaiveError(
            f"{source.name} has {at:,} rows, and the checkpoint was written after {rows:,}; remove the "
            "checkpoint to start again"
        )


def _shown(batches: Iterator[LabelledTexts], on_documents: OnDocuments | None) -> Iterator[LabelledTexts]:
    """The same batches, each passed to `on_documents` first."""
    for texts, labels in batches:
        if on_documents is not None:
            on_documents(texts, labels)
        yield texts, labels


def text_bytes(texts: Any) -> int:
    """The size of the texts in bytes."""
    return int(texts.offsets[-1] - texts.offsets[0]) if isinstance(texts, TextBuffer) else sum(map(len, texts))


def is_multilabel(source: DataFile, counter: Accumulator) -> bool:
    """Whether documents may have any number of labels: by the options, or by some document."""
    return bool(source.multilabel) or counter.n_multilabel > 0
