"""Calibration turns scores into calibrated probabilities; fit_calibration.py fits it to held-out scores.

A temperature for all classes, or for each class against the rest a logistic line (Platt) or a rising step function
(isotonic). Labels stay those of the scores: only probabilities change.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from unnaive.base.elementary import exp, log, logaddexp, logistic
from unnaive.base.errors import BadData, choose, refuse_damaged
from unnaive.base.log_functions import log_softmax
from unnaive.base.settings import EXPORTS, EXPORTS_BUT_SQL
from unnaive.base.types import Floats
from unnaive.data.arrays import is_number
from unnaive.linear.links import LINKS, clear_lead, comparable_scores


class Calibration(Protocol):
    """A frozen value: scores (n_docs, n_classes) of a link in, probabilities of the same shape out.

    exports  the exports that compute it; the others refuse it
    """

    kind: ClassVar[str]
    exports: ClassVar[tuple[str, ...]]

    @property
    def exclusive(self) -> bool:
        """Whether exactly one class is right for each document."""

    @property
    def n_classes(self) -> int | None:
        """The number of classes it was fitted for; None if it takes any number."""

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes)."""

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes)."""

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """The lead of the best score over every other that guarantees a probability of at least p.

        ∞ if no lead does.
        """

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `calibration_from_dict` makes an equal value."""


@dataclass(frozen=True)
class Temperature:
    """p = softmax(ℓ/T) for classes that exclude each other, else p = 1 / (1 + e^−(ℓ/T + offset)) for each class.

    ℓ is the log-odds of the score by its link, or the score itself if the link has none (cosine, margin). T > 1 reduces
    the overconfidence of naive Bayes; the order of classes and of documents does not change.

    >>> Temperature(2.0).probabilities("log-odds", np.array([[0.0, 2 * np.log(3)]]))
    array([[0.25, 0.75]])
    """

    kind: ClassVar[str] = "temperature"
    exports: ClassVar[tuple[str, ...]] = EXPORTS

    value: float
    offset: float = 0.0
    exclusive: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value > 0 and np.isfinite(self.offset)):
            raise BadData(
                f"the temperature is {self.value} and the offset {self.offset}; give a positive, finite "
                "temperature and a finite offset"
            )

    @property
    def n_classes(self) -> None:
        """It takes any number of classes."""

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes)."""
        logits = link_logits(link, scores) / self.value
        if not self.exclusive:
            return -logaddexp(0.0, -(logits + self.offset))
        nothing = ~np.isfinite(logits.max(axis=1, keepdims=True))
        shares: Floats = log_softmax(np.where(nothing, 0.0, logits))
        return shares

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes)."""
        return exp(self.log_probabilities(link, scores))

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """T times the lead without a temperature."""
        return self.value * clear_lead(link, n_classes, p) if self.exclusive else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Any) -> Temperature:
        """The inverse of `to_dict`; every value is checked, since models come from files.

        >>> Temperature.from_dict(Temperature(1.5).to_dict())
        Temperature(value=1.5, offset=0.0, exclusive=True)
        """
        with refuse_damaged("the calibration in this model is"):
            value, offset, exclusive = (stored[name] for name in ("value", "offset", "exclusive"))
            if not (is_number(value) and is_number(offset) and isinstance(exclusive, bool)):
                raise ValueError("its temperature is not a number")
            return cls(float(value), float(offset), exclusive)


class _OneVsRest:
    """Base of calibrations of each class against the rest: p_c from its log-odds, divided by the sum if exclusive."""

    exclusive: bool

    def _alone(self, odds: Floats) -> Floats:
        raise NotImplementedError

    def probabilities(self, link: str, scores: Floats) -> Floats:
        """p of each class for each document (n_docs, n_classes); equal values if every class gets 0."""
        p = self._alone(class_log_odds(link, scores))
        if not self.exclusive:
            return p
        total = p.sum(axis=1, keepdims=True)
        shares: Floats = np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
        return shares

    def log_probabilities(self, link: str, scores: Floats) -> Floats:
        """log p of each class for each document (n_docs, n_classes); −∞ where p is 0."""
        with np.errstate(divide="ignore"):
            return log(self.probabilities(link, scores))

    def clear_lead(self, link: str, n_classes: int, p: float) -> float:
        """No lead guarantees a probability, since each class is calibrated separately."""
        return np.inf


@dataclass(frozen=True)
class Platt(_OneVsRest):
    """p_c = 1 / (1 + e^−(slope_c·ℓ_c + offset_c)) for each class against the rest; rows are divided by their sum.

    ℓ_c is the log-odds of class c against all others, or the score itself where a link has none. Platt (1999).

    >>> Platt((1.0, 1.0), (0.0, 0.0), exclusive=False).probabilities("log-odds", np.array([[0.0, np.log(3)]]))
    array([[0.5 , 0.75]])
    """

    kind: ClassVar[str] = "platt"
    exports: ClassVar[tuple[str, ...]] = EXPORTS_BUT_SQL

    slopes: tuple[float, ...]
    offsets: tuple[float, ...]
    exclusive: bool = True

    def __post_init__(self) -> None:
        if len(self.slopes) != len(self.offsets) or not np.all(np.isfinite([*self.slopes, *self.offsets])):
            raise BadData("a calibration by class needs one finite slope and one finite offset for each class")
        if min(self.slopes, default=1.0) <= 0:
            raise BadData(f"a slope of the calibration is {min(self.slopes)}; all slopes must be positive")

    @property
    def n_classes(self) -> int:
        """How many classes it was fitted for."""
        return len(self.slopes)

    def _alone(self, odds: Floats) -> Floats:

        p: Floats = logistic(odds * np.array(self.slopes) + np.array(self.offsets))
        return p

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """The inverse of `to_dict`; every value is checked."""
        return cls(_numbers(stored["slopes"]), _numbers(stored["offsets"]), _truth_value(stored["exclusive"]))


@dataclass(frozen=True)
class Isotonic(_OneVsRest):
    """For each class against the rest, an increasing line through knots (log-odds, p); rows sum to 1.

    curves  for each class its knots: log-odds that rise, and p from 0 to 1 that never falls

    >>> half = ((-1.0, 1.0), (0.0, 1.0))                            # p rises from 0 at −1 to 1 at 1
    >>> Isotonic((half, half), exclusive=False).probabilities("log-odds", np.array([[0.0, 5.0]]))
    array([[0.5, 1. ]])
    """

    kind: ClassVar[str] = "isotonic"
    exports: ClassVar[tuple[str, ...]] = EXPORTS_BUT_SQL

    curves: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    exclusive: bool = True

    def __post_init__(self) -> None:
        for odds, p in self.curves:
            sound = len(odds) == len(p) > 0 and np.all(np.isfinite([*odds, *p]))
            if not sound or np.any(np.diff(odds) <= 0) or np.any(np.diff(p) < 0) or p[0] < 0 or p[-1] > 1:
                raise BadData("a curve of the calibration does not increase from 0 to 1; calibrate the model again")

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
        """The inverse of `to_dict`; every value is checked."""
        curves = tuple((_numbers(odds), _numbers(p)) for odds, p in stored["curves"])
        return cls(curves, _truth_value(stored["exclusive"]))


def _numbers(stored: Any) -> tuple[float, ...]:
    if not isinstance(stored, (list, tuple)) or not all(map(is_number, stored)):
        raise ValueError("a list of finite numbers is missing")
    return tuple(map(float, stored))


def _truth_value(stored: Any) -> bool:
    if not isinstance(stored, bool):
        raise ValueError("exclusive is neither true nor false")
    return stored


KINDS: dict[str, Any] = {kind.kind: kind for kind in (Temperature, Platt, Isotonic)}


def calibration_from_dict(stored: Any) -> Calibration:
    """The calibration that `to_dict` wrote; every value is checked, since models come from files.

    >>> calibration_from_dict(Platt((1.0,), (0.5,), False).to_dict())
    Platt(slopes=(1.0,), offsets=(0.5,), exclusive=False)
    """
    with refuse_damaged("the calibration in this model is"):
        # files before Platt and isotonic calibration have no kind
        kind = choose(list(KINDS), stored.get("kind", "temperature"), "calibration")
        calibration: Calibration = KINDS[kind].from_dict(stored)
    return calibration


def class_log_odds(link: str, scores: Floats) -> Floats:
    """Log-odds of each class against the rest, comparable across documents."""
    return comparable_scores(link, scores) if LINKS[link].exclusive else link_logits(link, scores)


def link_logits(link: str, scores: Floats) -> Floats:
    """The scores as logits: unchanged, or their log-odds if the link has log-odds."""
    log_odds = LINKS[link].log_odds
    return scores if log_odds is None else log_odds(scores)
