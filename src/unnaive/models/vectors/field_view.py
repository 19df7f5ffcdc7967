"""The view of a vector field: the numbers of documents, standardised; linear in the cells of its columns.

    score[d, c] = w_c · (v_d − mean) / spread + b_c

The marker of the field, which is 1 for a document with a vector, has the weight −mean · w_c / spread: a document
without a vector is taken for the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Sparse, Weights
from unnaive.data.weighted_rows import all_cells
from unnaive.data.weighting import Weighting
from unnaive.text.fixed_point import STEPS, ZERO, Cells, from_cells

LEAST_SPREAD = 1e-6
HALF_BITS = 15  # bits of the lower half of a cell, whose squares are summed apart so that 64 bits suffice


@dataclass(frozen=True, eq=False)
class FieldView:
    """How the cells of a vector field become standardised vectors: their mean and standard deviation (n_dims,)."""

    weighting: ClassVar[Weighting] = Weighting("fixed-point")

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Sparse, weight: Floats | None = None) -> Self:
        """Fit on the training documents that have a vector; X (n_docs, 1 + n_dims) has the columns of the field."""
        cells = csr_array(X).toarray()
        rows = np.flatnonzero(cells[:, 0])
        cells = cells[rows, 1:].astype(np.int64) - ZERO
        even = weight is None or bool(np.all(weight[rows] == 1))
        mean, variance = _exact_moments(cells) if even else _weighted_moments(cells, np.asarray(weight)[rows])
        return cls(mean / STEPS, np.maximum(np.sqrt(variance) / STEPS, LEAST_SPREAD))

    def dense_rows(self, X: Sparse) -> Floats:
        """The standardised vectors of documents (n_docs, n_dims); 0 for those without one."""
        cells: Cells = csr_array(X).toarray()
        rows = (from_cells(cells[:, 1:]) - self.mean) / self.spread
        rows[cells[:, 0] == 0] = 0.0
        return rows

    def rows(self, X: Sparse) -> Sparse:
        """The standardised vectors of documents, csr_array of float32 (n_docs, n_dims)."""
        return all_cells(self.dense_rows(X).astype(np.float32))

    def fold(self, weights_and_bias: Weights) -> Weights:
        """Convert weights (n_classes, n_dims) of standardised vectors to weights of the marker and the numbers."""
        weights, bias = weights_and_bias
        scaled = weights / self.spread
        return np.hstack([-(scaled * self.mean).sum(axis=1, keepdims=True), scaled]), bias


def _exact_moments(cells: Any) -> tuple[Floats, Floats]:
    """Mean and variance of whole numbers (n_docs, n_dims) from sums in 64-bit integers, rounded once at the end."""
    n = max(len(cells), 1)
    high, low = cells >> HALF_BITS, cells & ((1 << HALF_BITS) - 1)
    parts = ((high * high, 2 * HALF_BITS), (high * low, HALF_BITS + 1), (low * low, 0))
    squares = sum(part.sum(axis=0).astype(object) << shift for part, shift in parts)
    total = cells.sum(axis=0).astype(object)
    return (total / n).astype(np.float64), ((n * squares - total * total) / n**2).astype(np.float64)


def _weighted_moments(cells: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of weighted rows, whose sums have the order of the rows."""
    total = max(float(weight.sum()), 1e-300)
    mean = (weight[:, None] * cells).sum(axis=0) / total
    distance = cells - mean
    return mean, (weight[:, None] * distance * distance).sum(axis=0) / total
