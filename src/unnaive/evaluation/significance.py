"""Significance tests for the difference between two classifiers, on values paired by split or by document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, stdtr

from unnaive.base.errors import BadData
from unnaive.base.types import Floats

FEWEST_FREEDOM = 4  # degrees of freedom of five splits; with fewer, no difference is called significant


@dataclass(frozen=True)
class Test:
    """The result of a two-sided test: p is the probability of a difference at least this large if there is none.

    `difference` is the mean of first minus second. Prints as one line.

    >>> print(paired_t([0.9, 0.8, 0.9], [0.7, 0.7, 0.8]))
    paired t-test: difference +0.133, t = 4.00, 2 degrees of freedom, p = 0.057
    """

    __test__ = False  # tells pytest that this is not a test class

    name: str
    difference: float
    statistic: float
    freedom: int
    p: float

    def significant(self, level: float = 0.05) -> bool:
        """Whether p is below the level."""
        return self.p < level

    def __str__(self) -> str:
        how = f"t = {self.statistic:.2f}, {self.freedom} degrees of freedom, " if self.freedom else ""
        return f"{self.name}: difference {self.difference:+.3f}, {how}p = {self.p:.2g}"


def paired_t(first: Sequence[float], second: Sequence[float]) -> Test:
    """Student's t-test on J paired values: t = d̄ / √(s²/J), J − 1 degrees of freedom.

    d̄ and s² are mean and variance (divisor J − 1) of the differences. It assumes independent pairs; random splits
    of one data set are not independent, and it then finds differences where there are none: see `corrected_t`.
    """
    differences = paired_differences(first, second)
    return t_test("paired t-test", differences, 1 / len(differences))


def corrected_t(
    first: Sequence[float],
    second: Sequence[float],
    *,
    n_train: float,
    n_test: float,
    floor: float = 0.0,
    most_freedom: int | None = None,
) -> Test:
    """The corrected resampled t-test: t = d̄ / √((1/J + n_test/n_train)·s²), J − 1 degrees of freedom.

    `most_freedom` limits the degrees of freedom; see `split_freedom`.

    s² is the variance of the differences (divisor J − 1), but at least `floor`: J splits may agree by chance to the
    last digit, and then d̄ would be compared with rounding errors only; `variance_floor` is the smallest possible
    value.

    This is for J random splits of one data set into n_train and n_test documents (or shares of them): training sets
    overlap, so the splits vary less than new data would, for which n_test/n_train compensates. Nadeau and Bengio
    (2003), Inference for the generalization error, Machine Learning 52.

    >>> print(corrected_t([0.9, 0.8, 0.9], [0.7, 0.7, 0.8], n_train=80, n_test=20))
    corrected resampled t-test: difference +0.133, t = 3.02, 2 degrees of freedom, p = 0.094
    """
    if not (n_train > 0 and n_test > 0):
        raise BadData(f"n_train is {n_train} and n_test {n_test}; both must be positive, counts or shares")
    differences = paired_differences(first, second)
    return t_test(
        "corrected resampled t-test", differences, 1 / len(differences) + n_test / n_train, floor, most_freedom
    )


def split_freedom(splits: int, n_train: float, n_test: float) -> int:
    """Degrees of freedom of splits of one data set: at most those of test parts that are disjoint.

    Thirty random splits into 80 and 20 % estimate the variance between splits well, but that between data sets no
    better than five splits, which use all documents: with 29 degrees, equal methods are found different too often. The
    minimum is 4, since n_test/n_train already compensates for large test parts.

    >>> split_freedom(30, 80, 20), split_freedom(10, 90, 10), split_freedom(3, 80, 20), split_freedom(30, 10, 90)
    (4, 9, 2, 4)
    """
    apart = int((n_train + n_test) / n_test + 1e-9)
    return min(splits - 1, max(FEWEST_FREEDOM, apart - 1))


def variance_floor(difference: float, n_test: int) -> float:
    """The least variance that a mean difference d of two classifiers on n documents can have: |d|·(1 − |d|) / n.

    On each document the difference is −1, 0 or 1; among variables with mean d, the one that is 0 or the sign of d
    has the smallest variance, |d| − d². This holds for accuracy; for other measures from 0 to 1 it is a guide, and for
    a difference of 1 or more it is 0.

    >>> variance_floor(0.1, 90)
    0.001
    """
    d = abs(difference)
    return max(0.0, d * (1 - d)) / max(n_test, 1)


def t_test(
    name: str, differences: Floats, scale: float, floor: float = 0.0, most_freedom: int | None = None
) -> Test:  # fmt: skip
    """t = d̄ / √(scale·max(s², floor)); without any variance p is 1 if nothing differs, else 0."""
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():  # rounding leaves about 1e-34 instead of 0
        variance = 0.0
    variance = max(variance, floor)
    spread = np.sqrt(scale * variance)
    statistic = mean / spread if spread else float(np.copysign(np.inf, mean)) if mean else 0.0
    freedom = len(differences) - 1 if most_freedom is None else min(len(differences) - 1, most_freedom)
    return Test(name, mean, float(statistic), freedom, float(2 * stdtr(freedom, -abs(statistic))))


def paired_differences(first: Sequence[float], second: Sequence[float]) -> Floats:
    """The differences of two equally long lists of at least two finite numbers."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise BadData(
            f"values of shape {a.shape} and {b.shape} came; give two lists of equal length, with at least 2 values each"
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise BadData("the values to compare contain infinity or NaN; remove the splits that failed")
    return a - b


@dataclass(frozen=True)
class WinTieLoss:
    """How often the first was better, equal, and worse; adds up over data sets. Prints as `wins/ties/losses`."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"

    def __add__(self, other: WinTieLoss) -> WinTieLoss:
        return WinTieLoss(self.wins + other.wins, self.ties + other.ties, self.losses + other.losses)


def win_tie_loss(first: Sequence[float], second: Sequence[float], *, tolerance: float = 0.0) -> WinTieLoss:
    """Count pairs in which the first is larger, equal within `tolerance`, or smaller.

    >>> print(win_tie_loss([0.9, 0.8, 0.7], [0.7, 0.8, 0.8]))
    1/1/1
    """
    differences = paired_differences(first, second)
    wins, losses = int((differences > tolerance).sum()), int((differences < -tolerance).sum())
    return WinTieLoss(wins, len(differences) - wins - losses, losses)


def mcnemar(first_right: Any, second_right: Any) -> Test:
    """McNemar's exact test of two classifiers on the same documents, from which each got right (bool, n_docs).

    Only documents on which exactly one of them is right matter; if both are equally good, each is right on half of
    these. The test compares the two trained classifiers: of two equally good methods, one has often had
    the better training documents, so it says nothing about methods.

    McNemar (1947); Dietterich (1998), Approximate statistical tests, Neural Computation 10.

    >>> print(mcnemar([True] * 9 + [False], [False] * 8 + [True, True]))
    McNemar's test: difference +0.700, p = 0.039
    """
    a, b = np.asarray(first_right, dtype=np.bool_), np.asarray(second_right, dtype=np.bool_)
    differences = paired_differences(a.astype(np.float64), b.astype(np.float64))  # type: ignore[arg-type]
    wins, losses = int((a & ~b).sum()), int((b & ~a).sum())
    return Test("McNemar's test", float(differences.mean()), float(wins - losses), 0, binomial_half(wins, losses))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several tests, adjusted such that any of them is below .05 by chance in at most one of twenty
    families.

    The k-th smallest of m is multiplied by m − k + 1, and the results are made monotone. Holm (1979), A simple
    sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def binomial_half(wins: int, losses: int) -> float:
    """Two-sided p of this split of wins + losses fair tosses, or a more uneven one: 2·P(X ≤ min), at most 1."""
    return float(min(1.0, 2 * bdtr(min(wins, losses), wins + losses, 0.5)))
