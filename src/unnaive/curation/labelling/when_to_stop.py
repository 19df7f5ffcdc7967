"""Decide when to stop labelling: the accuracy, the stability of predictions, and the expected gain of more labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from unnaive.base.elementary import exp, log, log1p
from unnaive.base.errors import count_noun
from unnaive.base.types import Floats
from unnaive.curation.labelling.agreement import cohen_kappa
from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.learning.confidence_interval import wilson_interval

STABLE = 0.99  # minimum kappa at which two successive models count as equal
STABLE_TIMES = 3  # equal comparisons in a row before the model is reported as stable
FEWEST = 30  # random answers before a learning curve is fitted
EVERY = 10  # labels between two models that are compared
CURVE_POINTS = 16
TAILS = 0.05, 0.95  # quantiles of the posterior; the interval covers over 80 % of cases, that from .1 to .9 only 70 %


class Interval(NamedTuple):
    """A share with the ends of its interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """How many of `n` random texts are classified correctly by the model, which has not learnt them."""

    right: int
    n: int

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the accuracy on new texts like these, Wilson's; docs/statistics.md has a simulation."""
        low, high = wilson_interval(self.right, self.n)
        return Interval(self.right / self.n if self.n else float("nan"), low, high)


def running_accuracy(learner: LinearLearner, sample: Sequence[int]) -> Accuracy:
    """The accuracy of the current model on a random sample of all texts whose labels it has not learnt.

    `sample` is that of `random_sample.sampled_texts`. A multilabel prediction is right if all of its labels are.
    """
    if not len(sample):
        return Accuracy(0, 0)
    truth = [tuple(sorted(learner.pool.measured[text])) for text in sample]
    predicted = learner.predicted_labels(np.asarray(sample, np.int64))
    return Accuracy(sum(labels == right for labels, right in zip(predicted, truth, strict=True)), len(sample))


class ModelChange(NamedTuple):
    """What differs between two successive models, on all texts.

    labels   the number of labels of the second
    kappa    the agreement of their predictions beyond chance
    changed  the share of texts whose predicted labels differ: more than this share, accuracy on these texts cannot move
    """

    labels: int
    kappa: float
    changed: float


class Stability:
    """Whether successive models still label the pool differently."""

    def __init__(self) -> None:
        self.comparisons: list[ModelChange] = []
        self._last: tuple[int, list[tuple[str, ...]]] | None = None

    def look(self, learner: LinearLearner) -> None:
        """Compare the predictions with those of ten labels ago; do nothing if the model has learnt fewer since."""
        step = self.begin(learner)
        if step is not None:
            self.finish(step, learner.predicted_labels())

    def begin(self, learner: LinearLearner) -> tuple[int, int] | None:
        """The number of labels and of those that were learnt, if they are to be compared; otherwise None."""
        labelled = learner.pool.n_labelled
        learnt = len(learner.pool.labels) // EVERY * EVERY  # the model is fitted again every ten labels that it learns
        if self._last is not None and learnt <= self._last[0]:
            if learnt < self._last[0]:  # labels were undone
                self._last = None
                self.comparisons = [entry for entry in self.comparisons if entry.labels <= labelled]
            return None
        return labelled, learnt

    def finish(self, step: tuple[int, int], now: list[tuple[str, ...]]) -> None:
        """Compare the predictions of a step with those of the step before."""
        labelled, learnt = step
        if self._last is not None:
            before = self._last[1]
            kappa = cohen_kappa(before, now)
            changed = sum(old != new for old, new in zip(before, now, strict=True)) / len(now)
            self.comparisons.append(ModelChange(labelled, 1.0 if kappa is None else kappa, changed))
        self._last = (learnt, now)

    @property
    def stable(self) -> bool:
        """Whether kappa was at least STABLE in each of the last three comparisons."""
        latest = self.comparisons[-STABLE_TIMES:]
        return len(latest) == STABLE_TIMES and all(one.kappa >= STABLE for one in latest)


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
    right         whether the label of the answer was the most probable one to the model before it

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
    ['accuracy on new texts like these: 90 % (60 to 98 %), measured on 10 texts drawn at random']
    """
    sentences = []
    if accuracy.n:
        share, low, high = accuracy.interval
        about = f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"
        measured = count_noun(accuracy.n, "text")
        sentences.append(f"accuracy on new texts like these: {about}, measured on {measured} drawn at random")
    if stability.comparisons:
        sentences.append(_describe_change(stability))
    if ahead is not None:
        sentences.append(_describe_outlook(ahead))
    return sentences


def _describe_change(stability: Stability) -> str:
    """What the last ten labels changed, and what follows from it for accuracy; for F1 nothing follows."""
    points = 100 * stability.comparisons[-1].changed
    sentence = f"the last {EVERY} labels changed the predictions for {points:.1f} % of the texts"
    if points >= 50:
        return f"{sentence}: the model is not stable yet"
    sentence += f", so accuracy on these texts moved by at most {points:.1f} points; a rare class may have moved more"
    return (
        f"{sentence}; this was so three times: more labels like these change little" if stability.stable else sentence
    )


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
        "changes": [one._asdict() for one in stability.comparisons],
        "stable": stability.stable,
        "outlook": finite,
        "sentences": describe_outlook(accuracy, stability, ahead),
    }


def _plain(ahead: Outlook) -> dict[str, Any]:
    """An outlook as JSON values: None instead of ∞, and the points of the curve as dicts."""
    names = ("labels", "accuracy", "low", "high")
    values: dict[str, Any] = {name: None if value == inf else value for name, value in vars(ahead).items()}
    return values | {"curve": [dict(zip(names, point, strict=True)) for point in ahead.curve]}
