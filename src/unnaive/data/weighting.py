"""Weighting turns the raw counts of a document into the features that a scorer multiplies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log
from unnaive.base.errors import choose
from unnaive.base.sparse import csr_array
from unnaive.base.types import Sparse
from unnaive.text.fixed_point import from_cells

SMALL_COUNT = 1 << 15  # logarithms of smaller integer counts are looked up in a table


def _log_frequency(counts: NDArray[Any]) -> NDArray[np.float64]:
    """1 + log n, and n where it is below 1; the logarithm is computed once for each distinct integer.

    Below 1/e, which rows of TF-IDF are full of, 1 + log n would be negative; n joins it at 1 with the same slope.

    >>> _log_frequency(np.array([0.0, 0.1, 1.0, np.e]))
    array([0. , 0.1, 1. , 2. ])
    """
    if counts.dtype.kind in "iu" and counts.size > SMALL_COUNT and 0 <= counts.min() <= counts.max() < SMALL_COUNT:
        return np.asarray(_log_frequency(np.arange(counts.max() + 1.0))[counts])
    values = np.asarray(counts, np.float64)
    return np.where(values < 1, np.maximum(values, 0.0), 1 + log(np.maximum(values, 1.0)))


TERM_FREQUENCIES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "raw": lambda counts: np.asarray(counts, np.float64),
    "binary": lambda counts: (counts > 0).astype(np.float64),
    "log": _log_frequency,
    "fixed-point": from_cells,
}
NORMS: dict[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]] = {
    "l1": lambda values, indptr: _row_sums(np.abs(values), indptr),
    "l2": lambda values, indptr: np.sqrt(_row_sums(values * values, indptr)),
}


def _row_sums(values: NDArray[Any], indptr: NDArray[Any]) -> NDArray[np.float64]:
    """Row sums of a CSR matrix, bit for bit as in SciPy, without creating the matrix.

    >>> _row_sums(np.array([3.0, 1.0, 2.0]), np.array([0, 2, 2, 3]))
    array([4., 0., 2.])
    """
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(indptr[1:] > indptr[:-1])
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


@dataclass(frozen=True, eq=False)
class Weighting:
    """z = norm(tf(x) ∘ idf); every step optional.

    tf    "raw" n, "binary" [n > 0], "log" 1 + log n (n below 1), "fixed-point" the number that a cell of a vector
          stands for
    idf   a factor for each term (n_terms,), or None
    norm  "l1" or "l2" divides each document by its length; None leaves it. Empty documents stay empty.

    >>> Weighting("raw", norm="l1").apply(csr_array([[3, 1], [0, 0]])).toarray()
    array([[0.75, 0.25],
           [0.  , 0.  ]])
    """

    tf: str = "raw"
    idf: NDArray[np.float64] | None = None
    norm: str | None = None

    def __post_init__(self) -> None:
        choose(list(TERM_FREQUENCIES), self.tf, "term-frequency weighting")
        if self.norm is not None:
            choose(list(NORMS), self.norm, "document norm")

    def apply(self, X: Sparse) -> Sparse:
        """The weighted documents, float64 csr_array (n_docs, n_terms)."""
        X = X if isinstance(X, csr_array) else csr_array(X)
        data = TERM_FREQUENCIES[self.tf](X.data)
        if self.idf is not None:
            data = data * self.idf[X.indices]
        if self.norm is not None:
            lengths = NORMS[self.norm](data, X.indptr)
            data = data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(X.indptr))
        return csr_array((data, X.indices, X.indptr), shape=X.shape)


def presence(X: Sparse, kind: type[np.number[Any]] = np.float64) -> Sparse:
    """[X > 0] as a csr_array of ones of this type.

    >>> presence(csr_array([[3, 0], [1, 2]])).toarray()
    array([[1., 0.],
           [1., 1.]])
    """
    X = _occurrences(X)
    return csr_array((np.ones(X.nnz, kind), X.indices, X.indptr), shape=X.shape)


def _occurrences(X: Sparse) -> Sparse:
    X = csr_array(X)
    return X if bool(np.all(X.data > 0)) else X > 0  # a stored zero would count as an occurrence


def document_frequency(X: Sparse, weight: NDArray[np.float64] | None = None) -> NDArray[Any]:
    """The number of documents of X (n_docs, n_terms) with each term, or the sum of their weights (n_terms,).

    >>> document_frequency(csr_array([[3, 0], [1, 2]])), document_frequency(csr_array([[3, 0]]), np.array([0.5]))
    (array([2, 1]), array([0.5, 0. ]))
    """
    X = _occurrences(X)
    each = None if weight is None else np.repeat(weight, np.diff(X.indptr))
    return np.bincount(X.indices, each, minlength=X.shape[1])


def tf_idf(
    X: Sparse, sample_weight: NDArray[np.float64] | None = None, df: NDArray[Any] | None = None
) -> Weighting:  # fmt: skip
    """(1 + log n)·(1 + log((N+1)/(df+1))), rows normalised to length 1; df and N from documents X, weighted.

    `df` is `document_frequency(X)`, if it is already known and there are no weights.
    """
    n_docs = X.shape[0] if sample_weight is None else sample_weight.sum()
    if df is None or sample_weight is not None:
        df = document_frequency(X, sample_weight)
    return _tf_idf(df, n_docs)


def _tf_idf(df: NDArray[Any], n_docs: Any) -> Weighting:
    return Weighting("log", 1 + log((n_docs + 1) / (np.asarray(df, np.float64) + 1)), "l2")


DOCUMENT_WEIGHTINGS = ("auto", "tf-idf", "log", "binary", "counts")


def are_counts(X: Sparse) -> bool:
    """Whether all cells of X are whole numbers; otherwise they have been weighted already.

    >>> are_counts(csr_array([[2.0, 0.0]])), are_counts(csr_array([[0.6, 0.8]]))
    (True, False)
    """
    return X.data.dtype.kind in "biu" or bool(np.all(X.data == np.trunc(X.data)))


def document_weighting(name: str, X: Sparse, sample_weight: NDArray[np.float64] | None = None) -> Weighting:
    """The weighting called `name`, fitted on the training documents X.

    "tf-idf"  (1 + log n)·(1 + log((N+1)/(df+1))), rows of length 1     "log"     1 + log n, rows of length 1
    "binary"  presence                                                "counts"  as they are
    "auto"    "tf-idf" for counts, and "counts" for fractions, which TfidfVectorizer or the like has weighted already
    """
    if name == "auto":
        name = "tf-idf" if are_counts(X) else "counts"
    if name == "tf-idf":
        return tf_idf(X, sample_weight)
    return counted_weighting(name, np.zeros(0), 0.0)


def counted_weighting(name: str, df: NDArray[Any], n_docs: float) -> Weighting:
    """The same from sums over counts of training documents: documents with each term (n_terms,), and of all."""
    if choose(list(DOCUMENT_WEIGHTINGS), name, "document weighting") in ("auto", "tf-idf"):
        return _tf_idf(df, n_docs)
    return {"log": Weighting("log", None, "l2"), "binary": Weighting("binary"), "counts": Weighting("raw")}[name]


def with_small_indices(X: Any) -> Any:
    """Convert to 32-bit indices, which LIBLINEAR and scikit-learn's trees require."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
