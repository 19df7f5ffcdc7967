"""Calibration turns scores into calibrated probabilities: one temperature, fitted by log-loss on held-out scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.arrays import is_number
from unnaive.core.links import LINKS
from unnaive.core.logs import log_softmax
from unnaive.errors import BadData, BadModel
from unnaive.types import Floats


@dataclass(frozen=True)
class Temperature:
    """p = softmax(ℓ/T) for classes that exclude each other, else p = 1 / (1 + e^−(ℓ/T + offset)) for each class.

    ℓ is the link's log-odds of the score, or the score itself where a link has none (cosine, margin). T > 1 tames
    the over-confidence of naive Bayes; the order of classes and documents is left alone.

    >>> Temperature(2.0).probabilities("log-odds", np.array([[0.0, 2 * np.log(3)]]))
    array([[0.25, 0.75]])
    """

    value: float
    offset: float = 0.0
    exclusive: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value > 0 and np.isfinite(self.offset)):
            raise BadData(f"a temperature of {self.value} with offset {self.offset}; give a positive, finite one")

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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `from_dict` makes an equal value."""
        return asdict(self)

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


def fit_temperature(link: str, scores: Floats, Y: Any, *, exclusive: bool) -> Temperature:
    """The temperature with the least log-loss on held-out scores (n_docs, n_classes) and labels Y.

    Convex in 1/T (and the offset), so one minimum. Documents whose right class has no evidence at all (ℓ = −∞) are
    left out, since no temperature mends them. Guo et al. (2017), On calibration of modern neural networks.

    >>> scores = np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 5.0]])   # "certain", right in three of four
    >>> warm = fit_temperature("log-odds", scores, np.array([[0, 1], [0, 1], [0, 1], [1, 0]]), exclusive=True)
    >>> warm.probabilities("log-odds", scores)[0].round(3)
    array([0.25, 0.75])
    """
    if exclusive:
        return Temperature(_exclusive_temperature(_logits(link, scores), csr_array(Y)))
    logits, truth = _logits(link, scores).ravel(), csr_array(Y).toarray().ravel() != 0
    known = np.isfinite(logits)
    slope, offset = _logistic_line(logits[known], truth[known])
    return Temperature(1 / slope, offset, exclusive=False)


def _logits(link: str, scores: Floats) -> Floats:
    log_odds = LINKS[link].log_odds
    return scores if log_odds is None else log_odds(scores)


def _exclusive_temperature(logits: Floats, Y: Any) -> float:
    if not np.all(np.diff(Y.indptr) == 1):
        raise BadData("a document has other than one label; calibrate with exclusive=False")
    right = logits[np.arange(len(logits)), Y.indices]
    known = np.isfinite(right)
    gaps = logits[known] - right[known, None]  # gap 0 is the right class
    apart = np.abs(gaps[np.isfinite(gaps) & (gaps != 0)])
    if not apart.size:
        return 1.0
    from scipy.optimize import minimize_scalar  # a tenth of a second that only fitting should cost

    def loss(log_value: float) -> float:
        return float(np.logaddexp.reduce(gaps * np.exp(-log_value), axis=1).mean())

    usual = float(np.log(np.median(apart)))  # the loss is convex in 1/T, hence has one minimum in log T
    best = minimize_scalar(loss, bounds=(usual - 12, usual + 12), method="bounded")
    return float(np.exp(best.x))


def _logistic_line(logits: Floats, truth: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope > 0 and offset of the logistic regression of truth on logits."""
    if not len(logits):
        return 1.0, 0.0
    from scipy.optimize import minimize
    from scipy.special import expit

    centre, spread = float(logits.mean()), float(logits.std()) or 1.0
    unit = (logits - centre) / spread

    def loss(parameters: Floats) -> tuple[float, Floats]:
        line = parameters[0] * unit + parameters[1]
        error = expit(line) - truth
        return float((np.logaddexp(0.0, line) - truth * line).mean()), np.array([error @ unit, error.sum()]) / len(unit)

    best = minimize(loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(1e-6, 1e6), (-1e6, 1e6)])
    slope = float(best.x[0]) / spread
    return slope, float(best.x[1]) - slope * centre
