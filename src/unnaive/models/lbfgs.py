"""Limited-memory BFGS over any vector space that can say what a dot product and a straight line are.

maxent.py uses it in two spaces: that of the weights, and, where there are more terms than documents, the much
smaller span of the documents, in which every iterate lives anyway (log_linear.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from unnaive.types import Floats

Ray = Callable[[float], tuple[float, float]]
Known = tuple[float, float, float]  # a place on a ray, value and slope there

MEMORY = 10  # pairs of steps and gradient changes that approximate the curvature
ENOUGH = 1e-4  # of the decrease that the slope promises: what a step must bring
FLAT = 0.3  # of the slope: what a step may leave
ROUNDING = 1e-13  # of the value: what it may rise by for no reason


class Problem(Protocol):
    """A convex function to minimise, with points as flat arrays in coordinates of its own choice."""

    def dot(self, one: Floats, two: Floats) -> float:
        """The inner product of two vectors."""

    def gradient(self, point: Floats) -> tuple[float, Floats, float]:
        """Value, gradient and the largest partial derivative (in the space of the weights) at `point`."""

    def ray(self, point: Floats, direction: Floats) -> Ray:
        """t ↦ (value, slope) at point + t·direction, cheap for each further t."""


@dataclass(frozen=True, eq=False)
class State:
    """After `iteration` steps: where, the value there, and the largest partial derivative."""

    iteration: int
    value: float
    steepest: float
    point: Floats


def descent(problem: Problem, point: Floats, *, tol: float, max_iter: int) -> Iterator[State]:
    """The start, then every step, until the largest partial derivative is at most `tol` or max_iter is up.

    Two-loop recursion of Nocedal (1980); the step satisfies the strong Wolfe conditions. Within rounding of the minimum
    no step lowers the value: then it ends too.
    """
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=MEMORY)
    value, gradient, steepest = problem.gradient(point)
    yield State(0, value, steepest, point)
    for iteration in range(1, max_iter + 1):
        if steepest <= tol:
            return
        direction = -_times_inverse_curvature(gradient, pairs, problem)
        slope = problem.dot(direction, gradient)
        if slope >= 0:  # rounding has spoiled the memory: start afresh
            pairs.clear()
            direction, slope = -gradient, -problem.dot(gradient, gradient)
        first = 1.0 if pairs else 1.0 / max(1.0, np.sqrt(-slope))
        step = wolfe_step(problem.ray(point, direction), first, value, slope)
        if step == 0.0:
            return
        direction *= step
        point, before = point + direction, gradient
        value, gradient, steepest = problem.gradient(point)
        yield State(iteration, value, steepest, point)
        change = gradient - before
        curvature = problem.dot(direction, change)
        if curvature > 0:
            pairs.append((direction, change, curvature))


def minimise(problem: Problem, point: Floats, *, tol: float, max_iter: int) -> Floats:
    """Where `descent` ends."""
    for state in descent(problem, point, tol=tol, max_iter=max_iter):
        point = state.point
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


def wolfe_step(ray: Ray, step: float, value: float, slope: float, *, most: int = 30) -> float:
    """A step from 0, where value and slope are given, that lowers the value and flattens the slope; 0 if none does.

    To 0.3 of the slope, and by 1e-4 of what it promises (strong Wolfe conditions). Points on the ray are cheap next to
    a gradient, so the step is taken close to the minimum: fewer gradients in all than with the customary 0.9.

    >>> wolfe_step(lambda t: ((t - 2) ** 2, 2 * (t - 2)), 1.0, 4.0, -4.0)
    2.0
    """
    low, high = (0.0, value, slope), None
    for _ in range(most):
        here = (step, *ray(step))
        if not here[1] <= value + ENOUGH * step * slope + ROUNDING * abs(value) or here[2] > -FLAT * slope:
            high = here
        elif here[2] < FLAT * slope:
            low = here
        else:
            return step
        step = 2 * step if high is None else _between(low, high)
    return low[0]


def _between(low: Known, high: Known) -> float:
    """Where the cubic through two points of a ray (place, value, slope) has its minimum, kept away from both."""
    (a, at_a, down), (b, at_b, up) = low, high
    width = b - a
    middle = down + up + 3 * (at_a - at_b) / width
    root = middle * middle - down * up
    if not root >= 0 or not np.isfinite(root):
        return a + width / 2
    root = np.sqrt(root)
    bottom = b - width * (up + root - middle) / (up - down + 2 * root)
    return float(min(max(bottom, a + 0.1 * width), b - 0.1 * width)) if np.isfinite(bottom) else a + width / 2
