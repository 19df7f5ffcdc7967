"""Second-order paths between terms, and between terms and classes, counted in closed form for higher_order.py.

A second-order path i–d–k–d′–j joins two ends through a middle term k and two documents; all three terms and both
documents are distinct. Ganiz, George and Pottenger (2011) enumerate them with terms × terms matrices; here sums over
documents and products of a sparse matrix with a thin one do, so the vocabulary need not be cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

Floats = NDArray[np.float64]
Sparse = Any  # scipy.sparse.csr_array, which ships no types

GRAM_CELLS = 1 << 24  # cells of a block of BᵀB held at once: bounds memory whatever the vocabulary


@dataclass(frozen=True, eq=False)
class _Sums:
    """Float sums over documents that add up over shards (exact while totals stay below 2⁵³)."""

    def __add__(self, other: Any) -> Any:
        return type(self)(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class FirstPass(_Sums):
    """What one pass over the documents gives.

    first    F = XᵀY: weight of term in class        (n_terms, n_classes)
    squares  Σ_d x², which is df for binary data      (n_terms,)
    class_docs  documents of each class               (n_classes,)
    """

    first: Floats
    squares: Floats
    class_docs: Floats

    @classmethod
    def of(cls, X: Sparse, Y: Sparse) -> FirstPass:
        """The sums of documents X (n_docs, n_terms) with labels Y (n_docs, n_classes)."""
        X, Y = _floats(X), _floats(Y)
        return cls((X.T @ Y).toarray(), np.asarray((X * X).sum(axis=0)), np.asarray(Y.sum(axis=0)))


@dataclass(frozen=True, eq=False)
class SecondPass(_Sums):
    """What the second pass gives, once F is known: Xᵀ(XF), Xᵀ(q∘Y) and (X∘X∘X)ᵀY, each (n_terms, n_classes)."""

    through: Floats
    same_document: Floats
    cubes: Floats

    @classmethod
    def of(cls, X: Sparse, Y: Sparse, first: Floats) -> SecondPass:
        """The sums of documents X and labels Y under the class weights `first` of all documents."""
        X, Y = _floats(X), _floats(Y)
        squared = X * X
        lengths = squared.sum(axis=1)
        return cls(X.T @ (X @ first), (X.T @ _scaled_rows(Y, lengths)).toarray(), ((squared * X).T @ Y).toarray())


def class_paths(one: FirstPass, two: SecondPass) -> Floats:
    """φ: weight of second-order paths i–d–k–d′–c from each term to each class (n_terms, n_classes).

    φ = Xᵀ(XF) − sq∘F − Xᵀ(q∘Y) + (X∘X∘X)ᵀY,   sq and q the column and row sums of X∘X

    The first product counts every i–d–k–d′–c; the second term takes away k = i, the third d = d′, and the last
    gives back what both took. For binary X this is the number of paths. Rounding may leave −0.0…1: clipped.

    >>> X, Y = csr_array([[1, 1, 0], [0, 1, 1]]), csr_array([[1, 0], [0, 1]])
    >>> one = FirstPass.of(X, Y)
    >>> class_paths(one, SecondPass.of(X, Y, one.first))   # term 0 reaches class 1 by 0–d0–1–d1–c1
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    paths = two.through - one.squares[:, None] * one.first - two.same_document + two.cubes
    return np.maximum(paths, 0.0)


def class_paths_as_published(X: Sparse, Y: Sparse) -> Floats:
    """φ as Algorithm 1 of the higher-order smoothing paper computes it, to the letter (n_terms, n_classes).

    With O₁ the co-occurrences of terms and class labels and O₂ = O₁², step 8 sets O₂(i, j) + O₂(i, j) −
    O₁(i, j)·(O₁(i, i) + O₁(j, j)): paths count twice, and those through one document or class label stay in.
    """
    X, Y = _floats(X), _floats(Y)
    first = (X.T @ Y).toarray()
    labels = (Y.T @ Y).toarray()
    second = X.T @ (X @ first) + first @ labels
    occurrences = np.asarray((X * X).sum(axis=0))
    paths: Floats = 2 * second - first * (occurrences[:, None] + np.diag(labels)[None, :])
    return paths


def term_paths(B: Sparse) -> tuple[Floats, float]:
    """Second-order paths among the documents B (binary): through each term (n_terms,), and in all.

    With u = len − 1, df the column sums of B, and g_i = Σ_k (BᵀB)²_ik:

    ends    E = Bᵀ(B(Bᵀu)) − df∘Bᵀu − Bᵀu² − (g − df² − Bᵀu)
    middle  M = (Bᵀu)² − Bᵀu² − (g − Bᵀlen) + df² − df
    paths containing i = E_i + M_i/2,  all paths = ΣE/2

    >>> containing, total = term_paths(csr_array([[1, 1, 0], [0, 1, 1]]))
    >>> containing, total     # the one path is 0–d0–1–d1–2
    (array([1., 1., 1.]), 1.0)
    """
    B = _floats(B)
    lengths = B.sum(axis=1)
    others = lengths - 1
    df = np.asarray(B.sum(axis=0))
    reached = B.T @ others
    reached_squared = B.T @ (others * others)
    gram = gram_row_squares(B)
    ends = B.T @ (B @ reached) - df * reached - reached_squared - (gram - df * df - reached)
    middle = reached * reached - reached_squared - (gram - B.T @ lengths) + df * df - df
    return ends + middle / 2, float(ends.sum() / 2)


def gram_row_squares(B: Sparse) -> Floats:
    """g_i = Σ_k (BᵀB)²_ik (n_terms,), from blocks of rows of BᵀB: no terms × terms matrix is ever whole."""
    by_term = csc_array(B)
    out = np.zeros(B.shape[1])
    for start, stop in _gram_blocks(B.shape[1]):
        block = csr_array(by_term[:, start:stop].T) @ B
        out[start:stop] = (block * block).sum(axis=1)
    return out


def _gram_blocks(n_terms: int) -> Iterator[tuple[int, int]]:
    size = max(1, GRAM_CELLS // max(1, n_terms))
    for start in range(0, n_terms, size):
        yield start, min(start + size, n_terms)


def _floats(table: Sparse) -> Sparse:
    return csr_array(table).astype(np.float64)


def _scaled_rows(Y: Sparse, factors: Floats) -> Sparse:
    return csr_array((Y.data * np.repeat(factors, np.diff(Y.indptr)), Y.indices, Y.indptr), shape=Y.shape)
