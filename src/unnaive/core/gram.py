"""Squared row norms of BᵀB, native where the extension is built; scipy.sparse is the specification and the fallback.

Higher-order naive Bayes needs them for every class (paths.py); BᵀB itself, terms × terms, is never whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.types import Floats, Sparse

try:
    import unnaive.core._gram as _gram
except ImportError:  # built without a compiler
    _gram = None


BLOCK_CELLS = 1 << 22  # cells of BᵀB held at once by the fallback: bounds memory whatever the vocabulary


def gram_row_squares(B: Sparse) -> Floats:
    """g_i = Σ_k (BᵀB)²_ik for binary documents B (n_docs, n_terms) → (n_terms,).

    Walks the rows of BᵀB in 2·Σ len² steps or, as Σ_k (BᵀB)²_ik = Σ_{d,e ∋ i} (BBᵀ)_de, those of BBᵀ in 2·Σ df²
    steps, whichever are fewer: the first with many short documents, the second with few long ones.

    >>> gram_row_squares(csr_array([[1, 1, 0], [0, 1, 1]]))      # BᵀB = [[1, 1, 0], [1, 2, 1], [0, 1, 1]]
    array([2., 6., 2.])
    """
    if _gram is None:
        return gram_row_squares_by_blocks(B)
    B = csr_array(B)
    postings = B.tocsc()
    lengths, df = (np.diff(table.indptr).astype(np.float64) for table in (B, postings))
    walk = _gram.by_term if lengths @ lengths <= df @ df else _gram.by_document
    out = np.empty(B.shape[1])
    walk(*_pointers(B), *_pointers(postings), out)
    return out


def gram_row_squares_by_blocks(B: Sparse) -> Floats:
    """The same from blocks of rows of BᵀB, with scipy alone."""
    B = csr_array(B)
    B = csr_array((np.ones(B.nnz), B.indices, B.indptr), shape=B.shape)
    by_term = csc_array(B)
    out = np.zeros(B.shape[1])
    for start, stop in _blocks(B.shape[1]):
        block = csr_array(by_term[:, start:stop].T) @ B
        block.data **= 2
        out[start:stop] = block.sum(axis=1)
    return out


def _blocks(n_terms: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_CELLS // max(1, n_terms))
    for start in range(0, n_terms, size):
        yield start, min(start + size, n_terms)


def _pointers(table: Sparse) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return table.indptr.astype(np.int64), table.indices.astype(np.int32, copy=False)
