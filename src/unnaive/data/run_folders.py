"""Runs on disk: written some terms at a time, merged block by block, read back; all in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.data.array_folder import ArrayWriter, StoredArray, open_stored
from unnaive.data.counts import Counts
from unnaive.data.runs import EMPTY, RunBlock, block_arrays, ordered_blocks, sum_blocks, sum_tables
from unnaive.text.vocabulary import Vocabulary

BLOCK_TERMS = 1 << 14  # terms of each run that are merged at a time
MODEL_TERM_BYTES = 88  # of a term while the model is made and written, beside its letters: measured, with some more
MODEL_LETTER_BYTES = 4  # of a letter of its
MODEL_CELL_BYTES = 60  # of a class and term that were seen together, likewise


class TermCost(NamedTuple):
    """What a model takes while it is made and written, in bytes: an upper estimate.

    >>> TermCost().of(1_000_000, 9_000_000, 2_000_000) >> 20
    232
    """

    term: int = MODEL_TERM_BYTES
    letter: int = MODEL_LETTER_BYTES
    cell: int = MODEL_CELL_BYTES

    def of(self, n_terms: Any, letters: Any, n_cells: Any) -> Any:
        """Of so many terms, which have so many letters and were seen with so many classes together."""
        return self.term * n_terms + self.letter * letters + self.cell * n_cells


def write_run(folder: Path, counts: Counts, vocabulary: Vocabulary) -> None:
    """The sums of whole numbers as a run: sorted and written some terms at a time, without a sorted copy of all."""
    order = vocabulary.order()
    ids = np.arange(counts.n_terms) if order is None else order
    groups = (ids[first : first + BLOCK_TERMS] for first in range(0, counts.n_terms, BLOCK_TERMS))
    _write(folder, ordered_blocks(counts, vocabulary, groups), int(counts.n_docs), counts.class_docs)


def _write(folder: Path, blocks: Iterable[RunBlock], n_docs: int, class_docs: NDArray[np.int64]) -> None:
    writer = ArrayWriter(folder)
    try:
        _append(writer, EMPTY)  # so that runs of documents without a term have all arrays too
        for block in blocks:
            _append(writer, block)
        writer.finish({"documents": n_docs, "class_docs": class_docs.tolist()})
    except BaseException:
        writer.abandon()
        raise


def _append(writer: ArrayWriter, block: RunBlock) -> None:
    for name, values in block_arrays(block).items():
        writer.append(name, values)


def open_run(folder: Path) -> tuple[dict[str, StoredArray], dict[str, Any]]:
    """The arrays of a run, to be read piece by piece, and what it is about; damage is an error that says how to go on.

    A run by itself cannot be removed: it is one of several that stand for the documents counted so far.
    """
    try:
        return open_stored(folder)
    except BadData as problem:
        reason = str(problem).partition("; ")[0]
        raise BadData(f"{reason}; remove the folder {folder.parent} and count again") from problem


def merge_folders(folders: Sequence[Path], target: Path) -> None:
    """One run of several, which stay where they are; all of them number classes alike."""
    opened = [open_run(folder) for folder in folders]
    class_docs = np.zeros(max(len(about["class_docs"]) for _, about in opened), np.int64)
    for _, about in opened:
        class_docs[: len(about["class_docs"])] += np.array(about["class_docs"], np.int64)
    merged = merge_blocks([_Cursor(arrays) for arrays, _ in opened], len(class_docs))
    _write(target, merged, sum(about["documents"] for _, about in opened), class_docs)


class _Cursor:
    """A run being read, a block at a time."""

    def __init__(self, arrays: dict[str, StoredArray]) -> None:
        self._arrays, self._terms, self._bytes, self._cells = arrays, 0, 0, 0
        self.block: RunBlock | None = None
        self._load()

    def _load(self) -> None:
        arrays, first = self._arrays, self._terms
        last = min(first + BLOCK_TERMS, len(arrays["terms"]))
        if first == last:
            self.block = None
            return
        lengths, sizes = (arrays[name].read(first, last).astype(np.int64) for name in ("lengths", "sizes"))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        bytes_, cells = self._bytes + int(ends[-1]), self._cells + int(sizes.sum())
        self.block = RunBlock(
            arrays["blob"].read(self._bytes, bytes_), ends, arrays["terms"].read(first, last),
            arrays["df"].read(first, last), sizes,
            *(arrays[name].read(self._cells, cells) for name in ("classes", "class_terms", "class_df")),
        )  # fmt: skip
        self._terms, self._bytes, self._cells = last, bytes_, cells

    def blocks(self) -> Iterator[RunBlock]:
        """All of the run."""
        while self.block is not None:
            yield self.block
            self._load()

    def take_up_to(self, term: bytes) -> RunBlock | None:
        """The terms that are loaded and not after `term`; more are loaded when there are none left."""
        if self.block is None:
            return None
        count = self.block.count_up_to(term)
        taken = self.block.take(0, count)
        self.block = self.block.take(count, len(self.block.terms))
        if not len(self.block.terms):
            self._load()
        return taken if count else None


def merge_blocks(cursors: Sequence[_Cursor], n_classes: int) -> Iterator[RunBlock]:
    """The terms of all runs in ascending order, each once, with its sums."""
    while True:
        # up to the last term that is loaded of every run, nothing can come in between any more
        loaded = [cursor.block for cursor in cursors if cursor.block is not None]
        if not loaded:
            return
        frontier = min(block.term(len(block.terms) - 1) for block in loaded)
        taken = [cursor.take_up_to(frontier) for cursor in cursors]
        yield sum_blocks([block for block in taken if block is not None], n_classes)


def load_run(folder: Path, n_classes: int, min_df: int = 1) -> tuple[Counts, Vocabulary]:
    """The sums of a run in memory, of terms in `min_df` documents or more."""
    arrays, about = open_run(folder)
    kept = [block.select(block.df >= min_df) for block in _Cursor(arrays).blocks()] or [EMPTY]
    class_docs = np.zeros(n_classes, np.int64)
    class_docs[: len(about["class_docs"])] = about["class_docs"]
    return sum_tables(kept, about["documents"], class_docs)


def find_min_df(folder: Path, budget: int | None, term_cost: TermCost) -> tuple[int, int]:
    """(the least number of documents that a term must be in for a model of the budget, how many terms have fewer).

    The rule depends on the sums alone, not on the order in which documents came: all terms of d documents or more are
    kept, with the smallest d for which the model fits. 1 keeps all of them.
    """
    if budget is None:
        return 1, 0
    limits, cost, terms = _cost_by_df(folder, term_cost)
    dropped = np.concatenate([np.zeros(1, np.int64), np.cumsum(terms)])  # terms of fewer documents than each limit
    left = int(cost.sum()) - np.concatenate([np.zeros(1, np.int64), np.cumsum(cost)])
    fits = np.flatnonzero(left[:-1] <= budget)
    if not len(fits):
        raise UnnaiveError(
            f"not even the terms of {int(limits[-1]):,} documents or more fit in the memory allowed; give more with "
            "--memory, or a model of fewer classes"
        )
    place = fits[0]
    # terms of as many documents as the limit before are the last ones to go
    return 1 if not place else int(limits[place - 1]) + 1, int(dropped[place])


def _cost_by_df(folder: Path, term_cost: TermCost) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(the numbers of documents that terms are in, ascending; what all terms of each cost; how many there are)."""
    arrays, _ = open_stored(folder)
    found = np.zeros((3, 0), np.int64)
    for first in range(0, len(arrays["df"]), BLOCK_TERMS):
        last = min(first + BLOCK_TERMS, len(arrays["df"]))
        df, lengths, sizes = (arrays[name].read(first, last).astype(np.int64) for name in ("df", "lengths", "sizes"))
        cost = term_cost.of(1, lengths, sizes)
        more = np.concatenate([found, [df, cost, np.ones(len(df), np.int64)]], axis=1)
        values, place = np.unique(more[0], return_inverse=True)
        found = np.zeros((3, len(values)), np.int64)
        found[0] = values
        for row in (1, 2):
            np.add.at(found[row], place, more[row])
    return found[0], found[1], found[2]
