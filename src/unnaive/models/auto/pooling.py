"""Log-linear pooling: non-negative weights of several models' scores and a bias for each class, by log-loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Ids

LOWEST = -15.0  # a level of scores at which σ is an exponential
DROPPED = 0.08  # members with a smaller share of the pool's weight are left out, and the pool is fitted again


@dataclass(frozen=True, eq=False)
class PoolWeights:
    """score = Σ_m weights[m] · scores_m + bias."""

    weights: Floats
    bias: Floats

    def combine(self, scores: list[Floats]) -> Floats:
        """The pooled scores (n_docs, n_classes)."""
        total = sum(weight * part for weight, part in zip(self.weights, scores, strict=True) if weight)
        pooled: Floats = total + self.bias
        return pooled


def soften(targets: Ids, possible: NDArray[np.bool_]) -> Floats:
    """Targets (n_docs, n_classes) as if one more document had been seen, of any of the `possible` classes (n_classes,).

    Row d is 1 − ε at its class, and ε = 1/(n_docs + 1) is spread over the classes. So a handful of documents that are
    all right do not make a model certain; of thousands nobody notices.

    >>> soften(np.array([0, 1, 0]), np.array([True, True]))[0]
    array([0.875, 0.125])
    """
    n = len(targets)
    soft_targets: Floats = np.tile(possible / possible.sum() / (n + 1), (n, 1))
    soft_targets[np.arange(n), targets] += n / (n + 1)
    return soft_targets


def soft_log_loss(scores: Floats, soft_targets: Floats) -> float:
    """Mean −Σ_c soft_targets[d, c]·log p[d, c] under a softmax."""
    logs = log_softmax(scores)
    return float(-np.where(soft_targets > 0, soft_targets * logs, 0.0).sum() / len(scores))


def pool_log_loss(scores: Floats, targets: Ids) -> float:
    """Mean −log p of the right class under a softmax."""
    return float(-log_softmax(scores)[np.arange(len(targets)), targets].mean())


def fit_temperature_scale(scores: Floats, soft_targets: Floats) -> float:
    """The factor with which scores have the least log-loss: one over the temperature."""
    from scipy.optimize import minimize_scalar

    spread = float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0
    found = minimize_scalar(
        lambda log_scale: soft_log_loss(np.exp(log_scale) / spread * scores, soft_targets),
        bounds=(-6, 6),
        method="bounded",
    )
    return float(np.exp(found.x) / spread)


def fit_pool(
    scores: list[Floats], soft_targets: Floats, *, shrink: float, prior: Sequence[float] | None = None
) -> PoolWeights:
    """Weights of members whose scores are scaled already, and a bias, with the least penalised log-loss.

    The penalty draws the weights toward equal ones that sum to 1, or toward the shares of `prior`, and the bias toward
    0, with the strength of `shrink` documents: few documents cannot tell members apart. Members under DROPPED of the
    whole are left out.
    """
    from scipy.optimize import minimize

    n, n_classes = scores[0].shape
    stacked = np.stack(scores)
    kept = np.ones(len(scores), np.bool_)
    expected = np.ones(len(scores)) if prior is None else np.array(prior, np.float64)

    def objective(point: Floats) -> tuple[float, Floats]:
        weights, bias = point[: kept.sum()], point[kept.sum() :]
        used = stacked[kept]
        logs = log_softmax(np.tensordot(weights, used, 1) + bias)
        error = np.exp(logs) - soft_targets
        away = weights - expected[kept] / expected[kept].sum()
        loss = -np.where(soft_targets > 0, soft_targets * logs, 0.0).sum()
        value = loss + shrink / 2 * ((away**2).sum() + (bias**2).sum())
        slope = np.concatenate([np.tensordot(used, error, 2) + shrink * away, error.sum(0) + shrink * bias])
        return value / n, slope / n

    while True:
        members = int(kept.sum())
        start = np.concatenate([expected[kept] / expected[kept].sum(), np.zeros(n_classes)])
        bounds = [(0.0, None)] * members + [(None, None)] * n_classes
        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
        weights = np.zeros(len(scores))
        weights[kept] = found.x[:members]
        small = kept & (weights < DROPPED * weights.sum())
        if not small.any() or small.sum() == members:
            return PoolWeights(weights, found.x[members:])
        kept &= ~small


def fit_saturation(scores: Floats, soft_targets: Floats, *, shrink: float) -> tuple[float, float]:
    """(k, b) with which p_c ∝ σ(k·s_c + b) has the least log-loss; drawn toward k = 1 and b = LOWEST, a softmax.

    Where evidence for a class is overwhelming a softmax of pooled margins is too sure, and where all classes have
    little it is not sure enough. σ bounds the first and leaves the slope to the second. The best class stays the best.
    """
    from scipy.optimize import minimize

    def objective(point: Floats) -> tuple[float, Floats]:
        scaled = np.exp(point[0]) * scores
        away = np.logaddexp(0.0, scaled + point[1])  # −log σ(−u), with u = k·s + b
        logs = log_softmax(scaled + point[1] - away)  # log σ(u) = u − away
        loss = -np.where(soft_targets > 0, soft_targets * logs, 0.0).sum() / n
        slopes = (np.exp(logs) - soft_targets) * np.exp(-away) / n
        drawn = shrink / n * np.array([point[0], point[1] / LOWEST**2])
        value = loss + shrink / 2 * (point[0] ** 2 + (point[1] / LOWEST) ** 2) / n
        return float(value), np.array([(slopes * scaled).sum(), slopes.sum()]) + drawn

    n = len(scores)
    bounds = [(-2.0, 2.0), (LOWEST, -LOWEST)]
    starts = [np.array([0.0, b]) for b in (LOWEST / 2, 0.0)]
    found = min(
        (minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts),
        key=lambda one: one.fun,
    )
    return float(np.exp(found.x[0])), float(found.x[1])
