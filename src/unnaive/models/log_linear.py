"""The penalised conditional likelihood of a log-linear model, as a problem that lbfgs.py minimises.

value = Σ_d weight_d · loss(x_d·W + b, y_d) + l2/2 · ‖W‖²,   W (n_terms, n_classes), b (n_classes,) unpenalised

Every gradient is Xᵀ(residual) + l2·W, so from W = 0 each iterate is W = XᵀA for some A (n_docs, n_classes). `InSpan`
keeps (A, XW, b) instead of (W, b): dot products are ⟨A, XW′⟩, a step along a line costs no product at all, and the
memory of L-BFGS is as large as the documents, not the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.core.products import product, transposed_product
from unnaive.models.lbfgs import Ray

Floats = NDArray[np.float64]
Sparse = Any  # scipy.sparse.csr_array, which ships no types
Loss = Callable[[Floats], tuple[float, Floats]]


def softmax_loss(targets: NDArray[np.intp], weight: Floats) -> Loss:
    """−Σ_d weight_d log p(y_d|x_d) of exclusive classes, and its derivative by the scores (n_docs, n_classes)."""
    rows = np.arange(len(targets))

    def loss(scores: Floats) -> tuple[float, Floats]:
        shifted = scores - scores.max(axis=1, keepdims=True)
        residual = np.exp(shifted)
        totals = residual.sum(axis=1)
        value = float(weight @ (np.log(totals) - shifted[rows, targets]))
        residual *= (weight / totals)[:, None]
        residual[rows, targets] -= weight
        return value, residual

    return loss


def logistic_loss(labels: Floats, weight: Floats) -> Loss:
    """−Σ_d weight_d Σ_c log p(y_dc|x_d) of classes by themselves, and its derivative by the scores."""

    def loss(scores: Floats) -> tuple[float, Floats]:
        value = float(weight @ (np.logaddexp(0.0, scores) - labels * scores).sum(axis=1))
        residual = (np.exp(-np.logaddexp(0.0, -scores)) - labels) * weight[:, None]
        return value, residual

    return loss


class InWeights:
    """Points are (W, b) themselves: for more documents than terms, or a start other than zero."""

    def __init__(self, X: Sparse, loss: Loss, l2: float, n_classes: int, *, intercept: bool) -> None:
        self.X, self.loss, self.l2, self.intercept = X, loss, l2, intercept
        self.shape = (X.shape[1], n_classes)
        self.size = X.shape[1] * n_classes

    def start(self, weights: Floats | None = None) -> Floats:
        """The point with weights `weights` (zero by default) and no bias."""
        tail = np.zeros(self.shape[1])
        return np.concatenate([np.zeros(self.size) if weights is None else weights.ravel(), tail])

    def parameters(self, point: Floats) -> tuple[Floats, Floats]:
        """W (n_terms, n_classes) and b (n_classes,)."""
        return point[: self.size].reshape(self.shape), point[self.size :]

    def dot(self, one: Floats, two: Floats) -> float:
        """Σ one·two."""
        return float(one @ two)

    def gradient(self, point: Floats) -> tuple[float, Floats, float]:
        """Value, gradient and its largest entry."""
        W, b = self.parameters(point)
        value, residual = self.loss(product(self.X, W) + b)
        by_bias = residual.sum(axis=0) * self.intercept
        out = np.concatenate([(transposed_product(self.X, residual) + self.l2 * W).ravel(), by_bias])
        return value + self.l2 / 2 * float(W.ravel() @ W.ravel()), out, float(np.abs(out).max())

    def ray(self, point: Floats, direction: Floats) -> Ray:
        """One product for the line, none for its points."""
        (W, b), (D, e) = self.parameters(point), self.parameters(direction)
        square = [float(W.ravel() @ W.ravel()), float(W.ravel() @ D.ravel()), float(D.ravel() @ D.ravel())]
        return _ray(self.loss, product(self.X, W) + b, product(self.X, D) + e, square, self.l2)


class InSpan:
    """Points are (A, XW, b) with W = XᵀA: for more terms than documents, from W = 0."""

    def __init__(self, X: Sparse, loss: Loss, l2: float, n_classes: int, *, intercept: bool) -> None:
        self.X, self.loss, self.l2, self.intercept = X, loss, l2, intercept
        self.shape = (X.shape[0], n_classes)
        self.size = X.shape[0] * n_classes

    def start(self) -> Floats:
        """W = 0, b = 0."""
        return np.zeros(2 * self.size + self.shape[1])

    def parameters(self, point: Floats) -> tuple[Floats, Floats]:
        """W (n_terms, n_classes) and b (n_classes,)."""
        A, _, b = self._parts(point)
        return transposed_product(self.X, A), b

    def dot(self, one: Floats, two: Floats) -> float:
        """⟨W, W′⟩ + ⟨b, b′⟩ = ⟨A, XW′⟩ + ⟨b, b′⟩."""
        size = self.size
        return float(one[:size] @ two[size : 2 * size]) + float(one[2 * size :] @ two[2 * size :])

    def gradient(self, point: Floats) -> tuple[float, Floats, float]:
        """Value, gradient in these coordinates, and its largest entry in those of W and b."""
        A, scores, b = self._parts(point)
        value, residual = self.loss(scores + b)
        value += self.l2 / 2 * float(A.ravel() @ scores.ravel())
        by_bias = residual.sum(axis=0) * self.intercept
        residual += self.l2 * A
        in_weights = transposed_product(self.X, residual)
        out = np.concatenate([residual.ravel(), product(self.X, in_weights).ravel(), by_bias])
        steepest = max(float(np.abs(by_bias).max()), in_weights.max(), -in_weights.min())
        return value, out, float(steepest)

    def ray(self, point: Floats, direction: Floats) -> Ray:
        """No product at all: the scores of both ends are part of the points."""
        (A, scores, b), (D, along, e) = self._parts(point), self._parts(direction)
        square = [float(one.ravel() @ two.ravel()) for one, two in ((A, scores), (A, along), (D, along))]
        return _ray(self.loss, scores + b, along + e, square, self.l2)

    def _parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        size = self.size
        return point[:size].reshape(self.shape), point[size : 2 * size].reshape(self.shape), point[2 * size :]


def _ray(loss: Loss, scores: Floats, along: Floats, square: list[float], l2: float) -> Ray:
    """The objective on a line of scores; `square` has ⟨W, W⟩, ⟨W, D⟩, ⟨D, D⟩ of the penalty."""

    def at(t: float) -> tuple[float, float]:
        value, residual = loss(scores + t * along)
        penalty = l2 / 2 * (square[0] + 2 * t * square[1] + t * t * square[2])
        slope = float(residual.ravel() @ along.ravel()) + l2 * (square[1] + t * square[2])
        return value + penalty, slope

    return at
