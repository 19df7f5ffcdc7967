"""Sums of documents of one class each in a row of all terms for each class, as long as that is small: an addition an
entry.

What sums.py does with sparse tables for any documents, which takes several times as long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Sparse
from unnaive.data.arrays import StoredMatrix
from unnaive.data.counts import Counts
from unnaive.data.products import NATIVE

MOST_CELLS = 1 << 22  # classes × terms: 32 MB
MOST_OCCURRENCES = (1 << 32) - 1  # of all terms: a cell has 32 bits for its sum


class DenseSums:
    """Counts of documents that come bit by bit, of one class each.

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
        self._rows: list[NDArray[np.uint64]] = []  # as long as the terms that the class has met, or longer
        self._class_docs = np.zeros(0, np.int64)
        self._n_terms = self._occurrences = 0

    @property
    def n_cells(self) -> int:
        """Classes × terms, seen together or not."""
        return len(self._class_docs) * self._n_terms

    @property
    def n_docs(self) -> int:
        """Documents in the sums, those without any term among them."""
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
        """Let the rows of these classes have a cell for each term, and twice as many where they have not, so that
        copies are rare; what is not yet used takes no memory."""
        self._rows += [np.zeros(0, np.uint64)] * (n_classes - len(self._rows))
        for place in np.unique(classes).tolist():
            before = self._rows[place][: self._n_terms]
            if len(self._rows[place]) < n_terms:
                self._rows[place] = np.zeros(2 * n_terms, np.uint64)
                self._rows[place][: len(before)] = before

    def take(self) -> Counts:
        """The sums so far, which start anew."""
        n_classes, n_terms = len(self._class_docs), self._n_terms
        found = NATIVE.list_cells(self._rows[:n_classes], n_terms) if n_classes else None
        if found is None:
            return Counts.zero(0, 0)
        ends, columns, sums, documents, terms, df = found
        shape, ends = (n_classes, n_terms), ends.astype(np.int32)
        class_terms, class_df = (StoredMatrix(part, columns, ends, shape) for part in (sums, documents))
        counts = Counts(self._class_docs.sum(), self._class_docs, class_terms, class_df, terms, df)
        self._start()
        return counts


def _one_each(Y: Sparse) -> bool:
    return bool(Y.nnz == Y.shape[0] and np.array_equal(Y.indptr, np.arange(Y.shape[0] + 1)))


def _widened(values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.pad(values, (0, max(0, size - len(values))))
