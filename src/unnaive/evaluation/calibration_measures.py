"""The quality of probabilities: log-loss, Brier score, calibration error; measures.py gives them names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log, log1p
from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Sparse
from unnaive.data.targets import single_labels
from unnaive.evaluation.tally import check_same_shape, indicator_matrix, ratio
from unnaive.learning.confidence_interval import wilson_interval

FEWEST = 10  # predictions of a bin that is drawn
LARGEST_SIMULATION = 20_000_000  # total number of simulated predictions
TINY = float(np.finfo(np.float64).eps)  # keeps the log-loss of a certain mistake finite


def check_probabilities(Y: Any, probabilities: Any) -> tuple[Sparse, Floats]:
    """Check Y and probabilities; values outside [0, 1] are an error."""
    truth, values = check_same_shape(indicator_matrix(Y), np.asarray(probabilities, dtype=np.float64))
    if not (values.min(initial=0.0) >= -1e-9 and values.max(initial=0.0) <= 1 + 1e-9):  # NaN fails both
        raise BadData("the probabilities have values outside 0 to 1; pass probabilities here, and scores as scores")
    return truth, values


def are_exclusive(truth: Sparse, probabilities: Floats) -> bool:
    """Whether classes are exclusive: one label for each document, and probabilities that sum to 1."""
    sums = probabilities.sum(axis=1)
    return single_labels(truth) is not None and bool(np.allclose(sums, 1.0, atol=1e-3))


def log_loss(Y: Any, probabilities: Any) -> float:
    """Mean over documents of −log p(true class); for classes that are not exclusive, of Σ_c −log p(y_c).

    p(y_c) is p_c if the document has class c, else 1 − p_c.

    >>> round(log_loss([[1, 0], [0, 1]], [[0.5, 0.5], [0.75, 0.25]]), 3)   # (log 2 + log 4) / 2
    1.04
    """
    truth, values = check_probabilities(Y, probabilities)
    safe = np.clip(values, TINY, 1 - TINY)
    of_true = safe[truth.nonzero()]
    if not len(values):
        return float("nan")
    if are_exclusive(truth, values):
        return float(-log(of_true).sum() / len(values))
    absent = log1p(-safe).sum() - log1p(-of_true).sum()
    return float(-(log(of_true).sum() + absent) / len(values))


def brier(Y: Any, probabilities: Any) -> float:
    """Mean over documents of Σ_c (p_c − y_c)², between 0 and 2 for exclusive classes.

    >>> brier([[1, 0], [0, 1]], [[1.0, 0.0], [0.5, 0.5]])
    0.25
    """
    truth, values = check_probabilities(Y, probabilities)
    of_true = values[truth.nonzero()]
    # Σ(p − y)² = Σp² − 2Σ_{y=1} p + |y|, without a dense Y
    total = np.einsum("dc,dc->", values, values) - 2 * of_true.sum() + truth.nnz
    return float(total / len(values)) if len(values) else float("nan")


@dataclass(frozen=True)
class Reliability:
    """The calibration curve.

    For each bin, the number of predictions, their mean probability, and the share that is right.
    """

    count: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def error(self) -> float:
        """Expected calibration error: Σ_b n_b/n · |accuracy_b − confidence_b|."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float(ratio(self.count @ gaps, self.count.sum()))

    def joined(self, fewest: int = FEWEST) -> Reliability:
        """The curve with neighbouring bins joined until each has at least `fewest` predictions; their sums stay.

        >>> curve = Reliability(np.array([4, 0, 8, 20]), np.array([0.1, 0, 0.4, 0.9]), np.array([0.25, 0, 0.5, 1.0]))
        >>> joined = curve.joined(10)
        >>> joined.count.tolist(), joined.confidence.round(2).tolist(), joined.accuracy.round(2).tolist()
        ([12, 20], [0.3, 0.9], [0.42, 1.0])
        """
        groups: list[list[int]] = [[]]
        for b in np.flatnonzero(self.count).tolist():
            if groups[-1] and self.count[groups[-1]].sum() >= fewest:
                groups.append([])
            groups[-1].append(b)
        if len(groups) > 1 and self.count[groups[-1]].sum() < fewest:
            last = groups.pop()
            groups[-1] += last
        groups = [group for group in groups if group]
        count = np.array([self.count[group].sum() for group in groups], np.int64)
        means = ([self.count[group] @ values[group] for group in groups] for values in (self.confidence, self.accuracy))
        confidence, accuracy = (np.array(sums, np.float64) / np.maximum(count, 1) for sums in means)
        return Reliability(count, confidence, accuracy)

    def intervals(self) -> Floats:
        """The 95 % interval of the share that is right in each bin, by Wilson's score (n_bins, 2)."""
        right = np.rint(self.count * self.accuracy).astype(np.int64)
        found = [wilson_interval(int(k), int(n)) for k, n in zip(right, self.count, strict=True)]
        return np.array(found, np.float64).reshape(-1, 2)

    def to_dict(self) -> dict[str, Any]:
        """The non-empty bins, as plain values for JSON."""
        used = np.flatnonzero(self.count)
        return {
            "error": self.error,
            "bins": [
                {
                    "predictions": int(self.count[b]),
                    "probability": float(self.confidence[b]),
                    "came_true": float(self.accuracy[b]),
                }
                for b in used
            ],
        }


def reliability(Y: Any, probabilities: Any, *, bins: int = 15) -> Reliability:
    """The calibration curve over equal bins ((b−1)/bins, b/bins]; Guo et al. (2017), section 2.

    For exclusive classes a prediction is the most probable class of a document, otherwise every class of
    every document.

    >>> reliability([[1, 0], [0, 1]], [[0.9, 0.1], [0.9, 0.1]], bins=2).error
    0.4
    """
    truth, values = check_probabilities(Y, probabilities)
    return _curve(*predicted_probabilities(truth, values), bins)


def _curve(confidence: Floats, came_true: NDArray[np.bool_], bins: int) -> Reliability:
    bin_of = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    mean = ratio(np.bincount(bin_of, weights=confidence, minlength=bins), count)
    return Reliability(count, mean, ratio(np.bincount(bin_of, weights=came_true, minlength=bins), count))


def predicted_probabilities(truth: Sparse, values: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The probability of each prediction, and whether it is right."""
    if not are_exclusive(truth, values):
        true = np.zeros(values.shape, dtype=np.bool_)
        true[truth.nonzero()] = True
        return values.ravel(), true.ravel()
    best = values.argmax(axis=1)
    return values[np.arange(len(best)), best], best == single_labels(truth)


def calibration_error(Y: Any, probabilities: Any, *, bins: int = 15) -> float:
    """Expected calibration error: mean gap between probability and truth, over the bins of `reliability`."""
    return reliability(Y, probabilities, bins=bins).error


def error_by_chance(Y: Any, probabilities: Any, *, bins: int = 15, draws: int = 200, seed: int = 0) -> float:
    """The mean calibration error of perfectly calibrated predictions with these probabilities.

    With few documents no model has an error of 0: by chance, shares differ from probabilities. Here every prediction
    is simulated as right with its own probability, `draws` times (fewer times for millions of predictions).

    >>> sure = [[1.0, 0.0]] * 4                       # certain predictions are always right
    >>> doubt = [[0.5, 0.5]] * 4                      # of 4 tosses |share − .5| is .5 · 2/16 + .25 · 8/16 = .1875
    >>> Y = [[1, 0]] * 4
    >>> error_by_chance(Y, sure), round(error_by_chance(Y, doubt, draws=2000), 1)
    (0.0, 0.2)
    """
    truth, values = check_probabilities(Y, probabilities)
    confidence, _ = predicted_probabilities(truth, values)
    if not len(confidence):
        return float("nan")
    rng = np.random.default_rng(seed)
    times = max(10, min(draws, LARGEST_SIMULATION // len(confidence)))
    errors = [_curve(confidence, rng.random(len(confidence)) < confidence, bins).error for _ in range(times)]
    return float(np.mean(errors))


def excess_calibration_error(Y: Any, probabilities: Any, *, bins: int = 15) -> float:
    """The calibration error minus that of a perfectly calibrated model on as many documents; it may be negative."""
    return calibration_error(Y, probabilities, bins=bins) - error_by_chance(Y, probabilities, bins=bins)
