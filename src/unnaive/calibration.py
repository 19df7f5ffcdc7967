"""Calibration turns scores into calibrated probabilities; its parameters are fitted on held-out scores.

A temperature for all classes, or for each class against the rest a logistic line (Platt) or a rising step function
(isotonic). Labels stay those of the scores: only probabilities change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.core.arrays import is_number
from unnaive.core.links import LINKS, clear_lead, comparable_scores
from unnaive.core.logs import log_softmax
from unnaive.errors import BadData, BadModel, choose
from unnaive.sparse import csc_array, csr_array
from unnaive.types import Floats

LEAST_SLOPE = 1e-6
MOST_STEPS = 60  # of Newton's method, which needs about ten


class Calibration(Protocol):
    """A frozen value: scores (n_docs, n_classes) of a link in, probabilities of the same shape out."""

    kind: ClassVar[str]

    @property
    def exclusive(self) -> bool:
        """Whether exactly one class is right for each document."""

    @property
    def n_classes(self) -> int | None:
        """How many classes it was fitted for; None where it takes any number."""

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes)."""

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes)."""

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """How far the best score must lead every other for its probability to be at least p; ∞ where no lead tells."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `calibration_from_dict` makes an equal value."""


@dataclass(frozen=True)
class Temperature:
    """p = softmax(ℓ/T) for classes that exclude each other, else p = 1 / (1 + e^−(ℓ/T + offset)) for each class.

    ℓ is the link's log-odds of the score, or the score itself where a link has none (cosine, margin). T > 1 tames
    the over-confidence of naive Bayes; the order of classes and documents is left alone.

    >>> Temperature(2.0).probabilities("log-odds", np.array([[0.0, 2 * np.log(3)]]))
    array([[0.25, 0.75]])
    """

    kind: ClassVar[str] = "temperature"

    value: float
    offset: float = 0.0
    exclusive: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value > 0 and np.isfinite(self.offset)):
            raise BadData(f"a temperature of {self.value} with offset {self.offset}; give a positive, finite one")

    @property
    def n_classes(self) -> None:
        """It takes any number of classes."""

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes)."""
        logits = _logits(link, scores) / self.value
        if not self.exclusive:
            return -np.logaddexp(0.0, -(logits + self.offset))
        nothing = ~np.isfinite(logits.max(axis=1, keepdims=True))
        shares: Floats = log_softmax(np.where(nothing, 0.0, logits))
        return shares

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes)."""
        return np.exp(self.log_probabilities(link, scores))

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """T times as far as without it."""
        return self.value * clear_lead(link, n_classes, p) if self.exclusive else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Any) -> Temperature:
        """The inverse of `to_dict`; trusts nothing, since models come from files.

        >>> Temperature.from_dict(Temperature(1.5).to_dict())
        Temperature(value=1.5, offset=0.0, exclusive=True)
        """
        try:
            value, offset, exclusive = (stored[name] for name in ("value", "offset", "exclusive"))
            if not (is_number(value) and is_number(offset) and isinstance(exclusive, bool)):
                raise ValueError("its temperature is no number")
            return cls(float(value), float(offset), exclusive)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise BadModel(f"the calibration in this model is damaged ({problem}); train it again") from problem


class _OneVsRest:
    """What calibrations of each class by itself share: p_c of its own log-odds, divided by their sum if exclusive."""

    exclusive: bool

    def _alone(self, odds: Floats) -> Floats:
        raise NotImplementedError

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes); all alike where every class gets 0."""
        p = self._alone(_class_log_odds(link, scores))
        if not self.exclusive:
            return p
        total = p.sum(axis=1, keepdims=True)
        shares: Floats = np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
        return shares

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes); −∞ where p is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities(link, scores))

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """No lead tells how probable each class is by itself."""
        return np.inf


@dataclass(frozen=True)
class Platt(_OneVsRest):
    """p_c = 1 / (1 + e^−(slope_c·ℓ_c + offset_c)) for each class against the rest; rows are divided by their sum.

    ℓ_c is the log-odds of class c against all others, or the score itself where a link has none. Platt (1999).

    >>> Platt((1.0, 1.0), (0.0, 0.0), exclusive=False).probabilities("log-odds", np.array([[0.0, np.log(3)]]))
    array([[0.5 , 0.75]])
    """

    kind: ClassVar[str] = "platt"

    slopes: tuple[float, ...]
    offsets: tuple[float, ...]
    exclusive: bool = True

    def __post_init__(self) -> None:
        if len(self.slopes) != len(self.offsets) or not np.all(np.isfinite([*self.slopes, *self.offsets])):
            raise BadData("the slopes and offsets of a calibration are not one finite number each for every class")
        if min(self.slopes, default=1.0) <= 0:
            raise BadData(f"a slope of a calibration is {min(self.slopes)}; give positive ones")

    @property
    def n_classes(self) -> int:
        """How many classes it was fitted for."""
        return len(self.slopes)

    def _alone(self, odds: Floats) -> Floats:
        from scipy.special import expit

        p: Floats = expit(odds * np.array(self.slopes) + np.array(self.offsets))
        return p

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """The inverse of `to_dict`; trusts nothing."""
        return cls(_numbers(stored["slopes"]), _numbers(stored["offsets"]), _truth_value(stored["exclusive"]))


@dataclass(frozen=True)
class Isotonic(_OneVsRest):
    """For each class against the rest, a rising line through knots (log-odds, p), flat beyond them; rows sum to one.

    curves  for each class its knots: log-odds that rise, and p from 0 to 1 that never falls

    >>> half = ((-1.0, 1.0), (0.0, 1.0))                            # p rises from 0 at −1 to 1 at 1
    >>> Isotonic((half, half), exclusive=False).probabilities("log-odds", np.array([[0.0, 5.0]]))
    array([[0.5, 1. ]])
    """

    kind: ClassVar[str] = "isotonic"

    curves: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    exclusive: bool = True

    def __post_init__(self) -> None:
        for odds, p in self.curves:
            sound = len(odds) == len(p) > 0 and np.all(np.isfinite([*odds, *p]))
            if not sound or np.any(np.diff(odds) <= 0) or np.any(np.diff(p) < 0) or p[0] < 0 or p[-1] > 1:
                raise BadData("a curve of a calibration does not rise from 0 to 1; fit it anew")

    @property
    def n_classes(self) -> int:
        """How many classes it was fitted for."""
        return len(self.curves)

    def _alone(self, odds: Floats) -> Floats:
        columns = [np.interp(odds[:, c], *curve) for c, curve in enumerate(self.curves)]
        return np.stack(columns, axis=1) if columns else np.zeros(odds.shape)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """The inverse of `to_dict`; trusts nothing."""
        curves = tuple((_numbers(odds), _numbers(p)) for odds, p in stored["curves"])
        return cls(curves, _truth_value(stored["exclusive"]))


def _numbers(stored: Any) -> tuple[float, ...]:
    if not isinstance(stored, (list, tuple)) or not all(map(is_number, stored)):
        raise ValueError("it has no list of finite numbers where one belongs")
    return tuple(map(float, stored))


def _truth_value(stored: Any) -> bool:
    if not isinstance(stored, bool):
        raise ValueError("exclusive is neither true nor false")
    return stored


KINDS: dict[str, Any] = {kind.kind: kind for kind in (Temperature, Platt, Isotonic)}


def calibration_from_dict(stored: Any) -> Calibration:
    """The calibration that `to_dict` wrote; trusts nothing, since models come from files.

    >>> calibration_from_dict(Platt((1.0,), (0.5,), False).to_dict())
    Platt(slopes=(1.0,), offsets=(0.5,), exclusive=False)
    """
    try:
        kind = choose(list(KINDS), stored.get("kind", "temperature"), "calibration")  # once there was but one kind
        found: Calibration = KINDS[kind].from_dict(stored)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as problem:
        if isinstance(problem, BadModel):
            raise
        raise BadModel(f"the calibration in this model is damaged ({problem}); train it again") from problem
    return found


def fit_temperature(link: str, scores: Floats, Y: Any, *, exclusive: bool) -> Temperature:
    """The temperature with the least log-loss on held-out scores (n_docs, n_classes) and labels Y.

    As if one more document had been seen, of any of the classes; without it, held-out documents that are all right
    would make T = 0 and every new document certain. Of thousands nobody notices.

    Convex in 1/T (and the offset), so one minimum. Documents whose right class has no evidence at all (ℓ = −∞) are
    left out, since no temperature mends them. Guo et al. (2017), On calibration of modern neural networks.

    >>> scores = np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 5.0]])   # "certain", right in three of four
    >>> warm = fit_temperature("log-odds", scores, np.array([[0, 1], [0, 1], [0, 1], [1, 0]]), exclusive=True)
    >>> warm.probabilities("log-odds", scores)[0].round(3)                    # 3½ of 5 with one more of either class
    array([0.3, 0.7])
    """
    if exclusive:
        return Temperature(_exclusive_temperature(_logits(link, scores), csr_array(Y)))
    logits, truth = _logits(link, scores).ravel(), csr_array(Y).toarray().ravel() != 0
    known = np.isfinite(logits)
    slope, offset = _logistic_line(logits[known], soft_targets(truth[known]))
    return Temperature(1 / slope, offset, exclusive=False)


def fit_platt(link: str, scores: Floats, Y: Any, *, exclusive: bool) -> Platt:
    """For each class the logistic line with the least log-loss on held-out scores (n_docs, n_classes) and labels Y.

    Of a class with n₁ documents and n₀ others, targets are (n₁+1)/(n₁+2) and 1/(n₀+2) in the place of 1 and 0, so that
    a class of few documents is not made certain. Slopes are positive: a class whose scores mislead gets its share.

    >>> scores = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> fit_platt("margin", scores, np.array([[1], [1], [0], [0]]), exclusive=False).probabilities("margin", scores)[0]
    array([0.79380...])
    """
    odds, truth = _class_log_odds(link, scores), csc_array(Y)
    lines = [_platt_line(*_known(odds[:, c], truth[:, [c]])) for c in range(truth.shape[1])]
    return Platt(tuple(slope for slope, _ in lines), tuple(offset for _, offset in lines), exclusive)


def fit_isotonic(link: str, scores: Floats, Y: Any, *, exclusive: bool) -> Isotonic:
    """For each class the rising function with the least squared error on held-out scores and labels Y.

    Equal scores are taken together; the knots are the ends of the flat parts. Zadrozny and Elkan (2002).

    >>> scores = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> fit_isotonic("margin", scores, np.array([[0], [1], [0], [1]]), exclusive=False).curves
    (((1.0, 2.0, 3.0, 4.0), (0.0, 0.5, 0.5, 1.0)),)
    """
    odds, truth = _class_log_odds(link, scores), csc_array(Y)
    return Isotonic(
        tuple(_isotonic_curve(*_known(odds[:, c], truth[:, [c]])) for c in range(truth.shape[1])), exclusive
    )


FITS: dict[str, Callable[..., Calibration]] = {
    "temperature": fit_temperature,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


def _class_log_odds(link: str, scores: Floats) -> Floats:
    """Log-odds of each class against the rest, which can be compared over documents."""
    return comparable_scores(link, scores) if LINKS[link].exclusive else _logits(link, scores)


def _known(odds: Floats, column: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """The finite log-odds of a class, and whether the document has the class."""
    truth = np.asarray(column.toarray()).ravel() != 0
    finite = np.isfinite(odds)
    return odds[finite], truth[finite]


def soft_targets(truth: NDArray[np.bool_]) -> Floats:
    """(n₁+1)/(n₁+2) in the place of 1 and 1/(n₀+2) in that of 0, for n₁ ones and n₀ zeros, of any shape. Platt (1999).

    >>> soft_targets(np.array([True, False, False]))
    array([0.66666667, 0.25      , 0.25      ])
    """
    ones = int(truth.sum())
    return np.where(truth, (ones + 1) / (ones + 2), 1 / (truth.size - ones + 2))


def _platt_line(odds: Floats, truth: NDArray[np.bool_]) -> tuple[float, float]:
    return _logistic_line(odds, soft_targets(truth))


def _isotonic_curve(odds: Floats, truth: NDArray[np.bool_]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not len(odds):
        return (0.0,), (0.0,)
    from scipy.optimize import isotonic_regression

    knots, place, size = np.unique(odds, return_inverse=True, return_counts=True)
    share = np.bincount(place, weights=truth) / size
    p = np.clip(isotonic_regression(share, weights=size).x, 0.0, 1.0)
    inner = np.ones(len(p), np.bool_)
    inner[1:-1] = (p[1:-1] != p[:-2]) | (p[1:-1] != p[2:])  # the middle of a flat part says nothing
    return tuple(knots[inner].tolist()), tuple(p[inner].tolist())


def _logits(link: str, scores: Floats) -> Floats:
    log_odds = LINKS[link].log_odds
    return scores if log_odds is None else log_odds(scores)


def _exclusive_temperature(logits: Floats, Y: Any) -> float:
    if not np.all(np.diff(Y.indptr) == 1):
        raise BadData("a document has other than one label; calibrate with exclusive=False")
    right = logits[np.arange(len(logits)), Y.indices]
    known = np.isfinite(right)
    gaps = logits[known] - right[known, None]  # gap 0 is the right class
    possible = np.isfinite(gaps)
    apart = np.abs(gaps[possible & (gaps != 0)])
    if not apart.size:
        return 1.0
    from scipy.optimize import minimize_scalar  # a tenth of a second that only fitting should cost

    # the right class is 1 − ε, ε = 1/(n+1) is spread over the classes that have any evidence
    spread = float((np.where(possible, gaps, 0.0).sum(axis=1) / possible.sum(axis=1)).mean()) / (len(gaps) + 1)

    def loss(log_value: float) -> float:
        scale = np.exp(-log_value)
        return float(np.logaddexp.reduce(gaps * scale, axis=1).mean() - spread * scale)

    usual = float(np.log(np.median(apart)))  # the loss is convex in 1/T, hence has one minimum in log T
    best = minimize_scalar(loss, bounds=(usual - 12, usual + 12), method="bounded")
    return float(np.exp(best.x))


def _logistic_line(logits: Floats, truth: NDArray[Any]) -> tuple[float, float]:
    """Slope > 0 and offset of the logistic regression of truth, 0 to 1, on logits.

    Newton's method in two unknowns, halving steps that do not help; the slope is kept above a millionth, and where it
    stays there the offset alone is fitted.
    """
    if not len(logits):
        return 1.0, 0.0
    centre, spread = float(logits.mean()), float(logits.std()) or 1.0
    unit = (logits - centre) / spread
    line = np.array([1.0, 0.0])
    before = _logistic_loss(unit, truth, line)
    for _ in range(MOST_STEPS):
        p = 1 / (1 + np.exp(-np.clip(line[0] * unit + line[1], -500, 500)))
        error, weight = p - truth, p * (1 - p)
        gradient = np.array([(error * unit).mean(), error.mean()])
        cross = float((weight * unit).mean())
        curve = np.array([[(weight * unit * unit).mean(), cross], [cross, weight.mean()]]) + 1e-12 * np.eye(2)
        at_end = line[0] <= LEAST_SLOPE and gradient[0] > 0
        step = np.array([0.0, gradient[1] / curve[1, 1]]) if at_end else _solve(curve, gradient)
        size = 1.0
        while size > 1e-6:
            tried = np.array([max(line[0] - size * step[0], LEAST_SLOPE), line[1] - size * step[1]])
            after = _logistic_loss(unit, truth, tried)
            if after < before:
                break
            size /= 2
        else:
            break
        line, gain, before = tried, before - after, after
        if gain < 1e-15:
            break
    slope = float(line[0]) / spread
    return slope, float(line[1]) - slope * centre


def _logistic_loss(unit: Floats, truth: NDArray[Any], line: Floats) -> float:
    logits = line[0] * unit + line[1]
    return float((np.logaddexp(0.0, logits) - truth * logits).mean())


def _solve(table: Floats, right: Floats) -> Floats:
    """The solution of two equations; by hand, since a library for large ones wakes its threads."""
    (a, b), (c, d) = table
    solution: Floats = np.array([d * right[0] - b * right[1], a * right[1] - c * right[0]]) / (a * d - b * c)
    return solution
