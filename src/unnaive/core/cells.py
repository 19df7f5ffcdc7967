"""A weight for every (term, class) that occurs together, and the one pass over documents that iterated scaling needs.

Most terms are of few classes and most occurrences of terms that all classes have. So the weights are one flat array: a
full row for each term that a good part of the classes have, then a list of cells for each other term; see gis.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import log_softmax

from unnaive.core import products
from unnaive.types import Floats, Sparse

CHUNK_CELLS = 1 << 15  # scores at work at a time: 256 kB of float64, which a second-level cache holds
FULL = 0.35  # a term that more than this share of the classes have gets a full row


@dataclass(frozen=True, eq=False)
class Cells:
    """Where the weights of active cells are: n_table of them in rows, class by class, then the lists.

    rows     terms with a full row (n_rows,)           starts   of each list in the second part (n_lists + 1,)
    lists    the other terms (n_lists,)                classes  of each listed cell (n_cells − n_table,)
    active   whether a cell occurs in the documents (n_cells,): a full row may have some that do not
    """

    shape: tuple[int, int]  # terms, classes
    rows: NDArray[np.intp]
    lists: NDArray[np.intp]
    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    active: NDArray[np.bool_]

    @classmethod
    def of(cls, pattern: Sparse) -> Cells:
        """The cells of `pattern` (n_terms, n_classes), whatever their value.

        >>> Cells.of(csr_array([[1, 1, 0], [0, 0, 1]])).active
        array([ True,  True, False,  True])
        """
        classes_of_term = np.diff(pattern.indptr)
        full = classes_of_term > FULL * pattern.shape[1]
        rows, lists = np.flatnonzero(full), np.flatnonzero(~full)
        lists = lists[
            np.argsort(classes_of_term[lists], kind="stable")
        ]  # lists of one length in a row: no mispredictions
        listed = pattern[lists]
        active = np.concatenate([(pattern[rows].toarray() != 0).ravel(), np.ones(listed.nnz, np.bool_)])
        return cls(pattern.shape, rows, lists, listed.indptr.astype(np.int64), listed.indices.astype(np.int32), active)

    @property
    def n_table(self) -> int:
        """How many cells are in full rows."""
        return len(self.rows) * self.shape[1]

    def gathered(self, table: Sparse) -> Floats:
        """The values of a sparse table (n_terms, n_classes) at these cells (n_cells,), 0 where it has none."""
        rows = np.asarray(table[self.rows].toarray(), np.float64).ravel()
        terms = np.repeat(self.lists, np.diff(self.starts))
        listed = np.asarray(table[terms, self.classes]) if len(terms) else np.zeros(0)
        return np.concatenate([rows, np.asarray(listed, np.float64).ravel()])

    def spread(self, weights: Floats) -> Sparse:
        """Weights (n_cells,) as a sparse table (n_classes, n_terms) of the active cells."""
        n_classes = self.shape[1]
        terms = np.concatenate([np.repeat(self.rows, n_classes), np.repeat(self.lists, np.diff(self.starts))])
        classes = np.concatenate([np.tile(np.arange(n_classes), len(self.rows)), self.classes])
        chosen = self.active
        return csr_array((weights[chosen], (classes[chosen], terms[chosen])), shape=(n_classes, self.shape[0]))


def aligned_zeros(size: int) -> Floats:
    """Zeros (size,) that begin with a cache line, so that no four numbers of a row lie across two."""
    room = np.zeros(size + 7)
    skip = -room.ctypes.data // 8 % 8
    return room[skip : skip + size]


@dataclass(frozen=True, eq=False)
class CellDocuments:
    """Documents cut to the two parts of the cells: in_rows (n_docs, n_rows), in_lists (n_docs, n_lists)."""

    cells: Cells
    in_rows: Sparse
    in_lists: Sparse

    @classmethod
    def of(cls, X: Sparse, cells: Cells) -> CellDocuments:
        """X (n_docs, n_terms) float64."""
        return cls(cells, X[:, cells.rows], X[:, cells.lists])

    def scores(self, weights: Floats) -> Floats:
        """Σ_t x_t · weight of every class (n_docs, n_classes)."""
        table, listed = self._parts(weights)
        scores: Floats = products.product(self.in_rows, table) + (self.in_lists @ listed).toarray()
        return scores

    def expectations(
        self, weights: Floats, targets: NDArray[np.int32], documents: Floats, offset: Floats
    ) -> tuple[float, Floats]:
        """Log-likelihood of the targets, and Σ_d weight_d p(c|x_d) x_dt of every cell (n_cells,).

        p(c|x) ∝ exp(offset_c + Σ_t x_t · weight_ct); an offset of −∞ leaves a class out. `documents` are their weights.
        """
        if products.NATIVE is None:
            return self._expectations(weights, targets, documents, offset)
        expected = aligned_zeros(len(weights))
        likelihood = products.NATIVE.expectations(
            *self._entries, self._chunk, self.cells.starts, self.cells.classes, targets, documents, offset, weights,
            expected,
        )  # fmt: skip
        return float(likelihood), expected

    @property
    def _chunk(self) -> int:
        return max(CHUNK_CELLS // self.cells.shape[1], 8)

    @cached_property
    def _entries(self) -> tuple[NDArray[Any], ...]:
        """Of the full rows, then of the lists: starts of the chunks, and term, document and value of each entry."""
        return *_by_chunk(self.in_rows, self._chunk), *_by_chunk(self.in_lists, self._chunk)

    def _expectations(
        self, weights: Floats, targets: NDArray[np.int32], documents: Floats, offset: Floats
    ) -> tuple[float, Floats]:
        """What the native pass must equal, up to rounding."""
        log_posteriors = log_softmax(self.scores(weights) + offset, axis=1)
        likelihood = float(documents @ log_posteriors[np.arange(len(targets)), targets])
        posteriors = np.exp(log_posteriors) * documents[:, None]
        table = (self.in_rows.T @ posteriors).ravel()
        terms = np.repeat(np.arange(len(self.cells.lists)), np.diff(self.cells.starts))
        return likelihood, np.concatenate([table, (self.in_lists.T @ posteriors)[terms, self.cells.classes]])

    def _parts(self, weights: Floats) -> tuple[Floats, Sparse]:
        """The full rows (n_rows, n_classes), and the lists as a sparse table (n_lists, n_classes)."""
        cells = self.cells
        n_classes, n_table = cells.shape[1], cells.n_table
        listed = csr_array((weights[n_table:], cells.classes, cells.starts), shape=(len(cells.lists), n_classes))
        return weights[:n_table].reshape(-1, n_classes), listed


def _by_chunk(X: Sparse, chunk: int) -> tuple[NDArray[Any], ...]:
    """X by chunks of so many documents, each sorted by term; two transpositions, so in linear time."""
    by_term = csr_array(X).tocsc()
    place = csc_array(
        (np.arange(X.nnz), by_term.indices // chunk, by_term.indptr), shape=(-(-X.shape[0] // chunk), X.shape[1])
    ).tocsr()
    documents = (by_term.indices % chunk)[place.data]
    return (
        place.indptr.astype(np.int64),
        place.indices.astype(np.int32),
        documents.astype(np.int32),
        by_term.data[place.data],
    )
