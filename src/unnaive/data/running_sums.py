"""Sums over batches of documents while classes and terms grow.

The result equals the Counts of all documents at once.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unnaive.base.system_memory import return_small_blocks
from unnaive.base.types import Sparse
from unnaive.data.arrays import StoredMatrix, stored
from unnaive.data.class_sums import canonical
from unnaive.data.count_tables import stack_rows
from unnaive.data.counts import Counts
from unnaive.data.products import NATIVE

HELD = 1 << 20  # entries of documents that are buffered and summed together
LARGEST = (1 << 31) - 1  # limit of 32-bit sums
MOST_CELLS = 1 << 22  # maximum classes × terms of a dense table: 32 MB
MOST_OCCURRENCES = (1 << 32) - 1  # maximum of all occurrences in a dense table: a cell has 32 bits for its sum


class RunningSums:
    """Counts of documents that arrive in batches.

    Documents are buffered until they have HELD entries and are then summed together; sums of similar size are merged,
    so the work is proportional to the entries, up to a logarithm. Memory is proportional to the cells seen: 12 bytes
    each while sums fit in 32 bits. With `dense`, few classes and terms are summed in a dense table, which is faster and
    takes at most 32 MB.

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
        """Cells (class, term) in all sums plus entries of buffered documents: a measure of memory use."""
        return sum(map(_size, self._parts)) + self._entries // 4 + (self._dense.n_cells if self._dense else 0)

    def add(self, X: Sparse | StoredMatrix, Y: Sparse | StoredMatrix) -> None:
        """Add documents X (n_docs, n_terms so far) with labels Y (n_docs, n_classes so far)."""
        if self._dense is not None:
            if self._dense.add(X, Y):
                return
            self._parts.append(self._dense.take())
            self._dense = None  # not tried again, since classes, terms and sums only grow
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
        # merging a table of HELD cells takes less time than summing that many entries
        while len(self._parts) > 1 and _size(self._parts[-2]) <= max(HELD, 2 * _size(self._parts[-1])):
            self._merge_last()

    def _merge_last(self) -> None:
        last = self._parts.pop()
        pair = [self._parts.pop().grown(last.n_classes, last.n_terms), last]
        del last
        self._parts.append(_add(pair))


def _add(pair: list[Counts]) -> Counts:
    """Add two Counts and empty `pair`; at most one extra table is in memory."""
    first, second = pair
    pair.clear()
    n_docs, class_docs = first.n_docs + second.n_docs, first.class_docs + second.class_docs
    terms, df = first.terms + second.terms, first.df + second.df
    if _largest(first) + _largest(second) > LARGEST:
        first, second = (_with_cells(counts, np.int64) for counts in (first, second))
    tables = [(first.class_terms, second.class_terms), (first.class_df, second.class_df)]
    del first, second
    tables.reverse()
    class_terms = canonical(operator.add(*tables.pop()))
    class_df = canonical(operator.add(*tables.pop()))
    # integer counts: both tables have the same cells
    class_df.indices, class_df.indptr = class_terms.indices, class_terms.indptr
    return Counts(n_docs, class_docs, class_terms, class_df, terms, df)


def _largest(counts: Counts) -> int:
    """The largest cell; no document frequency exceeds it."""
    return int(counts.class_terms.data.max(initial=0))


def _narrow(counts: Counts) -> Counts:
    """Use 32-bit cells if they suffice."""
    return counts if _largest(counts) > LARGEST else _with_cells(counts, np.int32)


def _with_cells(counts: Counts, kind: type) -> Counts:
    """Convert the cells to this type."""
    if stored(counts, "class_terms").data.dtype == kind:
        return counts
    terms, df = (table.astype(kind, copy=False) for table in (counts.class_terms, counts.class_df))
    df.indices, df.indptr = terms.indices, terms.indptr  # integer counts: both tables have the same cells
    return replace(counts, class_terms=terms, class_df=df)


def _count_documents(waiting: list[tuple[Sparse, Sparse]]) -> Counts:
    """Sum batches of documents; the list is emptied as soon as they are copied into one matrix."""
    n_terms, n_classes = (max(pair[side].shape[1] for pair in waiting) for side in (0, 1))
    Y = stack_rows([Y for _, Y in waiting], n_classes)
    parts = [X for X, _ in waiting]
    waiting.clear()
    X = stack_rows(parts, n_terms)
    return_small_blocks()  # frees the batches, which X has copied
    return Counts.of(X, Y)


def _size(counts: Counts) -> int:
    return int(counts.class_terms.nnz)


class DenseSums:
    """Counts of single-label documents in a dense row of all terms per class: one addition per entry.

    RunningSums does this for any documents with sparse tables, which takes several times as long.

    >>> sums = DenseSums()
    >>> from scipy.sparse import csr_array
    >>> X, Y = csr_array(np.array([[2, 1]], np.int32)), csr_array([[0, 1]])
    >>> sums.add(X, Y), sums.take().class_terms.toarray()
    (True, array([[0, 0],
           [2, 1]]))
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._rows: list[NDArray[np.uint64]] = []  # each row is at least as long as the highest term id of its class
        self._class_docs = np.zeros(0, np.int64)
        self._n_terms = self._occurrences = 0

    @property
    def n_cells(self) -> int:
        """Classes × terms, including cells that are zero."""
        return len(self._class_docs) * self._n_terms

    @property
    def n_docs(self) -> int:
        """The number of documents, including those without terms."""
        return int(self._class_docs.sum())

    def add(self, X: Sparse, Y: Sparse) -> bool:
        """Add documents X (n_docs, n_terms so far) with labels Y (n_docs, n_classes so far).

        Returns False and adds nothing unless every document has exactly one label, the counts are 32-bit integers whose
        sums do not overflow, and there are at most MOST_CELLS classes × terms.
        """
        if NATIVE is None or not X.data.dtype == X.indices.dtype == np.int32 or not _one_each(Y):
            return False
        n_classes, n_terms = max(len(self._class_docs), Y.shape[1]), max(self._n_terms, X.shape[1])
        occurrences = self._occurrences + int(X.data.sum(dtype=np.int64))
        if n_classes * n_terms > MOST_CELLS or occurrences > MOST_OCCURRENCES:
            return False
        classes = Y.indices.astype(np.int32, copy=False)
        self._make_room(classes, n_classes, n_terms)
        added = NATIVE.add_documents(X.indptr, X.indices, X.data, classes, self._rows)
        if not added and X.nnz:
            return False
        self._occurrences += added
        self._n_terms = n_terms
        self._class_docs = _widened(self._class_docs, Y.shape[1]) + np.bincount(classes, minlength=Y.shape[1])
        return True

    def _make_room(self, classes: NDArray[np.int32], n_classes: int, n_terms: int) -> None:
        """Give the rows of these classes a cell for each term.

        A row that is too short is doubled, so that copies are rare; unused memory is not committed.
        """
        self._rows += [np.zeros(0, np.uint64)] * (n_classes - len(self._rows))
        for row in np.unique(classes).tolist():
            before = self._rows[row][: self._n_terms]
            if len(self._rows[row]) < n_terms:
                self._rows[row] = np.zeros(2 * n_terms, np.uint64)
                self._rows[row][: len(before)] = before

    def take(self) -> Counts:
        """Return the sums so far and reset them."""
        n_classes, n_terms = len(self._class_docs), self._n_terms
        cells = NATIVE.list_cells(self._rows[:n_classes], n_terms) if n_classes else None
        if cells is None:
            return Counts.zero(0, 0)
        ends, columns, sums, documents, terms, df = cells
        shape, ends = (n_classes, n_terms), ends.astype(np.int32)
        class_terms, class_df = (StoredMatrix(part, columns, ends, shape) for part in (sums, documents))
        counts = Counts(self._class_docs.sum(), self._class_docs, class_terms, class_df, terms, df)
        self._start()
        return counts


def _one_each(Y: Sparse) -> bool:
    return bool(Y.nnz == Y.shape[0] and np.array_equal(Y.indptr, np.arange(Y.shape[0] + 1)))


def _widened(values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.pad(values, (0, max(0, size - len(values))))
