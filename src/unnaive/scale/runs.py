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
from scipy.sparse import csc_array, csr_array

from unnaive.core.counts import Counts
from unnaive.errors import UnnaiveError
from unnaive.scale.array_folder import ArrayWriter, open_arrays
from unnaive.text.term_order import term_order
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Arrays

BLOCK_TERMS = 1 << 16  # terms of each run that are merged at a time
MODEL_TERM_BYTES = 160  # of a term while the model is made and written, beside its letters
MODEL_CELL_BYTES = 120  # of a class and term that were seen together, likewise


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
    """The sums of whole numbers as a run."""
    order = vocabulary.order()
    if order is not None:
        counts, vocabulary = counts.reordered(order), vocabulary.in_order(order)
    by_term, by_term_df = csc_array(counts.class_terms), csc_array(counts.class_df)
    blob, ends = vocabulary.to_arrays()
    block = RunBlock(
        blob, ends, counts.terms, counts.df, np.diff(by_term.indptr).astype(np.int64),
        by_term.indices.astype(np.int32, copy=False), by_term.data, by_term_df.data,
    )  # fmt: skip
    writer = ArrayWriter(folder)
    try:
        _append(writer, block)
        writer.finish({"documents": int(counts.n_docs), "class_docs": counts.class_docs.tolist()})
    except BaseException:
        writer.abandon()
        raise


def _append(writer: ArrayWriter, block: RunBlock) -> None:
    writer.append("blob", block.blob)
    writer.append("lengths", np.diff(block.ends).astype(np.int32))
    for name in ("terms", "df", "class_terms", "class_df"):
        writer.append(name, np.asarray(getattr(block, name), np.int64))
    writer.append("sizes", block.sizes.astype(np.int32))
    writer.append("classes", block.classes)


def merge_runs(folders: Sequence[Path], target: Path) -> None:
    """One run of several, which stay where they are."""
    opened = [open_arrays(folder) for folder in folders]
    documents = sum(about["documents"] for _, about in opened)
    class_docs = np.zeros(max(len(about["class_docs"]) for _, about in opened), np.int64)
    for _, about in opened:
        class_docs[: len(about["class_docs"])] += np.array(about["class_docs"], np.int64)
    writer = ArrayWriter(target)
    try:
        _append(writer, EMPTY)  # so that runs of documents without a term have all arrays too
        for block in merge_blocks([_Cursor(arrays) for arrays, _ in opened], len(class_docs)):
            _append(writer, block)
        writer.finish({"documents": documents, "class_docs": class_docs.tolist()})
    except BaseException:
        writer.abandon()
        raise


class _Cursor:
    """A run being read, a block at a time."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays, self._terms, self._bytes, self._cells = arrays, 0, 0, 0
        self.block: RunBlock | None = None
        self._load()

    def _load(self) -> None:
        arrays, first = self._arrays, self._terms
        last = min(first + BLOCK_TERMS, len(arrays["terms"]))
        if first == last:
            self.block = None
            return
        lengths = arrays["lengths"][first:last].astype(np.int64)
        sizes = arrays["sizes"][first:last].astype(np.int64)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        cells = slice(self._cells, self._cells + int(sizes.sum()))
        self.block = RunBlock(
            np.array(arrays["blob"][self._bytes : self._bytes + ends[-1]]), ends,
            np.array(arrays["terms"][first:last]), np.array(arrays["df"][first:last]), sizes,
            *(np.array(arrays[name][cells]) for name in ("classes", "class_terms", "class_df")),
        )  # fmt: skip
        self._terms, self._bytes, self._cells = last, self._bytes + int(ends[-1]), cells.stop

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
    new = ~_equals_next(blob, ends, order)
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


def _equals_next(blob: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.bool_]:
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
    arrays, about = open_arrays(folder)
    kept = np.asarray(arrays["df"]) >= min_df
    of_cell = np.repeat(kept, arrays["sizes"])
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(arrays["sizes"][kept], dtype=np.int64)])
    classes = np.asarray(arrays["classes"][of_cell])
    if indptr[-1] < 1 << 31:
        indptr = indptr.astype(np.int32)
    shape = (n_classes, int(kept.sum()))
    tables = [
        csr_array(csc_array((np.asarray(arrays[name][of_cell]), classes, indptr), shape=shape))
        for name in ("class_terms", "class_df")
    ]
    lengths = arrays["lengths"][kept].astype(np.int64)
    blob = np.asarray(arrays["blob"][np.repeat(kept, arrays["lengths"])])
    vocabulary = Vocabulary.trusted(blob, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    class_docs = np.zeros(n_classes, np.int64)
    class_docs[: len(about["class_docs"])] = about["class_docs"]
    terms, df = (np.asarray(arrays[name][kept]) for name in ("terms", "df"))
    return Counts(np.int64(about["documents"]), class_docs, tables[0], tables[1], terms, df), vocabulary


def model_bytes(n_terms: int, letters: int, n_cells: int) -> int:
    """What a model takes while it is made and written: an upper estimate."""
    return MODEL_TERM_BYTES * n_terms + 3 * letters + MODEL_CELL_BYTES * n_cells


def find_min_df(folder: Path, budget: int | None) -> tuple[int, int]:
    """(the least number of documents that a term must be in for a model of the budget, how many terms have fewer).

    The rule depends on the sums alone, not on the order in which documents came: all terms of d documents or more are
    kept, with the smallest d for which the model fits. 1 keeps all of them.
    """
    arrays, _ = open_arrays(folder)
    df = np.asarray(arrays["df"])
    if budget is None:
        return 1, 0
    lengths, sizes = (arrays[name].astype(np.int64) for name in ("lengths", "sizes"))
    cost = MODEL_TERM_BYTES + 3 * lengths + MODEL_CELL_BYTES * sizes
    order = np.argsort(df, kind="stable")
    by_df, total = df[order], int(cost.sum())
    below = np.concatenate([np.zeros(1, np.int64), np.cumsum(cost[order])])
    limits = np.unique(np.concatenate([[1], by_df]))
    dropped = np.searchsorted(by_df, limits)  # terms of fewer documents than each limit
    fits = np.flatnonzero(total - below[dropped] <= budget)
    if not len(fits):
        raise UnnaiveError(
            f"not even the terms of {int(limits[-1]):,} documents or more fit in the memory allowed; give more with "
            "--memory, or a model of fewer classes"
        )
    place = fits[0]
    # terms of as many documents as the limit before are the last ones to go
    return 1 if not place else int(limits[place - 1]) + 1, int(dropped[place])
