"""The view of squared word vectors: a document as the sum of the products of its words' vectors with themselves.

    Q_d = Σ_t z_dt · u_t u_tᵀ      z = (1 + log n_t) · g_t of the words that have a vector, of length 1
    ⟨Q_d, Q_e⟩ = Σ_t Σ_s z_dt · z_es · (u_t · u_s)²
    score[d, c] = ⟨M_c, Q_d⟩ + b_c = Σ_t z_dt · u_tᵀ M_c u_t + b_c

So two documents are similar if they have the same words or close neighbours. Most pairs of words have small cosines,
which dominate the inner product of two means; squared, they are close to 0. As in the view of means, a word has a
weight for each class, u_tᵀ M_c u_t, whether a training document has it or not.

With thousands of documents the other views have weights for these words, and this view costs more, so it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.lazy import lazy_property
from unnaive.base.types import Ids, Singles, Sparse, Weights
from unnaive.data.products import matmul
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import Weighting
from unnaive.data.word_vectors import TermVectors, normalise_rows

MOST_DOCUMENTS = 2_000  # documents above which the view is left out; its solver learns from at most so many
MOST_DIMS = 100  # dimensions of the whitened vectors that are used; a document has a number for each pair of them


@dataclass(frozen=True, eq=False)
class SquaredVectors:
    """The vectors of words, for the view of their squares."""

    vectors: TermVectors

    @property
    def columns(self) -> Ids:
        """The columns of the words, ascending (n_columns,)."""
        return self.vectors.columns

    @property
    def n_dims(self) -> int:
        """How many numbers a document has: the pairs of dimensions, each once."""
        n = min(self.vectors.n_dims, MOST_DIMS)
        return n * (n + 1) // 2

    @lazy_property
    def units(self) -> Singles:
        """The whitened vectors in their first dimensions, of length 1 (n_columns, at most MOST_DIMS)."""
        return normalise_rows(self.vectors.whitened[:, :MOST_DIMS])


@dataclass(frozen=True, eq=False)
class SquaredView:
    """How counts of words become sums of squared vectors; nothing in it depends on training documents.

    weighting  the weighting of the words that have a vector
    units      their whitened vectors (n_words, n)
    """

    weighting: Weighting
    units: Singles

    @classmethod
    def of(cls, vectors: SquaredVectors) -> Self:
        """The view of these vectors."""
        return cls(Weighting("log", vectors.vectors.rarity, "l2"), vectors.units)

    def rows(self, X: Sparse) -> Sparse:
        """The upper triangles of Q_d, csr_array of float32 (n_docs, n_dims); √2 off the diagonal keeps ⟨Q_d, Q_e⟩."""
        Z = weight_rows(self.weighting, X)
        first, second = np.triu_indices(self.units.shape[1])
        scale = np.where(first == second, 1.0, np.sqrt(2.0)).astype(np.float32)
        rows = np.empty((Z.shape[0], len(first)), np.float32)
        for number, (start, end) in enumerate(zip(Z.indptr[:-1], Z.indptr[1:], strict=True)):
            units = self.units[Z.indices[start:end]]
            rows[number] = matmul((units * Z.data[start:end, None]).T, units)[first, second] * scale
        return csr_array(rows)

    def fold(self, weights_and_bias: Weights) -> Weights:
        """Convert weights (n_classes, n_dims) of triangles to weights u_tᵀ M_c u_t of words (n_classes, n_words)."""
        weights, bias = weights_and_bias
        n = self.units.shape[1]
        first, second = np.triu_indices(n)
        scale = np.where(first == second, 1.0, np.sqrt(2.0))
        table: Any = np.empty((len(weights), len(self.units)), np.float32)
        for number, row in enumerate(weights):
            M = np.zeros((n, n), np.float32)
            M[first, second] = row * scale  # an upper triangle, which has both halves of ⟨M_c, Q_d⟩
            table[number] = np.einsum("wd,wd->w", matmul(self.units, M), self.units)
        return table, bias
