"""VectorRows: the vectors of kept documents as a dense table beside the sparse one of their words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.byte_planes import fold_sign, unfold_sign
from unnaive.data.products import take_columns
from unnaive.text.fixed_point import ZERO, Cells, add_columns, which_are_vectors
from unnaive.text.vocabulary import Vocabulary

MOST_PACKED = 2 * ZERO  # packed cells are below this


@dataclass(frozen=True, eq=False)
class VectorRows:
    """The cells of vector fields of documents, in fixed point.

    terms  the names of the columns, sorted
    cells  (n_docs, n_columns) of int32; 0 where a document has no vector in the field
    """

    terms: Vocabulary
    cells: Cells

    @classmethod
    def split(cls, terms: Vocabulary, X: Sparse) -> tuple[Vocabulary, Sparse, VectorRows | None]:
        """The columns that are terms, their counts, and the vectors; None if there are none.

        >>> terms, X, vectors = VectorRows.split(Vocabulary(["v=\\x1f", "ball"]), csr_array([[9, 2], [0, 1]]))
        >>> terms.terms, X.toarray().tolist(), vectors.terms.terms, vectors.cells.tolist()
        (['ball'], [[2], [1]], ['v=\\x1f'], [[9], [0]])
        """
        chosen = which_are_vectors(terms)
        if not chosen.any():
            return terms, X, None
        columns, words = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        cells = take_columns(X, columns).toarray().astype(np.int32, copy=False)
        return terms.take(words), take_columns(X, words), cls(terms.take(columns), cells)

    @classmethod
    def stacked(cls, parts: Sequence[VectorRows | None], sizes: Sequence[int]) -> VectorRows | None:
        """The rows of several tables, one below the other; `sizes` are their numbers of documents."""
        terms = Vocabulary()
        for part in parts:
            terms = terms if part is None else terms.union(part.terms)[0]
        if not len(terms):
            return None
        terms = terms.in_order()
        tables = [
            np.zeros((size, len(terms)), np.int32) if part is None else part.over(terms).cells
            for part, size in zip(parts, sizes, strict=True)
        ]
        return cls(terms, np.concatenate(tables))

    def over(self, terms: Vocabulary) -> VectorRows:
        """The same rows with the columns of `terms`."""
        columns = self.terms.ids(terms)
        cells = np.zeros((len(self.cells), len(terms)), np.int32)
        cells[:, columns >= 0] = self.cells[:, columns[columns >= 0]]
        return VectorRows(terms, cells)

    def take(self, rows: Ids) -> VectorRows:
        """The rows of some documents."""
        return VectorRows(self.terms, self.cells[rows])

    def in_order(self) -> VectorRows | None:
        """Sort the columns and drop those of fields of which no document has a vector; None if none is left."""
        used = np.flatnonzero(self.cells.any(axis=0))
        if not len(used):
            return None
        kept = self if len(used) == len(self.terms) else VectorRows(self.terms.take(used), self.cells[:, used])
        order = kept.terms.order()
        return kept if order is None else VectorRows(kept.terms.in_order(order), kept.cells[:, order])

    def hashes(self) -> NDArray[np.uint64]:
        """A hash of the cells of each document (n_docs, 2); 0 for one without vectors."""
        table = np.ascontiguousarray(self.cells, "<i4")
        digests = b"".join(hashlib.blake2b(row, digest_size=16).digest() for row in table)
        hashes = np.frombuffer(digests, "<u8").reshape(-1, 2)
        return np.where(np.any(table, axis=1, keepdims=True), hashes, np.uint64(0))

    def join(self, terms: Vocabulary, X: Sparse) -> tuple[Vocabulary, Sparse]:
        """The terms and these columns, sorted, and their cells in each document (n_docs, n_columns)."""
        both = terms.followed_by(self.terms)
        order = both.order()
        order = np.arange(len(both)) if order is None else order
        place = np.empty(len(both), np.int32)
        place[order] = np.arange(len(both))
        words = csr_array((X.data, place[X.indices], X.indptr), shape=(X.shape[0], len(both)))
        return both.in_order(order), add_columns(words, self.cells, place[len(terms) :])


def without_vectors(terms: Vocabulary) -> Vocabulary:
    """The terms that are not columns of vectors.

    >>> without_vectors(Vocabulary(["ball", "v=\\x1f"])).terms
    ['ball']
    """
    vectors = which_are_vectors(terms)
    return terms.take(np.flatnonzero(~vectors)) if vectors.any() else terms


def pack_cells(cells: Cells) -> NDArray[np.int64]:
    """Cells as non-negative integers, one after the other: 0 for no vector, then small ones for numbers near 0.

    >>> pack_cells(np.array([0, ZERO, ZERO - 1, ZERO + 1], np.int32)).tolist()
    [0, 1, 2, 3]
    """
    flat = cells.astype(np.int64).ravel()
    return np.where(flat == 0, 0, 1 + fold_sign(flat - ZERO))


def unpack_cells(numbers: NDArray[np.int64]) -> Cells:
    """The inverse of `pack_cells`."""
    return np.where(numbers == 0, 0, ZERO + unfold_sign(numbers - 1)).astype(np.int32)
