"""Sparse × thin products, native where the extension is built; scipy.sparse is the specification and the fallback.

Iterated learners spend their time in X·W and Xᵀ·R with one column for each class; see maxent.py and paths.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.types import Floats, Sparse

try:
    import unnaive.core._products as _products

    NATIVE: Any = _products
except ImportError:  # built without a compiler
    NATIVE = None


def product(X: Sparse, dense: Floats) -> Floats:
    """X·dense: (n_docs, n_terms) × (n_terms, width) → (n_docs, width).

    >>> product(csr_array([[1.0, 2.0]]), np.array([[1.0], [10.0]]))
    array([[21.]])
    """
    if NATIVE is None or not suits(X, dense, X.shape[1]):
        return np.asarray(X @ dense)
    out = np.empty((X.shape[0], dense.shape[1]))
    NATIVE.product(X.indptr, X.indices, X.data, np.ascontiguousarray(dense), out)
    return out


def transposed_product(X: Sparse, dense: Floats) -> Floats:
    """Xᵀ·dense: (n_terms, n_docs) × (n_docs, width) → (n_terms, width).

    >>> transposed_product(csr_array([[1.0, 2.0]]), np.array([[3.0]]))
    array([[3.],
           [6.]])
    """
    if NATIVE is None or not suits(X, dense, X.shape[0]):
        return np.asarray(X.T @ dense)
    out = np.zeros((X.shape[1], dense.shape[1]))
    NATIVE.transposed(X.indptr, X.indices, X.data, np.ascontiguousarray(dense), out)
    return out


def suits(X: Sparse, dense: Floats, n_rows: int) -> bool:
    """Whether the native loops can read both; shapes that do not fit are left to scipy, which has the words for it."""
    return (
        isinstance(X, csr_array)
        and X.data.dtype == dense.dtype == np.float64
        and X.indices.dtype == np.int32
        and X.indptr.dtype in (np.int32, np.int64)
        and dense.ndim == 2
        and dense.shape[0] == n_rows
    )
