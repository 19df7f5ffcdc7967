"""Weighting turns raw counts of a document into the features that a scorer multiplies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.errors import choose
from unnaive.types import Sparse

TERM_FREQUENCIES: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "raw": lambda counts: counts,
    "binary": lambda counts: (counts > 0).astype(np.float64),
    "log": lambda counts: np.where(counts > 0, 1 + np.log(np.maximum(counts, 1e-300)), 0.0),
}
NORMS: dict[str, Callable[[Sparse], NDArray[Any]]] = {
    "l1": lambda X: abs(X).sum(axis=1),
    "l2": lambda X: np.sqrt((X * X).sum(axis=1)),
}


@dataclass(frozen=True, eq=False)
class Weighting:
    """z = norm(tf(x) ∘ idf); every step optional.

    tf    "raw" n, "binary" [n > 0], "log" 1 + log n
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
        X = csr_array(X)
        data = TERM_FREQUENCIES[self.tf](np.asarray(X.data, np.float64))
        if self.idf is not None:
            data = data * self.idf[X.indices]
        Z = csr_array((data, X.indices, X.indptr), shape=X.shape)
        return Z if self.norm is None else _divided_rows(Z, NORMS[self.norm](Z))


def _divided_rows(Z: Sparse, lengths: NDArray[np.float64]) -> Sparse:
    safe = np.where(lengths > 0, lengths, 1.0)
    return csr_array((Z.data / np.repeat(safe, np.diff(Z.indptr)), Z.indices, Z.indptr), shape=Z.shape)
