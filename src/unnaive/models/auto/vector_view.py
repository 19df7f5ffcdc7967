"""The view of word vectors: a document as the weighted mean of its words' vectors; linear in the words.

    v_d = Σ_t z_dt · e_t      z = (1 + log n_t) · g_t of the words that have a vector, of sum 1; e_t of length 1
    score[d, c] = w_c · (v_d − mean) / spread + b_c = Σ_t z_dt · (e_t · w_c / spread) + (b_c − w_c · mean / spread)

So a word has a weight for each class, e_t · w_c / spread, whether a training document has it or not, and the view is
one more table over weighted words: it is scored, explained, exported and compressed as the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Singles, Sparse
from unnaive.data.weighting import Weighting
from unnaive.data.word_vectors import LARGEST_CODE, TermVectors
from unnaive.models.auto.members import Training, Weights, weight_rows
from unnaive.text.backend import thread_count

LEAST_SPREAD = 1e-6
ROWS_AT_ONCE = 1 << 13  # documents whose means are made at a time
STEP_BITS = 16  # of the steps of weights: 8 more are a multiple's
RARITY = 3e-4  # share of all words: a word that is as frequent counts half as much as a rare one


def word_weighting(vectors: TermVectors) -> Weighting:
    """(1 + log n) · a/(a + p) of each word, divided by their sum, with p = 1/(rank · log N), a = RARITY.

    p is the share of a word among all words by Zipf's law, from its rank in a list of N: a function word counts for
    little, also where training documents are too few to tell it from others. Nothing here depends on them.

    Arora, Liang and Ma (2017), A simple but tough-to-beat baseline for sentence embeddings.
    """
    share = 1.0 / (vectors.rank * np.log(max(vectors.n_ranks, 3)))
    return Weighting("log", RARITY / (RARITY + share), "l1")


@dataclass(frozen=True, eq=False)
class VectorView:
    """How counts of words become standardised means of vectors.

    weighting  of the words that have a vector
    units      their vectors (n_words, n_dims)
    mean, spread  of the means over the training documents (n_dims,)
    """

    weighting: Weighting
    units: Singles
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Sparse, vectors: TermVectors, weight: Floats | None = None) -> VectorView:
        """From training documents X (n_docs, n_words), whose columns are those that have a vector."""
        weighting = word_weighting(vectors)
        weight = np.ones(X.shape[0]) if weight is None else weight
        total, squares = np.zeros(vectors.n_dims), np.zeros(vectors.n_dims)
        for start in range(0, X.shape[0], ROWS_AT_ONCE):
            means = _means(weighting, X[start : start + ROWS_AT_ONCE], vectors.units).astype(np.float64)
            own = weight[start : start + ROWS_AT_ONCE]
            total += own @ means
            squares += own @ (means * means)
        mean = total / weight.sum()
        variance = np.maximum(squares / weight.sum() - mean**2, 0.0)
        return cls(weighting, vectors.units, mean, np.maximum(np.sqrt(variance), LEAST_SPREAD))

    def rows(self, X: Sparse) -> Sparse:
        """Documents (n_docs, n_words) as standardised means, csr_array of float32 (n_docs, n_dims)."""
        rows = _means(self.weighting, X, self.units)
        rows -= self.mean.astype(np.float32)
        rows /= self.spread.astype(np.float32)
        n_docs, n_dims = rows.shape
        parts = rows.ravel(), np.tile(np.arange(n_dims), n_docs), np.arange(0, n_docs * n_dims + 1, n_dims)
        return csr_array(parts, shape=rows.shape)

    def training(self, X: Sparse, Y: Sparse, weight: Floats | None, *, n_jobs: int | None, **same: Any) -> Training:
        """Documents with their labels, as the families of members learn from them."""
        Z = self.rows(X)
        return Training(Z, Z, csr_array(Y), weight, n_jobs=thread_count(n_jobs), **same)

    def fold(self, found: Weights) -> Weights:
        """Weights (n_classes, n_words) and bias of words, from those of standardised means (n_classes, n_dims)."""
        weights, bias = found
        scaled = weights / self.spread
        return np.asarray(scaled.astype(np.float32) @ self.units.T), bias - scaled @ self.mean


def round_weights(weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights (n_classes, n_words) as whole multiples, of 8 bits, of a step for each class (n_classes,); the steps too.

    Steps have so few digits that their multiples are exact in 32 bits.

    >>> weights, step = round_weights(np.array([[12.7, 0.04, -3.0]], np.float32))
    >>> weights.round(2), step.round(2)
    (array([[12.7,  0. , -3. ]], dtype=float32), array([0.1]))
    """
    largest = np.abs(weights).max(axis=1, initial=0).astype(np.float64)
    part, power = np.frexp(np.where(largest > 0, largest, 1.0) / LARGEST_CODE)
    step = np.ldexp(np.ceil(part * 2**STEP_BITS), power - STEP_BITS)
    multiples = np.rint(weights / step[:, None])
    return (multiples * step[:, None]).astype(np.float32), step


def _means(weighting: Weighting, X: Sparse, units: Singles) -> Singles:
    """v_d = Σ_t z_dt · e_t (n_docs, n_dims), some documents at a time."""
    X = csr_array(X)
    found = np.empty((X.shape[0], units.shape[1]), np.float32)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        found[start : start + ROWS_AT_ONCE] = weight_rows(weighting, X[start : start + ROWS_AT_ONCE]) @ units
    return found
