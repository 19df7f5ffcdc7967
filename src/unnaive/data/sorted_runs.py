"""Runs: sums over part of the documents, sorted by term; the runs of all parts add up to the sums over all documents.

Integers add exactly, so the merged sums are those of all documents, however they were split. A run holds, for terms in
ascending order: their bytes and offsets, and the occurrences and documents of each; then, term by term, the classes it
was seen in, with occurrences and documents. This module has runs in memory and as bytes to send between machines;
run_folders.py has the same arrays on disk, merged block by block in bounded memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Sparse
from unnaive.data.counts import Counts
from unnaive.text.term_order import term_order
from unnaive.text.vocabulary import Vocabulary

MERGED_AT_ONCE = 16  # runs merged in one step: memory is bounded by the largest of them, not by their number
MULTIPLIER = 0x01000193  # the multiplier of FNV, a hash without a seed: every machine splits alike
ARRAYS = ("terms", "df", "class_terms", "class_df")  # other arrays of a block than bytes, sizes and classes


@dataclass(frozen=True, eq=False)
class RunBlock:
    """Consecutive terms of a run.

    blob, ends     the bytes of the terms, and where each ends; `ends[0]` is where the first starts
    terms, df      occurrences and documents of each term
    sizes          the number of classes in which each term was seen
    classes        these classes, term by term; `class_terms` and `class_df` are their occurrences and documents
    """

    blob: NDArray[np.uint8]
    ends: NDArray[np.int64]
    terms: NDArray[np.int64]
    df: NDArray[np.int64]
    sizes: NDArray[np.int64]
    classes: NDArray[np.int32]
    class_terms: NDArray[np.int64]
    class_df: NDArray[np.int64]

    def term(self, index: int) -> bytes:
        """The bytes of a term."""
        return self.blob[self.ends[index] - self.ends[0] : self.ends[index + 1] - self.ends[0]].tobytes()

    def take(self, first: int, last: int) -> RunBlock:
        """The terms from `first` (inclusive) to `last` (exclusive)."""
        cells = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])
        inside, bytes_ = slice(cells[first], cells[last]), self.ends[[first, last]] - self.ends[0]
        return RunBlock(
            self.blob[bytes_[0] : bytes_[1]], self.ends[first : last + 1], self.terms[first:last], self.df[first:last],
            self.sizes[first:last], self.classes[inside], self.class_terms[inside], self.class_df[inside],
        )  # fmt: skip

    def select(self, chosen: NDArray[np.bool_]) -> RunBlock:
        """Select terms by a mask (n_terms,)."""
        if chosen.all():
            return self
        lengths, cells = np.diff(self.ends), np.repeat(chosen, self.sizes)
        return RunBlock(
            self.blob[np.repeat(chosen, lengths)], _ends(lengths[chosen]), self.terms[chosen], self.df[chosen],
            self.sizes[chosen], self.classes[cells], self.class_terms[cells], self.class_df[cells],
        )  # fmt: skip

    def count_up_to(self, term: bytes) -> int:
        """The number of terms up to and including `term`, by bisection."""
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


@dataclass(frozen=True, eq=False)
class Run:
    """A run in memory.

    labels      the classes by number, in any order
    n_docs      the number of documents
    class_docs  documents of each class (n_labels,)
    block       all of its terms
    """

    labels: tuple[Any, ...]
    n_docs: int
    class_docs: NDArray[np.int64]
    block: RunBlock

    @classmethod
    def of(cls, counts: Counts, vocabulary: Vocabulary, labels: Sequence[Any]) -> Run:
        """A run of sums whose columns are the terms and whose rows are the labels."""
        order = vocabulary.order()
        ids = np.arange(counts.n_terms) if order is None else order
        blocks = ordered_blocks(counts, vocabulary, [ids])
        return cls(tuple(labels), int(counts.n_docs), counts.class_docs, next(blocks))

    def to_bytes(self) -> bytes:
        """Serialise as safetensors, a format that cannot contain code."""
        from safetensors.numpy import save

        about = {"labels": list(self.labels), "documents": self.n_docs, "class_docs": self.class_docs.tolist()}
        arrays = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)} | block_arrays(self.block)
        return bytes(save({name: np.ascontiguousarray(_narrow(array)) for name, array in arrays.items()}))

    @classmethod
    def from_bytes(cls, packed: bytes) -> Run:
        """Read what `to_bytes` wrote."""
        from safetensors.numpy import load

        arrays = load(packed)
        about = json.loads(arrays.pop("about").tobytes())
        sums = {name: arrays[name].astype(np.int64) for name in (*ARRAYS, "sizes")}
        block = RunBlock(arrays["blob"], _ends(arrays["lengths"]), classes=arrays["classes"].astype(np.int32), **sums)
        return cls(tuple(about["labels"]), about["documents"], np.array(about["class_docs"], np.int64), block)

    def cut(self, n_parts: int) -> Iterator[tuple[int, Run]]:
        """Split the run by a hash of the term; yield (number of the part, the part).

        Documents are counted in the first part.
        """
        places = term_hashes(self.block.blob, self.block.ends) % np.uint32(n_parts)
        for part in range(n_parts):
            chosen = places == part
            if not part:
                yield part, replace(self, block=self.block.select(chosen))
            elif chosen.any():
                yield part, Run(self.labels, 0, np.zeros_like(self.class_docs), self.block.select(chosen))

    def counts(self) -> tuple[Counts, Vocabulary]:
        """The sums, rows in the order of `labels`, columns in the order of the terms."""
        return sum_tables([self.block], self.n_docs, self.class_docs)


def merge_runs(runs: Iterable[Run]) -> Run | None:
    """Merge any number of runs, MERGED_AT_ONCE at a time; None if there are none.

    >>> table = csr_array(np.array([[2]]))
    >>> counts = Counts(np.int64(1), np.array([1]), table, table, np.array([2]), np.array([1]))
    >>> both = merge_runs([Run.of(counts, Vocabulary(["x"]), [label]) for label in ("a", "b")])
    >>> both.labels, both.counts()[0].terms, both.counts()[0].class_terms.toarray().tolist()
    (('a', 'b'), array([4]), [[2], [2]])
    """
    waiting: list[Run] = []
    for run in runs:
        waiting.append(run)
        if len(waiting) == MERGED_AT_ONCE:
            waiting = [_merge(waiting)]
    return _merge(waiting) if waiting else None


def _merge(runs: Sequence[Run]) -> Run:
    if len(runs) == 1:
        return runs[0]
    row_of: dict[Any, int] = {}
    for run in runs:
        for label in run.labels:
            row_of.setdefault(label, len(row_of))
    class_docs, blocks = np.zeros(len(row_of), np.int64), []
    for run in runs:
        rows = np.array([row_of[label] for label in run.labels], np.int32)
        class_docs[rows] += run.class_docs
        blocks.append(replace(run.block, classes=rows[run.block.classes]))
    return Run(tuple(row_of), sum(run.n_docs for run in runs), class_docs, sum_blocks(blocks, len(row_of)))


def ordered_blocks(counts: Counts, vocabulary: Vocabulary, groups: Iterable[NDArray[np.int64]]) -> Iterator[RunBlock]:
    """Yield blocks of terms, each given by its columns, without a sorted copy of the whole table."""
    by_term, by_term_df = csc_array(counts.class_terms), csc_array(counts.class_df)
    for ids in groups:
        cells, sizes = cells_of(by_term.indptr, ids)
        blob, ends = vocabulary.take(ids).to_arrays()
        classes = by_term.indices[cells].astype(np.int32, copy=False)
        sums = classes, by_term.data[cells], by_term_df.data[cells]
        yield RunBlock(blob, ends, counts.terms[ids], counts.df[ids], sizes, *sums)


def block_arrays(block: RunBlock) -> dict[str, NDArray[Any]]:
    """The arrays of a block by name, as they are written."""
    arrays: dict[str, NDArray[Any]] = {"blob": block.blob, "lengths": np.diff(block.ends).astype(np.int32)}
    arrays |= {name: np.asarray(getattr(block, name), np.int64) for name in ARRAYS}
    return arrays | {"sizes": block.sizes.astype(np.int32), "classes": block.classes}


def cells_of(ends: NDArray[Any], ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(the positions of the cells of some terms, term by term; the number of cells of each).

    >>> cells_of(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([3, 2]))
    """
    starts, sizes = ends[ids].astype(np.int64), (ends[ids + 1] - ends[ids]).astype(np.int64)
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum()), sizes


def sum_blocks(blocks: Sequence[RunBlock], n_classes: int) -> RunBlock:
    """Merge blocks that have terms in common into one."""
    if len(blocks) == 1:
        return blocks[0]
    blob = np.concatenate([block.blob for block in blocks])
    lengths = np.concatenate([np.diff(block.ends) for block in blocks])
    ends = _ends(lengths)
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
    distinct = order[first]
    merged = Vocabulary.trusted(blob, ends).take(distinct).to_arrays()
    sizes, cells = _sum_cells(blocks, group, len(first), n_classes)
    return RunBlock(merged[0], merged[1], totals[0], totals[1], sizes, *cells)


def _equals_previous(blob: NDArray[np.uint8], ends: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each term in `order` equals the one before it."""
    lengths = np.diff(ends)
    same = np.zeros(len(order), np.bool_)
    same[1:] = lengths[order[1:]] == lengths[order[:-1]]
    pairs = np.flatnonzero(same)
    size = lengths[order[pairs]]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    inside = np.arange(starts[-1]) - np.repeat(starts[:-1], size)
    left, right = (blob[np.repeat(ends[:-1][order[pairs - step]], size) + inside] for step in (0, 1))
    differing = np.bincount(np.repeat(np.arange(len(pairs)), size), left != right, len(pairs))
    same[pairs] = differing == 0
    return same


def _sum_cells(
    blocks: Sequence[RunBlock], group: NDArray[np.int64], n_terms: int, n_classes: int
) -> tuple[NDArray[np.int64], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """(the number of classes of each merged term, (the classes, occurrences, documents) term by term)."""
    sizes = np.concatenate([block.sizes for block in blocks])
    classes = np.concatenate([block.classes for block in blocks])
    code = np.repeat(group, sizes) * n_classes + classes
    order = np.argsort(code, kind="stable")
    code = code[order]
    first = np.flatnonzero(np.concatenate([[True], code[1:] != code[:-1]])) if len(code) else code
    cells = code[first]
    sums = [
        np.add.reduceat(np.concatenate([getattr(block, name) for block in blocks])[order], first)
        if len(first)
        else np.zeros(0, np.int64)
        for name in ("class_terms", "class_df")
    ]
    merged_sizes = np.bincount(cells // n_classes, minlength=n_terms).astype(np.int64)
    return merged_sizes, ((cells % n_classes).astype(np.int32), sums[0], sums[1])


def sum_tables(blocks: list[RunBlock], n_docs: int, class_docs: NDArray[np.int64]) -> tuple[Counts, Vocabulary]:
    """The sums of consecutive blocks, and their terms; the list is emptied."""
    lengths, sizes = (
        np.concatenate(part) for part in zip(*((np.diff(block.ends), block.sizes) for block in blocks), strict=True)
    )
    blob, terms, df = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("blob", "terms", "df"))
    tables = _tables_by_class(blocks, sizes, len(class_docs))
    counts = Counts(np.int64(n_docs), class_docs, tables[0], tables[1], terms, df)
    return counts, Vocabulary.trusted(blob, _ends(lengths))


def _tables_by_class(blocks: list[RunBlock], sizes: NDArray[np.int64], n_classes: int) -> list[Sparse]:
    """class_terms and class_df (n_classes, n_terms), built one after the other; the blocks are freed with the last."""
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


def term_hashes(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A hash of each term (n_terms,): Σ_i byte_i · m^i, mixed; the same on every machine.

    >>> one, other = term_hashes(*Vocabulary(["ab", "ba"]).to_arrays())
    >>> bool(one == other), bool(one == term_hashes(*Vocabulary(["x", "ab"]).to_arrays())[1])
    (False, True)
    """
    sizes = np.diff(offsets)
    if not len(sizes):
        return np.zeros(0, np.uint32)
    powers = np.cumprod(np.full(int(sizes.max(initial=1)) + 1, MULTIPLIER, np.uint32), dtype=np.uint32)
    inside = np.arange(len(blob)) - np.repeat(offsets[:-1], sizes)
    sums = np.concatenate([[0], np.cumsum((blob + np.uint32(1)) * powers[inside], dtype=np.uint32)]).astype(np.uint32)
    values = sums[offsets[1:]] - sums[offsets[:-1]]
    values ^= values >> np.uint32(15)
    values *= np.uint32(0x2C1B3C6D)
    values ^= values >> np.uint32(12)
    return np.asarray(values, np.uint32)


def _ends(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """The ends of consecutive pieces, preceded by 0."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Convert non-negative integers to the narrowest type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))
