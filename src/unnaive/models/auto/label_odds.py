"""Pool the margins of several members into log-odds of each class, by logistic loss over all documents and classes.

    log-odds[d, c] = Σ_m weights[m] · scores_m[d, c] + levels[c]

Platt (1999) has one member and one class. The loss is convex; Newton's method reads the cells in blocks of documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import logaddexp, logistic
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.data.products import dot, matmul
from unnaive.data.symmetric import solve_positive
from unnaive.learning.fit_calibration import soft_values

SHRINK = 5.0  # strength of the prior on a class's level, in documents
TOGETHER = 5.0  # strength of the prior that draws the weights of members together, in documents with every class
LEAST_WEIGHT, MOST_WEIGHT = 1e-3, 50.0  # of scores with a standard deviation of 1
DROPPED = 0.08  # members with a smaller share of the weight are dropped, and the pool is fitted again
MOST_STEPS, SHORTEST = 50, 1e-4  # steps of Newton's method, and the shortest part of one that is tried
CLOSE = 1e-10  # expected gain in log-loss per document below which it stops
FLATTEST = 1e-9  # added to the curvature, relative to its mean
BLOCK = 1 << 17  # cells that are worked on at once


def fit_log_odds(
    scores: Sequence[Floats], Y: Sparse, weight: Floats | None = None, prior: Sequence[float] | None = None
) -> tuple[Floats, Floats]:
    """Fit (weights of members (n_members,), levels (n_classes,)) to scores (n_docs, n_classes) of each member.

    The level of a class is shrunk toward the common level with the strength of SHRINK documents, for the sake of rare
    classes, and weights are shrunk toward the shares in `prior`, None for equal ones. Members with a negative or small
    weight are dropped: they get 0. `weight` is that of each document; one of weight 2 counts as two.

    >>> scores = np.repeat([0.0, 1.0], [4000, 4000])[:, None]      # half of the zeros are right, three of four ones
    >>> Y = csr_array(np.concatenate([np.tile([1, 0], 2000), np.tile([1, 1, 1, 0], 1000)])[:, None])
    >>> weights, levels = fit_log_odds([scores], Y)
    >>> weights.round(2), levels.round(2)
    (array([1.1]), array([0.]))
    """
    centres = np.array([_mean(member, weight) for member in scores])
    sizes = np.array([np.sqrt(_mean((member - centre) ** 2, weight)) or 1.0
                      for member, centre in zip(scores, centres, strict=True)])  # fmt: skip
    truth, in_use = csr_array(Y).astype(np.bool_).toarray(), np.ones(len(scores), np.bool_)
    expected = np.ones(len(scores)) if prior is None else np.array(prior, np.float64)
    while True:
        members = [member for member, is_kept in zip(scores, in_use, strict=True) if is_kept]
        fitted, levels = _least_loss(_Cells(members, centres[in_use], sizes[in_use], truth, weight, expected[in_use]))
        weights = np.zeros(len(scores))
        weights[in_use] = fitted
        worst = in_use & (weights <= LEAST_WEIGHT) & (weights == weights[in_use].min())  # others may turn positive
        small = worst if worst.any() else in_use & (weights < DROPPED * weights.sum())
        if not small.any() or small.sum() == in_use.sum():
            return weights / sizes, levels - dot(weights, centres / sizes)
        in_use &= ~small


def _mean(scores: Floats, weight: Floats | None) -> float:
    """The mean over cells (n_docs, n_classes) of weighted documents."""
    return float(scores.mean()) if weight is None else float(np.average(scores.mean(axis=1), weights=weight))


def _least_loss(cells: _Cells) -> tuple[Floats, Floats]:
    """(weights of standardised scores, levels) with the least penalised loss."""
    n = len(cells.scores)
    point = np.concatenate([cells.expected / cells.expected.sum(), [-2.0], np.zeros(cells.truth.shape[1])])
    value, gradient, curve, beside, own = cells.derivatives(point)
    for _ in range(MOST_STEPS):
        step = _newton_step(point, n, gradient, curve, beside, own)
        size = 1.0
        while True:
            nearer = point + size * step
            nearer[:n] = np.clip(nearer[:n], LEAST_WEIGHT, MOST_WEIGHT)
            gain = dot(gradient, nearer - point)
            after, *there = cells.derivatives(nearer)
            if after <= value + 1e-4 * gain or size < SHORTEST:
                break
            size /= 2
        if after > value:
            break
        point, value, (gradient, curve, beside, own) = nearer, after, there
        if -gain <= CLOSE * cells.n_docs:
            break
    return point[:n], point[n] + point[n + 1 :]


def _newton_step(point: Floats, n: int, gradient: Floats, curve: Floats, beside: Floats, own: Floats) -> Floats:
    """The step of Newton's method from (n weights, common level, what each class adds to it).

    The second derivative by two class levels is 0, so they are eliminated from the equations. A weight at its bound
    stays there if the loss falls beyond it.
    """
    reduced = curve - matmul(beside / own, beside.T)
    right = -gradient[: n + 1] + matmul(beside / own, gradient[n + 1 :])
    outward = np.append((point[:n] <= LEAST_WEIGHT) & (gradient[:n] > 0), False)
    outward[:n] |= (point[:n] >= MOST_WEIGHT) & (gradient[:n] < 0)
    free = np.flatnonzero(~outward)
    reduced[np.diag_indices(n + 1)] += FLATTEST * float(np.trace(reduced)) / (n + 1) + 1e-300
    shared = np.zeros(n + 1)
    shared[free] = solve_positive(reduced[np.ix_(free, free)], right[free])
    return np.concatenate([shared, -(gradient[n + 1 :] + matmul(shared, beside)) / own])


class _Cells:
    """The documents and classes of the loss, read in blocks of documents."""

    def __init__(
        self, scores: list[Floats], centres: Floats, sizes: Floats, truth: NDArray[np.bool_], weight: Floats | None,
        expected: Floats,
    ) -> None:  # fmt: skip
        self.scores, self.centres, self.sizes, self.truth, self.expected = scores, centres, sizes, truth, expected
        self.weight = np.ones(len(truth)) if weight is None else weight
        self.n_docs = float(self.weight.sum())
        times = None if weight is None else np.broadcast_to(weight[:, None], truth.shape)
        self.targets = soft_values(truth, times)
        self.step = max(1, BLOCK // max(1, truth.shape[1]))

    def derivatives(self, point: Floats) -> tuple[float, Floats, Floats, Floats, Floats]:
        """(loss, gradient, second derivatives) at a point.

        The second derivatives are those by two of the weights and the common level (n + 1, n + 1), by one of them and
        a class level (n + 1, n_classes), and twice by a class level (n_classes,).
        """
        n, n_classes = len(self.scores), self.truth.shape[1]
        weights, levels = point[:n], point[n] + point[n + 1 :]
        loss, slopes, by_class = 0.0, np.zeros(n), np.zeros(n_classes)
        curve, beside = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n_classes))
        for start in range(0, len(self.truth), self.step):
            rows = slice(start, start + self.step)
            members = [(member[rows] - centre) / size
                       for member, centre, size in zip(self.scores, self.centres, self.sizes, strict=True)]  # fmt: skip
            odds = levels + sum(weight * member for weight, member in zip(weights, members, strict=True))
            truth, times = np.where(self.truth[rows], *self.targets), self.weight[rows, None]
            loss += float((times * (logaddexp(0.0, odds) - truth * odds)).sum())
            p = logistic(odds)
            errors, bend = times * (p - truth), times * (p * (1 - p))
            by_class += errors.sum(axis=0)
            beside[n] += bend.sum(axis=0)
            for number, member in enumerate(members):
                slopes[number] += float((errors * member).sum())
                spread = bend * member
                beside[number] += spread.sum(axis=0)
                for other in range(number + 1):
                    curve[number, other] += float((spread * members[other]).sum())
        added = point[n + 1 :]
        curve[n, :n] = beside[:n].sum(axis=1)
        curve[n, n] = beside[n].sum()
        curve = np.tril(curve) + np.tril(curve, -1).T
        # the prior on the weights: TOGETHER / 2 · n_classes · |w − its part along the expected shares|²
        shares = self.expected
        drawn = TOGETHER * n_classes * (np.eye(n) - np.multiply.outer(shares, shares) / dot(shares, shares))
        curve[:n, :n] += drawn
        loss += SHRINK / 2 * dot(added, added) + dot(weights, matmul(drawn, weights)) / 2
        gradient = np.concatenate([slopes + matmul(drawn, weights), [by_class.sum()], by_class + SHRINK * added])
        return loss, gradient, curve, beside, beside[n] + SHRINK
