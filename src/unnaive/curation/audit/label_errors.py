"""Find probable label errors: documents whose label is improbable to a model that has not seen them.

There are two methods. `out_of_fold_evidence` cross-validates two of auto's members, softmax regression and NB-SVM,
several times, and pools their calibrated log-probabilities. `leave_one_out_evidence` computes exact leave-one-out
scores of naive Bayes from counts, in one pass and without a documents × classes matrix. Both rank by log p(label).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import expm1
from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.curation.audit.unfinished import Unfinished
from unnaive.data.folds import first_of_groups, folds, out_of_fold
from unnaive.data.held_out_parts import HeldOutOrder
from unnaive.data.targets import one_label_matrix
from unnaive.learning.calibration import Temperature
from unnaive.learning.confidence_interval import wilson_interval
from unnaive.learning.fit_calibration import fit_temperature
from unnaive.models.held_out_scores import nbsvm_scores, softmax_scores

FoldProgress = Callable[[int, int], None]  # (steps done, total steps)

N_FOLDS = 5
REPEATS = 3  # repetitions of the cross-validation whose log-probabilities are averaged
MOST_CELLS = 60_000_000  # maximum documents × classes of cross-validation; above it, leave-one-out is used
MOST_WEIGHTS = 200_000_000  # maximum classes × terms of cross-validation; above it, leave-one-out is used
SURE_SHARE = 0.1  # the errors are estimated from this share of the predictions of each class, the most certain ones,
FEWEST_SURE = 200  # and from at least so many of all classes
FEWEST_PREDICTED = 30  # predictions of a class that has its own most certain ones; others are taken together
CONFUSED_FROM = (
    0.25  # least share of the documents of two classes that the model confuses, if it cannot tell them apart
)
SAMPLE = 2_000  # documents for fitting the temperature of leave-one-out scores
ABSENT = -50.0  # log-score of a class that is missing in a fold's training part


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The predictions of a model that has not seen a document, for each document; all arrays are (n_docs,).

    given      the class of the document
    rival      the most probable other class
    log_given  log p of the given class        log_rival  log p of the rival
    judged     False if the label cannot be checked: no known terms, or no other document of the class that is no copy
    """

    given: Ids
    rival: Ids
    log_given: Floats
    log_rival: Floats
    judged: NDArray[np.bool_]

    @property
    def suspicion(self) -> Floats:
        """1 − p(given); 0 for a document whose label cannot be checked."""
        return np.where(self.judged, -expm1(self.log_given), 0.0)

    @property
    def disagrees(self) -> NDArray[np.bool_]:
        """Whether the rival is more probable than the given class."""
        return self.judged & (self.log_rival > self.log_given)

    def ranking(self) -> Ids:
        """The documents on which model and label disagree, least probable labels first."""
        rows = np.flatnonzero(self.disagrees)
        return rows[np.argsort(self.log_given[rows], kind="stable")]


def out_of_fold_evidence(
    X: Sparse, targets: NDArray[np.integer], n_classes: int, *, seed: int = 0, progress: FoldProgress | None = None,
    kept: Unfinished | None = None,
) -> LabelEvidence:  # fmt: skip
    """Evidence from calibrated out-of-fold probabilities, pooled over two models and three foldings.

    X (n_docs, n_terms) counts, targets (n_docs,). Each model's scores get the temperature of lowest log-loss; the mean
    of the log-probabilities gets another one. Documents of a class that copy or quote each other share a fold, since a
    model that has learnt a copy with the same wrong label does not doubt it. `kept` stores finished folds across runs.
    """
    codes = np.asarray(targets, np.int64)
    Y = one_label_matrix(codes, n_classes)
    group, n_folds = fold_groups(X, codes)
    if kept is not None:
        kept.begin(X, Y, seed)
    done, steps = 0, REPEATS * len(MEMBERS) * n_folds
    pooled = np.zeros(Y.shape)
    for repeat in range(REPEATS):
        for member in MEMBERS:

            def score(train: Ids, held_out: Ids, member: FoldScorer = member) -> Floats:
                nonlocal done

                def compute() -> Floats:
                    scores = member(X[train], codes[train], n_classes, X[held_out])
                    scores[:, np.bincount(codes[train], minlength=n_classes) == 0] = ABSENT
                    return scores

                shape = (len(held_out), n_classes)
                scores = compute() if kept is None else kept.scores(str(done), shape, compute)
                done += 1
                if progress is not None:
                    progress(done, steps)
                return scores

            fold = folds(Y, n_folds, seed=seed + repeat, group=group)
            scores = out_of_fold(score, Y, n_folds=n_folds, fold=fold)
            temperature = fit_temperature("softmax", scores, Y, exclusive=True)
            pooled += temperature.log_probabilities("softmax", scores)
    pooled = fit_temperature("softmax", pooled, Y, exclusive=True).log_probabilities("softmax", pooled)
    sizes = np.bincount(codes[first_of_groups(group)[0]], minlength=n_classes)
    judged = (sizes[codes] > 1) & (np.diff(X.indptr) > 0)
    return _evidence(codes, pooled, judged)


def fold_groups(X: Sparse, strata: Ids) -> tuple[Ids, int]:
    """(a group for each document (n_docs,), the number of folds): documents of a group share a fold.

    Those of a stratum that copy or quote each other are a group. If all documents were one, each is its own.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1]])
    >>> group, n_folds = fold_groups(X, np.zeros(3, np.int64))
    >>> group.tolist(), n_folds
    ([0, 0, 1], 2)
    """
    group = HeldOutOrder.of(X, strata).groups()
    n_groups = len(np.unique(group))
    return (group, min(N_FOLDS, n_groups)) if n_groups > 1 else (np.arange(len(group)), min(N_FOLDS, len(group)))


FoldScorer = Callable[[Sparse, Ids, int, Sparse], Floats]


MEMBERS: tuple[FoldScorer, ...] = (softmax_scores, nbsvm_scores)


def _evidence(codes: Ids, log_p: Floats, judged: NDArray[np.bool_]) -> LabelEvidence:
    rows = np.arange(len(codes))
    log_given = log_p[rows, codes].copy()
    log_p[rows, codes] = -np.inf
    rival = log_p.argmax(axis=1)
    return LabelEvidence(codes, rival, log_given, log_p[rows, rival], judged)


def leave_one_out_evidence(model: LeaveOneOut, *, seed: int = 0, progress: FoldProgress | None = None) -> LabelEvidence:
    """Evidence from exact leave-one-out scores, calibrated by a temperature; memory holds one block of scores.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1], [1, 1, 0]])    # the last looks like the first two
    >>> found = leave_one_out_evidence(LeaveOneOut.of(X, np.array([0, 0, 1, 1, 1]), 2))
    >>> int(found.ranking()[0]), int(found.rival[4])
    (4, 0)
    """
    codes, n_docs = model.targets, model.X.shape[0]
    judged = (model.others_of_class > 0) & (model.lengths > 0)
    temperature = _sample_temperature(model, np.flatnonzero(judged), seed)
    rival = np.zeros(n_docs, np.int64)
    log_given, log_rival = np.zeros(n_docs), np.full(n_docs, -np.inf)
    for rows, scores in model.blocks(progress):
        evidence = _evidence(codes[rows], log_softmax(scores / temperature.value), judged[rows])
        rival[rows], log_given[rows], log_rival[rows] = evidence.rival, evidence.log_given, evidence.log_rival
    log_given = np.where(judged, log_given, 0.0)
    return LabelEvidence(codes, rival, log_given, log_rival, judged)


def _sample_temperature(model: LeaveOneOut, rows: Ids, seed: int) -> Temperature:
    if not len(rows):
        return Temperature(1.0)
    most = max(10, min(SAMPLE, MOST_CELLS // 10 // len(model.class_docs)))
    chosen = np.sort(np.random.default_rng(seed).permutation(rows)[:most])
    truth = one_label_matrix(model.targets[chosen], len(model.class_docs))
    return fit_temperature("softmax", model.scores(chosen), truth, exclusive=True)


@dataclass(frozen=True)
class ErrorEstimate:
    """An estimate of the number of wrong labels, with a 95 % interval.

    It is computed from the disagreements where the model is most certain. Some of these are mistakes of the model, so
    the true number may be below `low`. It is rarely above `high`, if labels are wrong as often in hard texts as in easy
    ones of the same class; if they are wrong mostly in hard texts, it is rarely above `most`.

    most  the upper end for all labels that the model doubts, of which most are right
    """

    number: float
    low: float
    high: float
    most: float = 0.0


def estimate_errors(evidence: LabelEvidence) -> ErrorEstimate:
    """The number of wrong labels, estimated from the documents about which the model is most certain."""
    rows = np.flatnonzero(evidence.judged)
    sure, disagrees = np.maximum(evidence.log_given, evidence.log_rival)[rows], evidence.disagrees[rows]
    given, rival = evidence.given[rows], evidence.rival[rows]
    wrong = disagrees.copy()
    for first, second in confused_pairs(evidence):
        wrong &= ~(((given == first) & (rival == second)) | ((given == second) & (rival == first)))
    return count_errors(sure, wrong, np.where(disagrees, rival, given))


def confused_pairs(evidence: LabelEvidence) -> dict[tuple[int, int], tuple[int, int, float]]:
    """Pairs of classes that the model cannot tell apart: disagreements about them are not errors of the labels.

    The value of a pair is (documents predicted as the other, documents of both, lower end of their share). A pair is
    confused in both directions, and the lower end of the 95 % interval of the share is at least 25 %.
    """
    rows = np.flatnonzero(evidence.judged)
    sizes = np.bincount(evidence.given[rows])
    wrong = rows[evidence.disagrees[rows]]
    exchanged = Counter(zip(evidence.given[wrong].tolist(), evidence.rival[wrong].tolist(), strict=True))
    pairs = {}
    for (first, second), n in sorted(exchanged.items()):
        back = exchanged.get((second, first), 0)
        if first > second or not back:
            continue  # counted from the other side, or confused in one direction only
        total = int(sizes[first] + sizes[second])
        low, _ = wilson_interval(n + back, total)
        if low >= CONFUSED_FROM:
            pairs[first, second] = (n + back, total, low)
    return pairs


def count_errors(sure: Floats, wrong: NDArray[np.bool_], predicted: Ids | None = None) -> ErrorEstimate:
    """The number of wrong labels: Σ_c n_c k_c/m_c; of the m_c predictions of c that are most certain, k_c disagree.

    `sure` (n,) is the confidence of the model in its prediction, `wrong` (n,) whether the label differs from it,
    `predicted` (n,) the class; without it, all predictions count as one class, as do classes of few predictions. m_c
    is a tenth of the n_c predictions of the class, and more if all m_c are fewer than 200. Where the model is most
    certain it is nearly always right, so a disagreement there is a label error; counting all disagreements would count
    the model's own mistakes on difficult documents too. Each class has its own most certain predictions, since labels
    of one class that were replaced by another make the model less certain about just this class. The estimate assumes
    that labels are wrong equally often on easy and difficult documents of a class; if people err more often on
    difficult ones, there are more errors.

    The interval is Wilson's for a share of Σ n_c k_c/(n m_c) in a sample with the variance of ours, n²/Σ n_c²/m_c.

    >>> wrong = np.zeros(1000, bool)
    >>> wrong[[3, 50, 120, 180]] = True             # 4 of the 200 surest; what is doubtful does not count
    >>> wrong[500:700] = True
    >>> count_errors(-np.arange(1000.0), wrong).number
    20.0
    """
    n = len(sure)
    if not n:
        return ErrorEstimate(0.0, 0.0, 0.0)
    share = min(1.0, max(SURE_SHARE, FEWEST_SURE / n))
    classes = np.zeros(n, np.int64) if predicted is None else predicted + 1
    classes = np.where(np.bincount(classes)[classes] < FEWEST_PREDICTED, 0, classes)
    number = variance = 0.0
    for c in np.unique(classes).tolist():
        inside = np.flatnonzero(classes == c)
        surest = inside[np.argsort(-sure[inside], kind="stable")[: ceil(share * len(inside))]]
        number += len(inside) * float(wrong[surest].mean())
        variance += len(inside) ** 2 / len(surest)
    size = n * n / variance
    low, high = wilson_interval(number / n * size, size)
    return ErrorEstimate(number, n * low, n * high, n * wilson_interval(int(wrong.sum()), n)[1])
