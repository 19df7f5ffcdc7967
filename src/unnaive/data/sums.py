"""Sums over documents that come in batches, with classes and terms that grow: the same Counts as of all at once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Label, Sparse
from unnaive.data.arrays import StoredMatrix, stored
from unnaive.data.class_sums import canonical
from unnaive.data.count_tables import stack_rows, take_rows
from unnaive.data.counts import Counts
from unnaive.data.dense_sums import DenseSums
from unnaive.data.memory import return_small_blocks
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import sorted_classes
from unnaive.text.vocabulary import Vocabulary

HELD = 1 << 20  # entries of documents that wait to be summed together
LARGEST = (1 << 31) - 1  # sums in 32 bits
UNLABELLED = ""  # the class of documents without a label, until it is known what they are; no label is empty


class LabelCodes:
    """Labels ↔ numbers in the order of first occurrence.

    >>> codes = LabelCodes()
    >>> codes.matrix([("b",), (), ("a", "b")]).tocsr().toarray(), codes.labels
    (array([[1, 0, 0],
           [0, 1, 0],
           [1, 0, 1]]), ['b', '', 'a'])
    """

    def __init__(self, labels: Sequence[Label] = ()) -> None:
        self._code: dict[Any, int] = {label: code for code, label in enumerate(labels)}

    @property
    def labels(self) -> list[Any]:
        """The labels by number."""
        return list(self._code)

    def __len__(self) -> int:
        return len(self._code)

    def matrix(self, label_sets: Sequence[tuple[Any, ...]], unlabelled: str | None = UNLABELLED) -> StoredMatrix:
        """Y (n_docs, labels so far): a document without a label has the class `unlabelled`, or none."""
        code = self._code
        nothing = () if unlabelled is None else (unlabelled,)
        # sets are many and their values few
        places = {
            names: tuple(code.setdefault(name, len(code)) for name in names or nothing)
            for names in dict.fromkeys(label_sets)
        }
        found = [places[names] for names in label_sets]
        columns = list(chain.from_iterable(found))
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        ends = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes)]).astype(np.int32)
        indices = np.array(columns, np.int32)
        return StoredMatrix(np.ones(len(indices), np.int64), indices, ends, (len(label_sets), len(code)))


class RunningSums:
    """Counts of documents that come bit by bit.

    Documents wait until they have HELD entries and are then summed at once; sums of like size are merged, so that the
    work is proportional to the entries, up to a logarithm. Memory follows the cells that were seen: 12 bytes each, as
    long as sums fit in 32 bits. With `dense`, few classes and terms are summed in a table of all of them, which is
    faster and takes 32 MB at most.

    >>> from scipy.sparse import csr_array
    >>> sums = RunningSums()
    >>> sums.add(csr_array([[2]]), csr_array([[1]]))
    >>> sums.add(csr_array([[1, 1]]), csr_array([[0, 1]]))
    >>> sums.total().class_terms.toarray()
    array([[2, 0],
           [1, 1]])
    """

    def __init__(self, *, dense: bool = False) -> None:
        self._dense = DenseSums() if dense else None
        self._waiting: list[tuple[Sparse, Sparse]] = []
        self._entries = 0
        self._parts: list[Counts] = []

    @property
    def n_cells(self) -> int:
        """Cells (class, term) in all sums, and entries of documents that wait: what takes memory."""
        return sum(map(_size, self._parts)) + self._entries // 4 + (self._dense.n_cells if self._dense else 0)

    def add(self, X: Sparse | StoredMatrix, Y: Sparse | StoredMatrix) -> None:
        """Some documents X (n_docs, n_terms so far) with their labels Y (n_docs, n_classes so far)."""
        if self._dense is not None:
            if self._dense.add(X, Y):
                return
            self._parts.append(self._dense.take())
            self._dense = None  # classes, terms and sums only become more
        self._waiting.append((X.tocsr(), Y.tocsr()))
        self._entries += X.nnz
        if self._entries >= HELD:
            self._sum_up()

    def total(self) -> Counts:
        """The sums over all documents so far."""
        self._sum_up()
        if self._dense is not None and self._dense.n_docs:
            self._parts.append(self._dense.take())
        while len(self._parts) > 1:
            self._merge_last()
        return _with_cells(self._parts[0], np.int64) if self._parts else Counts.zero(0, 0)

    def _sum_up(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting, self._entries = self._waiting, [], 0
        self._parts.append(_narrow(_count_documents(waiting)))
        # a table of HELD cells is merged sooner than as many entries are summed
        while len(self._parts) > 1 and _size(self._parts[-2]) <= max(HELD, 2 * _size(self._parts[-1])):
            self._merge_last()

    def _merge_last(self) -> None:
        last = self._parts.pop()
        pair = [self._parts.pop().grown(last.n_classes, last.n_terms), last]
        del last
        self._parts.append(_add(pair))


def _add(pair: list[Counts]) -> Counts:
    """The sum of the two, which leave the list: one table at a time, so that there are never three of all of them."""
    one, other = pair
    pair.clear()
    n_docs, class_docs = one.n_docs + other.n_docs, one.class_docs + other.class_docs
    terms, df = one.terms + other.terms, one.df + other.df
    if _largest(one) + _largest(other) > LARGEST:
        one, other = (_with_cells(counts, np.int64) for counts in (one, other))
    tables = [(one.class_terms, other.class_terms), (one.class_df, other.class_df)]
    del one, other
    tables.reverse()
    class_terms = canonical(operator.add(*tables.pop()))
    class_df = canonical(operator.add(*tables.pop()))
    class_df.indices, class_df.indptr = class_terms.indices, class_terms.indptr  # whole counts: the same cells
    return Counts(n_docs, class_docs, class_terms, class_df, terms, df)


def _largest(counts: Counts) -> int:
    """The largest sum of a class and term, which no number of documents exceeds."""
    return int(counts.class_terms.data.max(initial=0))


def _narrow(counts: Counts) -> Counts:
    """With cells of 32 bits, where they suffice."""
    return counts if _largest(counts) > LARGEST else _with_cells(counts, np.int32)


def _with_cells(counts: Counts, kind: type) -> Counts:
    """The same sums with cells of this type."""
    if stored(counts, "class_terms").data.dtype == kind:
        return counts
    terms, df = (table.astype(kind, copy=False) for table in (counts.class_terms, counts.class_df))
    df.indices, df.indptr = terms.indices, terms.indptr  # whole counts: the same cells
    return replace(counts, class_terms=terms, class_df=df)


def _count_documents(waiting: list[tuple[Sparse, Sparse]]) -> Counts:
    """The sums over some batches of documents; the list is emptied as soon as copies of them stand in one matrix."""
    n_terms, n_classes = (max(pair[side].shape[1] for pair in waiting) for side in (0, 1))
    Y = stack_rows([Y for _, Y in waiting], n_classes)
    parts = [X for X, _ in waiting]
    waiting.clear()
    X = stack_rows(parts, n_terms)
    return_small_blocks()  # the batches, of which X is a copy
    return Counts.of(X, Y)


def _size(counts: Counts) -> int:
    return int(counts.class_terms.nnz)


def name_counts(counts: Counts, labels: Sequence[Any], vocabulary: Vocabulary, *, multilabel: bool) -> NamedCounts:
    """The sums with their names, classes sorted.

    Documents without a label are documents of no class in multilabel data; in single-label data they are left out, and
    so are the terms of theirs alone.
    """
    counts = counts.grown(len(labels), len(vocabulary))
    if UNLABELLED in labels:
        counts, vocabulary = _without_unlabelled(counts, labels.index(UNLABELLED), vocabulary, multilabel)
        labels = [label for label in labels if label != UNLABELLED]
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
    kept = np.flatnonzero(df > 0)
    n_docs = counts.n_docs - counts.class_docs[row]
    left = _reorder_classes(
        Counts(n_docs, counts.class_docs, counts.class_terms, counts.class_df, terms, df), others
    )  # fmt: skip
    if len(kept) == len(vocabulary):
        return left, vocabulary
    return left.take_terms(kept), vocabulary.take(kept)


def _reorder_classes(counts: Counts, rows: NDArray[np.int64]) -> Counts:
    """The sums of the classes `rows`, in that order; corpus totals stay."""
    class_terms, class_df = (take_rows(stored(counts, name), rows) for name in ("class_terms", "class_df"))
    return Counts(counts.n_docs, counts.class_docs[rows], class_terms, class_df, counts.terms, counts.df)
