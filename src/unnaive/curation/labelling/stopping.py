"""When to stop: how accurate the model is, whether its answers still change, and what more labels would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from unnaive.base.types import Floats
from unnaive.curation.labelling.agreement import cohen_kappa
from unnaive.curation.labelling.linear import LinearLearner, n_folds
from unnaive.learning.intervals import wilson_interval

STABLE = 0.99  # kappa from which two successive models count as the same
STABLE_TIMES = 3  # in a row, before it is said
FEWEST = 30  # random answers before a curve is fitted
EVERY = 10  # labels between two models that are compared
CURVE_POINTS = 16
WIDER = 1.2  # errors of models of overlapping folds vary together: 1.1 to 1.4 times as much as independent ones would
TAILS = 0.05, 0.95  # of the posterior of curves: what lies between holds in more than 80 % of cases, .1 to .9 in 70 %


class Interval(NamedTuple):
    """A share with its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """Of `n` texts drawn at random, how many the model as it is now labels right, each taken out of it first.

    share      of the labels that models learnt from which had not seen the text
    unlabelled texts of the pool that have no label yet
    """

    right: int
    n: int
    share: float = 1.0
    unlabelled: float = inf

    @property
    def interval(self) -> Interval:
        """With 95 % confidence, of the accuracy of the model of all labels on the texts that have none yet.

        Wilson's interval with 1.96 · WIDER · √(1 + n / unlabelled) standard deviations: the m texts without a label are
        a sample too, so the variance of the difference is p (1 − p) (1/n + 1/m). The model of all labels makes fewer
        errors than the models of the folds, with a steep learning curve in proportion to 1 / labels²: the upper end is
        that of errors · share². Simulated in docs/statistics.md.
        """
        deviations = 1.96 * WIDER * sqrt(1 + self.n / max(1, self.unlabelled))
        low, high = wilson_interval(self.right, self.n, deviations)
        return Interval(self.right / self.n if self.n else float("nan"), low, 1 - (1 - high) * self.share**2)


def running_accuracy(learner: LinearLearner, random_texts: Sequence[int]) -> Accuracy:
    """How many of the texts that were asked at random the current model gets right without having seen them.

    The texts were drawn without regard to the model, so that they stand for the rest of the pool. The linear model is
    fitted on folds for it, each text scored by the one that it is not in; naive Bayes takes the text out of its counts,
    exactly. In multilabel data an answer is right if all labels are.
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
    """The most that F can differ between two models of agreement kappa: 4 (1 − κ) / κ; ∞ for κ ≤ 0.

    Bloodgood and Grothendieck (2013), analysis of stopping by stabilising predictions.

    >>> round(change_bound(0.99), 4), change_bound(0.0)
    (0.0404, inf)
    """
    return inf if kappa <= 0 else 4 * (1 - kappa) / kappa


class Stability:
    """Whether successive models still label the pool differently."""

    def __init__(self) -> None:
        self.kappas: list[tuple[int, float]] = []  # labels given, agreement with the model before
        self._last: tuple[int, list[str | None]] | None = None

    def look(self, learner: LinearLearner) -> None:
        """Compare the model with the one of ten labels ago; nothing before that."""
        pool = learner.pool
        labelled = len(pool.labels)
        if self._last is not None and labelled < self._last[0] + EVERY:
            if labelled < self._last[0]:  # labels were taken back
                self._last = None
                self.kappas = [one for one in self.kappas if one[0] <= labelled]
            return
        best = learner.best()
        now = [None if place < 0 else pool.classes[place] for place in best.tolist()]
        if self._last is not None:
            kappa = cohen_kappa(self._last[1], now)
            self.kappas.append((labelled, 1.0 if kappa is None else kappa))
        self._last = (labelled, now)

    @property
    def stable(self) -> bool:
        """Whether the last three comparisons all came out the same."""
        return len(self.kappas) >= STABLE_TIMES and all(kappa >= STABLE for _, kappa in self.kappas[-STABLE_TIMES:])


@dataclass(frozen=True)
class Outlook:
    """What the learning curve says: accuracy now, and how many more labels a point of it costs.

    more            labels for +1 point: the middle estimate; ∞ where the curve does not reach it
    low, high       between which that lies with 80 % probability
    curve           (labels, accuracy, low, high) with 80 % probability, up to twice the labels that there are
    """

    accuracy: float
    more: float
    low: float
    high: float
    curve: tuple[tuple[int, float, float, float], ...] = ()


def outlook(labels_given: Sequence[int], right: Sequence[bool], now: int, *, gain: float = 0.01) -> Outlook | None:
    """Fit accuracy(n) = a − b n^−c to answers at random, and ask where it is `gain` higher than now.

    labels_given  how many labels the model had when each answer came; `right`: whether it had suggested that label

    Every curve of a grid over (a, b, c) is weighed with the likelihood of the answers, so what is told is a
    distribution and not one curve: with few answers it is wide, and below 30 there is none (None).
    """
    if len(right) < FEWEST or now < 1:
        return None
    n, hit = np.maximum(np.asarray(labels_given, np.float64), 1.0), np.asarray(right, bool)
    a, b, c = (one.ravel() for one in np.meshgrid(*GRID, indexing="ij"))
    curve = np.clip(a[:, None] - b[:, None] * n[None, :] ** -c[:, None], 1e-3, 1 - 1e-3)
    log_likelihood = np.where(hit, np.log(curve), np.log1p(-curve)).sum(axis=1)
    weight = np.exp(log_likelihood - log_likelihood.max())
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
    places = [min(int(np.searchsorted(reached, one)), len(values) - 1) for one in at]
    return [float(values[order[place]]) for place in places]


def describe_outlook(accuracy: Accuracy, stability: Stability, ahead: Outlook | None) -> list[str]:
    """What to tell people, a sentence each.

    >>> describe_outlook(Accuracy(9, 10), Stability(), None)
    ['accuracy 90 % (53 to 99 %) on 10 texts drawn at random']
    """
    told = []
    if accuracy.n:
        share, low, high = accuracy.interval
        about = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        told.append(f"accuracy {about} on {accuracy.n} texts drawn at random")
    if stability.kappas:
        kappa = stability.kappas[-1][1]
        told.append(
            f"successive models agree by kappa {kappa:.3f}, so F moved by at most {min(change_bound(kappa), 1):.2f}"
            + ("; more labels change little, you may stop" if stability.stable else "")
        )
    if ahead is not None:
        told.append(_describe_outlook(ahead))
    return told


def _describe_outlook(ahead: Outlook) -> str:
    if ahead.more == inf:
        return "one more point of accuracy is not in sight with more labels alone"
    high = "any number" if ahead.high == inf else f"{_rounded(ahead.high):,}"
    return f"label about {_rounded(ahead.more):,} more for +1 point (80 %: {_rounded(ahead.low):,} to {high})"


def _rounded(number: float) -> int:
    """Two digits that matter.

    >>> _rounded(1234.0), _rounded(7.2)
    (1200, 7)
    """
    return int(float(f"{number:.2g}"))


def to_dict(accuracy: Accuracy, stability: Stability, ahead: Outlook | None) -> dict[str, Any]:
    """The same as plain values."""
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
    """An outlook without infinities, its curve by name."""
    names = ("labels", "accuracy", "low", "high")
    found: dict[str, Any] = {name: None if value == inf else value for name, value in vars(ahead).items()}
    return found | {"curve": [dict(zip(names, point, strict=True)) for point in ahead.curve]}
