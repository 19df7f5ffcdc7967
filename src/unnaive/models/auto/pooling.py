"""Log-linear pooling: fit non-negative weights for the scores of several models, and class biases, by log-loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.log_functions import log_softmax, row_max
from unnaive.base.types import Floats, Ids
from unnaive.learning.fit_calibration import least_loss_scale

LOWEST = -15.0  # level of scores at which σ is practically an exponential
MOST_STEPS = 50  # of Newton's method, which usually takes five to ten
SHORTEST = 1e-4  # smallest step length
FLATTEST = 1e-9  # smallest curvature, relative to the largest
LONGEST = np.array([1.0, 5.0])  # largest step in log slope and level of a saturation
CLOSE = 1e-9  # expected gain in log-loss per document below which Newton's method stops
LARGEST_LOG = 6.0  # bound on |log(scale · spread)| of the temperature scale
DROPPED = 0.08  # members with a smaller share of the pool's weight are dropped, and the pool is fitted again


@dataclass(frozen=True, eq=False)
class PoolWeights:
    """score = Σ_m weights[m] · scores_m + bias."""

    weights: Floats
    bias: Floats

    def combine(self, scores: list[Floats]) -> Floats:
        """The pooled scores (n_docs, n_classes)."""
        pooled: Floats = np.tile(self.bias, (len(scores[0]), 1))
        for weight, part in zip(self.weights, scores, strict=True):
            if weight:
                pooled += weight * part
        return pooled


def soften(targets: Ids, possible: NDArray[np.bool_]) -> Floats:
    """Smoothed targets (n_docs, n_classes), as if one more document of any `possible` class (n_classes,) had been seen.

    Row d is 1 − ε at its class, and ε = 1/(n_docs + 1) is spread over the possible classes. A few documents without
    errors then do not make a model certain; with thousands of documents the effect is negligible.

    >>> soften(np.array([0, 1, 0]), np.array([True, True]))[0]
    array([0.875, 0.125])
    """
    n = len(targets)
    soft_targets: Floats = np.tile(possible / possible.sum() / (n + 1), (n, 1))
    soft_targets[np.arange(n), targets] += n / (n + 1)
    return soft_targets


def pool_log_loss(scores: Floats, targets: Ids) -> float:
    """Mean −log p of the true class under a softmax."""
    return float(-log_softmax(scores)[np.arange(len(targets)), targets].mean())


def fit_temperature_scale(scores: Floats, soft_targets: Floats) -> float:
    """The factor that minimises the log-loss of the scores: one over the temperature.

    It stays within e^±6 of one over the standard deviation of the scores.
    """
    centred = scores - scores.mean(axis=1, keepdims=True)
    spread = float(np.std(centred)) or 1.0
    return least_loss_scale(centred, float(np.vdot(soft_targets, centred)), start=1.0 / spread, largest_log=LARGEST_LOG)


def fit_pool(
    scores: list[Floats], soft_targets: Floats, *, shrink: float, prior: Sequence[float] | None = None,
    start: PoolWeights | None = None,
) -> PoolWeights:  # fmt: skip
    """The weights of members with scaled scores, and the bias, that minimise the penalised log-loss.

    The penalty shrinks the weights toward equal weights that sum to 1, or toward the shares in `prior`, and the bias
    toward 0, with the strength of `shrink` documents. Members with a negative weight, or with less than DROPPED of the
    total weight, are dropped. `start` is a pool to start from.
    """
    expected = np.ones(len(scores)) if prior is None else np.array(prior, np.float64)
    kept = np.ones(len(scores), np.bool_) if start is None else start.weights > 0
    bias = np.zeros(scores[0].shape[1]) if start is None else start.bias
    weights = expected / expected[kept].sum() if start is None else start.weights
    while True:
        drawn = expected[kept] / expected[kept].sum()
        members = [member_scores for member_scores, is_kept in zip(scores, kept, strict=True) if is_kept]
        kept_weights, bias = _least_log_loss(members, soft_targets, shrink, drawn, weights[kept], bias)
        weights = np.zeros(len(scores))
        weights[kept] = kept_weights
        worst = kept & (weights < 0) & (weights == weights.min())  # one at a time: others may turn positive
        small = worst if worst.any() else kept & (weights < DROPPED * weights.sum())
        if not small.any() or small.sum() == kept.sum():
            return PoolWeights(np.maximum(weights, 0.0), bias)
        kept &= ~small


def _least_log_loss(
    scores: list[Floats], soft_targets: Floats, shrink: float, expected: Floats, weights: Floats, bias: Floats
) -> tuple[Floats, Floats]:
    """(weights, bias) by Newton's method with backtracking; the penalty makes the objective strongly convex.

    With p = softmax(Σ_m w_m·s_m + b) and a_m = E_p[s_m] for each document, the second derivatives are
    Σ_d Cov_p(s_m, s_l) for two weights, Σ_d p_c·(s_mc − a_m) for a weight and a bias, and Σ_d p_c·([c = e] − p_e) for
    two biases.
    """
    n_members, n_classes = len(scores), len(bias)
    point = np.concatenate([weights, bias])
    drawn = np.concatenate([expected, np.zeros(n_classes)])
    reached = np.concatenate(
        [[np.vdot(soft_targets, member_scores) for member_scores in scores], soft_targets.sum(axis=0)]
    )

    def loss_at(point: Floats) -> tuple[float, Floats]:
        z = np.tile(point[n_members:], (len(soft_targets), 1))
        for weight, member_scores in zip(point[:n_members], scores, strict=True):
            z += weight * member_scores
        top = row_max(z)
        z -= top
        np.exp(z, out=z)
        sums = z.sum(axis=1)
        z /= sums[:, None]
        away = point - drawn
        whole = float(np.log(sums).sum() + top.sum() - point @ reached + shrink / 2 * away @ away)
        return whole, z

    value, p = loss_at(point)
    for _ in range(MOST_STEPS):
        slope = np.concatenate([[np.vdot(p, member_scores) for member_scores in scores], p.sum(axis=0)]) - reached
        slope += shrink * (point - drawn)
        step = -np.linalg.solve(_curvature(scores, p, shrink), slope)
        gain = float(slope @ step)
        size = 1.0
        while True:
            nearer, q = loss_at(point + size * step)
            if nearer <= value + 1e-4 * size * gain or size < SHORTEST:
                break
            size /= 2
        point, value, p = point + size * step, nearer, q
        if -gain <= CLOSE * len(soft_targets):
            break
    return point[:n_members], point[n_members:]


def _curvature(scores: list[Floats], p: Floats, shrink: float) -> Floats:
    """The Hessian; rows and columns of the members' weights come first, then the biases."""
    n_members, n_classes = len(scores), p.shape[1]
    H = np.empty((n_members + n_classes, n_members + n_classes))
    inside = H[n_members:, n_members:]
    inside[:] = -(p.T @ p)
    inside[np.diag_indices(n_classes)] += p.sum(axis=0)
    weighted = [p * member_scores for member_scores in scores]
    means = [product.sum(axis=1) for product in weighted]
    for m in range(n_members):
        H[m, n_members:] = H[n_members:, m] = weighted[m].sum(axis=0) - means[m] @ p
        for other in range(m + 1):
            H[m, other] = H[other, m] = np.vdot(weighted[m], scores[other]) - means[m] @ means[other]
    H[np.diag_indices(len(H))] += shrink
    return H


def fit_saturation(
    scores: Floats, soft_targets: Floats, *, shrink: float, start: tuple[float, float] | None = None
) -> tuple[float, float]:
    """(k, b) that minimise the log-loss of p_c ∝ σ(k·s_c + b), shrunk toward k = 1 and b = LOWEST, a softmax.

    A softmax of pooled margins is overconfident if the evidence for a class is overwhelming, and underconfident if all
    classes have little evidence. σ bounds the former and keeps the slope of the latter. The best class does not change.
    The loss has several minima: the search begins at two points, or only at `start`.
    """
    starts = [(0.0, LOWEST / 2), (0.0, 0.0)] if start is None else [(float(np.log(start[0])), start[1])]
    minima = [_descend_saturation(scores, soft_targets, shrink, np.array(start_point)) for start_point in starts]
    _, point = min(minima, key=lambda minimum: minimum[0])
    return float(np.exp(point[0])), float(point[1])


def _descend_saturation(scores: Floats, soft_targets: Floats, shrink: float, point: Floats) -> tuple[float, Floats]:
    """(loss, (log k, b)) of the minimum within the bounds that Newton's method reaches from `point`."""
    n, whole = len(scores), soft_targets.sum(axis=1)
    bounds = np.array([[-2.0, LOWEST], [2.0, -LOWEST]])

    def derivatives(point: Floats) -> tuple[float, Floats, Floats]:
        scaled = np.exp(point[0]) * scores
        u = scaled + point[1]
        small = np.exp(-np.abs(u))  # np.logaddexp would take most of the time
        below = np.where(u > 0, small, 1.0) / (1 + small)  # σ(−u)
        logs = np.minimum(u, 0.0) - np.log(1 + small)  # log σ(u)
        p = logs - row_max(logs)
        loss = -np.vdot(soft_targets, p)
        np.exp(p, out=p)
        sums = p.sum(axis=1)
        loss += float(whole @ np.log(sums))
        p /= sums[:, None]
        slopes = (p - soft_targets) * below
        bend = slopes * (below - 1)  # error · (log σ)''
        both = below * scaled
        p_below, p_both = p * below, p * both
        mean_b, mean_a = p_below.sum(axis=1), p_both.sum(axis=1)
        h_aa = np.vdot(bend * scaled, scaled) + np.vdot(p_both, both) - mean_a @ mean_a + np.vdot(slopes, scaled)
        h_ab = np.vdot(bend, scaled) + np.vdot(p_both, below) - mean_a @ mean_b
        h_bb = bend.sum() + np.vdot(p_below, below) - mean_b @ mean_b
        value = loss + shrink / 2 * (point[0] ** 2 + (point[1] / LOWEST) ** 2)
        slope = np.array([np.vdot(slopes, scaled), slopes.sum()]) + shrink * np.array([point[0], point[1] / LOWEST**2])
        return float(value), slope, np.array([[h_aa + shrink, h_ab], [h_ab, h_bb + shrink / LOWEST**2]])

    value, slope, H = derivatives(point)
    for _ in range(MOST_STEPS):
        # if the slope points out of a bound, only the other coordinate moves
        free = ~(((point <= bounds[0]) & (slope > 0)) | ((point >= bounds[1]) & (slope < 0)))
        if not free.any():
            break
        values, vectors = np.linalg.eigh(H[np.ix_(free, free)])
        bent = np.maximum(np.abs(values), FLATTEST * np.abs(values).max())  # downhill also where not convex
        step = np.zeros(2)
        step[free] = -vectors @ ((vectors.T @ slope[free]) / bent)
        step /= max(1.0, float(np.abs(step / LONGEST).max()))
        size = 1.0
        while True:
            nearer = np.clip(point + size * step, *bounds)
            gain = float(slope @ (nearer - point))
            result = derivatives(nearer)
            if result[0] <= value + 1e-4 * gain or size < SHORTEST:
                break
            size /= 2
        if result[0] > value:
            break
        point, (value, slope, H) = nearer, result
        if -gain <= CLOSE * n:
            break
    return value, point
