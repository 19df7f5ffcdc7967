"""Vectors as further columns beside weighted words, for linear models; their weights are folded into the terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency
from unnaive.data.word_vectors import TermVectors
from unnaive.linear.linear import Linear
from unnaive.linear.sum_of_linears import SumOfLinears
from unnaive.models.vectors.field_view import FieldView
from unnaive.models.vectors.word_view import VectorView, round_weights

Vectors = TermVectors | FieldVectors
AnyView = VectorView | FieldView


def make_view(X: Sparse, vectors: Vectors, weight: Floats | None = None) -> AnyView:
    """The view of vectors, fitted on the columns of these vectors in training documents (n_docs, n_columns)."""
    return FieldView.of(X, weight) if isinstance(vectors, FieldVectors) else VectorView.of(X, vectors, weight)


@dataclass(frozen=True, eq=False)
class VectorColumns:
    """Standardised vectors of documents, divided by √n_dims, which makes them about as long as rows of tf-idf.

    words    the columns that are words (n_words,)
    views    the vectors, each with the view that standardises it
    n_terms  the number of columns of documents
    """

    words: Ids
    views: tuple[tuple[Vectors, AnyView], ...]
    n_terms: int

    @classmethod
    def of(
        cls, X: Sparse, active: Ids | None, vectors: Sequence[Vectors], weight: Floats | None = None
    ) -> VectorColumns:
        """Fit on training documents X (n_docs, n_terms); the columns `active` are words, all of them if None."""
        seen = document_frequency(X) > 0
        words = np.flatnonzero(seen) if active is None else active[seen[active]]
        views = tuple((item, make_view(take_columns(X, item.columns), item, weight)) for item in vectors)
        return cls(words, views, X.shape[1])

    def beside(self, Z: Sparse, X: Sparse) -> Sparse:
        """Append the vectors of documents X (n_docs, n_terms) to their weighted words Z (n_docs, n_words)."""
        rows = [view.rows(take_columns(X, item.columns)) / np.sqrt(item.n_dims) for item, view in self.views]
        return csr_array(hstack([Z, *rows], format="csr", dtype=np.float64))

    def without_scale(self, scale: Floats) -> Floats:
        """The factors of words (n_classes, n_words), extended by 1 for every column of vectors."""
        return np.hstack([scale, np.ones((len(scale), sum(item.n_dims for item, _ in self.views)))])

    def fold(self, linear: Linear) -> SumOfLinears:
        """The scorer over all terms, from weights over words and vectors."""
        weights, at, bias = linear.weights(), len(self.words), np.array(linear.bias, np.float64)
        nothing = np.zeros(len(bias))
        words = Linear(weights[:, :at], nothing, weighting=linear.weighting, link=linear.link)
        parts = [(self.words, words)] if at else []
        for item, view in self.views:
            view_weights = weights[:, at : at + item.n_dims] / np.sqrt(item.n_dims)
            table, offset = view.fold((view_weights, nothing))
            table, step = round_weights(table) if isinstance(item, TermVectors) else (table, None)
            parts.append((item.columns, Linear(table, nothing, weighting=view.weighting, link=linear.link, step=step)))
            bias, at = bias + offset, at + item.n_dims
        return SumOfLinears(tuple(parts), bias, self.n_terms, linear.link)
