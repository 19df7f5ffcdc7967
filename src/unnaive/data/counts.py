"""Counts, the statistic that almost every model learns from: sums over documents, exact in any order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.sparse import csr_array
from unnaive.base.types import Sparse
from unnaive.data.arrays import StoredMatrix, lazy_matrices, stored
from unnaive.data.class_sums import canonical, class_sums
from unnaive.data.products import NATIVE

ROUNDING = 1e-11  # relative to the largest sum: allowed rounding error of fractional sums after adding and subtracting
UNITS = 1 << 24  # sums of multiples of 1/UNITS, such as probabilities of soft labels, are exact below 2⁵³/UNITS


@lazy_matrices("class_terms", "class_df")
@dataclass(frozen=True, eq=False)
class Counts:
    """Sums over documents, by class and over the corpus.

    Corpus totals are separate from class sums: in multilabel data a document counts in several classes but once in the
    corpus, and a document without a label counts only in the corpus. Whole numbers stay integers, so `+` and
    `-` are exact and order is irrelevant; sample weights or fractional features make them float64.

    n_docs       documents
    class_docs   documents of each class             (n_classes,)
    class_terms  occurrences of term in class, N_ik  (n_classes, n_terms) sparse
    class_df     documents of class with term        (n_classes, n_terms) sparse
    terms        occurrences of term, N_•k           (n_terms,)
    df           documents with term                 (n_terms,)

    >>> X, Y = csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]])
    >>> counts = Counts.of(X, Y)
    >>> counts.terms, counts.df
    (array([3, 1]), array([2, 1]))
    >>> Counts.of(X[:1], Y[:1]) + Counts.of(X[1:], Y[1:]) == counts
    True
    """

    n_docs: Any
    class_docs: NDArray[Any]
    class_terms: Sparse
    class_df: Sparse
    terms: NDArray[Any]
    df: NDArray[Any]

    @classmethod
    def of(
        cls, X: Sparse, Y: Sparse, sample_weight: NDArray[Any] | None = None, *, threads: int = 1,
        order: NDArray[Any] | None = None,
    ) -> Counts:  # fmt: skip
        """Count documents X (n_docs, n_terms) with labels Y (n_docs, n_classes), both sparse.

        class_terms = Yᵀ diag(sample_weight) X, and class_df is the same for [X > 0]. X has no negative entries and no
        repeated terms within a row; any non-zero entry of Y is membership. With an `order`, a permutation, the sums are
        those of X[:, order].
        """
        weight = _document_weights(X.shape[0], sample_weight)
        number = np.result_type(_number(X.data), weight)
        if _may_overflow(X.data, weight):
            number, weight = np.dtype(np.float64), weight.astype(np.float64)
        by_class = _weighted_labels(csr_array(Y), weight)
        sums = class_sums(csr_array(X), by_class, weight, number, threads, order)
        if not bool(np.isfinite(sums.terms.sum(dtype=np.float64))):
            raise BadData("the sums over the documents are too large for a float; give smaller counts or weights")
        return cls(weight.sum(), by_class.sum(axis=1), *sums)

    @classmethod
    def zero(cls, n_classes: int, n_terms: int) -> Counts:
        """Counts of no documents: the neutral element of `+`."""
        table = csr_array((n_classes, n_terms), dtype=np.int64)
        return cls(np.int64(0), _zeros(n_classes), table, table.copy(), terms=_zeros(n_terms), df=_zeros(n_terms))

    @property
    def n_classes(self) -> int:
        """The number of classes, including those without documents."""
        return len(self.class_docs)

    @property
    def n_terms(self) -> int:
        """The number of terms, including those without occurrences."""
        return len(self.terms)

    @property
    def class_totals(self) -> NDArray[Any]:
        """Occurrences of all terms in each class, N_i• (n_classes,)."""
        table = stored(self, "class_terms")
        totals: NDArray[Any] = table.row_sums() if isinstance(table, StoredMatrix) else table.sum(axis=1)
        return totals

    @property
    def total(self) -> Any:
        """Occurrences of all terms in the corpus, N."""
        return self.terms.sum()

    def __add__(self, other: Counts) -> Counts:
        return self._combine(other, operator.add)

    def __sub__(self, other: Counts) -> Counts:
        remaining = self._combine(other, _remainder)
        for table, whole in ((remaining.class_terms, remaining.terms), (remaining.class_df, remaining.df)):
            if not is_part(table.data, whole[table.indices]):  # documents without a label do not count in the classes
                raise _never_counted()
        return remaining

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _combine(self, other: Counts, how: Callable[[Any, Any], Any]) -> Counts:
        if self.class_terms.shape != other.class_terms.shape:
            raise BadData(
                f"counts of {self.n_classes} classes × {self.n_terms} terms and counts of {other.n_classes} × "
                f"{other.n_terms} have different shapes; give both the same vocabulary and class list first"
            )
        parts = {}
        for field in fields(self):
            value = how(getattr(self, field.name), getattr(other, field.name))
            parts[field.name] = canonical(value) if field.name in ("class_terms", "class_df") else value
        return Counts(**parts)

    def placed(self, classes: NDArray[Any], terms: NDArray[Any], n_classes: int, n_terms: int) -> Counts:
        """The same sums in a larger table: row i moves to `classes[i]`, column j to `terms[j]`.

        >>> small = Counts.of(csr_array([[2, 1]]), csr_array([[1]]))
        >>> small.placed(np.array([1]), np.array([2, 0]), n_classes=2, n_terms=3).terms
        array([1, 0, 2])
        """

        def spread(values: NDArray[Any], ids: NDArray[Any], size: int) -> NDArray[Any]:
            out = np.zeros(size, values.dtype)
            out[ids] = values
            return out

        def move(table: Sparse) -> Sparse:
            cells = table.tocoo()
            rows, columns = cells.coords
            return canonical(csr_array((cells.data, (classes[rows], terms[columns])), (n_classes, n_terms)))

        return Counts(
            self.n_docs,
            spread(self.class_docs, classes, n_classes),
            move(self.class_terms),
            move(self.class_df),
            spread(self.terms, terms, n_terms),
            spread(self.df, terms, n_terms),
        )

    def grown(self, n_classes: int, n_terms: int) -> Counts:
        """The same sums with empty rows and columns appended for new classes and terms."""
        if (n_classes, n_terms) == (self.n_classes, self.n_terms):
            return self
        more = n_classes - self.n_classes, n_terms - self.n_terms

        def widen(table: Sparse) -> Sparse:
            ends = np.pad(table.indptr, (0, more[0]), mode="edge")
            wide = csr_array((table.data, table.indices, ends), shape=(n_classes, n_terms))
            wide.has_canonical_format = True
            return wide

        return Counts(
            self.n_docs,
            np.pad(self.class_docs, (0, more[0])),
            widen(self.class_terms),
            widen(self.class_df),
            np.pad(self.terms, (0, more[1])),
            np.pad(self.df, (0, more[1])),
        )

    def scaled(self, factors: NDArray[Any]) -> Counts:
        """Count every document of class i factors[i] times; every document must have exactly one class.

        >>> counts = Counts.of(csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]])).scaled(np.array([3.0, 1.0]))
        >>> counts.class_docs, counts.terms, counts.class_df.toarray().tolist()
        (array([3, 1]), array([7, 1]), [[3, 0], [1, 1]])
        """
        number = _number(factors)
        if float(factors.max(initial=0)) * float(max(self.total, self.n_docs)) >= 2.0**62:
            number = np.float64
        factors = factors.astype(number)

        def scale(table: Sparse) -> Sparse:
            values = table.data * np.repeat(factors, np.diff(table.indptr))
            return canonical(csr_array((values, table.indices.copy(), table.indptr.copy()), shape=table.shape))

        class_docs, class_terms, class_df = self.class_docs * factors, scale(self.class_terms), scale(self.class_df)
        return Counts(
            class_docs.sum(), class_docs, class_terms, class_df, class_terms.sum(axis=0), class_df.sum(axis=0)
        )

    def take(self, rows: NDArray[Any], columns: NDArray[Any]) -> Counts:
        """The sums of the classes `rows` and the terms `columns`; corpus totals remain those of all documents."""
        taken = self.take_terms(columns) if len(columns) < self.n_terms else self
        if len(rows) == self.n_classes:
            return taken
        tables = taken.class_terms[rows, :], taken.class_df[rows, :]
        return Counts(taken.n_docs, taken.class_docs[rows], *tables, taken.terms, taken.df)

    def take_terms(self, ids: NDArray[Any]) -> Counts:
        """The sums of the terms `ids`, in that order."""
        return Counts(
            self.n_docs,
            self.class_docs,
            canonical(self.class_terms[:, ids]),
            canonical(self.class_df[:, ids]),
            self.terms[ids],
            self.df[ids],
        )

    def reordered(self, order: NDArray[Any]) -> Counts:
        """Reorder the terms, `order[0]` first; `order` is a permutation, unlike for `take_terms`.

        >>> Counts.of(csr_array([[2, 0, 1]]), csr_array([[1]])).reordered(np.array([2, 1, 0])).class_terms.toarray()
        array([[1, 0, 2]])
        """
        tables = stored(self, "class_terms"), stored(self, "class_df")
        position = np.empty(len(order), tables[1].indices.dtype)
        position[order] = np.arange(len(order), dtype=position.dtype)
        alike = _same_cells(*tables)  # true unless counts are fractional
        cells = [_sorted_cells(table, position) for table in (tables[:1] if alike else tables)]
        moved = [
            StoredMatrix(table.data.take(numbers), columns, table.indptr, table.shape, canonical=True)
            for table, (columns, numbers) in zip(tables, cells * 2 if alike else cells, strict=True)
        ]
        return Counts(self.n_docs, self.class_docs, moved[0], moved[1], self.terms[order], self.df[order])


def _same_cells(first: Sparse, second: Sparse) -> bool:
    """Whether two tables have the same non-zero cells, whatever their values."""
    return np.array_equal(first.indptr, second.indptr) and np.array_equal(first.indices, second.indices)


def _sorted_cells(table: Sparse, position: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return (columns, previous position of each cell) for a table whose column j moves to position[j], sorted."""
    if NATIVE is not None and table.indices.dtype == np.int32 and table.nnz == len(table.indices):
        return NATIVE.move_columns(table.indptr, table.indices, position)  # type: ignore[no-any-return]
    number = np.arange(table.nnz, dtype=table.indices.dtype)
    moved = csr_array((number, position[table.indices], table.indptr), shape=table.shape)
    moved = moved.tocsc().tocsr()  # two transpositions sort all rows in linear time
    return moved.indices, moved.data


def _zeros(size: int) -> NDArray[Any]:
    return np.zeros(size, np.int64)


def _number(values: NDArray[Any]) -> type:
    """int64 if every value is a whole number, else float64: one fractional feature makes all sums fractional."""
    if values.dtype.kind in "iub":
        return np.int64
    # a whole float beyond 2³¹ is a measurement, not a count, and its sums might exceed int64
    whole = all(bool(np.all(part == np.rint(part)) and np.all(part < 2**31)) for part in (values[:1024], values))
    return np.int64 if whole else np.float64


def _may_overflow(values: NDArray[Any], weight: NDArray[Any]) -> bool:
    """Whether sums of whole numbers might exceed int64."""
    return float(values.max(initial=0)) * float(weight.sum(dtype=np.float64)) >= 2.0**62


def _document_weights(n_docs: int, sample_weight: NDArray[Any] | None) -> NDArray[Any]:
    """One weight for each document (n_docs,); whole weights act as repetitions and stay exact."""
    if sample_weight is None:
        return np.ones(n_docs, np.int64)
    weight = np.asarray(sample_weight)
    return weight.astype(_number(weight), copy=False)


def _weighted_labels(Y: Sparse, weight: NDArray[Any]) -> Sparse:
    """Yᵀ with each document scaled by its weight (n_classes, n_docs)."""
    repeated = np.repeat(weight, np.diff(Y.indptr)) * (Y.data != 0)
    return csr_array(csr_array((repeated, Y.indices, Y.indptr), shape=Y.shape).T)


def _remainder(total: Any, part: Any) -> Any:
    """total − part; an error if a difference is negative. Fractions that cancel up to rounding become zero.

    Multiples of 1/UNITS have no rounding error, so their differences are kept, however small.
    """
    rest = total - part
    values = rest.data if isinstance(rest, csr_array) else np.asarray(rest)
    exact = values.dtype.kind != "f" or (_in_units(total) and _in_units(part))
    noise = 0 if exact else ROUNDING * _largest(total)
    if values.size and values.min() < -noise:
        raise _never_counted()
    if not noise:
        return rest
    if isinstance(rest, csr_array):
        rest.data[np.abs(rest.data) <= noise] = 0
        return rest
    return np.where(np.abs(rest) <= noise, 0, rest)


def _never_counted() -> BadData:
    return BadData(
        "these documents cannot be removed, because not all of them were counted with these labels; forget only "
        "documents that the model was trained on"
    )


def is_part(part: NDArray[Any], whole: NDArray[Any]) -> bool:
    """Whether every number is at most that of the whole; sums of fractions are compared up to rounding."""
    if part.dtype.kind != "f":
        return bool(np.all(part <= whole))
    return bool(np.all(part <= whole + 1e-6 * whole + 1e-9 * np.max(whole, initial=0)))


def _in_units(values: Any) -> bool:
    """Whether all values are multiples of 1/UNITS that float64 holds exactly."""
    units = np.asarray(values.data if isinstance(values, csr_array) else values) * float(UNITS)
    return bool(units.max(initial=0) < 2.0**53 and np.array_equal(units, np.rint(units)))


def _largest(values: Any) -> Any:
    array = values.data if isinstance(values, csr_array) else np.asarray(values)
    return array.max() if array.size else 0


def _same(values: Any, others: Any) -> bool:
    if not isinstance(values, csr_array):
        return np.array_equal(values, others)
    return values.shape == others.shape and all(
        np.array_equal(getattr(values, part), getattr(others, part)) for part in ("indptr", "indices", "data")
    )
