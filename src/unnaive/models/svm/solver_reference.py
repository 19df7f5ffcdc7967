"""Dual coordinate descent in NumPy: the algorithm of the native solvers, and the fallback without them.

The order of documents, the steps and the rules for shrinking and stopping are the same; only the order of additions
differs. Arguments and results are those of the native module; solver.py checks and documents them. It is slow: it
visits one document at a time, with four classes together for the squared hinge and all classes for the softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.elementary import exp, log
from unnaive.base.types import Floats, Sparse

SolverProgress = Callable[[int, float, int], None]  # passes so far, violation in the last pass, solved classes

BLOCK, SINGLE_BLOCK = 4, 8  # classes that share the order of documents, in double and in single precision
RELAXATION = 1.3
WORTHWHILE = 0.05  # share of the last pass's gradient range below which a dual variable is not moved
NEGLIGIBLE = 0.05  # share of the mean violation below which the softmax skips a document
OVERESTIMATE = 10.0  # factor by which the estimate during a pass may exceed the gap
BETWEEN_VALUES = 20  # passes after which the exact gap is computed, whatever the estimate
LARGEST_DIVERGENCE = 1e3
MOST_STEPS = 50
WORD = 2**64 - 1


class Random:
    """SplitMix64 (Steele, Lea and Flood 2014): the same numbers everywhere.

    >>> f"{Random(0, 0).next():x}"
    'e220a8397b1dcdaf'
    """

    def __init__(self, seed: int, stream: int) -> None:
        self.state = (seed + stream * 0xD1342543DE82EF95) & WORD

    def next(self) -> int:
        """64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return z ^ (z >> 31)

    def shuffled(self, items: NDArray[np.intp]) -> list[int]:
        """The items in random order."""
        order: list[int] = items.tolist()
        for i in range(len(order)):
            j = i + ((self.next() >> 32) * (len(order) - i) >> 32)
            order[i], order[j] = order[j], order[i]
        return order


def compact_rows(starts: NDArray[np.int64], terms: NDArray[np.int32], values: NDArray[Any], n_terms: int) -> Sparse:
    """The documents in the form that the functions below read."""
    return _documents(values, terms, starts, n_terms)


def hinge(
    Z: Sparse,
    label_starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    n_classes: int,
    penalty: Floats,
    scale: Floats | None,
    tol: float,
    max_iter: int,
    seed: int,
    n_threads: int,
    progress: SolverProgress | None,
    single: bool,
) -> tuple[Any, ...]:
    """Same as the native `hinge`; `n_threads` is ignored, and everything is in double precision."""
    n_docs, n_terms = Z.shape
    pattern = csr_array((np.ones(len(labels)), labels, label_starts), shape=(n_docs, n_classes))
    solution: tuple[Any, ...] = (
        np.zeros((n_classes, n_terms)),
        np.zeros(n_classes),
        np.zeros(n_classes, np.int32),
        np.zeros(n_classes),
        np.zeros(n_classes),
        np.zeros(n_classes, np.bool_),
    )
    passes = 0
    size = SINGLE_BLOCK if single else BLOCK
    for first in range(0, n_classes, size):
        block = slice(first, min(first + size, n_classes))
        signs = np.where(pattern[:, block].toarray() > 0, 1.0, -1.0)
        squared_scale = None if scale is None else scale[block].T ** 2
        problem = _Hinge(Z, signs, penalty, squared_scale)
        passes = problem.solve(tol, max_iter, Random(seed, first), progress, passes, first)
        weights, bias, *rest = solution
        weights[block], bias[block] = problem.weights.T, problem.bias
        for array, value in zip(rest, (problem.n_iter, *problem.value(), ~problem.open), strict=True):
            array[block] = value
    return solution


class _Hinge:
    """A few binary problems that are solved together; arrays have a column for each."""

    def __init__(self, Z: Sparse, signs: Floats, penalty: Floats, squared_scale: Floats | None) -> None:
        self.Z, self.signs, self.penalty, self.squared_scale = Z, signs, penalty, squared_scale
        self.live = penalty > 0
        width = signs.shape[1]
        squares = Z.copy()
        squares.data **= 2
        lengths = squares @ (np.ones((Z.shape[1], width)) if squared_scale is None else squared_scale) + 1
        with np.errstate(divide="ignore"):
            self.diagonal = (0.5 / penalty)[:, None] * np.ones(width)
        self.step = RELAXATION / (lengths + self.diagonal)
        self.alpha = np.zeros(signs.shape)  # dual variables: the weights are Σ_d alpha_d·sign_d·z_d
        self.weights, self.bias = np.zeros((Z.shape[1], width)), np.zeros(width)
        self.open = np.ones(width, np.bool_)
        self.n_iter = np.zeros(width, np.int32)
        self.active = np.zeros(signs.shape, np.bool_)
        self.resting = np.zeros(len(signs), np.bool_)
        self.shrink_above, self.ignore_below = np.zeros(width), np.zeros(width)
        self._wake(self.open)

    def solve(
        self, tol: float, max_iter: int, random: Random, progress: SolverProgress | None, passes: int, solved: int
    ) -> int:
        """Run passes until all problems have converged, at most max_iter; return the total number of passes so far."""
        for iteration in range(1, max_iter + 1):
            if not self.open.any():
                break
            chosen = (self.active & self.open).any(axis=1)
            order = random.shuffled(np.flatnonzero(chosen & ~self.resting))
            self.resting[:] = False
            high, low = np.zeros(len(self.open)), np.zeros(len(self.open))
            visited = np.zeros(len(self.open), np.int64)
            for d in order:
                self._visit(d, high, low, visited)
            widest = self._close_pass(iteration, tol, high, low, visited)
            passes += 1
            if progress is not None:
                progress(passes, widest, solved)
        return passes

    def _visit(self, d: int, high: Floats, low: Floats, visited: NDArray[np.int64]) -> None:
        inside = slice(self.Z.indptr[d], self.Z.indptr[d + 1])
        terms, values = self.Z.indices[inside], self.Z.data[inside]
        alpha, sign = self.alpha[d], self.signs[d]
        gradient = sign * (self.bias + values @ self.weights[terms]) - 1 + self.diagonal[d] * alpha
        here, at_zero = self.active[d] & self.open, alpha == 0
        shrunk = here & at_zero & (gradient > self.shrink_above)
        self.active[d] &= ~shrunk
        here &= ~shrunk
        violation = np.where(at_zero & (gradient > 0), 0.0, gradient)
        visited += here
        np.maximum(high, violation, out=high, where=here)
        np.minimum(low, violation, out=low, where=here)
        moving = here & (np.abs(violation) > self.ignore_below)
        self.resting[d] = not moving.any()
        if self.resting[d]:
            return
        moved = np.where(moving, np.maximum(alpha - self.step[d] * gradient, 0.0), alpha)
        change = (moved - alpha) * sign
        self.alpha[d] = moved
        self.bias += change
        scaled = change if self.squared_scale is None else change * self.squared_scale[terms]
        self.weights[terms] += values[:, None] * scaled

    def _close_pass(self, iteration: int, tol: float, high: Floats, low: Floats, visited: NDArray[np.int64]) -> float:
        self.n_iter[self.open] = iteration
        ranges = high - low
        going = self.open & (ranges > tol)
        widest = float(ranges[self.open].max(initial=0.0))
        self.shrink_above[going] = np.where(high > 0, high, np.inf)[going]
        self.ignore_below[going] = WORTHWHILE * ranges[going]
        done = self.open & ~going & (visited == self.live.sum())
        self._wake(self.open & ~going & ~done)
        self.open &= ~done
        return widest

    def _wake(self, classes: NDArray[np.bool_]) -> None:
        if not classes.any():
            return
        self.active[:, classes] = self.live[:, None]
        self.resting[:] = False
        self.shrink_above[classes], self.ignore_below[classes] = np.inf, 1e-12

    def value(self) -> tuple[Floats, Floats]:
        """Objective and duality gap of each problem."""
        live = self.live
        margins = (self.signs * (self.Z @ self.weights + self.bias))[live]
        alpha, penalty = self.alpha[live], self.penalty[live, None]
        squares = 0.5 * (alpha * margins).sum(axis=0)
        objective = squares + (penalty * np.maximum(0.0, 1 - margins) ** 2).sum(axis=0)
        return objective, objective - ((alpha - alpha**2 / (4 * penalty)).sum(axis=0) - squares)


def softmax(
    Z: Sparse,
    targets: NDArray[np.int32],
    n_classes: int,
    penalty: Floats,
    prior: Floats | None,
    prior_bias: Floats,
    tol: float,
    max_iter: int,
    seed: int,
    progress: SolverProgress | None,
    single: bool,
) -> tuple[Any, ...]:
    """Same as the native `softmax`."""
    problem = _Softmax(Z, targets, n_classes, penalty, prior, prior_bias)
    n_iter, converged = problem.solve(tol, max_iter, Random(seed, 0), progress)
    weights = problem.weights.T + (0.0 if prior is None else prior)
    return weights, prior_bias + problem.bias, n_iter, *problem.value(), converged


class _Softmax:
    """Weights and bias minus those of the prior, and a posterior for each document."""

    def __init__(
        self,
        Z: Sparse,
        targets: NDArray[np.int32],
        n_classes: int,
        penalty: Floats,
        prior: Floats | None,
        prior_bias: Floats,
    ) -> None:
        self.Z, self.targets, self.penalty = Z, targets, penalty
        self.live = penalty > 0
        self.offset = np.zeros((Z.shape[0], n_classes)) + prior_bias + (0.0 if prior is None else Z @ prior.T)
        self.own = np.zeros((Z.shape[0], n_classes))
        self.own[np.arange(len(targets)), targets] = 1.0
        self.posterior = self.own.copy()  # the weights are Σ_d penalty_d·(own_d − posterior_d)·z_d
        self.weights, self.bias = np.zeros((Z.shape[1], n_classes)), np.zeros(n_classes)
        squares = Z.copy()
        squares.data **= 2
        self.norm = np.asarray(squares.sum(axis=1)) + 1
        self.violation, self.loss = np.zeros(Z.shape[0]), np.zeros(Z.shape[0])
        self.resting, self.ignore_below = np.zeros(Z.shape[0], np.bool_), 0.0

    def solve(self, tol: float, max_iter: int, random: Random, progress: SolverProgress | None) -> tuple[int, bool]:
        """Run passes until the gap is within tol of the objective; return their number and whether it converged."""
        for iteration in range(1, max_iter + 1):
            order = random.shuffled(np.flatnonzero(self.live & ~self.resting))
            self.resting[:] = False
            for d in order:
                self._visit(d)
            violation, loss = float(self.violation.sum()), float(self.loss.sum())
            self.ignore_below = NEGLIGIBLE * violation / max(1, int(self.live.sum()))
            if progress is not None:
                progress(iteration, violation / loss if loss > 0 else 0.0, 0)
            if violation <= OVERESTIMATE * tol * loss or iteration % BETWEEN_VALUES == 0:
                value, squares, gap = self.value()
                if gap <= tol * (value + squares):
                    return iteration, True
        return max_iter, False

    def _visit(self, d: int) -> None:
        inside = slice(self.Z.indptr[d], self.Z.indptr[d + 1])
        terms, values = self.Z.indices[inside], self.Z.data[inside]
        scores = self.offset[d] + self.bias + values @ self.weights[terms]
        logs = scores - _log_sum(scores)
        expected, before, penalty = exp(logs), self.posterior[d], self.penalty[d]
        apart = float(((before - expected) ** 2 / (expected + 1e-300)).sum())
        self.violation[d] = penalty * min(apart, LARGEST_DIVERGENCE)
        self.loss[d] = -penalty * logs[self.targets[d]]
        self.resting[d] = self.violation[d] <= self.ignore_below
        if self.resting[d]:
            return
        after = best_posterior(scores, logs, before, penalty * self.norm[d])
        change = penalty * (before - after)
        self.posterior[d] = after
        self.bias += change
        self.weights[terms] += values[:, None] * change

    def value(self) -> tuple[float, float, float]:
        """Loss, ½‖W − prior‖² and duality gap, all times C."""
        live = self.live
        learnt = (self.Z @ self.weights + self.bias)[live]
        scores, p, penalty = learnt + self.offset[live], self.posterior[live], self.penalty[live]
        sums, one_hot = _log_sum(scores), self.own[live]
        loss = penalty * (sums - (one_hot * scores).sum(axis=1))
        squares = 0.5 * penalty * ((one_hot - p) * learnt).sum(axis=1)
        logs = log(np.where(p > 0, p, 1.0))
        gap = penalty * (sums + (p * (logs - scores)).sum(axis=1))
        return float(loss.sum()), float(squares.sum()), float(gap.sum())


def best_posterior(scores: Floats, logs: Floats, before: Floats, Q: float) -> Floats:
    """The posterior p of one document that minimises the dual, with all other documents fixed.

    It minimises Σ p log p + Q/2·‖p − before‖² − scores·p over Σp = 1, so log p + Q·p = scores + Q·before − λ. Newton's
    method in log p and λ starts from `logs`, the log-softmax of the scores.

    >>> scores, before = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    >>> p = best_posterior(scores, scores - np.log(np.exp(scores).sum()), before, 2.0)
    >>> bool(np.isclose(np.ptp(np.log(p) + 2 * p - scores - 2 * before), 0, atol=1e-6))
    True
    """
    target, first = scores + Q * before, np.inf
    p = exp(logs)
    for _ in range(MOST_STEPS):
        slope, rest = 1 / (1 + Q * p), target - logs - Q * p
        shift = (p.sum() - 1 + (p * slope * rest).sum()) / (p * slope).sum()
        logs = np.minimum(logs + slope * (rest - shift), 0.0)
        p, last = exp(logs), p
        changed = float(np.abs(p - last).sum())
        first = changed if first == np.inf else first
        if changed <= 1e-3 * first or changed <= 1e-13:
            break
    posterior: Floats = p / p.sum()
    return posterior


def _documents(values: NDArray[Any], terms: NDArray[np.int32], starts: NDArray[np.int64], n_terms: int) -> Sparse:
    Z = csr_array((values.astype(np.float64), terms.copy(), starts.copy()), shape=(len(starts) - 1, n_terms))
    Z.sum_duplicates()
    return Z


def _log_sum(scores: Floats) -> Any:
    """log Σ exp over the last axis."""
    top = scores.max(axis=-1, keepdims=True)
    return log(exp(scores - top).sum(axis=-1)) + top[..., 0]
