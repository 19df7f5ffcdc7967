"""A data file of any size → FittedModel, for models that learn from documents: counted once into a cache on disk.

The learner gets X as a memory map, in the type and with the columns that it has in memory, so the model is the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.base.types import Progress
from unnaive.data.memory import return_large_blocks, table_budget, table_bytes
from unnaive.data.sums import LabelCodes
from unnaive.data.targets import refuse_one_class
from unnaive.io.columns import Columns
from unnaive.io.datafiles import DataFile
from unnaive.io.sources import STDIN
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import check_spec, train
from unnaive.scaleout.cache import CachedMatrix, MatrixWriter, find_matrix, open_matrix
from unnaive.scaleout.checkpoint import fingerprint
from unnaive.scaleout.counting import LETTERS
from unnaive.scaleout.read_ahead import counting_threads, in_small_blocks, read_ahead
from unnaive.scaleout.scratch import arrays_on_disk
from unnaive.scaleout.streaming import LearntHashes, Report, Resources, learnt_columns
from unnaive.text.buffer import TextBuffer
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule


class _KeepUnlabelled(Exception):
    """The data is multilabel after all, so documents without a label, which were left out, belong to it."""

    def __init__(self, n_dropped: int) -> None:
        super().__init__()
        self.n_dropped = n_dropped


def train_cached(
    spec: TrainingSpec,
    source: DataFile,
    rule: TokenRule,
    *,
    n_jobs: int | None = None,
    resources: Resources | None = None,
    keep: Path | None = None,
    progress: Progress | None = None,
    hash_texts: bool = False,
    on_counted: Callable[[int], None] = lambda n_docs: None,
) -> tuple[FittedModel, Report]:
    """Learn from all documents of a source through a matrix on disk.

    `keep` is a folder for the matrix: one that is there of the same data is used again, and it stays there. Without it
    the matrix is removed at the end.
    """
    check_spec(spec)
    return_large_blocks()
    resources = resources or Resources()
    of = {} if keep is None else fingerprint(source, rule)
    report = Report()
    hashes = LearntHashes() if hash_texts and keep is None else None  # a matrix that is used again comes without texts
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix=".unnaive-", dir=resources.scratch) if keep is None else None
        folder = (keep if temporary is None else Path(stack.enter_context(temporary))) / "matrix"  # type: ignore[operator]
        cached = None if keep is None else find_matrix(folder, of)
        if cached is None:
            cached = _count_source(source, _Counting(rule, n_jobs, resources.memory, folder, of), hashes)
        else:
            report.notes.append(f"the counted matrix of the same data is taken from {keep}")
            log = source.options.log
            log.source, log.columns, log.rows = source.name, Columns.from_dict(cached.of["columns"]), cached.X.shape[0]
        stack.enter_context(arrays_on_disk(resources.scratch))  # what learners make of the matrix is as large as it is
        targets = cached.targets(multilabel=cached.multilabel)
        refuse_one_class(targets)
        report.documents = cached.X.shape[0]
        on_counted(report.documents)
        fitted = train(
            spec, cached.X, targets, vocabulary=cached.vocabulary, token_rule=rule, n_jobs=n_jobs, progress=progress,
            tune=True, units=cached.units,
        )  # fmt: skip
    found = None if hashes is None else hashes.total(multilabel=True)
    return replace(fitted, columns=learnt_columns(source), text_hashes=found), report


@dataclass(frozen=True)
class _Counting:
    """How documents become a matrix on disk, and where."""

    rule: TokenRule
    threads: int | None
    memory: int | None
    folder: Path
    of: dict[str, Any]


def _count_source(source: DataFile, counting: _Counting, hashes: LearntHashes | None) -> CachedMatrix:
    """Count the documents; from the start again where some without a label turn out to belong to multilabel data."""
    try:
        return _count(source, counting, hashes, multilabel=bool(source.multilabel))
    except _KeepUnlabelled as found:
        if STDIN in source.files():
            raise BadData(
                f"stdin has {count_noun(found.n_dropped, 'document')} without a label before the first with several, "
                "and cannot be read a second time; put the data into a file"
            ) from None
        if hashes is not None:
            hashes.clear()
        return _count(source, counting, hashes, multilabel=True)


def _count(source: DataFile, how: _Counting, hashes: LearntHashes | None, *, multilabel: bool) -> CachedMatrix:
    """The matrix of a source. Unless `multilabel`, documents without a label are left out, as they are in memory."""
    counter, codes = TextCounter(how.rule, threads=counting_threads(how.threads)), LabelCodes()
    budget, n_docs, n_dropped = table_budget(how.memory), 0, 0
    writer = MatrixWriter(how.folder)
    try:
        with read_ahead(in_small_blocks(source, how.threads).batches(labelled=True)) as batches:
            for batch in batches:
                texts, labels = batch.texts, batch.labels
                several = any(len(names) > 1 for names in labels)
                if several and n_dropped and not multilabel:
                    raise _KeepUnlabelled(n_dropped)
                multilabel = multilabel or several
                if not multilabel and not all(labels):
                    texts, labels = _labelled(texts, labels)
                    n_dropped += len(batch.labels) - len(labels)
                if hashes is not None:
                    hashes.add(texts, labels)
                X, units = counter.count_with_units(texts)
                writer.add(X, codes.matrix(labels, unlabelled=None).tocsr(), units)
                n_docs += len(labels)
                _check_room(X.shape[1], how.rule, budget)
        source.warn_about_labels(codes.labels, n_docs + n_dropped, n_dropped, multilabel=multilabel)
        if not writer.n_entries:
            raise BadData(
                f"none of the {count_noun(n_docs, 'text')} has a term to learn from; check the column and the settings"
            )
        columns = learnt_columns(source)
        about = how.of | {"columns": columns and columns.to_dict(), "multilabel": multilabel}
        writer.finish(counter.vocabulary, codes.labels, about)
    except BaseException:
        writer.abandon()
        raise
    return open_matrix(how.folder)


def _labelled(texts: Any, labels: Sequence[tuple[Any, ...]]) -> tuple[Any, list[tuple[Any, ...]]]:
    """The documents that have a label."""
    rows = np.array([row for row, names in enumerate(labels) if names], np.int64)
    kept = texts.take(rows) if isinstance(texts, TextBuffer) else [texts[row] for row in rows]
    return kept, [labels[row] for row in rows]


def _check_room(n_terms: int, rule: TokenRule, budget: int | None) -> None:
    if budget is not None and table_bytes(n_terms, LETTERS * rule.ngrams[1] * n_terms, 0) > budget:
        raise UnnaiveError(
            f"there are more than {n_terms:,} terms, which do not fit in the memory allowed; give more with --memory, "
            "shorter --ngrams, or a model that learns from counts, such as multinomial"
        )
