"""Documents in batches → sums in bounded memory: counted in memory, written to disk as runs where that is full."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.data.arrays import StoredMatrix, stored
from unnaive.data.counts import Counts
from unnaive.data.memory import table_budget, table_bytes
from unnaive.data.named_counts import NamedCounts
from unnaive.data.runs import find_min_df, load_run, merge_runs, model_bytes, write_run
from unnaive.data.sums import LabelCodes, RunningSums, name_counts
from unnaive.text.counting import TextCounter
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

LETTERS = 10  # of a word, on average; of an n-gram, times its words
MOST_RUNS = 16  # on disk, before they are merged into one


class DocumentCounter:
    """Counts batches of texts with their label sets.

    rule, threads  how texts become terms
    memory         bytes that the whole program may take; None for any number
    folder         where runs are written; needed with `memory` and for checkpoints

    >>> counter = DocumentCounter(TokenRule())
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
    ) -> None:
        self.rule, self.threads, self.memory, self.folder = rule, threads, memory, folder
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
    def vocabulary(self) -> Vocabulary:
        """The terms that are in memory."""
        return self._counter.vocabulary

    def add(self, texts: Any, label_sets: Sequence[tuple[Any, ...]]) -> None:
        """Count some documents."""
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
        """Move what is in memory to disk; where there are many runs already, they become one."""
        counts = self._sums.total()
        if counts.n_docs:
            counts, vocabulary = counts.grown(len(self.codes), self._n_terms), self.vocabulary
            self._start()  # before the run is written, which takes memory of its own
            write_run(self._new_run(), counts, vocabulary)
            del counts, vocabulary
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
        merge_runs([self._folder() / name for name in before], self._new_run())

    def remove_stale_runs(self) -> None:
        """Remove runs that were merged into others, or that an interrupted program left half-written."""
        for path in self._folder().glob("run-*"):
            if path.name not in self.runs:
                shutil.rmtree(path, ignore_errors=True)

    def state(self) -> dict[str, Any]:
        """What `restore` needs, beside the runs: plain enough for JSON. Nothing may be left in memory."""
        return {
            "labels": self.codes.labels, "runs": self.runs, "next_run": self._next_run, "n_docs": self.n_docs,
            "n_unlabelled": self.n_unlabelled, "n_multilabel": self.n_multilabel, "n_spilled": self.n_spilled,
            "has_terms": self.has_terms,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.codes = LabelCodes(state["labels"])
        self.runs, self._next_run = list(state["runs"]), state["next_run"]
        for name in ("n_docs", "n_unlabelled", "n_multilabel", "n_spilled", "has_terms"):
            setattr(self, name, state[name])

    def total(self, *, multilabel: bool) -> NamedCounts:
        """The sums over all documents, with names.

        Where the model of all terms would not fit in memory, terms of few documents are left out, by the rule of
        `find_min_df`; `min_df` and `n_pruned` say how many.
        """
        counts, vocabulary = self._sums.total(), self.vocabulary
        letters, cells = len(vocabulary.to_arrays()[0]), stored(counts, "class_terms").nnz
        # runs or not, the same sums give the same model: both ask whether that fits
        if self.runs or (self._budget is not None and model_bytes(len(vocabulary), letters, cells) > self._budget):
            del counts, vocabulary
            counts, vocabulary = self._load_runs()
        return name_counts(counts, self.codes.labels, vocabulary, multilabel=multilabel)

    def clear(self) -> None:
        """Let go of the terms and sums in memory, which someone else has now."""
        self._start()

    def _load_runs(self) -> tuple[Counts, Vocabulary]:
        self.write_run()
        if len(self.runs) > 1:
            self._merge()
        run = self._folder() / self.runs[0]
        self.min_df, self.n_pruned = find_min_df(run, self._budget)
        return load_run(run, len(self.codes), self.min_df)
