"""Decide when to stop labelling: the accuracy, the stability of predictions, and the expected gain of more labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from unnaive.base.elementary import exp, log, log1p
from unnaive.base.types import Floats
from unnaive.curation.labelling.agreement import cohen_kappa
from unnaive.curation.labelling.label_model import LinearLearner, n_folds
from unnaive.learning.confidence_interval import wilson_interval

STABLE = 0.99  # minimum kappa at which two successive models count as equal
STABLE_TIMES = 3  # equal comparisons in a row before the model is reported as stable
FEWEST = 30  # random answers before a learning curve is fitted
EVERY = 10  # labels between two models that are compared
CURVE_POINTS = 16
WIDER = 1.2  # overlapping folds make errors correlated: their standard deviation is 1.1 to 1.4 times as large
TAILS = 0.05, 0.95  # quantiles of the posterior; the interval covers over 80 % of cases, that from .1 to .9 only 70 %


class Interval(NamedTuple):
    """A share with the ends of its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """How many of `n` random texts are classified correctly by models that were fitted without them.

    share       the share of all labels that these models were fitted on
    unlabelled  the number of texts in the pool without a label
    """

    right: int
    n: int
    share: float = 1.0
    unlabelled: float = inf

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the accuracy, on the unlabelled texts, of the model fitted on all labels.

        Wilson's interval with 1.96 · WIDER · √(1 + n / m) standard deviations. The m unlabelled texts are a sample too,
        so the variance of the difference is p (1 − p) (1/n + 1/m). The model of all labels makes fewer errors than the
        models of the folds; on a steep learning curve errors fall with 1 / labels², so the errors of the upper end are
        multiplied by share². docs/statistics.md has a simulation.
        """
        deviations = 1.96 * WIDER * sqrt(1 + self.n / max(1, self.unlabelled))
        low, high = wilson_interval(self.right, self.n, deviations)
        return Interval(self.right / self.n if self.n else float("nan"), low, 1 - (1 - high) * self.share**2)


def running_accuracy(learner: LinearLearner, random_texts: Sequence[int]) -> Accuracy:
    """The accuracy of the current model on the labelled texts that were drawn at random.

    These texts represent the pool, because the model did not select them. The linear model is cross-validated; naive
    Bayes scores are exact leave-one-out scores. A multilabel prediction is right if all of its labels are.
    """
    pool = learner.pool
    held_out, share = learner.held_out(), 1 - 1 / max(2, len(pool.labels))
    if held_out is None:
        texts = np.array([text for text in random_texts if text in pool.labels], np.int64)
        classes, scores, even = tuple(pool.classes), pool.left_out_scores(texts), 0.0
    else:
        chosen = np.isin(held_out.texts, np.asarray(random_texts, np.int64))
        texts, classes, scores = held_out.texts[chosen], held_out.classes, held_out.scores[chosen]
        share = 1 - 1 / n_folds(len(held_out.texts))
        line = learner.temperature()  # p = 1/2 at score/T + offset = 0
        even = -line.offset * line.value
    if not len(texts) or not classes:
        return Accuracy(0, 0)
    if pool.multilabel:
        suggested = [tuple(sorted(classes[c] for c in np.flatnonzero(row > even))) for row in scores]
    else:
        suggested = [(classes[int(row.argmax())],) if np.isfinite(row).any() else () for row in scores]
    truth = [tuple(sorted(pool.labels[int(text)])) for text in texts]
    right = sum(labels == true_labels for labels, true_labels in zip(suggested, truth, strict=True))
    return Accuracy(right, len(texts), share, len(pool) - len(pool.labels))


def change_bound(kappa: float) -> float:
    """The maximum difference in F between two models whose predictions agree by kappa: 4 (1 − κ) / κ; ∞ for κ ≤ 0.

    Bloodgood and Grothendieck (2013), analysis of stopping by stabilising predictions.

    >>> round(change_bound(0.99), 4), change_bound(0.0)
    (0.0404, inf)
    """
    return inf if kappa <= 0 else 4 * (1 - kappa) / kappa


class Stability:
    """Whether successive models still label the pool differently."""

    def __init__(self) -> None:
        self.kappas: list[tuple[int, float]] = []  # (number of labels, agreement with the previous model)
        self._last: tuple[int, list[str | None]] | None = None

    def look(self, learner: LinearLearner) -> None:
        """Compare the predictions with those of ten labels ago; do nothing if there are fewer new labels."""
        pool = learner.pool
        labelled = len(pool.labels)
        if self._last is not None and labelled < self._last[0] + EVERY:
            if labelled < self._last[0]:  # labels were undone
                self._last = None
                self.kappas = [entry for entry in self.kappas if entry[0] <= labelled]
            return
        best = learner.best()
        now = [None if index < 0 else pool.classes[index] for index in best.tolist()]
        if self._last is not None:
            kappa = cohen_kappa(self._last[1], now)
            self.kappas.append((labelled, 1.0 if kappa is None else kappa))
        self._last = (labelled, now)

    @property
    def stable(self) -> bool:
        """Whether kappa was at least STABLE in each of the last three comparisons."""
        return len(self.kappas) >= STABLE_TIMES and all(kappa >= STABLE for _, kappa in self.kappas[-STABLE_TIMES:])


@dataclass(frozen=True)
class Outlook:
    """The fitted learning curve: the accuracy now, and how many more labels one more point of accuracy needs.

    more            labels for +1 point, as the median; ∞ if the curve does not reach it
    low, high       the 80 % interval of `more`
    curve           (labels, accuracy, low, high) with 80 % intervals, up to twice the present number of labels
    """

    accuracy: float
    more: float
    low: float
    high: float
    curve: tuple[tuple[int, float, float, float], ...] = ()


def outlook(labels_given: Sequence[int], right: Sequence[bool], now: int, *, gain: float = 0.01) -> Outlook | None:
    """Fit accuracy(n) = a − b n^−c to the answers about random texts, and find where it is `gain` higher than now.

    labels_given  the number of labels that the model had learnt before each answer
    right         whether the model had suggested the label of the answer

    Every curve of a grid over (a, b, c) is weighted by the likelihood of the answers. The result is a distribution of
    curves: it is wide with few answers. Below 30 answers the result is None.
    """
    if len(right) < FEWEST or now < 1:
        return None
    n, hit = np.maximum(np.asarray(labels_given, np.float64), 1.0), np.asarray(right, bool)
    a, b, c = (axis.ravel() for axis in np.meshgrid(*GRID, indexing="ij"))
    curve = np.clip(a[:, None] - b[:, None] * n[None, :] ** -c[:, None], 1e-3, 1 - 1e-3)
    log_likelihood = np.where(hit, log(curve), log1p(-curve)).sum(axis=1)
    weight = exp(log_likelihood - log_likelihood.max())
    weight /= weight.sum()
    here = np.clip(a - b * float(now) ** -c, 0, 1)
    rest = a - here - gain
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        needed = np.where(rest > 0, (b / np.maximum(rest, 1e-12)) ** (1 / c) - now, inf)
    low, more, high = _quantiles(np.maximum(needed, 0), weight, (TAILS[0], 0.5, TAILS[1]))
    points = np.unique(np.geomspace(min(20, now), 2 * now, CURVE_POINTS).round()).astype(int)
    expected = []
    for point in points.tolist():
        values = np.clip(a - b * float(point) ** -c, 0, 1)
        lowest, highest = _quantiles(values, weight, TAILS)
        expected.append((point, float((weight * values).sum()), lowest, highest))
    return Outlook(float((weight * here).sum()), more, low, high, tuple(expected))


GRID = (np.linspace(0.3, 1.0, 29), np.geomspace(0.05, 5.0, 25), np.linspace(0.15, 1.2, 12))


def _quantiles(values: Floats, weight: Floats, at: tuple[float, ...]) -> list[float]:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    indices = [min(int(np.searchsorted(reached, level)), len(values) - 1) for level in at]
    return [float(values[order[index]]) for index in indices]


def describe_outlook(accuracy: Accuracy, stability: Stability, ahead: Outlook | None) -> list[str]:
    """The sentences that annotators see: accuracy, stability, and the labels needed for one more point.

    >>> describe_outlook(Accuracy(9, 10), Stability(), None)
    ['accuracy 90 % (53 to 99 %) on 10 texts drawn at random']
    """
    sentences = []
    if accuracy.n:
        share, low, high = accuracy.interval
        about = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        sentences.append(f"accuracy {about} on {accuracy.n} texts drawn at random")
    if stability.kappas:
        kappa = stability.kappas[-1][1]
        sentences.append(
            f"successive models agree with kappa {kappa:.3f}, so F1 changed by at most "
            f"{min(change_bound(kappa), 1):.2f}"
            + ("; more labels change little, so you may stop" if stability.stable else "")
        )
    if ahead is not None:
        sentences.append(_describe_outlook(ahead))
    return sentences


def _describe_outlook(ahead: Outlook) -> str:
    if ahead.more == inf:
        return "more labels alone will hardly raise accuracy by a point"
    high = "any number" if ahead.high == inf else f"{_rounded(ahead.high):,}"
    return f"label about {_rounded(ahead.more):,} more for +1 point (80 %: {_rounded(ahead.low):,} to {high})"


def _rounded(number: float) -> int:
    """Round to two significant digits.

    >>> _rounded(1234.0), _rounded(7.2)
    (1200, 7)
    """
    return int(float(f"{number:.2g}"))


def to_dict(accuracy: Accuracy, stability: Stability, ahead: Outlook | None) -> dict[str, Any]:
    """The accuracy, stability and outlook as JSON values."""
    share, low, high = accuracy.interval
    finite = None if ahead is None else _plain(ahead)
    return {
        "accuracy": None if not accuracy.n else {"share": share, "low": low, "high": high, "texts": accuracy.n},
        "kappas": [{"labels": labels, "kappa": kappa} for labels, kappa in stability.kappas],
        "stable": stability.stable,
        "outlook": finite,
        "sentences": describe_outlook(accuracy, stability, ahead),
    }


def _plain(ahead: Outlook) -> dict[str, Any]:
    """An outlook as JSON values: None instead of ∞, and the points of the curve as dicts."""
    names = ("labels", "accuracy", "low", "high")
    values: dict[str, Any] = {name: None if value == inf else value for name, value in vars(ahead).items()}
    return values | {"curve": [dict(zip(names, point, strict=True)) for point in ahead.curve]}
