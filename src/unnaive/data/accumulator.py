"""The accumulator sums batches of labelled texts; when memory is full, it writes the sums to disk as runs.

The sums are integers, so the result does not depend on batches or runs. On Spark each partition has its own
accumulator, and its sums are sent between machines as runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.system_memory import return_small_blocks
from unnaive.base.types import Label
from unnaive.data.arrays import StoredMatrix, stored
from unnaive.data.count_tables import take_rows
from unnaive.data.counts import Counts
from unnaive.data.memory import table_budget, table_bytes
from unnaive.data.named_counts import NamedCounts
from unnaive.data.run_folders import TermCost, find_min_df, load_run, merge_folders, write_run
from unnaive.data.running_sums import RunningSums
from unnaive.data.sorted_runs import Run
from unnaive.data.targets import sorted_classes
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

LETTERS = 10  # letters assumed for each word of a term
MOST_RUNS = 16  # number of runs on disk at which they are merged into one
UNLABELLED = None  # the class of documents without a label, until it is clear how to treat them


class LabelCodes:
    """Labels ↔ numbers in the order of first occurrence.

    >>> codes = LabelCodes()
    >>> codes.matrix([("b",), (), ("a", "b")]).tocsr().toarray(), codes.labels
    (array([[1, 0, 0],
           [0, 1, 0],
           [1, 0, 1]]), ['b', None, 'a'])
    """

    def __init__(self, labels: Sequence[Label] = ()) -> None:
        self._code: dict[Any, int] = {label: code for code, label in enumerate(labels)}

    @property
    def labels(self) -> list[Any]:
        """The labels, in the order of their numbers."""
        return list(self._code)

    def __len__(self) -> int:
        return len(self._code)

    def matrix(self, label_sets: Sequence[tuple[Any, ...]], *, mark_unlabelled: bool = True) -> StoredMatrix:
        """Y (n_docs, labels so far); a document without a label gets the class UNLABELLED, or an empty row."""
        code = self._code
        nothing = (UNLABELLED,) if mark_unlabelled else ()
        # many documents share few distinct label sets
        places = {
            names: tuple(code.setdefault(name, len(code)) for name in names or nothing)
            for names in dict.fromkeys(label_sets)
        }
        rows = [places[names] for names in label_sets]
        columns = list(chain.from_iterable(rows))
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes)]).astype(np.int32)
        indices = np.array(columns, np.int32)
        return StoredMatrix(np.ones(len(indices), np.int64), indices, ends, (len(label_sets), len(code)))


class Accumulator:
    """Sum batches of texts with their label sets, in bounded memory.

    rule, threads  the token rule, and the number of threads that apply it
    memory         the memory limit of the whole program, in bytes; None for no limit
    folder         where runs are written; needed with `memory` and for checkpoints
    cost           memory of a model per term; `weight_bytes` are added for every pair of class and term, seen or not

    >>> counter = Accumulator(TokenRule())
    >>> counter.add(["good ball", "fair vote"], [("sport",), ("politics",)])
    >>> counter.add(["good game"], [("sport",)])
    >>> counter.total(multilabel=False).counts.n_docs, counter.n_docs
    (np.int64(3), 3)
    """

    def __init__(
        self,
        rule: TokenRule,
        threads: int | None = None,
        memory: int | None = None,
        folder: Path | None = None,
        *,
        cost: TermCost | None = None,
        weight_bytes: int = 0,
    ) -> None:
        self.rule, self.threads, self.memory, self.folder = rule, threads, memory, folder
        self._cost, self._weight_bytes = cost or TermCost(), weight_bytes
        self._budget = table_budget(memory)
        self.codes = LabelCodes()
        self.runs: list[str] = []
        self._next_run = 1
        self.n_docs = self.n_unlabelled = self.n_multilabel = self.n_spilled = 0
        self.has_terms = False
        self.min_df, self.n_pruned = 1, 0
        self._start()

    def _start(self) -> None:
        self._counter = TextCounter(self.rule, threads=self.threads)
        self._sums = RunningSums(dense=self.memory is None)
        self._n_terms = 0

    @property
    def labels(self) -> list[Any]:
        """The labels so far, in the order of first occurrence."""
        return [label for label in self.codes.labels if label is not UNLABELLED]

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms counted in memory."""
        return self._counter.vocabulary

    def add(self, texts: Any, label_sets: Sequence[tuple[Any, ...]]) -> None:
        """Count a batch of documents."""
        if not len(label_sets):
            return
        X = StoredMatrix(*self._counter.count_arrays(texts, grow=True), canonical=True)
        Y = self.codes.matrix(label_sets)
        self._n_terms = X.shape[1]
        self.has_terms = self.has_terms or X.nnz > 0
        self.n_docs += len(label_sets)
        sizes = np.fromiter(map(len, label_sets), np.int64, len(label_sets))
        self.n_unlabelled += int((sizes == 0).sum())
        self.n_multilabel += int((sizes > 1).sum())
        self._sums.add(X, Y)
        letters = LETTERS * self.rule.ngrams[1] * self._n_terms
        if self._budget is not None and table_bytes(self._n_terms, letters, self._sums.n_cells) > self._budget:
            self.n_spilled += 1
            self.write_run()

    def write_run(self) -> None:
        """Write the sums in memory to disk as a run; if there are MOST_RUNS already, merge them into one."""
        counts = self._sums.total()
        if counts.n_docs:
            counts, vocabulary = counts.grown(len(self.codes), self._n_terms), self.vocabulary
            self._start()  # free the sums first: writing the run needs memory too
            write_run(self._new_run(), counts, vocabulary)
            del counts, vocabulary
            return_small_blocks()  # otherwise the fragmented heap stays in memory beside the next table
        if len(self.runs) > MOST_RUNS:
            self._merge()

    def _new_run(self) -> Path:
        name = f"run-{self._next_run:06d}"
        self._next_run += 1
        self.runs.append(name)
        return self._folder() / name

    def _folder(self) -> Path:
        if self.folder is None:
            raise RuntimeError("runs need a folder")
        return self.folder

    def _merge(self) -> None:
        before, self.runs = self.runs, []
        merge_folders([self._folder() / name for name in before], self._new_run())

    def remove_stale_runs(self) -> None:
        """Remove runs that were merged into others, and runs that an interrupted program left incomplete."""
        for path in self._folder().glob("run-*"):
            if path.name not in self.runs:
                shutil.rmtree(path, ignore_errors=True)

    def state(self) -> dict[str, Any]:
        """The state that `restore` needs besides the runs, as JSON values. All sums must be on disk."""
        return {
            "labels": self.codes.labels, "runs": self.runs, "next_run": self._next_run, "n_docs": self.n_docs,
            "n_unlabelled": self.n_unlabelled, "n_multilabel": self.n_multilabel, "n_spilled": self.n_spilled,
            "has_terms": self.has_terms,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.codes = LabelCodes(state["labels"])
        self.runs, self._next_run = list(state["runs"]), state["next_run"]
        for name in ("n_docs", "n_unlabelled", "n_multilabel", "n_spilled", "has_terms"):
            setattr(self, name, state[name])

    def total(self, *, multilabel: bool) -> NamedCounts:
        """The sums over all documents, with names.

        If the model of all terms would not fit in memory, rare terms are dropped by the rule of `find_min_df`; `min_df`
        and `n_pruned` report the limit and the number of dropped terms.
        """
        counts, vocabulary = self._sums.total(), self.vocabulary
        letters, cells = len(vocabulary.to_arrays()[0]), stored(counts, "class_terms").nnz
        # with or without runs, check whether the model fits: the same sums must give the same model
        needed = self._term_cost().of(len(vocabulary), letters, cells)
        if self.runs or (self._budget is not None and needed > self._budget):
            del counts, vocabulary
            counts, vocabulary = self._load_runs()
        return name_counts(counts, self.codes.labels, vocabulary, multilabel=multilabel)

    def _term_cost(self) -> TermCost:
        return self._cost._replace(term=self._cost.term + self._weight_bytes * len(self.codes))

    def run(self) -> Run:
        """The sums in memory as a run, to be merged on another machine."""
        counts = self._sums.total().grown(len(self.codes), self._n_terms)
        return Run.of(counts, self.vocabulary, self.codes.labels)

    def clear(self) -> None:
        """Drop the terms and sums in memory after handing them over."""
        self._start()

    def _load_runs(self) -> tuple[Counts, Vocabulary]:
        self.write_run()
        if len(self.runs) > 1:
            self._merge()
        run = self._folder() / self.runs[0]
        self.min_df, self.n_pruned = find_min_df(run, self._budget, self._term_cost())
        return load_run(run, len(self.codes), self.min_df)


def name_counts(counts: Counts, labels: Sequence[Any], vocabulary: Vocabulary, *, multilabel: bool) -> NamedCounts:
    """Name the sums, with the classes sorted.

    In multilabel data, documents without a label belong to no class. In single-label data they are left out, together
    with terms that occur only in them.
    """
    counts = counts.grown(len(labels), len(vocabulary))
    if UNLABELLED in labels:
        counts, vocabulary = _without_unlabelled(counts, labels.index(UNLABELLED), vocabulary, multilabel)
        labels = [label for label in labels if label is not UNLABELLED]
    classes = sorted_classes(labels)
    code = {label: row for row, label in enumerate(labels)}
    rows = np.array([code[label] for label in classes], np.int64)
    if not np.array_equal(rows, np.arange(len(rows))):
        counts = _reorder_classes(counts, rows)
    return NamedCounts(classes, vocabulary, counts)


def _without_unlabelled(
    counts: Counts, row: int, vocabulary: Vocabulary, multilabel: bool
) -> tuple[Counts, Vocabulary]:
    others = np.delete(np.arange(counts.n_classes), row)
    if multilabel:
        return _reorder_classes(counts, others), vocabulary
    alone = counts.class_terms[[row], :].toarray()[0], counts.class_df[[row], :].toarray()[0]
    terms, df = counts.terms - alone[0], counts.df - alone[1]
    columns = np.flatnonzero(df > 0)
    n_docs = counts.n_docs - counts.class_docs[row]
    remaining = _reorder_classes(
        Counts(n_docs, counts.class_docs, counts.class_terms, counts.class_df, terms, df), others
    )  # fmt: skip
    if len(columns) == len(vocabulary):
        return remaining, vocabulary
    return remaining.take_terms(columns), vocabulary.take(columns)


def _reorder_classes(counts: Counts, rows: NDArray[np.int64]) -> Counts:
    """The sums of the classes `rows`, in that order; corpus totals are unchanged."""
    class_terms, class_df = (take_rows(stored(counts, name), rows) for name in ("class_terms", "class_df"))
    return Counts(counts.n_docs, counts.class_docs[rows], class_terms, class_df, counts.terms, counts.df)
