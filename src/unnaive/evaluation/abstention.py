"""Abstention and coverage: the gain from rejecting uncertain documents, and the coverage of prediction sets.

`risk_coverage` gives accuracy as a function of the share of documents labelled, most certain first; `choose_threshold`
finds a probability that guarantees an accuracy on new documents; `set_coverage` measures how often conformal sets
contain the right labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp, log
from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Ids
from unnaive.evaluation.tally import indicator_matrix

TARGETS = (0.8, 0.9, 0.95, 0.98, 0.99)  # target accuracies in reports


@dataclass(frozen=True)
class OperatingPoint:
    """Label only documents whose probability reaches `threshold`: the share labelled, and their accuracy.

    accuracy  the share of right documents among those labelled
    coverage  the share of documents labelled
    """

    threshold: float
    coverage: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """The accuracy of labelled documents as more of them are labelled, most certain first.

    thresholds, coverage, accuracy  at each distinct confidence, in descending order (n_points,)
    area                            mean risk 1 − accuracy over all coverages; smaller is better
    best_area                       the area if every right document had a higher confidence than every wrong one
    """

    thresholds: Floats
    coverage: Floats
    accuracy: Floats
    area: float
    best_area: float

    def point_for(self, accuracy: float) -> OperatingPoint | None:
        """The largest share of these documents that can be labelled with at least this accuracy; None if there is none.

        This describes these documents, not new ones: the threshold is the best of many. `choose_threshold` gives a
        guarantee.

        >>> curve = risk_coverage(np.array([0.9, 0.8, 0.6, 0.5]), np.array([True, True, False, True]))
        >>> curve.point_for(0.7), curve.point_for(0.9).coverage
        (OperatingPoint(threshold=0.5, coverage=1.0, accuracy=0.75), 0.5)
        """
        check_accuracy(accuracy)
        good = np.flatnonzero(self.accuracy >= accuracy)
        if not len(good):
            return None
        at = int(good[-1])
        return OperatingPoint(float(self.thresholds[at]), float(self.coverage[at]), float(self.accuracy[at]))


def risk_coverage(confidence: Floats, right: NDArray[np.bool_]) -> RiskCoverage:
    """The curve of documents with these confidences (n_docs,), right or wrong.

    Documents of equal confidence are labelled together, since no threshold separates them; the area averages over their
    orders: the k-th of them is right with their mean probability. Geifman and El-Yaniv (2017).

    >>> curve = risk_coverage(np.array([0.9, 0.8, 0.6, 0.5]), np.array([True, True, False, True]))
    >>> round(curve.area, 4), round(curve.best_area, 4)      # risks 0, 0, 1/3, 1/4; at best 0, 0, 0, 1/4
    (0.1458, 0.0625)
    """
    order = np.argsort(-confidence, kind="stable")
    ranked, hits = confidence[order], right[order].astype(np.float64)
    n = len(ranked)
    last = np.flatnonzero(np.append(ranked[:-1] > ranked[1:], True))
    group = np.searchsorted(last, np.arange(n))
    sizes = np.diff(np.concatenate([[-1], last]))
    expected = (np.bincount(group, weights=hits) / sizes)[group]
    labelled = np.arange(1, n + 1)
    area = float(np.mean(1 - np.cumsum(expected) / labelled))
    best = float(np.mean(1 - np.minimum(labelled, hits.sum()) / labelled))
    return RiskCoverage(ranked[last], (last + 1) / n, np.cumsum(hits)[last] / (last + 1), area, best)


def check_accuracy(accuracy: float) -> None:
    """Raise an error unless the accuracy is above 0 and at most 1."""
    if not 0 < accuracy <= 1:
        raise BadData(f"the target accuracy is {accuracy}; give a share above 0 and up to 1, such as 0.95")


# from .9999 to .0099 in equal steps of the log-odds, then 0: fixed in advance, as the test requires
THRESHOLDS = np.append(1 / (1 + exp(-np.linspace(9.2, -4.6, 139))), 0.0)
START = 2  # times the documents with which, if all are right, an accuracy can be guaranteed: the start of the sequence


def choose_threshold(
    confidence: Floats, right: NDArray[np.bool_], accuracy: float, *, sureness: float = 0.9
) -> float | None:
    """The lowest probability at which at least the share `accuracy` of new documents is right; None if there is none.

    At most 1 − sureness of such choices miss that accuracy on new documents from the same source; the documents here
    must not have been used in training. This is "learn then test": THRESHOLDS are tested in descending order, each by
    the exact binomial tail P(at most that many wrong of n | accuracy), and the last one before the first with p above 1
    − sureness is chosen; so no correction for their number is needed. Thresholds that label too few documents for a
    test are skipped. Angelopoulos et al. (2021), Learn then test.

    >>> sure, right = np.full(50, 0.95), np.ones(50, bool)
    >>> choose_threshold(sure, right, 0.95), choose_threshold(sure[:40], right[:40], 0.95)
    (0.0, None)
    """
    from scipy.special import bdtr

    check_accuracy(accuracy)
    if not 0 < sureness < 1:
        raise BadData(f"the confidence is {sureness}; give a share between 0 and 1, such as 0.9")
    if accuracy == 1:
        return None  # nobody can guarantee that no document will be wrong
    order = np.sort(confidence)
    wrong = np.sort(confidence[~right])
    n = len(order) - np.searchsorted(order, THRESHOLDS)
    n_wrong = len(wrong) - np.searchsorted(wrong, THRESHOLDS)
    fewest = float(np.ceil(log(1 - sureness) / log(accuracy)))
    if len(order) < fewest:
        return None
    begin = int(np.argmax(n >= min(START * fewest, len(order))))
    passed = bdtr(n_wrong[begin:], n[begin:], 1 - accuracy) <= 1 - sureness
    n_passed = len(passed) if passed.all() else int(np.argmin(passed))
    return float(THRESHOLDS[begin + n_passed - 1]) if n_passed else None


@dataclass(frozen=True)
class AbstentionChoice:
    """A rejection threshold chosen on one part of the documents, and its effect on the others.

    for_accuracy, sureness  the requested accuracy, and the probability of reaching it
    threshold               the probability below which documents are rejected
    coverage, accuracy      the share of the other documents that is labelled, and their accuracy
    chosen_on, reported_on  the numbers of documents in the two parts
    """

    for_accuracy: float
    sureness: float
    threshold: float
    coverage: float
    accuracy: float
    chosen_on: int
    reported_on: int


def choose_abstention(
    confidence: Floats, right: NDArray[np.bool_], accuracy: float, *, sureness: float = 0.9, seed: int = 0
) -> AbstentionChoice | None:
    """Choose a threshold on a random half of the documents and evaluate it on the other; None if there is none."""
    n = len(confidence)
    chosen = np.random.default_rng(seed).permutation(n) < (n + 1) // 2
    threshold = choose_threshold(confidence[chosen], right[chosen], accuracy, sureness=sureness)
    if threshold is None:
        return None
    labelled = right[~chosen][confidence[~chosen] >= threshold]
    return AbstentionChoice(
        accuracy, sureness, threshold, len(labelled) / max(1, n // 2),
        float(labelled.mean()) if len(labelled) else float("nan"), int(chosen.sum()), n // 2,
    )  # fmt: skip


def given_confidence(probabilities: Floats, predictions: Any) -> Floats:
    """The probability of the most probable label assigned to each document (n_docs,); 0 if none was assigned."""
    assigned = indicator_matrix(predictions)
    confidence = np.zeros(assigned.shape[0])
    rows = np.repeat(np.arange(assigned.shape[0]), np.diff(assigned.indptr))
    np.maximum.at(confidence, rows, probabilities[rows, assigned.indices])
    return confidence


def all_right(Y: Any, predictions: Any) -> NDArray[np.bool_]:
    """Whether all labels of a document are right (n_docs,)."""
    off = abs(indicator_matrix(Y) - indicator_matrix(predictions))
    right: NDArray[np.bool_] = np.asarray(off.sum(axis=1)).ravel() == 0
    return right


@dataclass(frozen=True)
class SetCoverage:
    """The performance of conformal sets on labelled documents.

    coverage     the share of documents whose labels are all in the set
    mean_size    the mean number of labels in a set
    empty        the share of empty sets
    single       the share of sets with one label
    worst_class  the lowest coverage over the classes that the model knows
    several      the coverage of documents with more than one label; None if there are none
    """

    confidence: float
    by_class: bool
    coverage: float
    mean_size: float
    empty: float
    single: float
    worst_class: float
    several: float | None = None


def set_coverage(inside: NDArray[np.bool_], Y: Any, confidence: float, *, by_class: bool = False) -> SetCoverage:
    """Evaluate sets (n_docs, n_known) for documents with labels Y (n_docs, n_known + unknown).

    >>> set_coverage(np.array([[True, True], [False, True]]), [[1, 0], [1, 0]], 0.9)
    SetCoverage(confidence=0.9, by_class=False, coverage=0.5, ..., empty=0.0, single=0.5, worst_class=0.5, several=None)
    """
    truth = indicator_matrix(Y)
    rows: Ids = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    is_known = truth.indices < inside.shape[1]  # a class that the model never saw is in no set
    held = np.zeros(len(rows), np.bool_)
    held[is_known] = inside[rows[is_known], truth.indices[is_known]]
    missed = np.bincount(rows, weights=~held, minlength=truth.shape[0])
    sizes = inside.sum(axis=1)
    documents = np.bincount(truth.indices[is_known], minlength=inside.shape[1])
    covered = np.bincount(truth.indices[is_known], weights=held[is_known], minlength=inside.shape[1])
    present = documents > 0
    several = np.diff(truth.indptr) > 1
    return SetCoverage(
        confidence,
        by_class,
        coverage=float(np.mean(missed == 0)),
        mean_size=float(sizes.mean()),
        empty=float(np.mean(sizes == 0)),
        single=float(np.mean(sizes == 1)),
        worst_class=float(np.min(covered[present] / documents[present])) if present.any() else float("nan"),
        several=float(np.mean(missed[several] == 0)) if several.any() else None,
    )
