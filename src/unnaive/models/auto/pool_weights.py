"""Log-linear pooling: fit non-negative weights for the scores of several models, and class biases, by log-loss.

Documents have soft targets (n_docs, n_classes) that sum to their weight: one of weight 2 counts as two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp, log
from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Ids
from unnaive.data.products import dot, matmul
from unnaive.data.symmetric import eigh, solve_positive
from unnaive.learning.fit_calibration import least_loss_scale

LOWEST = -15.0  # level of scores at which σ is practically an exponential
MOST_STEPS = 50  # steps of Newton's method, which usually takes five to ten
SHORTEST = 1e-4  # smallest step length
FLATTEST = 1e-9  # smallest curvature, relative to the largest
LONGEST = np.array([1.0, 5.0])  # largest step in log slope and level of a saturation
CLOSE = 1e-7  # expected gain in log-loss per document below which Newton's method stops
LARGEST_EXP = 500.0  # larger exponents of e could overflow in sums and products
LARGEST_LOG = 6.0  # bound on |log(scale · spread)| of the temperature scale
MANY_CLASSES = 100  # from which on a step of Newton's method is solved by conjugate gradients
MOST_GRADIENTS, NEAR = (
    50,
    1e-2,
)  # steps of conjugate gradients, and the residual, relative to the slope, at which they end
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


def soften(targets: Ids, possible: NDArray[np.bool_], weight: Floats | None = None) -> Floats:
    """Smoothed targets (n_docs, n_classes), as if one more document of any `possible` class (n_classes,) had been seen.

    Row d is 1 − ε at its class, and ε = 1/(n + 1) is spread over the possible classes, n the number of documents; then
    it is multiplied by the weight of the document, and n is the sum of the weights. A few documents without errors then
    do not make a model certain; with thousands of documents the effect is negligible.

    >>> soften(np.array([0, 1, 0]), np.array([True, True]))[0]
    array([0.875, 0.125])
    >>> soften(np.array([0, 1]), np.array([True, True]), np.array([2.0, 1.0]))[0]
    array([1.75, 0.25])
    """
    n = len(targets) if weight is None else float(weight.sum())
    soft_targets: Floats = np.tile(possible / possible.sum() / (n + 1), (len(targets), 1))
    soft_targets[np.arange(len(targets)), targets] += n / (n + 1)
    return soft_targets if weight is None else soft_targets * weight[:, None]


def pool_log_loss(scores: Floats, targets: Ids, weight: Floats | None = None) -> float:
    """Mean −log p of the true class under a softmax."""
    return float(-np.average(log_softmax(scores)[np.arange(len(targets)), targets], weights=weight))


def fit_temperature_scale(scores: Floats, soft_targets: Floats) -> float:
    """The factor that minimises the log-loss of the scores: one over the temperature.

    It stays within e^±6 of one over the standard deviation of the scores.
    """
    centred = scores - scores.mean(axis=1, keepdims=True)
    weight = soft_targets.sum(axis=1)
    spread = float(np.sqrt(np.average((centred**2).mean(axis=1), weights=weight))) or 1.0
    return least_loss_scale(
        centred, dot(soft_targets, centred), start=1.0 / spread, largest_log=LARGEST_LOG, weight=weight
    )


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
    in_use = np.ones(len(scores), np.bool_) if start is None else start.weights > 0
    bias = np.zeros(scores[0].shape[1]) if start is None else start.bias
    weights = expected / expected[in_use].sum() if start is None else start.weights
    while True:
        drawn = expected[in_use] / expected[in_use].sum()
        members = [member_scores for member_scores, is_kept in zip(scores, in_use, strict=True) if is_kept]
        kept_weights, bias = _least_log_loss(members, soft_targets, shrink, drawn, weights[in_use], bias)
        weights = np.zeros(len(scores))
        weights[in_use] = kept_weights
        worst = in_use & (weights < 0) & (weights == weights.min())  # one at a time: others may turn positive
        small = worst if worst.any() else in_use & (weights < DROPPED * weights.sum())
        if not small.any() or small.sum() == in_use.sum():
            return PoolWeights(np.maximum(weights, 0.0), bias)
        in_use &= ~small


def _least_log_loss(
    scores: list[Floats], soft_targets: Floats, shrink: float, expected: Floats, weights: Floats, bias: Floats
) -> tuple[Floats, Floats]:
    """(weights, bias) by Newton's method with backtracking; the penalty makes the objective strongly convex.

    With p = softmax(Σ_m w_m·s_m + b) and a_m = E_p[s_m] for each document, the second derivatives are
    Σ_d Cov_p(s_m, s_l) for two weights, Σ_d p_c·(s_mc − a_m) for a weight and a bias, and Σ_d p_c·([c = e] − p_e) for
    two biases. Every document counts as often as its soft targets sum to. Arrays here are (n_classes, n_docs): numpy
    sums over few classes are then five times as fast.
    """
    by_class = [np.ascontiguousarray(member_scores.T) for member_scores in scores]
    n_members, n_docs = len(by_class), len(soft_targets)
    times = soft_targets.sum(axis=1)
    product = np.empty(by_class[0].shape)
    point = np.concatenate([weights, bias])
    drawn = np.concatenate([expected, np.zeros(len(bias))])
    reached = np.concatenate([[dot(soft_targets, member_scores) for member_scores in scores], soft_targets.sum(axis=0)])

    def loss_at(point: Floats) -> tuple[float, Floats]:
        z = np.tile(point[n_members:, None], n_docs)
        for weight, member_scores in zip(point[:n_members], by_class, strict=True):
            z += np.multiply(member_scores, weight, out=product)
        top = z.max(axis=0)
        z -= top
        exp(z, out=z)
        sums = z.sum(axis=0)
        z *= times / sums
        away = point - drawn
        whole = dot(times, log(sums) + top) - dot(point, reached) + shrink / 2 * dot(away, away)
        return whole, z

    value, p = loss_at(point)  # the probabilities of each document times its weight
    for _ in range(MOST_STEPS):
        slope = np.concatenate([[dot(p, member_scores) for member_scores in by_class], p.sum(axis=1)]) - reached
        slope += shrink * (point - drawn)
        if len(bias) < MANY_CLASSES:
            step = -solve_positive(_curvature(by_class, p, times, shrink), slope)
        else:
            step = -_solve_by_gradients(by_class, p, times, shrink, slope)
        gain = dot(slope, step)
        size = 1.0
        while True:
            nearer, q = loss_at(point + size * step)
            if nearer <= value + 1e-4 * size * gain or size < SHORTEST:
                break
            size /= 2
        point, value, p = point + size * step, nearer, q
        if -gain <= CLOSE * times.sum():
            break
    return point[:n_members], point[n_members:]


def _curvature(by_class: list[Floats], p: Floats, times: Floats, shrink: float) -> Floats:
    """The Hessian; rows and columns of the members' weights come first, then the biases.

    p  the probabilities of each document times its weight, `times` (n_docs,)
    """
    n_members, n_classes = len(by_class), len(p)
    H = np.empty((n_members + n_classes, n_members + n_classes))
    inside = H[n_members:, n_members:]
    inside[:] = -matmul(p, (p / times).T)
    inside[np.diag_indices(n_classes)] += p.sum(axis=1)
    weighted = [p * member_scores for member_scores in by_class]
    means = [product.sum(axis=0) / times for product in weighted]
    for m in range(n_members):
        H[m, n_members:] = H[n_members:, m] = weighted[m].sum(axis=1) - matmul(p, means[m])
        for other in range(m + 1):
            H[m, other] = H[other, m] = dot(weighted[m], by_class[other]) - dot(times * means[m], means[other])
    H[np.diag_indices(len(H))] += shrink
    return H


def _solve_by_gradients(by_class: list[Floats], p: Floats, times: Floats, shrink: float, slope: Floats) -> Floats:
    """About H⁻¹·slope, H the Hessian of `_curvature`, by conjugate gradients with the diagonal of H as preconditioner.

    H itself takes time that grows with the square of the classes. Its product with (u, b) is, with the changes of
    scores δ = Σ_m u_m·s_m + b, the sums of p·(δ − E_p[δ]) over the documents, times s_m and by class. With few
    documents of each class H is nearly diagonal, so ten steps are usually enough.
    """
    n_members = len(by_class)
    change, product = np.empty(p.shape), np.empty(p.shape)

    def curve(direction: Floats) -> Floats:
        change[:] = direction[n_members:, None]
        for weight, member_scores in zip(direction[:n_members], by_class, strict=True):
            np.add(change, np.multiply(member_scores, weight, out=product), out=change)
        np.multiply(change, p, out=change)
        np.subtract(change, np.multiply(p, change.sum(axis=0) / times, out=product), out=change)
        sums = [dot(change, member_scores) for member_scores in by_class]
        return np.concatenate([sums, change.sum(axis=1)]) + shrink * direction

    diagonal = np.full(len(slope), shrink)
    for m, member_scores in enumerate(by_class):
        np.multiply(p, member_scores, out=change)
        diagonal[m] += dot(change, member_scores) - dot(change.sum(axis=0) ** 2, 1 / times)
    diagonal[n_members:] += (p - np.multiply(p, np.divide(p, times, out=product), out=product)).sum(axis=1)
    solution, rest = np.zeros(len(slope)), slope
    near = rest / diagonal
    direction, size = near, dot(rest, near)
    least = NEAR**2 * size
    for _ in range(MOST_GRADIENTS):
        if size <= least:
            break
        curved = curve(direction)
        length = size / dot(direction, curved)
        solution, rest = solution + length * direction, rest - length * curved
        near = rest / diagonal
        before, size = size, dot(rest, near)
        direction = near + size / before * direction
    return solution


def fit_saturation(scores: Floats, soft_targets: Floats, *, shrink: float) -> tuple[float, float]:
    """(k, b) that minimise the log-loss of p_c ∝ σ(k·s_c + b), shrunk toward k = 1 and b = LOWEST, a softmax.

    A softmax of pooled margins is overconfident if the evidence for a class is overwhelming, and underconfident if all
    classes have little evidence. σ bounds the former and keeps the slope of the latter. The best class does not change.
    The loss has several minima, so the search begins at two points.
    """
    by_class, targets = np.ascontiguousarray(scores.T), np.ascontiguousarray(soft_targets.T)
    starts = np.array([[0.0, LOWEST / 2], [0.0, 0.0]])
    minima = [_descend_saturation(by_class, targets, shrink, start) for start in starts]
    _, point = min(minima, key=lambda minimum: minimum[0])
    return float(exp(point[0])), float(point[1])


def _descend_saturation(by_class: Floats, targets: Floats, shrink: float, point: Floats) -> tuple[float, Floats]:
    """(loss, (log k, b)) of the minimum within the bounds that Newton's method reaches from `point`.

    Scores `by_class` and soft targets are (n_classes, n_docs), as in `_least_log_loss`.
    """
    whole = targets.sum(axis=0)  # the weight of each document
    bounds = np.array([[-2.0, LOWEST], [2.0, -LOWEST]])

    scaled, above, below, slopes, product = (np.empty(by_class.shape) for _ in range(5))  # new ones each time take long

    def derivatives(point: Floats) -> tuple[float, Floats, Floats]:
        np.multiply(by_class, exp(point[0]), out=scaled)
        np.subtract(-point[1], scaled, out=below)  # −u, u = k·s + b
        exp(np.minimum(below, LARGEST_EXP, out=below), out=below)
        np.add(below, 1.0, out=above)
        loss = dot(targets, log(above, out=product))  # Σ targets · −log σ(u)
        np.divide(1.0, above, out=above)  # σ(u)
        np.multiply(below, above, out=below)  # σ(−u), the slope of log σ(u)
        sums = above.sum(axis=0)
        loss += dot(whole, log(sums))
        p = np.multiply(above, whole / sums, out=product)
        np.multiply(np.subtract(p, targets, out=slopes), below, out=slopes)
        p_below = np.multiply(p, below, out=product)
        bend = np.multiply(p_below, below, out=below)
        bend -= np.multiply(slopes, above, out=above)  # error · (log σ)'' is −slopes · σ(u)
        mean_b, mean_a = p_below.sum(axis=0), np.multiply(p_below, scaled, out=above).sum(axis=0)
        h_bb = bend.sum() - dot(mean_b, mean_b / whole)
        bend *= scaled
        h_ab = bend.sum() - dot(mean_a, mean_b / whole)
        slope_a = dot(slopes, scaled)
        h_aa = dot(bend, scaled) - dot(mean_a, mean_a / whole) + slope_a
        value = loss + shrink / 2 * (point[0] ** 2 + (point[1] / LOWEST) ** 2)
        slope = np.array([slope_a, slopes.sum()]) + shrink * np.array([point[0], point[1] / LOWEST**2])
        return float(value), slope, np.array([[h_aa + shrink, h_ab], [h_ab, h_bb + shrink / LOWEST**2]])

    value, slope, H = derivatives(point)
    for _ in range(MOST_STEPS):
        # if the slope points out of a bound, only the other coordinate moves
        free = ~(((point <= bounds[0]) & (slope > 0)) | ((point >= bounds[1]) & (slope < 0)))
        if not free.any():
            break
        values, vectors = eigh(H[np.ix_(free, free)])
        bent = np.maximum(np.abs(values), FLATTEST * np.abs(values).max())  # downhill also where not convex
        step = np.zeros(2)
        step[free] = -matmul(vectors, matmul(vectors.T, slope[free]) / bent)
        step /= max(1.0, float(np.abs(step / LONGEST).max()))
        size = 1.0
        while True:
            nearer = np.clip(point + size * step, *bounds)
            gain = dot(slope, nearer - point)
            result = derivatives(nearer)
            if result[0] <= value + 1e-4 * gain or size < SHORTEST:
                break
            size /= 2
        if result[0] > value:
            break
        point, (value, slope, H) = nearer, result
        if -gain <= CLOSE * whole.sum():
            break
    return value, point
