"""The view of word vectors: a document as the weighted mean of its words' vectors, which is linear in its words.

    v_d = Σ_t z_dt · e_t      z = (1 + log n_t) · g_t of the words that have a vector, of sum 1; e_t of length 1
    score[d, c] = w_c · (v_d − mean) / spread + b_c = Σ_t z_dt · (e_t · w_c / spread) + (b_c − w_c · mean / spread)

The spread of word vectors is one number for all dimensions: with few documents, its estimates are poor for each.

So a word has a weight for each class, e_t · w_c / spread, whether a training document has it or not, and the view is
one more table over weighted words: it is scored, explained, exported and compressed as the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Singles, Sparse, Weights
from unnaive.data.products import matmul
from unnaive.data.weighted_rows import all_cells, weight_rows
from unnaive.data.weighting import Weighting
from unnaive.data.word_vectors import LARGEST_CODE, TermVectors

LEAST_SPREAD = 1e-6
ROWS_AT_ONCE = 1 << 13  # documents whose means are computed at a time
STEP_BITS = 16  # bits of a step; its 8-bit multiples then fit in a float32


@dataclass(frozen=True, eq=False)
class VectorView:
    """How counts of terms become standardised vectors.

    weighting  the weighting of the words that have a vector
    units      the vectors of these words (n_words, n_dims)
    mean, spread  mean of the training documents' vectors, and the root of their mean variance, in every dimension
                  (n_dims,)
    """

    weighting: Weighting
    units: Singles
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Sparse, vectors: TermVectors, weight: Floats | None = None) -> Self:
        """Fit on training documents X (n_docs, n_words); its columns are the words that have a vector."""
        weight = np.ones(X.shape[0]) if weight is None else weight
        weighting = Weighting("log", vectors.rarity, "l1")
        mean, spread = _moments(weighting, X, vectors.whitened, weight)
        return cls(weighting, vectors.whitened, mean, np.full(len(spread), np.sqrt((spread**2).mean())))

    def rows(self, X: Sparse) -> Sparse:
        """Documents (n_docs, n_words) as standardised vectors, csr_array of float32 (n_docs, n_dims)."""
        rows = _means(self.weighting, X, self.units)
        rows -= self.mean.astype(np.float32)
        rows /= self.spread.astype(np.float32)
        return all_cells(rows)

    def fold(self, weights_and_bias: Weights) -> Weights:
        """Convert weights (n_classes, n_dims) and bias of standardised vectors to weights of words."""
        weights, bias = weights_and_bias
        scaled = weights / self.spread
        return np.ascontiguousarray(matmul(scaled.astype(np.float32), self.units.T)), bias - matmul(scaled, self.mean)


def round_weights(weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Round weights (n_classes, n_words) to 8-bit multiples of a step for each class; also return the steps.

    Steps have few enough digits that their multiples are exact in float32.

    >>> weights, step = round_weights(np.array([[12.7, 0.04, -3.0]], np.float32))
    >>> weights.round(2), step.round(2)
    (array([[12.7,  0. , -3. ]], dtype=float32), array([0.1]))
    """
    largest = np.abs(weights).max(axis=1, initial=0).astype(np.float64)
    part, power = np.frexp(np.where(largest > 0, largest, 1.0) / LARGEST_CODE)
    step = np.ldexp(np.ceil(part * 2**STEP_BITS), power - STEP_BITS)
    multiples = np.rint(weights / step[:, None])
    return (multiples * step[:, None]).astype(np.float32), step


def _moments(weighting: Weighting, X: Sparse, units: Singles, weight: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation (n_dims,) of the vectors of documents X (n_docs, n_words)."""
    total, squares = np.zeros(units.shape[1]), np.zeros(units.shape[1])
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        means = _means(weighting, X[start : start + ROWS_AT_ONCE], units).astype(np.float64)
        row_weight = weight[start : start + ROWS_AT_ONCE]
        total += matmul(row_weight, means)
        squares += matmul(row_weight, means * means)
    mean = total / max(weight.sum(), 1e-300)
    variance = np.maximum(squares / max(weight.sum(), 1e-300) - mean**2, 0.0)
    return mean, np.maximum(np.sqrt(variance), LEAST_SPREAD)


def _means(weighting: Weighting, X: Sparse, units: Singles) -> Singles:
    """v_d = Σ_t z_dt · e_t (n_docs, n_dims), in blocks of documents."""
    X = csr_array(X)
    vectors = np.empty((X.shape[0], units.shape[1]), np.float32)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        vectors[start : start + ROWS_AT_ONCE] = weight_rows(weighting, X[start : start + ROWS_AT_ONCE]) @ units
    return vectors
