"""Second-order paths between terms, and between terms and classes, counted in closed form for learner.py.

A second-order path i–d–k–d′–j joins two ends through a middle term k and two documents; all three terms and both
documents are distinct. Ganiz, George and Pottenger (2011) enumerate them with terms × terms matrices. Here sums over
documents and products of a sparse matrix with a thin one suffice, so the vocabulary need not be cut. The squared row
norms of BᵀB are native if the extension is built; scipy.sparse is the specification and the fallback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Sparse
from unnaive.data.products import product, transposed_product

CHUNK_CELLS = 1 << 23  # documents × classes held at a time: 64 MB of float64
NOTHING = np.zeros(())  # the neutral element of sums of arrays


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over documents; those of shards add up to those of all. Exact for presence while totals are below 2⁵³."""

    def __add__(self, other: Self) -> Self:
        mine, theirs = ([getattr(sums, field.name) for field in fields(self)] for sums in (self, other))
        if any(np.shape(left) != np.shape(right) for left, right in zip(mine, theirs, strict=True)):
            raise BadData("sums over different terms or classes cannot be added; use one vocabulary for all shards")
        return type(self)(*(left + right for left, right in zip(mine, theirs, strict=True)))


@dataclass(frozen=True, eq=False)
class FirstPass(_Sums):
    """The result of the first pass over the documents.

    n_docs      documents
    class_docs  documents of each class                (n_classes,)
    first       F = XᵀY: weight of each term in class  (n_terms, n_classes)
    squares     Σ_d x², which is df where x is 0 or 1  (n_terms,)
    """

    n_docs: int
    class_docs: Floats
    first: Floats
    squares: Floats

    @classmethod
    def of(cls, X: Sparse, Y: Sparse) -> FirstPass:
        """The sums of documents X (n_docs, n_terms) with labels Y (n_docs, n_classes)."""
        X, Y = _floats(X), _floats(Y)
        first = _class_sums(X, Y)
        partition = _is_binary(X) and _is_binary(Y) and bool(np.all(np.diff(Y.indptr) == 1))
        # if each document has one class, the sum over classes equals that over documents, which is faster
        squares = first @ np.ones(Y.shape[1]) if partition else _column_squares(X)
        return cls(X.shape[0], np.asarray(Y.sum(axis=0)), first, squares)


@dataclass(frozen=True, eq=False)
class SecondPass(_Sums):
    """The result of the second pass, once F of all documents is known.

    n_docs  documents
    routes  i–d–k–d′–c with d ≠ d′, including those with k = i:
            Xᵀ(XF − q∘Y), where q are the row sums of X∘X, plus a correction for k = i, (X∘X∘X)ᵀY
            (n_terms, n_classes)
    """

    n_docs: int
    routes: Floats

    @classmethod
    def of(cls, X: Sparse, Y: Sparse, first: Floats) -> SecondPass:
        """The sums of documents X and labels Y, with the weights `first` of all documents."""
        X, Y = _floats(X), _floats(Y)
        routes = sum((_routes(*part, first) for part in _parts(X, Y)), start=NOTHING)
        return cls(X.shape[0], routes)


def class_paths(first_pass: FirstPass, second_pass: SecondPass) -> Floats:
    """φ: weight of the second-order paths i–d–k–d′–c from each term to each class (n_terms, n_classes).

    φ = Xᵀ(XF) − sq∘F − Xᵀ(q∘Y) + (X∘X∘X)ᵀY,   sq and q the column and row sums of X∘X

    The first product counts every i–d–k–d′–c; the second term removes k = i, the third d = d′, and the last restores
    what both removed. If x is 0 or 1 this is the number of paths. With other weights, rounding may give small negative
    numbers, which are set to 0.

    >>> X, Y = csr_array([[1, 1, 0], [0, 1, 1]]), csr_array([[1, 0], [0, 1]])
    >>> one = FirstPass.of(X, Y)
    >>> class_paths(one, SecondPass.of(X, Y, one.first))   # term 0 reaches class 1 by 0–d0–1–d1–c1
    array([[0., 1.],
           [0., 0.],
           [1., 0.]])
    """
    same_term = first_pass.squares[:, None] * first_pass.first
    paths = np.subtract(second_pass.routes, same_term, out=same_term)
    return np.maximum(paths, 0.0, out=paths)


def class_paths_as_published(X: Sparse, Y: Sparse) -> Floats:
    """φ exactly as Algorithm 1 of the higher-order smoothing paper computes it (n_terms, n_classes).

    With O₁ the co-occurrences of terms and class labels and O₂ = O₁², step 8 sets O₂(i, j) + O₂(i, j) −
    O₁(i, j)·(O₁(i, i) + O₁(j, j)): paths count twice, and paths through a single document or class label are included.

    >>> X, Y = csr_array([[1, 1, 0], [0, 1, 1]]), csr_array([[1, 0], [0, 1]])
    >>> class_paths_as_published(X, Y)     # term 1 and class 0 have no path between them
    array([[4., 2.],
           [5., 5.],
           [2., 4.]])
    """
    X, Y = _floats(X), _floats(Y)
    first = _class_sums(X, Y)
    labels = (Y.T @ Y).toarray()
    second = transposed_product(X, product(X, first)) + first @ labels
    paths: Floats = 2 * second - first * (_column_squares(X)[:, None] + np.diag(labels)[None, :])
    return paths


def term_paths(B: Sparse) -> tuple[Floats, float]:
    """Second-order paths among the documents B (0 or 1): through each term (n_terms,), and in total.

    With u = len − 1, df the column sums of B, and g_i = Σ_k (BᵀB)²_ik:

    ends    E = Bᵀ(B(Bᵀu)) − df∘Bᵀu − Bᵀu² − (g − df² − Bᵀu)
    middle  M = (Bᵀu)² − Bᵀu² − (g − Bᵀlen) + df² − df
    paths containing i = E_i + M_i/2,  all paths = ΣE/2

    >>> containing, total = term_paths(csr_array([[1, 1, 0], [0, 1, 1]]))
    >>> containing, total     # the one path is 0–d0–1–d1–2
    (array([1., 1., 1.]), 1.0)
    """
    return TermSums.of(B).paths(B)


class TermSums(NamedTuple):
    """The input of `term_paths` for each term (n_terms,), or for each term and class (n_terms, n_classes).

    df               documents of the term
    reached          Bᵀu, other terms in those documents, u = len − 1
    reached_squared  Bᵀu²
    gram             g, the squared row norms of BᵀB
    """

    df: Floats
    reached: Floats
    reached_squared: Floats
    gram: Floats

    @classmethod
    def of(cls, B: Sparse) -> TermSums:
        """The sums over the documents B (0 or 1)."""
        B = _floats(B)
        others = np.diff(B.indptr) - 1.0
        df = np.bincount(B.indices, minlength=B.shape[1]).astype(np.float64)
        reached, squared = transposed_product(B, np.column_stack([others, others * others])).T
        return cls(df, reached, squared, gram_row_squares(B))

    def paths(self, B: Sparse) -> tuple[Floats, float]:
        """The paths among the documents of the sums: through each term (n_terms,), and in total."""
        B = _floats(B)
        containing, total = self._paths(transposed_product(B, product(B, self.reached[:, None]))[:, 0])
        return containing, float(total)

    def without_classes(self, classes: Sequence[TermSums], B: Sparse, Y: Sparse) -> tuple[Floats, Floats]:
        """Paths among the documents B without those of each class: (n_terms, n_classes), and in total (n_classes,).

        `self` has the sums of all documents, `classes` those of each class of Y. All sums but g simply subtract. With
        G = BᵀB of all documents and H = BᵀB of those of the class,

        Σ_k (G − H)²_ik = Σ_k G²_ik − 2·Σ_k G_ik H_ik + Σ_k H²_ik

        and the middle sum is computed for all classes at once: 90 overlapping classes cost little more than two passes
        over all documents, not 90.
        """
        B, Y = _floats(B), _floats(Y)
        inside = TermSums(*(np.column_stack(columns) for columns in zip(*classes, strict=True)))
        rest = TermSums(*(whole[:, None] - part for whole, part in zip(self, inside, strict=True)))
        rest = rest._replace(gram=rest.gram + 2 * (inside.gram - gram_class_sums(B, Y)))
        onward = sum((_onward_outside(*part, rest.reached) for part in _parts(B, Y)), start=NOTHING)
        return rest._paths(onward)

    def _paths(self, onward: Floats) -> tuple[Floats, Any]:
        df, reached, squared, gram = self
        ends = onward - df * reached - squared - (gram - df * df - reached)
        middle = reached * reached - squared - (gram - (reached + df)) + df * df - df
        return ends + middle / 2, ends.sum(axis=0) / 2


def _onward_outside(B: Sparse, Y: Sparse, reached: Floats) -> Floats:
    """Bᵀ(B·reached) over the documents without the class of each column (n_terms, n_classes)."""
    steps = product(B, reached)
    steps[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = 0
    return transposed_product(B, steps)


def _class_sums(X: Sparse, Y: Sparse) -> Floats:
    """XᵀY, dense."""
    return sum((transposed_product(some, labels.toarray()) for some, labels in _parts(X, Y)), start=NOTHING)


def _is_binary(X: Sparse) -> bool:
    return bool(np.all(X.data == 1))


def _squared(X: Sparse) -> Sparse:
    return csr_array((X.data * X.data, X.indices, X.indptr), shape=X.shape)


def _column_squares(X: Sparse) -> Floats:
    """Σ_d x² of each term (n_terms,)."""
    return transposed_product(X if _is_binary(X) else _squared(X), np.ones((X.shape[0], 1)))[:, 0]


def _routes(X: Sparse, Y: Sparse, first: Floats) -> Floats:
    """Xᵀ(XF − q∘Y) + (X∘X∘X)ᵀY; if x is 0 or 1 the last term is XᵀY, which q − 1 instead of q includes."""
    if _is_binary(X):
        return _onward(X, Y, first, np.diff(X.indptr) - 1.0)
    squared = _squared(X)
    return _onward(X, Y, first, squared.sum(axis=1)) + _class_sums(squared * X, Y)


def _onward(X: Sparse, Y: Sparse, first: Floats, factor: Floats) -> Floats:
    """Xᵀ(XF − factor∘Y)."""
    reached = product(X, first)
    documents = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    reached[documents, Y.indices] -= factor[documents] * Y.data
    return transposed_product(X, reached)


def _parts(X: Sparse, Y: Sparse) -> Iterator[tuple[Sparse, Sparse]]:
    """(X, Y), in blocks of documents if documents × classes would not fit."""
    n_docs, n_classes = Y.shape
    size = max(1, CHUNK_CELLS // max(1, n_classes))
    if n_docs <= size:
        yield X, Y
        return
    for start in range(0, n_docs, size):
        yield X[start : start + size], Y[start : start + size]


def _floats(table: Sparse) -> Sparse:
    """The table as float64 with 32-bit column indices, which the native products need."""
    table = csr_array(table).astype(np.float64, copy=False)
    if table.indices.dtype == np.int32:
        return table
    return csr_array((table.data, table.indices.astype(np.int32), table.indptr), shape=table.shape)


try:
    import unnaive.models.higher_order._gram as _gram
except ImportError:  # built without a compiler
    _gram = None


BLOCK_CELLS = 1 << 22  # cells of BᵀB held at a time by the fallback: bounds memory for any vocabulary


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


def gram_class_sums(B: Sparse, Y: Sparse) -> Floats:
    """x_ic = Σ_k G_ik H_ik, G = BᵀB of all documents and H that of the documents of class c (n_terms, n_classes).

    >>> gram_class_sums(csr_array([[1, 1, 0], [0, 1, 1]]), csr_array([[1], [0]]))     # H = [[1, 1, 0], [1, 1, 0], 0]
    array([[2.],
           [3.],
           [0.]])
    """
    if _gram is None:
        return gram_class_sums_by_blocks(B, Y)
    B, Y = csr_array(B), csr_array(Y)
    postings = B.tocsc()
    lengths, df = (np.diff(table.indptr).astype(np.float64) for table in (B, postings))
    walk = _gram.cross_by_term if 3 * (lengths @ lengths) <= 2 * (df @ df) else _gram.cross_by_document
    out = np.zeros((B.shape[1], Y.shape[1]))
    walk(*_pointers(B), *_pointers(postings), *_pointers(Y), out)
    return out


def gram_class_sums_by_blocks(B: Sparse, Y: Sparse) -> Floats:
    """The same from blocks of rows of G, with scipy alone: (B∘(B·G))ᵀ·Y."""
    B, Y = (csr_array((np.ones(table.nnz), table.indices, table.indptr), shape=table.shape) for table in (B, Y))
    by_term = csc_array(B)
    out = np.zeros((B.shape[1], Y.shape[1]))
    for start, stop in _blocks(B.shape[1]):
        block = csr_array(by_term[:, start:stop])
        out[start:stop] = (block.multiply(B @ (B.T @ block)).T @ Y).toarray()
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
