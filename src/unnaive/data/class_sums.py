"""Sums of documents by class and over the corpus, the arithmetic behind Counts; native where X holds integer counts.

The SciPy product Yᵀ X is the specification; loops over one class at a time give the same sums faster.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Sparse
from unnaive.data.products import NATIVE, WORTH_THREADS

# with classes × terms up to this many times the entries, each class is summed in a dense array of all terms
DENSE_SHARE = 4
BLOCK = 1 << 21  # entries summed at a time
SMALL = 1 << 18  # classes × terms that are summed at once
EXACT = 2.0**53  # smaller sums of integers are exact in float64


class ClassSums(NamedTuple):
    """Sums by class, sparse (n_classes, n_terms), and over the corpus (n_terms,)."""

    class_terms: Sparse
    class_df: Sparse
    terms: NDArray[Any]
    df: NDArray[Any]


def class_sums(
    X: Sparse,
    by_class: Sparse,
    weight: NDArray[Any],
    number: Any,
    threads: int = 1,
    order: NDArray[Any] | None = None,
) -> ClassSums:
    """Sums of X (n_docs, n_terms) by the weighted labels by_class (n_classes, n_docs) and over the corpus.

    class_terms = by_class @ X, class_df the same of [X > 0]; terms = weight @ X, df the same of [X > 0]. Columns are
    those of X[:, order] if there is an `order`, a permutation.

    >>> X, by_class = csr_array(np.array([[2, 0], [1, 1]], np.int32)), csr_array([[1, 0], [0, 1]])
    >>> sums = class_sums(X, by_class, np.ones(2, np.int64), np.int64)
    >>> sums.class_terms.toarray(), sums.terms, sums.df
    (array([[2, 0],
           [1, 1]]), array([3, 1]), array([2, 1]))
    """
    entries = int(np.diff(X.indptr)[by_class.indices].sum())
    place = np.zeros(0 if order is None else len(order), np.int32)
    if order is not None:
        place[order] = np.arange(len(order), dtype=np.int32)
    often = 0 < by_class.shape[0] * X.shape[1] <= DENSE_SHARE * entries
    X = _with_short_counts(X) if often else X
    if often and _suits(X, by_class, weight, number):
        sums = _native_sums(X, by_class, place, threads)
        if sums is not None:
            return sums
    if order is not None:
        X = csr_array((X.data, place[X.indices], X.indptr), shape=X.shape)
    X = _without_zeros(X)
    small = by_class.shape[0] * X.shape[1] <= SMALL and entries <= BLOCK
    counting = _tables_at_once if small else _tables_by_counting
    tables = (counting if often else _tables_by_product)(by_class, X, number)
    return ClassSums(*tables, *_column_sums(X, weight, number))


def _with_short_counts(X: Sparse) -> Sparse:
    """X with 32-bit counts, for the native loops, if it has wider ones that fit."""
    if X.data.dtype.kind not in "iu" or X.data.itemsize <= 4 or not X.nnz or X.data.max() > np.iinfo(np.int32).max:
        return X
    return csr_array((X.data.astype(np.int32), X.indices, X.indptr), shape=X.shape)


def _suits(X: Sparse, by_class: Sparse, weight: NDArray[Any], number: Any) -> bool:
    """Whether the native loops apply: 32-bit counts, and every document counted once."""
    return (
        NATIVE is not None
        and X.data.dtype == X.indices.dtype == np.int32
        and np.dtype(number) == weight.dtype == np.int64
        and bool((weight == 1).all())
        and bool((by_class.data == 1).all())
    )


def _native_sums(X: Sparse, by_class: Sparse, place: NDArray[np.int32], threads: int) -> ClassSums | None:
    """The sums by the native extension; None if a stored count is zero or a sum exceeds 32 bits."""
    threads = threads if X.nnz >= WORTH_THREADS else 1
    arrays = NATIVE.class_sums(
        X.indptr, X.indices, X.data, by_class.indptr, by_class.indices.astype(np.int32), X.shape[1], place, threads
    )  # fmt: skip
    if arrays is None:
        return None
    ends, columns, sums, documents, terms, df = arrays
    shape, ends = (by_class.shape[0], X.shape[1]), ends.astype(X.indptr.dtype)
    class_terms, class_df = (csr_array((part, columns, ends), shape=shape) for part in (sums, documents))
    return ClassSums(class_terms, class_df, terms, df)


def _in_order(by_class: Sparse, X: Sparse) -> tuple[Sparse, Sparse]:
    """Reorder the documents of by_class @ X by class, so that memory is read sequentially; the product is unchanged."""
    order = by_class.indices
    places = np.arange(len(order), dtype=order.dtype)
    if len(order) == X.shape[0] and np.array_equal(order, places):
        return by_class, X
    laid_out = csr_array((by_class.data, places, by_class.indptr), shape=(by_class.shape[0], len(order)))
    return laid_out, X[order]


def _tables_by_product(by_class: Sparse, X: Sparse, number: Any) -> tuple[Sparse, Sparse]:
    """class_terms and class_df, each by a sparse product: memory is proportional to the cells seen."""
    by_class, rows = _in_order(by_class, X.astype(number, copy=False))
    present = csr_array((np.ones(rows.nnz, by_class.dtype), rows.indices, rows.indptr), shape=rows.shape)
    return canonical(by_class @ rows), canonical(by_class @ present)


def _tables_by_counting(by_class: Sparse, X: Sparse, number: Any) -> tuple[Sparse, Sparse]:
    """The same, class by class in a dense array of all terms; faster if a class has many of them."""
    columns, sums, documents = [], [], []
    for start, end in pairwise(by_class.indptr):
        terms, df = _column_sums(_rows(X, by_class.indices[start:end]), by_class.data[start:end], number)
        columns.append(np.flatnonzero(df).astype(X.indices.dtype))
        sums.append(terms[columns[-1]])
        documents.append(df[columns[-1]])
    indptr = np.cumsum([0, *map(len, columns)], dtype=X.indptr.dtype)
    shape = by_class.shape[0], X.shape[1]
    seen = np.concatenate(columns)
    return tuple(csr_array((np.concatenate(part), seen, indptr), shape=shape) for part in (sums, documents))


def _tables_at_once(by_class: Sparse, X: Sparse, number: Any) -> tuple[Sparse, Sparse]:
    """The same in one array of all classes and terms, if it is small: class by class would be mostly overhead."""
    labels, weight, rows = _labels_of_rows(by_class, X)
    sizes = np.diff(rows.indptr)
    cells = np.repeat(labels * X.shape[1], sizes) + rows.indices
    shape = by_class.shape[0] * X.shape[1]
    each = None if np.all(weight == 1) else np.repeat(weight, sizes)
    sums, documents = _sums_of_cells(cells, rows.data, each, shape, number)
    nonzero = np.flatnonzero(documents)
    columns = (nonzero % X.shape[1]).astype(X.indices.dtype)
    indptr = np.searchsorted(nonzero, np.arange(by_class.shape[0] + 1) * X.shape[1]).astype(X.indptr.dtype)
    return tuple(
        csr_array((part[nonzero].astype(kind, copy=False), columns, indptr), shape=(by_class.shape[0], X.shape[1]))
        for part, kind in ((sums, number), (documents, weight.dtype))
    )


def _sums_of_cells(
    cells: NDArray[Any], values: NDArray[Any], weight: NDArray[Any] | None, size: int, number: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Σ weight·value, as `number`, and Σ weight of the entries of each cell (size,); weight None: 1 each."""
    values = values.astype(number, copy=False)
    if weight is None:
        return _sums(cells, values, size), np.bincount(cells, minlength=size)
    return _sums(cells, (values * weight).astype(number, copy=False), size), _sums(cells, weight, size)


def _sums(cells: NDArray[Any], values: NDArray[Any], size: int) -> NDArray[Any]:
    """Σ value of each cell, in the type of the values; integers are exact, also where float64 is not."""
    if values.dtype.kind == "f" or float(values.max(initial=0)) * len(values) < EXACT:
        return np.bincount(cells, values, size).astype(values.dtype, copy=False)
    sums = np.zeros(size, values.dtype)
    np.add.at(sums, cells, values)
    return sums


def _labels_of_rows(by_class: Sparse, X: Sparse) -> tuple[NDArray[Any], NDArray[Any], Sparse]:
    """(the class and the weight of each row, the rows); X itself is the rows if every document has one class."""
    labels = np.repeat(np.arange(by_class.shape[0]), np.diff(by_class.indptr))
    if len(labels) == X.shape[0] and len(np.unique(by_class.indices)) == len(labels):
        cell_of_row = np.empty(len(labels), np.intp)
        cell_of_row[by_class.indices] = np.arange(len(labels))
        return labels[cell_of_row], by_class.data[cell_of_row], X
    return labels, by_class.data, X[by_class.indices]


def _rows(X: Sparse, rows: NDArray[Any]) -> Sparse:
    """Rows of X in ascending order; without a copy if they are contiguous."""
    if not len(rows) or rows[-1] - rows[0] + 1 != len(rows):
        return X[rows]
    ends = X.indptr[rows[0] : rows[-1] + 2]
    entries = slice(ends[0], ends[-1])
    return csr_array((X.data[entries], X.indices[entries], ends - ends[0]), shape=(len(rows), X.shape[1]))


def _column_sums(X: Sparse, weight: NDArray[Any], number: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Σ_d weight[d] X[d, t] and Σ_d weight[d] [X[d, t] > 0], (n_terms,) each.

    X is processed in blocks, which reuse memory, so the time stays proportional to the size of X.
    """
    n_terms, alike = X.shape[1], bool(np.all(weight == 1))
    sums, df = np.zeros(n_terms, number), np.zeros(n_terms, weight.dtype)
    cuts = np.unique([*np.searchsorted(X.indptr, np.arange(0, X.nnz, BLOCK)), X.shape[0]])
    for first, last in pairwise(cuts.tolist()):
        ends = X.indptr[first : last + 1]
        entries = slice(ends[0], ends[-1])
        each = None if alike else np.repeat(weight[first:last], np.diff(ends))
        more, documents = _sums_of_cells(X.indices[entries], X.data[entries], each, n_terms, number)
        sums += more
        df += documents.astype(weight.dtype, copy=False)
    return sums, df


def _without_zeros(X: Sparse) -> Sparse:
    if not X.nnz or X.data.min() > 0:
        return X
    X = X.copy()
    X.eliminate_zeros()
    return X


def canonical(table: Sparse) -> Sparse:
    """Sort the cells of each row and remove zeros, so that equal sums are equal arrays.

    Two transpositions sort all rows in linear time. Products and sums have no duplicate cells.
    """
    table = csr_array(table)
    table.eliminate_zeros()
    if not table.has_sorted_indices:
        table = table.tocsc().tocsr()
    return table
