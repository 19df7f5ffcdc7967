"""Runs: sums over some of the documents, on disk and sorted by term, merged block by block in bounded memory.

Whole numbers add exactly, so the merged sums are those of all documents at once, however they were cut into runs.

A run holds, for terms in ascending order: their bytes and where each starts, occurrences and documents of each; then,
term after term, the classes that it was seen in, with occurrences and documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Sparse
from unnaive.data.array_folder import ArrayWriter, StoredArray, open_stored
from unnaive.data.counts import Counts
from unnaive.text.term_order import term_order
from unnaive.text.vocabulary import Vocabulary

BLOCK_TERMS = 1 << 14  # terms of each run that are merged at a time
MODEL_TERM_BYTES = 88  # of a term while the model is made and written, beside its letters: measured, with some more
MODEL_LETTER_BYTES = 4  # of a letter of its
MODEL_CELL_BYTES = 60  # of a class and term that were seen together, likewise


@dataclass(frozen=True, eq=False)
class RunBlock:
    """Some successive terms of a run.

    blob, ends     their bytes, and where each ends; `ends[0]` is where the first starts
    terms, df      occurrences and documents of each
    sizes          of each, in how many classes it was seen
    classes        those classes, then occurrences and documents, term after term
    """

    blob: NDArray[np.uint8]
    ends: NDArray[np.int64]
    terms: NDArray[np.int64]
    df: NDArray[np.int64]
    sizes: NDArray[np.int64]
    classes: NDArray[np.int32]
    class_terms: NDArray[np.int64]
    class_df: NDArray[np.int64]

    def term(self, place: int) -> bytes:
        """The bytes of one term."""
        return self.blob[self.ends[place] - self.ends[0] : self.ends[place + 1] - self.ends[0]].tobytes()

    def take(self, first: int, last: int) -> RunBlock:
        """The terms from `first` to before `last`."""
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])
        inside, bytes_ = slice(cells[first], cells[last]), self.ends[[first, last]] - self.ends[0]
        return RunBlock(
            self.blob[bytes_[0] : bytes_[1]], self.ends[first : last + 1], self.terms[first:last], self.df[first:last],
            self.sizes[first:last], self.classes[inside], self.class_terms[inside], self.class_df[inside],
        )  # fmt: skip

    def count_up_to(self, term: bytes) -> int:
        """How many of its terms are not after `term`, by bisection."""
        low, high = 0, len(self.terms)
        while low < high:
            middle = (low + high) // 2
            if self.term(middle) <= term:
                low = middle + 1
            else:
                high = middle
        return low


_NONE = np.zeros(0, np.int64)
EMPTY = RunBlock(
    np.zeros(0, np.uint8), np.zeros(1, np.int64), _NONE, _NONE, _NONE, np.zeros(0, np.int32), _NONE, _NONE
)  # fmt: skip


def write_run(folder: Path, counts: Counts, vocabulary: Vocabulary) -> None:
    """The sums of whole numbers as a run: sorted and written some terms at a time, without a sorted copy of all."""
    order = vocabulary.order()
    by_term, by_term_df = csc_array(counts.class_terms), csc_array(counts.class_df)
    writer = ArrayWriter(folder)
    try:
        _append(writer, EMPTY)  # so that runs of documents without a term have all arrays too
        for first in range(0, counts.n_terms, BLOCK_TERMS):
            ids = np.arange(first, min(first + BLOCK_TERMS, counts.n_terms))
            ids = ids if order is None else order[ids]
            cells, sizes = _cells_of(by_term.indptr, ids)
            blob, ends = vocabulary.take(ids).to_arrays()
            classes = by_term.indices[cells].astype(np.int32, copy=False)
            sums = classes, by_term.data[cells], by_term_df.data[cells]
            _append(writer, RunBlock(blob, ends, counts.terms[ids], counts.df[ids], sizes, *sums))
        writer.finish({"documents": int(counts.n_docs), "class_docs": counts.class_docs.tolist()})
    except BaseException:
        writer.abandon()
        raise


def _cells_of(ends: NDArray[Any], ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(where the cells of some terms stand, term after term; how many each has).

    >>> _cells_of(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([3, 2]))
    """
    starts, sizes = ends[ids].astype(np.int64), (ends[ids + 1] - ends[ids]).astype(np.int64)
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum()), sizes


def _append(writer: ArrayWriter, block: RunBlock) -> None:
    writer.append("blob", block.blob)
    writer.append("lengths", np.diff(block.ends).astype(np.int32))
    for name in ("terms", "df", "class_terms", "class_df"):
        writer.append(name, np.asarray(getattr(block, name), np.int64))
    writer.append("sizes", block.sizes.astype(np.int32))
    writer.append("classes", block.classes)


def merge_runs(folders: Sequence[Path], target: Path) -> None:
    """One run of several, which stay where they are."""
    opened = [open_stored(folder) for folder in folders]
    documents = sum(about["documents"] for _, about in opened)
    class_docs = np.zeros(max(len(about["class_docs"]) for _, about in opened), np.int64)
    for _, about in opened:
        class_docs[: len(about["class_docs"])] += np.array(about["class_docs"], np.int64)
    writer = ArrayWriter(target)
    try:
        _append(writer, EMPTY)
        for block in merge_blocks([_Cursor(arrays) for arrays, _ in opened], len(class_docs)):
            _append(writer, block)
        writer.finish({"documents": documents, "class_docs": class_docs.tolist()})
    except BaseException:
        writer.abandon()
        raise


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


def sum_blocks(blocks: Sequence[RunBlock], n_classes: int) -> RunBlock:
    """One block of several that have terms in common."""
    if len(blocks) == 1:
        return blocks[0]
    blob = np.concatenate([block.blob for block in blocks])
    lengths = np.concatenate([np.diff(block.ends) for block in blocks])
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    order = term_order(blob, ends)
    order = np.arange(len(lengths)) if order is None else order
    new = ~_equals_previous(blob, ends, order)
    first = np.flatnonzero(new)
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new) - 1
    totals = [
        np.add.reduceat(np.concatenate([getattr(block, name) for block in blocks])[order], first)
        for name in ("terms", "df")
    ]
    kept = order[first]
    merged = Vocabulary.trusted(blob, ends).take(kept).to_arrays()
    sizes, cells = _sum_cells(blocks, group, len(first), n_classes)
    return RunBlock(merged[0], merged[1], totals[0], totals[1], sizes, *cells)


def _equals_previous(blob: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each term in `order` is the one before it again."""
    lengths = np.diff(ends)
    same = np.zeros(len(order), np.bool_)
    same[1:] = lengths[order[1:]] == lengths[order[:-1]]
    pairs = np.flatnonzero(same)
    size = lengths[order[pairs]]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    inside = np.arange(starts[-1]) - np.repeat(starts[:-1], size)
    one, other = (blob[np.repeat(ends[:-1][order[pairs - step]], size) + inside] for step in (0, 1))
    differing = np.bincount(np.repeat(np.arange(len(pairs)), size), one != other, len(pairs))
    same[pairs] = differing == 0
    return same


def _sum_cells(
    blocks: Sequence[RunBlock], group: NDArray[np.int64], n_terms: int, n_classes: int
) -> tuple[NDArray[np.int64], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """(how many classes each merged term has, (the classes, occurrences, documents) term after term)."""
    sizes = np.concatenate([block.sizes for block in blocks])
    classes = np.concatenate([block.classes for block in blocks])
    code = np.repeat(group, sizes) * n_classes + classes
    order = np.argsort(code, kind="stable")
    code = code[order]
    first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])) if len(code) else code
    found = code[first]
    sums = [
        np.add.reduceat(np.concatenate([getattr(block, name) for block in blocks])[order], first)
        if len(first)
        else np.zeros(0, np.int64)
        for name in ("class_terms", "class_df")
    ]
    merged_sizes = np.bincount(found // n_classes, minlength=n_terms).astype(np.int64)
    return merged_sizes, ((found % n_classes).astype(np.int32), sums[0], sums[1])


def load_run(folder: Path, n_classes: int, min_df: int = 1) -> tuple[Counts, Vocabulary]:
    """The sums of a run in memory, of terms in `min_df` documents or more."""
    arrays, about = open_stored(folder)
    kept = [_take_common(block, min_df) for block in _Cursor(arrays).blocks()] or [EMPTY]
    class_docs = np.zeros(n_classes, np.int64)
    class_docs[: len(about["class_docs"])] = about["class_docs"]
    lengths, sizes = (
        np.concatenate(part) for part in zip(*((np.diff(one.ends), one.sizes) for one in kept), strict=True)
    )
    blob, terms, df = (np.concatenate([getattr(one, name) for one in kept]) for name in ("blob", "terms", "df"))
    vocabulary = Vocabulary.trusted(blob, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    tables = _tables_by_class(kept, sizes, n_classes)
    return Counts(np.int64(about["documents"]), class_docs, tables[0], tables[1], terms, df), vocabulary


def _take_common(block: RunBlock, min_df: int) -> RunBlock:
    """The terms of a block that are in `min_df` documents or more."""
    kept = block.df >= min_df
    if kept.all():
        return block
    lengths, of_cell = np.diff(block.ends), np.repeat(kept, block.sizes)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[kept])])
    return RunBlock(
        block.blob[np.repeat(kept, lengths)], ends, block.terms[kept], block.df[kept], block.sizes[kept],
        block.classes[of_cell], block.class_terms[of_cell], block.class_df[of_cell],
    )  # fmt: skip


def _tables_by_class(blocks: list[RunBlock], sizes: NDArray[np.int64], n_classes: int) -> list[Sparse]:
    """class_terms and class_df (n_classes, n_terms); one after the other, and the blocks are let go with the last."""
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if indptr[-1] < 1 << 31:
        indptr = indptr.astype(np.int32)
    shape = n_classes, len(sizes)
    classes = np.concatenate([block.classes for block in blocks])
    class_terms, class_df = ([getattr(block, name) for block in blocks] for name in ("class_terms", "class_df"))
    blocks.clear()
    tables = []
    for parts in (class_terms, class_df):
        by_term = csc_array((np.concatenate(parts), classes, indptr), shape=shape)
        parts.clear()
        tables.append(csr_array(by_term))
    return tables


def model_bytes(n_terms: int, letters: int, n_cells: int) -> int:
    """What a model takes while it is made and written: an upper estimate."""
    return MODEL_TERM_BYTES * n_terms + MODEL_LETTER_BYTES * letters + MODEL_CELL_BYTES * n_cells


def find_min_df(folder: Path, budget: int | None) -> tuple[int, int]:
    """(the least number of documents that a term must be in for a model of the budget, how many terms have fewer).

    The rule depends on the sums alone, not on the order in which documents came: all terms of d documents or more are
    kept, with the smallest d for which the model fits. 1 keeps all of them.
    """
    if budget is None:
        return 1, 0
    limits, cost, terms = _cost_by_df(folder)
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


def _cost_by_df(folder: Path) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(the numbers of documents that terms are in, ascending; what all terms of each cost; how many there are)."""
    arrays, _ = open_stored(folder)
    found = np.zeros((3, 0), np.int64)
    for first in range(0, len(arrays["df"]), BLOCK_TERMS):
        last = min(first + BLOCK_TERMS, len(arrays["df"]))
        df, lengths, sizes = (arrays[name].read(first, last).astype(np.int64) for name in ("df", "lengths", "sizes"))
        cost = MODEL_TERM_BYTES + MODEL_LETTER_BYTES * lengths + MODEL_CELL_BYTES * sizes
        more = np.concatenate([found, [df, cost, np.ones(len(df), np.int64)]], axis=1)
        values, place = np.unique(more[0], return_inverse=True)
        found = np.zeros((3, len(values)), np.int64)
        found[0] = values
        for row in (1, 2):
            np.add.at(found[row], place, more[row])
    return found[0], found[1], found[2]
