"""Products of a sparse and a thin dense matrix: native if the extension is built; scipy.sparse is specification and
fallback.

Iterative learners spend most of their time in X·W and Xᵀ·R with one column per class, for instance in
models/maxent and models/higher_order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Sparse

try:
    import unnaive.data._products as _products

    NATIVE: Any = _products
except ImportError:  # built without a compiler
    NATIVE = None

DEPTH, LANES = 256, 8  # terms of a sum that are added together, and of a dot product; as in _products_dense.h
WORTH_THREADS = 1 << 16  # entries: for fewer, starting threads takes longer than it saves


def product(X: Sparse, dense: Floats, out: Floats | None = None) -> Floats:
    """X·dense: (n_docs, n_terms) × (n_terms, width) → (n_docs, width), written to `out` if it is not None.

    >>> product(csr_array([[1.0, 2.0]]), np.array([[1.0], [10.0]]))
    array([[21.]])
    """
    if NATIVE is None or not suits(X, dense, X.shape[1]):
        result = np.asarray(X @ dense)
        if out is None:
            return result
        out[:] = result
        return out
    out = np.empty((X.shape[0], dense.shape[1])) if out is None else out
    NATIVE.product(X.indptr, X.indices, X.data, np.ascontiguousarray(dense), out)
    return out


def has_repeats(X: Sparse) -> bool:
    """Whether a row of X may have two cells in one column; True if that cannot be found without sorting.

    >>> has_repeats(csr_array([[1, 2]]))
    False
    """
    if X.has_canonical_format:
        return False
    if NATIVE is None or X.indices.dtype != np.int32 or X.indptr.dtype not in (np.int32, np.int64):
        return True
    return bool(NATIVE.has_repeats(X.indptr, X.indices, X.shape[1]))


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


def matmul(left: Any, right: Any, out: Any = None) -> Any:
    """left·right of dense arrays, as np.matmul, with the same bits on every processor; written to `out` if not None.

    BLAS adds in another order on each processor. Here a sum runs in blocks of 256 terms: each is summed in order, and
    the sums of blocks are added in order. The result is float32 if both arrays are, otherwise float64.

    >>> matmul(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0], [10.0, 30.0]]))
    array([[21., 63.]])
    >>> matmul(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    21.0
    """
    kind = np.float32 if left.dtype == right.dtype == np.float32 else np.float64
    left, right = np.asarray(left, kind), np.asarray(right, kind)
    if left.ndim == right.ndim == 1 and kind == np.float64:
        return dot(left, right)
    one = left[None] if left.ndim == 1 else left
    other = right[:, None] if right.ndim == 1 else right
    batch = np.broadcast_shapes(one.shape[:-2], other.shape[:-2])
    shape = (*batch, one.shape[-2], other.shape[-1])
    if out is None:
        result = np.zeros(shape, kind)
    else:
        result = out
        result[...] = 0.0
    _add_products(*(_stacked(table, batch) for table in (one, other, result)))
    if left.ndim == 1:
        result = result[..., 0, :]
    return result[..., 0] if right.ndim == 1 else result


def dot(left: Any, right: Any) -> float:
    """Σ left·right over all cells of two arrays of the same shape, with the same bits on every processor.

    >>> dot(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    21.0
    """
    one, other = (np.ravel(np.asarray(values, np.float64)) for values in (left, right))
    if NATIVE is not None:
        return float(NATIVE.dot(one, other))
    whole = len(one) // LANES * LANES
    sums = (one[:whole] * other[:whole]).reshape(-1, LANES).sum(axis=0)
    sums[: len(one) - whole] += one[whole:] * other[whole:]
    pairs = sums[:4] + sums[4:]
    return float((pairs[0] + pairs[2]) + (pairs[1] + pairs[3]))


def turn_rows(rows: Floats, last: int, sines: list[float], cosines: list[float]) -> None:
    """Turn pairs of rows in place: rows last and last + 1, then last − 1 and last, …, one pair for each sine.

    >>> rows = np.eye(2)
    >>> turn_rows(rows, 0, [1.0], [0.0])
    >>> rows.tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    if NATIVE is not None:
        NATIVE.turn_rows(rows, last, np.array(sines, np.float64), np.array(cosines, np.float64))
        return
    for first, (sine, cosine) in zip(range(last, -1, -1), zip(sines, cosines, strict=True), strict=False):
        a, b = rows[first].copy(), rows[first + 1].copy()
        rows[first] = a * cosine - sine * b
        rows[first + 1] = sine * a + cosine * b


def _stacked(table: Any, batch: tuple[int, ...]) -> Any:
    """A view (n, rows, columns) of a stack of matrices; a copy only where several dimensions cannot be one."""
    shape = (*batch, *table.shape[-2:])
    return (table if table.shape == shape else np.broadcast_to(table, shape)).reshape(prod(batch), *table.shape[-2:])


def _add_products(left: Any, right: Any, out: Any) -> None:
    """out[b] += left[b]·right[b], for stacks of matrices of one type."""
    if NATIVE is not None:
        NATIVE.dense_product(left, right, out)
        return
    for first in range(0, left.shape[2], DEPTH):
        sums = np.zeros(out.shape, out.dtype)
        for k in range(first, min(first + DEPTH, left.shape[2])):
            sums += left[:, :, k, None] * right[:, k, None, :]
        out += sums


def add_tf_idf(X: Sparse, row_of_term: Any, idf: Floats, weights: Any, out: Floats, *, norm: str = "l2") -> bool:
    """Add the scores of documents X (n_docs, n_terms) by some of their terms to `out` (n_docs, n_classes).

    out[d] += Σ_t z_t · weights[row_t] / length,   z_t = (1 + log n_t) · idf[row_t]

    row_of_term  the row of `weights` for each term (n_terms,), −1 for none
    idf          (n_rows,), float64
    weights      (n_rows, n_classes), float32 or float64; sums are in float64 either way
    norm         "l2": the length of a document is √Σ_t z_t²; "l1": Σ_t |z_t|

    Returns False and adds nothing if there is no native module. The result equals that of `Weighting.apply` and
    `product`, without the intermediate matrix.
    """
    if NATIVE is None:
        return False
    indices, values = X.indices.astype(np.int32, copy=False), X.data.astype(np.float64, copy=False)
    NATIVE.add_tf_idf(
        X.indptr.astype(np.int64, copy=False), indices, values, row_of_term, idf, weights, out, norm == "l1"
    )
    return True


def take_columns(X: Sparse, columns: Ids) -> Sparse:
    """X[:, columns] for ascending columns, by one lookup per cell; scipy would sort and count first.

    >>> take_columns(csr_array([[1, 2, 3], [0, 5, 0]]), np.array([1, 2])).toarray()
    array([[2, 3],
           [5, 0]])
    """
    if len(columns) == X.shape[1]:
        return X
    position = places_of(columns, X.shape[1])
    shape = (X.shape[0], len(columns))
    kinds = X.data.dtype in (np.int32, np.int64, np.float64) and X.indices.dtype == np.int32
    if NATIVE is not None and kinds and X.indptr.dtype in (np.int32, np.int64):
        ends, indices, values = NATIVE.take_columns(X.indptr, X.indices, X.data, position)
        return csr_array((values, indices, ends), shape=shape)
    indices = position[X.indices]
    selected = indices >= 0
    ends = np.concatenate([[0], np.cumsum(selected)])[X.indptr]
    index = np.int32 if ends[-1] < 1 << 31 else np.int64
    return csr_array((X.data[selected], indices[selected], ends.astype(index)), shape=shape)


def places_of(columns: Ids, n_terms: int) -> NDArray[np.int32]:
    """The position of every term among the columns, −1 for none (n_terms,).

    >>> places_of(np.array([1, 2]), 4)
    array([-1,  0,  1, -1], dtype=int32)
    """
    position = np.full(n_terms, -1, np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
    return position


@dataclass(frozen=True, eq=False)
class ThinProducts:
    """Repeated products X·dense and Xᵀ·dense on several threads; the results are bitwise those of one thread.

    Xᵀ is also stored by rows: each sum then runs over the documents in their order, is written once, and the threads
    divide the rows of either matrix among them.

    >>> X = ThinProducts.of(csr_array([[1.0, 2.0], [0.0, 4.0]]), threads=2)
    >>> X.product(np.array([[1.0], [10.0]])), X.transposed_product(np.array([[1.0], [1.0]]))
    (array([[21.],
           [40.]]), array([[1.],
           [6.]]))
    """

    X: Sparse
    transposed: Sparse
    threads: int = 1

    @classmethod
    def of(cls, X: Sparse, threads: int = 1) -> ThinProducts:
        """The products of X (n_docs, n_terms)."""
        return cls(X, csr_array(X.T), threads)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_terms)."""
        n_docs, n_terms = self.X.shape
        return int(n_docs), int(n_terms)

    def product(self, dense: Floats) -> Floats:
        """X·dense: (n_terms, width) → (n_docs, width)."""
        return self._rows(self.X, dense)

    def transposed_product(self, dense: Floats, out: Floats | None = None) -> Floats:
        """Xᵀ·dense: (n_docs, width) → (n_terms, width), written to `out` if it is not None.

        Allocating costs a fifth more time.
        """
        return self._rows(self.transposed, dense, out)

    def _rows(self, X: Sparse, dense: Floats, out: Floats | None = None) -> Floats:
        if self.threads == 1 or NATIVE is None or not suits(X, dense, X.shape[1]) or X.nnz < WORTH_THREADS:
            return product(X, dense, out)
        from concurrent.futures import ThreadPoolExecutor

        dense = np.ascontiguousarray(dense)
        out = np.empty((X.shape[0], dense.shape[1])) if out is None else out
        shares = X.nnz * np.arange(1, self.threads) // self.threads
        borders = [0, *np.searchsorted(X.indptr, shares).tolist(), X.shape[0]]

        def work(start: int, stop: int) -> None:
            inside = slice(X.indptr[start], X.indptr[stop])
            starts = X.indptr[start : stop + 1] - X.indptr[start]
            NATIVE.product(starts, X.indices[inside], X.data[inside], dense, out[start:stop])

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, borders[:-1], borders[1:]))
        return out


def suits(X: Sparse, dense: Floats, n_rows: int) -> bool:
    """Whether the native loops can read both; mismatched shapes are left to scipy, which reports the error."""
    return (
        isinstance(X, csr_array)
        and X.data.dtype == dense.dtype == np.float64
        and X.indices.dtype == np.int32
        and X.indptr.dtype in (np.int32, np.int64)
        and dense.ndim == 2
        and dense.shape[0] == n_rows
    )
