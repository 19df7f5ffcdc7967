"""Limited-memory BFGS over any vector space that can say what a dot product and a straight line are.

maxent.py uses it in two spaces: that of the weights, and, where there are more terms than documents, the much
smaller span of the documents, in which every iterate lives anyway (log_linear.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ray = Callable[[float], tuple[float, float]]

MEMORY = 10  # pairs of steps and gradient changes that approximate the curvature


class Problem(Protocol):
    """A convex function to minimise, with points as flat arrays in coordinates of its own choice."""

    def dot(self, one: Floats, two: Floats) -> float:
        """The inner product of two vectors."""

    def gradient(self, point: Floats) -> tuple[float, Floats, float]:
        """Value, gradient and the largest partial derivative (in the space of the weights) at `point`."""

    def ray(self, point: Floats, direction: Floats) -> Ray:
        """t ↦ (value, slope) at point + t·direction, cheap for each further t."""


def minimise(
    problem: Problem,
    point: Floats,
    *,
    tol: float,
    max_iter: int,
    watch: Callable[[int, float, float, Floats], None] | None = None,
) -> Floats:
    """The point where the largest partial derivative is at most `tol`, or the best after `max_iter` steps.

    Two-loop recursion of Nocedal (1980); the step satisfies the strong Wolfe conditions.
    """
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    value, gradient, slope = problem.gradient(point)
    for iteration in range(max_iter):
        if watch is not None:
            watch(iteration, value, slope, point)
        if slope <= tol:
            break
        direction = -_times_inverse_curvature(gradient, pairs, problem)
        if problem.dot(direction, gradient) >= 0:  # rounding has spoiled the memory: start afresh
            pairs.clear()
            direction = -gradient
        first = 1.0 if pairs else 1.0 / max(1.0, np.sqrt(problem.dot(gradient, gradient)))
        step = wolfe_step(problem.ray(point, direction), first)
        if step == 0.0:
            break  # no progress is possible within rounding
        before = gradient
        point = point + step * direction
        value, gradient, slope = problem.gradient(point)
        change = gradient - before
        curvature = step * problem.dot(direction, change)
        if curvature > 0:
            pairs.append((step * direction, change, curvature))
    return point


def _times_inverse_curvature(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]], problem: Problem) -> Floats:
    """H·gradient, H the approximate inverse Hessian of the remembered pairs."""
    out = gradient.copy()
    shares = []
    for move, change, curvature in reversed(pairs):
        share = problem.dot(move, out) / curvature
        shares.append(share)
        out -= share * change
    if pairs:
        move, change, curvature = pairs[-1]
        out *= curvature / problem.dot(change, change)
    for (move, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        out += (share - problem.dot(change, out) / curvature) * move
    return out


def wolfe_step(ray: Ray, step: float, *, most: int = 30) -> float:
    """A step that lowers the value enough (1e-4 of the slope) and flattens the slope to 0.9 of it; 0 if there is none.

    >>> wolfe_step(lambda t: ((t - 2) ** 2, 2 * (t - 2)), 1.0)
    1.0
    """
    start, downhill = ray(0.0)
    low, high = 0.0, np.inf
    for _ in range(most):
        value, slope = ray(step)
        if not value <= start + 1e-4 * step * downhill + 1e-12 * abs(start):
            high = step
        elif slope < 0.9 * downhill:
            low = step
        elif slope > -0.9 * downhill:
            high = step
        else:
            return step
        step = 2 * low if np.isinf(high) else (low + high) / 2
        if step == 0.0:
            step = high / 2
    return low
