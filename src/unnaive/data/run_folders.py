"""Runs on disk, in bounded memory: written in blocks of terms, merged block by block, read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.data.array_folder import ArrayWriter, StoredArray, open_stored
from unnaive.data.counts import Counts
from unnaive.data.sorted_runs import EMPTY, RunBlock, block_arrays, ordered_blocks, sum_blocks, sum_tables
from unnaive.text.vocabulary import Vocabulary

BLOCK_TERMS = 1 << 14  # terms that are sorted and written at a time
MERGED_TERMS = 1 << 16  # terms of all runs that are merged at a time
MODEL_TERM_BYTES = 88  # per term while the model is built and written, besides its letters: measured, with a margin
MODEL_LETTER_BYTES = 4  # per letter of a term
MODEL_CELL_BYTES = 60  # per class and term seen together, likewise


class TermCost(NamedTuple):
    """An upper estimate of the memory of a model while it is built and written, in bytes.

    >>> TermCost().of(1_000_000, 9_000_000, 2_000_000) >> 20
    232
    """

    term: int = MODEL_TERM_BYTES
    letter: int = MODEL_LETTER_BYTES
    cell: int = MODEL_CELL_BYTES

    def of(self, n_terms: Any, letters: Any, n_cells: Any) -> Any:
        """The bytes for this number of terms, their letters, and the pairs of class and term that were seen."""
        return self.term * n_terms + self.letter * letters + self.cell * n_cells


def write_run(folder: Path, counts: Counts, vocabulary: Vocabulary) -> None:
    """Write integer sums as a run, sorted and written in blocks of terms, without a sorted copy of everything."""
    order = vocabulary.order()
    ids = np.arange(counts.n_terms) if order is None else order
    groups = (ids[first : first + BLOCK_TERMS] for first in range(0, counts.n_terms, BLOCK_TERMS))
    _write(folder, ordered_blocks(counts, vocabulary, groups), int(counts.n_docs), counts.class_docs)


def _write(folder: Path, blocks: Iterable[RunBlock], n_docs: int, class_docs: NDArray[np.int64]) -> None:
    writer = ArrayWriter(folder)
    try:
        _append(writer, EMPTY)  # runs of documents without terms also need all arrays
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
    """Return (the arrays of a run, for reading block by block, and its metadata); the error for a damaged run says what
    to do.

    A single run cannot be discarded: it is one of several that together represent the documents counted so far.
    """
    try:
        return open_stored(folder)
    except BadData as problem:
        reason = str(problem).partition("; ")[0]
        raise BadData(f"{reason}; remove the folder {folder.parent} and count again") from problem


def merge_folders(folders: Sequence[Path], target: Path) -> None:
    """Merge runs into one; all must number the classes alike. The input runs are kept."""
    opened = [open_run(folder) for folder in folders]
    class_docs = np.zeros(max(len(about["class_docs"]) for _, about in opened), np.int64)
    for _, about in opened:
        class_docs[: len(about["class_docs"])] += np.array(about["class_docs"], np.int64)
    at_once = max(1, MERGED_TERMS // len(opened))
    merged = merge_blocks([_Cursor(arrays, at_once) for arrays, _ in opened], len(class_docs))
    _write(target, merged, sum(about["documents"] for _, about in opened), class_docs)


class _Cursor:
    """A run being read in blocks of `at_once` terms."""

    def __init__(self, arrays: dict[str, StoredArray], at_once: int) -> None:
        self._arrays, self._at_once, self._terms, self._bytes, self._cells = arrays, at_once, 0, 0, 0
        self.block: RunBlock | None = None
        self._load()

    def _load(self) -> None:
        arrays, first = self._arrays, self._terms
        last = min(first + self._at_once, len(arrays["terms"]))
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
        """Yield all blocks of the run."""
        while self.block is not None:
            yield self.block
            self._load()

    def take_up_to(self, term: bytes) -> RunBlock | None:
        """Take the loaded terms up to and including `term`; load more if none are left."""
        if self.block is None:
            return None
        count = self.block.count_up_to(term)
        taken = self.block.take(0, count)
        self.block = self.block.take(count, len(self.block.terms))
        if not len(self.block.terms):
            self._load()
        return taken if count else None


def merge_blocks(cursors: Sequence[_Cursor], n_classes: int) -> Iterator[RunBlock]:
    """Yield the terms of all runs in ascending order, each once, with its sums."""
    while True:
        # up to the smallest of the runs' last loaded terms, no further term can come in between
        loaded = [cursor.block for cursor in cursors if cursor.block is not None]
        if not loaded:
            return
        frontier = min(block.term(len(block.terms) - 1) for block in loaded)
        taken = [cursor.take_up_to(frontier) for cursor in cursors]
        yield sum_blocks([block for block in taken if block is not None], n_classes)


def load_run(folder: Path, n_classes: int, min_df: int = 1) -> tuple[Counts, Vocabulary]:
    """Load the sums of a run, of terms in at least `min_df` documents."""
    arrays, about = open_run(folder)
    blocks = [block.select(block.df >= min_df) for block in _Cursor(arrays, BLOCK_TERMS).blocks()] or [EMPTY]
    class_docs = np.zeros(n_classes, np.int64)
    class_docs[: len(about["class_docs"])] = about["class_docs"]
    return sum_tables(blocks, about["documents"], class_docs)


def find_min_df(folder: Path, budget: int | None, term_cost: TermCost) -> tuple[int, int]:
    """Return (the smallest min_df for which the model fits in the budget, the number of terms dropped).

    The rule depends only on the sums, not on the order of the documents: a term is kept if it is in at least min_df
    documents. min_df is 1 if all terms fit.
    """
    if budget is None:
        return 1, 0
    limits, cost, terms = _cost_by_df(folder, term_cost)
    # number of terms with a document frequency below each limit
    dropped = np.concatenate([np.zeros(1, np.int64), np.cumsum(terms)])
    left = int(cost.sum()) - np.concatenate([np.zeros(1, np.int64), np.cumsum(cost)])
    fits = np.flatnonzero(left[:-1] <= budget)
    if not len(fits):
        raise UnnaiveError(
            f"even the terms in at least {int(limits[-1]):,} documents do not fit in the memory limit; raise it with "
            "--memory, or use fewer classes"
        )
    index = fits[0]
    # the last terms dropped are those whose document frequency equals the limit before
    return 1 if not index else int(limits[index - 1]) + 1, int(dropped[index])


def _cost_by_df(folder: Path, term_cost: TermCost) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(distinct document frequencies, ascending; memory of all terms of each; number of terms of each)."""
    arrays, _ = open_stored(folder)
    table = np.zeros((3, 0), np.int64)
    for first in range(0, len(arrays["df"]), BLOCK_TERMS):
        last = min(first + BLOCK_TERMS, len(arrays["df"]))
        df, lengths, sizes = (arrays[name].read(first, last).astype(np.int64) for name in ("df", "lengths", "sizes"))
        cost = term_cost.of(1, lengths, sizes)
        more = np.concatenate([table, [df, cost, np.ones(len(df), np.int64)]], axis=1)
        values, index = np.unique(more[0], return_inverse=True)
        table = np.zeros((3, len(values)), np.int64)
        table[0] = values
        for row in (1, 2):
            np.add.at(table[row], index, more[row])
    return table[0], table[1], table[2]
