"""A data file of any size → FittedModel in bounded memory, for models that learn from counts.

Batches are read and decoded in one thread and counted by the kernel's; sums are merged as they come, or written to
disk. The model is the one that `TextClassifier.fit` makes of all documents at once: its file has the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.data.memory import return_large_blocks
from unnaive.data.sums import UNLABELLED
from unnaive.data.text_hashes import TextHashes
from unnaive.data.text_hashes import hash_texts as hashes_of
from unnaive.io.columns import Columns
from unnaive.io.datafiles import DataFile
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import check_spec, train_from_counts, warn_about_lone_terms
from unnaive.learning.tuned_models import TUNED_FROM
from unnaive.scaleout.checkpoint import Checkpoint
from unnaive.scaleout.counting import DocumentCounter
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead
from unnaive.text.buffer import TextBuffer
from unnaive.text.tokens import TokenRule

Documents = tuple[Any, Sequence[tuple[Any, ...]]]  # texts and their label sets
OnDocuments = Callable[[Any, Sequence[tuple[Any, ...]]], None]


@dataclass(frozen=True)
class Resources:
    """What training may use.

    memory      bytes that the program may take, roughly; None for what it needs
    scratch     where runs are written when memory is full; the system's folder for temporary files by default
    checkpoint  where to record how far it came, and to go on from
    """

    memory: int | None = None
    scratch: Path | None = None
    checkpoint: Checkpoint | None = None


@dataclass
class Report:
    """What became of the documents: how many, what was left out, what was written to disk on the way."""

    documents: int = 0
    resumed_at: int = 0
    runs_written: int = 0
    pruned_terms: int = 0
    pruned_below_df: int = 1
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without those that say nothing."""
        found = {"resumed_at": self.resumed_at, "runs_written": self.runs_written, "pruned_terms": self.pruned_terms}
        shown: dict[str, Any] = {name: value for name, value in found.items() if value}
        shown |= {"notes": self.notes} if self.notes else {}
        return shown | ({"pruned_below_df": self.pruned_below_df} if self.pruned_terms else {})


class NeedsDocuments(Exception):
    """The documents turned out to be multilabel, whose thresholds are tuned on the documents themselves."""


def train_stream(
    spec: TrainingSpec,
    source: DataFile,
    rule: TokenRule,
    *,
    n_jobs: int | None = None,
    resources: Resources | None = None,
    hash_texts: bool = False,
    on_counted: Callable[[int], None] = lambda n_docs: None,
) -> tuple[FittedModel, Report]:
    """Learn from all documents of a source, a batch at a time.

    With `hash_texts` the model keeps short hashes of its texts. NeedsDocuments where thresholds are to be tuned.
    """
    check_spec(spec)
    return_large_blocks()
    resources = resources or Resources()
    with ExitStack() as stack:
        folder = _scratch_folder(resources, stack)
        counter = DocumentCounter(rule, counting_threads(n_jobs), resources.memory, folder)
        source = in_small_blocks(source, n_jobs)
        report, hashes = Report(), LearntHashes()
        on_documents = hashes.add if hash_texts else None
        count_source(counter, source, resources.checkpoint, report, on_documents, _refuse_tuning(spec, source, counter))
        check_counted(source, counter)
        multilabel = is_multilabel(source, counter)
        named = counter.total(multilabel=multilabel)
        counter.clear()
        report.documents = int(named.counts.n_docs)
        report.runs_written = counter.n_spilled
        report.pruned_terms, report.pruned_below_df = counter.n_pruned, counter.min_df
        warn_about_lone_terms(named)
        on_counted(report.documents)
        fitted = train_from_counts(spec, named, "sets" if multilabel else "single", token_rule=rule, n_jobs=n_jobs)
        if resources.checkpoint is not None:
            resources.checkpoint.remove(counter)
    found = hashes.total(multilabel=multilabel) if hash_texts else None
    return replace(fitted, columns=learnt_columns(source), text_hashes=found), report


class LearntHashes:
    """Hashes of texts, batch by batch; those of documents without a label apart, until it is known what they are."""

    def __init__(self) -> None:
        self._labelled: list[NDArray[np.uint64]] = []
        self._unlabelled: list[NDArray[np.uint64]] = []

    def add(self, texts: Any, labels: Sequence[tuple[Any, ...]]) -> None:
        """The hashes of some documents."""
        found = hashes_of(texts)
        has_label = np.fromiter(map(bool, labels), np.bool_, len(labels))
        self._labelled.append(found[has_label])
        self._unlabelled.append(found[~has_label])

    def clear(self) -> None:
        """Start anew."""
        self._labelled, self._unlabelled = [], []

    def total(self, *, multilabel: bool) -> TextHashes:
        """Of all documents that were learnt."""
        parts = [*self._labelled, *(self._unlabelled if multilabel else ())]
        return TextHashes(np.sort(np.concatenate([np.zeros(0, np.uint64), *parts])))


def learnt_columns(source: DataFile) -> Columns | None:
    """The columns that a model remembers of the data that it was trained on; a folder for each class has none."""
    log = source.options.log
    if log.format == "folder" and log.files == 1:
        log.columns = None
    return log.columns and replace(log.columns, separator=source.separator)


def _scratch_folder(resources: Resources, stack: ExitStack) -> Path | None:
    if resources.checkpoint is not None:
        return resources.checkpoint.folder
    if resources.memory is None:
        return None
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".unnaive-", dir=resources.scratch)))


def _refuse_tuning(spec: TrainingSpec, source: DataFile, counter: DocumentCounter) -> Callable[[], None]:
    """Called after each batch: whether this data can be learnt from sums alone shows with the first label sets."""

    def check() -> None:
        if spec.decision is None and counter.n_docs >= TUNED_FROM and is_multilabel(source, counter):
            raise NeedsDocuments

    return check


def count_source(
    counter: DocumentCounter,
    source: DataFile,
    checkpoint: Checkpoint | None,
    report: Report,
    on_documents: OnDocuments | None = None,
    after_batch: Callable[[], None] = lambda: None,
) -> None:
    """Count all documents of a source, from where the checkpoint says.

    `on_documents` is told of them in the thread that reads, `after_batch` is called when some were counted.
    """
    rows = report.resumed_at = 0 if checkpoint is None else checkpoint.open(counter)
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


def _skip_rows(source: DataFile, rows: int) -> Iterator[Documents]:
    """The documents of a source without the first `rows`."""
    at = 0
    for batch in source.batches(labelled=True):
        size = len(batch.labels)
        if at + size > rows:
            first = max(rows - at, 0)
            yield (batch.texts, batch.labels) if not first else (batch.texts[first:], batch.labels[first:])
        at += size
    if at < rows:
        raise UnnaiveError(f"{source.name} has {at:,} rows, and the checkpoint is of {rows:,}; remove it to start anew")


def _shown(batches: Iterator[Documents], on_documents: OnDocuments | None) -> Iterator[Documents]:
    """The same batches, each shown to `on_documents` first."""
    for texts, labels in batches:
        if on_documents is not None:
            on_documents(texts, labels)
        yield texts, labels


def text_bytes(texts: Any) -> int:
    """The size of some texts."""
    return int(texts.offsets[-1] - texts.offsets[0]) if isinstance(texts, TextBuffer) else sum(map(len, texts))


def is_multilabel(source: DataFile, counter: DocumentCounter) -> bool:
    """Whether documents may have any number of labels: the options say so, or some document shows it."""
    return bool(source.multilabel) or counter.n_multilabel > 0


def check_counted(source: DataFile, counter: DocumentCounter) -> None:
    """The errors and warnings about all documents together, as `DataFile.corpus` and `TextClassifier.fit` have them."""
    labels = [label for label in counter.codes.labels if label != UNLABELLED]
    multilabel = is_multilabel(source, counter)
    source.warn_about_labels(
        labels, counter.n_docs, 0 if multilabel else counter.n_unlabelled, multilabel=multilabel
    )  # fmt: skip
    if not labels:
        raise BadData("no document has a label; a classifier needs labels to learn from")
    if not multilabel and len(labels) < 2:
        raise BadData(f"every document has the label {labels[0]!r}; a classifier needs at least two classes")
    if not counter.has_terms:
        raise BadData(
            f"none of the {count_noun(counter.n_docs, 'text')} has a term to learn from; check the column and the "
            "settings"
        )
