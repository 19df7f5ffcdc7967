"""Fit a calibration to held-out scores: temperature, Platt's lines, isotonic regression.

`weight` is that of each document (n_docs,), None if all are 1; a document of weight 2 counts as two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp, logaddexp
from unnaive.base.errors import BadData
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Floats
from unnaive.data.products import dot
from unnaive.learning.calibration import Calibration, Isotonic, Platt, Temperature, class_log_odds, link_logits

LEAST_SLOPE = 1e-6
MOST_STEPS = 60  # steps of Newton's method, which needs about ten
CLOSE = 1e-6  # relative step at which a scale has converged: the error after it is about the square, 1e-12
BLOCK = 1 << 17  # scores that are worked on at once


def fit_temperature(link: str, scores: Floats, Y: Any, *, exclusive: bool, weight: Floats | None = None) -> Temperature:
    """The temperature with the least log-loss on held-out scores (n_docs, n_classes) and labels Y.

    One pseudo-document of any class is added; without it, held-out documents that are all right would give T = 0 and
    make every new document certain. With thousands of documents it has no visible effect.

    The loss is convex in 1/T (and the offset), so it has one minimum. Documents whose right class has no evidence (ℓ =
    −∞) are left out, since no temperature changes them. Guo et al. (2017), On calibration of modern neural networks.

    >>> scores = np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 5.0]])   # "certain", right in three of four
    >>> warm = fit_temperature("log-odds", scores, np.array([[0, 1], [0, 1], [0, 1], [1, 0]]), exclusive=True)
    >>> warm.probabilities("log-odds", scores)[0].round(3)                    # 3½ of 5 with one more of either class
    array([0.3, 0.7])
    """
    if exclusive:
        return Temperature(_exclusive_temperature(link_logits(link, scores), csr_array(Y), weight))
    logits, truth = link_logits(link, scores).ravel(), csr_array(Y).astype(np.bool_).toarray().ravel()
    weights = None if weight is None else np.repeat(weight, scores.shape[1])
    slope, offset = _logistic_line(*_finite(logits, truth, weights))
    return Temperature(1 / slope, offset, exclusive=False)


def fit_platt(link: str, scores: Floats, Y: Any, *, exclusive: bool, weight: Floats | None = None) -> Platt:
    """For each class the logistic line with the least log-loss on held-out scores (n_docs, n_classes) and labels Y.

    For a class with n₁ documents and n₀ others, targets are (n₁+1)/(n₁+2) and 1/(n₀+2) instead of 1 and 0, so that
    classes with few documents do not become certain. Slopes are positive: a class with misleading scores gets its
    share.

    >>> scores = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> fit_platt("margin", scores, np.array([[1], [1], [0], [0]]), exclusive=False).probabilities("margin", scores)[0]
    array([0.79380...])
    """
    odds, truth = class_log_odds(link, scores), csc_array(Y)
    lines = [_logistic_line(*_known(odds[:, c], truth[:, [c]], weight)) for c in range(truth.shape[1])]
    return Platt(tuple(slope for slope, _ in lines), tuple(offset for _, offset in lines), exclusive)


def fit_isotonic(link: str, scores: Floats, Y: Any, *, exclusive: bool, weight: Floats | None = None) -> Isotonic:
    """For each class the increasing function with the least squared error on held-out scores and labels Y.

    Equal scores are pooled; the knots are the ends of the constant parts. Zadrozny and Elkan (2002).

    >>> scores = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> fit_isotonic("margin", scores, np.array([[0], [1], [0], [1]]), exclusive=False).curves
    (((1.0, 2.0, 3.0, 4.0), (0.0, 0.5, 0.5, 1.0)),)
    """
    odds, truth = class_log_odds(link, scores), csc_array(Y)
    return Isotonic(
        tuple(_isotonic_curve(*_known(odds[:, c], truth[:, [c]], weight)) for c in range(truth.shape[1])), exclusive
    )


FITS: dict[str, Callable[..., Calibration]] = {
    "temperature": fit_temperature,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


def _known(odds: Floats, column: Any, weight: Floats | None) -> tuple[Floats, NDArray[np.bool_], Floats | None]:
    """The finite log-odds of a class, whether the document has the class, and its weight."""
    return _finite(odds, np.asarray(column.toarray()).ravel() != 0, weight)


def _finite(
    odds: Floats, truth: NDArray[np.bool_], weight: Floats | None
) -> tuple[Floats, NDArray[np.bool_], Floats | None]:
    """The cells with finite log-odds; no copies if all are."""
    finite = np.isfinite(odds)
    if finite.all():
        return odds, truth, weight
    return odds[finite], truth[finite], None if weight is None else weight[finite]


def soft_targets(truth: NDArray[np.bool_], weight: Floats | None = None) -> Floats:
    """(n₁+1)/(n₁+2) instead of 1 and 1/(n₀+2) instead of 0, for n₁ ones and n₀ zeros, of any shape. Platt (1999).

    >>> soft_targets(np.array([True, False, False]))
    array([0.66666667, 0.25      , 0.25      ])
    >>> soft_targets(np.array([True, False]), np.array([1.0, 2.0]))
    array([0.66666667, 0.25      ])
    """
    return np.where(truth, *soft_values(truth, weight))


def soft_values(truth: NDArray[np.bool_], weight: Floats | None) -> tuple[float, float]:
    """The targets of true and of other cells."""
    ones = int(truth.sum()) if weight is None else float(weight[truth].sum())
    total = truth.size if weight is None else float(weight.sum())
    return (ones + 1) / (ones + 2), 1 / (total - ones + 2)


def _isotonic_curve(
    odds: Floats, truth: NDArray[np.bool_], weight: Floats | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not len(odds):
        return (0.0,), (0.0,)
    from scipy.optimize import isotonic_regression

    knots, knot_of = np.unique(odds, return_inverse=True)
    size = np.bincount(knot_of, weight)
    share = np.bincount(knot_of, weights=truth if weight is None else truth * weight) / size
    p = np.clip(isotonic_regression(share, weights=size).x, 0.0, 1.0)
    inner = np.ones(len(p), np.bool_)
    inner[1:-1] = (p[1:-1] != p[:-2]) | (p[1:-1] != p[2:])  # the middle of a constant part is redundant
    return tuple(knots[inner].tolist()), tuple(p[inner].tolist())


def _exclusive_temperature(logits: Floats, Y: Any, weight: Floats | None) -> float:
    if not np.all(np.diff(Y.indptr) == 1):
        raise BadData("a document has other than one label; calibrate with exclusive=False")
    right = logits[np.arange(len(logits)), Y.indices]
    finite = np.isfinite(right)
    gaps = logits[finite] - right[finite, None]  # gap 0 is the right class
    weights = None if weight is None else weight[finite]
    possible = np.isfinite(gaps)
    apart = np.abs(gaps[possible & (gaps != 0)])
    if not apart.size:
        return 1.0
    # the right class is 1 − ε, ε = 1/(n+1) is spread over the classes that have any evidence
    means = np.where(possible, gaps, 0.0).sum(axis=1) / possible.sum(axis=1)
    n, total = (len(gaps), means.sum()) if weights is None else (weights.sum(), dot(means, weights))
    return 1 / least_loss_scale(
        gaps, float(total) / (n + 1), start=1 / float(np.median(apart)), largest_log=12.0, weight=weights
    )


def least_loss_scale(
    scores: Floats, reached: float, *, start: float, largest_log: float, weight: Floats | None = None
) -> float:
    """The factor k of scores (n_docs, n_classes) with the least log-loss: one over the temperature.

    Newton's method on f(k) = Σ_d log Σ_c exp(k·s_dc) − k·reached, which is convex: f' = Σ E_p[s] − reached and
    f'' = Σ Var_p[s]. Steps stay within a factor of 4, and k within e^±largest_log of `start`. A class whose score is
    −∞ is ignored. `reached` is Σ targets·s; it is 0 for 0/1 targets if scores are relative to the right class.

    >>> scores = np.array([[0.0, 0.0, -np.inf], [0.0, 1.0, -np.inf]]) # of two documents, the first class is right
    >>> least_loss_scale(scores, 0.2, start=1.0, largest_log=6.0)     # e^k / (1 + e^k) = 0.2: k = −log 4, no factor
    0.00247...
    >>> round(least_loss_scale(scores, 0.8, start=1.0, largest_log=6.0), 6) == round(float(np.log(4)), 6)
    True
    """
    scale, low, high = start, start * float(exp(-largest_log)), start * float(exp(largest_log))
    blocks = _blocks_by_class(scores, weight)
    for _ in range(MOST_STEPS):
        mean, curvature = _mean_and_variance(blocks, scale)
        slope = mean - reached
        if not slope:  # if all scores are equal, every factor has the same loss
            return scale
        step = -slope / curvature if curvature > 0 else -np.copysign(np.inf, slope)
        low, high = (low, scale) if slope > 0 else (scale, high)
        nearer = scale + step
        if not low < nearer < high:  # beyond a known bound: take the geometric mean of both bounds
            nearer = float(np.sqrt(low * high))
        nearer = float(np.clip(nearer, scale / 4, scale * 4))
        if abs(nearer - scale) <= CLOSE * scale:
            return nearer
        scale = nearer
    return scale


def _blocks_by_class(scores: Floats, weight: Floats | None) -> list[tuple[Floats, Floats, Floats | None]]:
    """Blocks of documents (n_classes, n_docs), each with and without infinities, which become 0, and their weights.

    Numpy sums over few classes are five times as fast in this layout.
    """
    step = max(1, BLOCK // max(1, scores.shape[1]))
    blocks = []
    for start in range(0, len(scores), step):
        values = np.ascontiguousarray(scores[start : start + step].T)
        finite = np.isfinite(values)
        weights = None if weight is None else weight[start : start + step]
        blocks.append((values, values if finite.all() else np.where(finite, values, 0.0), weights))
    return blocks


def _mean_and_variance(blocks: list[tuple[Floats, Floats, Floats | None]], scale: float) -> tuple[float, float]:
    """Σ E_p[s] and Σ Var_p[s] over documents, p the softmax of scale · scores, from `_blocks_by_class`."""
    mean = variance = 0.0
    for values, finite, weights in blocks:
        p = scale * values
        p -= p.max(axis=0)
        exp(p, out=p)
        p /= p.sum(axis=0)
        p *= finite
        means = p.sum(axis=0)
        if weights is None:
            mean += float(means.sum())
            variance += dot(p, finite) - dot(means, means)
        else:
            mean += dot(means, weights)
            variance += dot((p * finite).sum(axis=0) - means * means, weights)
    return mean, variance


def _logistic_line(logits: Floats, truth: NDArray[np.bool_], weight: Floats | None) -> tuple[float, float]:
    """Slope > 0 and offset of the logistic regression of the soft targets of `truth` (n,) on logits (n,).

    Newton's method in two unknowns with step halving. The slope is kept above 1e-6; if it stays there, only the offset
    is fitted. BLOCK logits are worked on at once, so that it needs no memory beside the logits.
    """
    if not len(logits):
        return 1.0, 0.0
    cells = _Cells(logits, truth, weight)
    line = np.array([1.0, 0.0])
    before, gradient, curve = cells.derivatives(line)
    for _ in range(MOST_STEPS):
        curve += 1e-12 * np.eye(2)
        at_end = line[0] <= LEAST_SLOPE and gradient[0] > 0
        step = np.array([0.0, gradient[1] / curve[1, 1]]) if at_end else _solve(curve, gradient)
        size = 1.0
        while size > 1e-6:
            tried = np.array([max(line[0] - size * step[0], LEAST_SLOPE), line[1] - size * step[1]])
            after, *there = cells.derivatives(tried)
            if after < before:
                break
            size /= 2
        else:
            break
        line, gain, before, (gradient, curve) = tried, before - after, after, there
        if gain < 1e-15:
            break
    slope = float(line[0]) / cells.spread
    return slope, float(line[1]) - slope * cells.centre


class _Cells:
    """The logits of a logistic regression, read in blocks as (logit − centre) / spread."""

    def __init__(self, logits: Floats, truth: NDArray[np.bool_], weight: Floats | None) -> None:
        self.logits, self.truth, self.weight = logits, truth, weight
        self.total = float(len(logits)) if weight is None else float(weight.sum())
        self.targets = soft_values(truth, weight)
        self.blocks = [slice(start, start + BLOCK) for start in range(0, len(logits), BLOCK)]
        self.centre = sum(self._sum(logits[block], block) for block in self.blocks) / self.total
        squares = sum(self._sum((logits[block] - self.centre) ** 2, block) for block in self.blocks)
        self.spread = float(np.sqrt(squares / self.total)) or 1.0

    def _sum(self, values: Floats, block: slice) -> float:
        """The weighted sum of values of a block."""
        return float(values.sum()) if self.weight is None else dot(values, self.weight[block])

    def derivatives(self, line: Floats) -> tuple[float, Floats, Floats]:
        """The mean loss of a line, with its first (2,) and second (2, 2) derivatives."""
        sums = np.zeros(6)
        for block in self.blocks:
            unit = (self.logits[block] - self.centre) / self.spread
            odds, truth = line[0] * unit + line[1], np.where(self.truth[block], *self.targets)
            p = 1 / (1 + exp(-np.clip(odds, -500, 500)))
            error, slack = p - truth, p * (1 - p)
            losses, bent = logaddexp(0.0, odds) - truth * odds, slack * unit
            parts = (losses, error * unit, error, bent * unit, bent, slack)
            sums += [self._sum(part, block) for part in parts]
        loss, *slopes, steep, cross, flat = (sums / self.total).tolist()
        return loss, np.array(slopes), np.array([[steep, cross], [cross, flat]])


def _solve(table: Floats, right: Floats) -> Floats:
    """Solve two linear equations; done by hand, since a BLAS call would start threads."""
    (a, b), (c, d) = table
    solution: Floats = np.array([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / (a * d - b * c)
    return solution
