"""Rows of docs/statistics.md on what `train`, `evaluate`, `audit` and `label` promise of models, sets and labels.

As in statistics_rows.py, `simulate(collection, seed)` is one draw: 0 or 1, or a share; None where it cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from statistics_rows import COPIED, COPIES, KEPT, LONE, REPEATS, WEIGHTS, Collection, Row, two_sides

from unnaive.apps.service.drift import measure_drift
from unnaive.base.types import Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.targets import one_label_matrix, read_targets
from unnaive.data.training_data import TrainingData
from unnaive.data.weighting import document_frequency
from unnaive.evaluation.abstention import choose_threshold
from unnaive.evaluation.block_holdout import find_block_effect, last_block
from unnaive.evaluation.calibration_measures import excess_calibration_error
from unnaive.evaluation.recall_threshold import choose_recall_threshold
from unnaive.evaluation.training_drift import find_training_drift
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import train
from unnaive.models.auto.learner import Auto
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.models.svm.nbsvm import NBSVM, PowerRatio

Simulate = Callable[[Collection, int], float | None]
COVERED = 0.02  # standard deviation of a coverage over some hundreds of documents, at least
N_TRAINING, N_NEW = 600, 1500  # documents that a model learns from, and new ones at most
FEW = 150  # documents, where they are few
FEWEST_GOOD = 22  # held-out documents from which a recall of 90 % can be promised: .9²² < .1
N_JUDGED = 5000  # new documents at most, where the truth is a threshold's accuracy on them


Drawn = tuple[Sparse, Ids, Sparse, Ids]


def draw(data: Collection, seed: int, *, unusual: str = "", n: int = N_TRAINING, n_new: int = N_NEW) -> Drawn:
    """(n training documents, their classes, n_new new documents, theirs), each at most half of all.

    Over the terms of the training documents: others are unknown to a model of texts. The training documents are the
    same whatever n_new is.
    """
    return _draw(data, seed, unusual, n, n_new)


@lru_cache(maxsize=KEPT)
def _draw(data: Collection, seed: int, unusual: str, n: int, n_new: int) -> Drawn:
    sides = two_sides(data, seed, n, n_new, unusual=unusual)
    learnt = np.flatnonzero(document_frequency(sides.old))
    return take_columns(sides.old, learnt), sides.codes, take_columns(sides.new, learnt), sides.truth


def weight_of(data: Collection, seed: int, codes: Ids, *, unusual: str, n: int = N_TRAINING) -> np.ndarray | None:
    """The weight of documents of these classes (n_docs,) in a draw; None if all are 1."""
    class_weight = two_sides(data, seed, n, N_NEW, unusual=unusual).class_weight
    return None if class_weight is None else class_weight[codes]


def fit(
    model: type, X: Sparse, codes: Ids, calibrate: str | None = "temperature", weight: np.ndarray | None = None,
    **settings: object,
) -> FittedModel:  # fmt: skip
    """A model of counted documents, calibrated."""
    data = TrainingData.of_rows(X, read_targets(codes.tolist(), X.shape[0]), weight=weight)
    return train(data, TrainingSpec(model(**settings), calibrate=calibrate))


def model_of(
    data: Collection, seed: int, model: type, *, unusual: str = "", budget: str = "", n: int = N_TRAINING
) -> FittedModel:
    """A calibrated model of the training documents of a draw."""
    return _model_of(data, seed, model, unusual, budget, n)


@lru_cache(maxsize=KEPT)
def _model_of(data: Collection, seed: int, model: type, unusual: str, budget: str, n: int) -> FittedModel:
    X, codes, _, _ = draw(data, seed, unusual=unusual, n=n)
    weight = weight_of(data, seed, codes, unusual=unusual, n=n)
    settings = {"calibrate": None, "budget": budget} if budget else {}
    return fit(model, X, codes, weight=weight, **settings)


def is_covered(made: FittedModel, X: Sparse, codes: Ids, *, by_class: bool) -> tuple[np.ndarray, Ids]:
    """(whether each document's class is in its 90 % set, the place of that class in the model, −1 if it has none)."""
    log_p = made.log_probabilities(made.scores(X))
    inside = made.conformal_scores().accepted(log_p, 0.9, by_class=by_class)
    place = {label: number for number, label in enumerate(made.classes)}
    own = np.array([place.get(code, -1) for code in codes.tolist()])
    return inside[np.arange(len(own)), np.maximum(own, 0)] & (own >= 0), own


def set_coverage(model: type, *, unusual: str = "", budget: str = "", n: int = N_TRAINING) -> Simulate:
    """The share of new documents whose class is in the 90 % set; of their weight, if they have one."""

    def simulate(data: Collection, seed: int) -> float:
        _, _, new, truth = draw(data, seed, unusual=unusual, n=n)
        made = model_of(data, seed, model, unusual=unusual, budget=budget, n=n)
        held, _ = is_covered(made, new, truth, by_class=False)
        return float(np.average(held, weights=weight_of(data, seed, truth, unusual=unusual, n=n)))

    return simulate


def unseen_coverage(model: type, **settings: Any) -> Simulate:
    """The share of new documents of all classes, also unseen ones, whose class is in the 90 % set.

    FEW training documents. Where so many new documents have an unseen class that no sets could contain the class of
    90 %, `predict` says of how many they do: the result is relative to this share.
    """

    def simulate(data: Collection, seed: int) -> float:
        order = np.random.default_rng([seed, 19]).permutation(len(data.codes))
        X, new = data.X[order[:FEW]], data.X[order[FEW:][:N_NEW]]
        learnt = np.flatnonzero(document_frequency(X))
        made = fit(model, take_columns(X, learnt), data.codes[order[:FEW]], **settings)
        held, _ = is_covered(made, take_columns(new, learnt), data.codes[order[FEW:][:N_NEW]], by_class=False)
        scores = made.conformal_scores()
        return float(held.mean()) / (1 - scores.unseen if scores.is_limited(0.9) else 1.0)

    return simulate


def class_coverage(pooled: bool, unusual: str = "") -> Simulate:
    """By class, NBSVM: the mean over classes of their coverage; or that of the documents of all pooled classes."""

    def simulate(data: Collection, seed: int) -> float | None:
        _, _, new, truth = draw(data, seed, unusual=unusual)
        made = model_of(data, seed, NBSVM, unusual=unusual)
        together = made.conformal_scores().pooled_classes(0.9)
        held, own = is_covered(made, new, truth, by_class=True)
        if pooled:
            chosen = np.isin(own, together)
            return float(held[chosen].mean()) if chosen.any() else None
        each = [held[own == c].mean() for c in np.setdiff1d(np.unique(own), together)]
        return float(np.mean(each)) if each else None

    return simulate


def several_covered(data: Collection, seed: int) -> float:
    """The share of new documents with two labels whose labels are all in the 90 % set; NBSVM.

    A quarter of the documents on each side is two documents in one, with the labels of both.
    """
    X, codes, new, truth = draw(data, seed)
    rng = np.random.default_rng([seed, 11])
    X, labels = join_some(X, codes, rng)
    new, wanted = join_some(new, truth, rng)
    made = train(
        TrainingData.of_rows(X, read_targets(labels, len(labels))), TrainingSpec(NBSVM(), calibrate="temperature")
    )
    log_p = made.log_probabilities(made.scores(new))
    inside = made.conformal_scores().accepted(log_p, 0.9)
    place = {label: number for number, label in enumerate(made.classes)}
    held = [all(label in place and inside[row, place[label]] for label in one) for row, one in enumerate(wanted)]
    return float(np.mean([one for one, names in zip(held, wanted, strict=True) if len(names) > 1]))


def join_some(X: Sparse, codes: Ids, rng: np.random.Generator) -> tuple[Sparse, list[tuple[int, ...]]]:
    """Documents of which a quarter is joined with the one after it, and the labels of each."""
    starts, row = [], 0
    while row < len(codes):
        size = 2 if rng.random() < 0.25 and row + 1 < len(codes) else 1
        starts.append((row, size))
        row += size
    ends = np.append([at for at, _ in starts], len(codes))
    table = csr_array((np.ones(len(codes), X.dtype), np.arange(len(codes)), ends), shape=(len(starts), len(codes)))
    return csr_array(table @ X), [tuple(sorted(set(codes[at : at + n].tolist()))) for at, n in starts]


def auto_interval(budget: str, unusual: str = "", n: int = N_TRAINING) -> Simulate:
    """Whether the interval of auto's held-out figure holds the share right among new documents, or of their weight.

    They are 1,500 at most, so their share itself is off by chance: the interval is widened by two of its standard
    errors, as whoever compares the two would.
    """

    def simulate(data: Collection, seed: int) -> float:
        _, _, new, truth = draw(data, seed, unusual=unusual, n=n)
        made = model_of(data, seed, Auto, unusual=unusual, budget=budget, n=n)
        right = made.class_array[made.scores(new).argmax(axis=1)] == truth
        weight = weight_of(data, seed, truth, unusual=unusual, n=n)
        weight = np.ones(len(right)) if weight is None else weight
        share = float(np.average(right, weights=weight))
        low, high = made.provenance.report["interval"]
        error = 2 * float(np.sqrt(weight**2 @ (right - share) ** 2)) / float(weight.sum())
        return float(low - error <= share <= high + error)

    return simulate


@lru_cache(maxsize=KEPT)
def confidences(data: Collection, seed: int, model: type, unusual: str = "") -> tuple[np.ndarray, np.ndarray]:
    """(the probability of the best class of new documents, whether it is right), of a model of N_TRAINING documents."""
    _, _, new, truth = draw(data, seed, unusual=unusual, n_new=N_JUDGED)
    made = model_of(data, seed, model, unusual=unusual)
    p = made.probabilities(made.scores(new))
    return p.max(axis=1), made.class_array[p.argmax(axis=1)] == truth


def abstention_reached(model: type, accuracy: float, unusual: str = "") -> Simulate:
    """Whether new documents reach the accuracy that `evaluate --target-accuracy` promises, if it does.

    500 new documents (half of 1,000 test documents) to choose on, at least 1,500 others for the truth.
    """

    def simulate(data: Collection, seed: int) -> float | None:
        if len(data.codes) < 2600:
            return None
        drawn = "" if unusual == COPIES else unusual  # copies of those to choose on
        (confidence, right), chosen = confidences(data, seed, model, drawn), np.arange(500)
        if unusual == COPIES:
            again = np.random.default_rng([seed, 4]).choice(chosen, int(COPIED * 500), replace=False)
            chosen = np.append(chosen, again)
        threshold = choose_threshold(confidence[chosen], right[chosen], accuracy)
        if threshold is None:
            return 1.0
        labelled = right[500:][confidence[500:] >= threshold]
        return float(labelled.mean() >= accuracy) if len(labelled) else 1.0

    return simulate


def recall_reached(data: Collection, seed: int) -> float | None:
    """Whether `filter --recall 0.9` keeps that share of the new documents of the most frequent class.

    500 new documents to choose the threshold on, at least 1,500 others for the truth; as for abstention.
    """
    if len(data.codes) < 2600:
        return None
    _, _, new, truth = draw(data, seed, n_new=N_JUDGED)
    made = model_of(data, seed, NBSVM)
    kept = int(np.bincount(truth).argmax())
    score = made.probabilities(made.scores(new))[:, int(place_in(made, np.array([kept]))[0])]
    good = truth == kept
    if good[:500].sum() < FEWEST_GOOD:
        return None
    threshold = choose_recall_threshold(score[:500], good[:500], 0.9).threshold
    return float((score[500:][good[500:]] >= threshold).mean() >= 0.9)


@cache
def in_three_groups(data: Collection) -> Collection:
    """The collection with its classes, in random order, joined to three of about 60, 25 and 15 % of the documents."""
    order = np.random.default_rng(3).permutation(len(data.classes))
    shares = np.cumsum(np.bincount(data.codes, minlength=len(order))[order]) / len(data.codes)
    groups = np.empty(len(order), np.int64)
    groups[order] = np.searchsorted([0.6, 0.85], shares - 1e-9)
    return Collection(f"{data.name}, three groups", data.X, groups[data.codes], ("first", "second", "third"))


def called_unknown(model: type, *, unusual: str = "", budget: str = "", in_groups: bool = False) -> Simulate:
    """The share of new documents of known classes, or of weight, left undecided by `--out-of-scope-rate 0.05`."""

    def simulate(data: Collection, seed: int) -> float | None:
        data = in_three_groups(data) if in_groups else data
        _, _, new, truth = draw(data, seed, unusual=unusual)
        made = model_of(data, seed, model, unusual=unusual, budget=budget)
        if not made.tells_out_of_scope:
            return None
        known = np.isin(truth, made.class_array)
        weight = weight_of(data, seed, truth[known], unusual=unusual)
        return float(np.average(made.out_of_scope_rows(made.scores(new[known]), 0.05), weights=weight))

    return simulate


def measured_drift(model: type, *, unusual: str = "", mix: float = 0.0) -> Simulate:
    """Whether `evaluate` says that 300 documents differ from the 300 of training.

    The test reads what a model kept, not what it learnt: the fastest ones will do.
    """

    def simulate(data: Collection, seed: int) -> float | None:
        sides = two_sides(data, seed, 300, 300, unusual=unusual, mix=mix)
        made = fit(model, sides.old, sides.codes, None)
        place = {label: number for number, label in enumerate(made.classes)}
        Y = one_label_matrix(np.array([place[code] for code in sides.truth.tolist()]), len(place))
        found = find_training_drift(made, sides.new, Y, seed=seed)
        return None if found is None else float(found.differs)

    return simulate


def block_parts(data: Collection, seed: int) -> float | None:
    """Whether `train` says that the end of a file in random order differs from the rest."""
    X, codes, _, _ = draw(data, seed)
    found = find_block_effect(X, codes, last_block(codes), seed=seed)
    return None if found is None else float(found.parts)


def calibrated_excess(model: type, budget: str = "", unusual: str = "") -> Simulate:
    """The calibration error of a calibrated model on new documents, less what chance would show.

    Documents with a weight are kept with a chance in proportion to it.
    """

    def simulate(data: Collection, seed: int) -> float:
        _, _, new, truth = draw(data, seed, unusual=unusual)
        weight = weight_of(data, seed, truth, unusual=unusual)
        if weight is not None:
            kept = np.random.default_rng([seed, 17]).random(len(truth)) < weight / weight.max()
            new, truth = new[kept], truth[kept]
        made = model_of(data, seed, model, unusual=unusual, budget=budget)
        known = np.isin(truth, made.class_array)
        p = made.probabilities(made.scores(new[known]))
        return excess_calibration_error(one_label_matrix(place_in(made, truth[known]), p.shape[1]), p)

    return simulate


def place_in(made: FittedModel, codes: Ids) -> Ids:
    """The place of each class among those of the model."""
    return np.searchsorted(made.class_array, codes)


def gauge_off(data: Collection, seed: int) -> float | None:
    """How far the drift gauge of `serve` is from 0 where nothing changed, by calibrated multinomial naive Bayes."""
    _, _, new, _ = draw(data, seed)
    made = model_of(data, seed, MultinomialNB)
    found = measure_drift(made, made.scores(new))
    return None if found is None else found.distance


def excess_of_truth(data: Collection, seed: int) -> float:
    """Whether the excess is above 0 where each document is of the best class as often as the model says."""
    _, _, new, _ = draw(data, seed)
    made = model_of(data, seed, MultinomialNB)
    p = made.probabilities(made.scores(new[:300]))
    rng = np.random.default_rng([seed, 12])
    drawn = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)
    Y = one_label_matrix(np.minimum(drawn, p.shape[1] - 1), p.shape[1])
    return float(excess_calibration_error(Y, p) > 0)


ABSTAIN = "evaluate --target-accuracy: new documents reach the accuracy with a confidence of 90 %"
RECALL = "filter --recall 0.9: the recall on new documents reaches 0.9 with a confidence of 90 %"
UNKNOWN = "predict --out-of-scope-rate 0.05: at most 5 % of new documents of known classes are labelled unknown"
SETS = "predict --coverage 0.9: the set contains the label for 90 % of new documents"
BY_CLASS = "predict --coverage 0.9 --by-class: sets contain the label for 90 % of the new documents of a class"
SEVERAL = "predict --coverage 0.9, multilabel: sets contain all labels of about 90 % of documents with two or more"
AUTO = "train, auto: the 95 % interval, wider by two standard errors of the test accuracy, contains that accuracy"
LEARNT = "evaluate: for documents of the same source, at most 5 % of evaluations report a difference"
FOUND = "evaluate: how often a difference from the training documents is found"
BLOCKS = "train, auto: for a file in random order, at most 5 % of trainings report that its end is harder"
ECE = "evaluate, ece-excess: for true probabilities it is positive in at most 60 % of evaluations"
GAUGE = "serve, unnaive_drift: its mean if nothing changed, in %"
EXCESS = "evaluate, ece-excess: its mean for calibrated models, in %"

UNUSUAL = {REPEATS: "40 % short texts that repeat", WEIGHTS: "weights", LONE: "a class of one document"}


def unusual_rows(
    key: str, promise: str, model: str, kind: str, bound: float, simulate: Callable[[str], Simulate], **more: Any
) -> list[Row]:
    """One row for each kind of unusual documents."""
    return [
        Row(f"{key}-{unusual}", promise, f"{model}, {words}", kind, bound, simulate(unusual), **more)
        for unusual, words in UNUSUAL.items()
    ]


MODEL_ROWS = (
    Row("abstain-nbsvm-90", ABSTAIN, "nbsvm, 90 %", "at least", 0.9, abstention_reached(NBSVM, 0.9)),
    Row("abstain-nbsvm-97", ABSTAIN, "nbsvm, 97 %", "at least", 0.9, abstention_reached(NBSVM, 0.97)),
    Row("abstain-multinomial-90", ABSTAIN, "multinomial, 90 %", "at least", 0.9,
        abstention_reached(MultinomialNB, 0.9)),
    Row("abstain-copies", ABSTAIN, "nbsvm, 90 %, 10 % copies", "at least", 0.9, abstention_reached(NBSVM, 0.9, COPIES)),
    *unusual_rows("abstain", ABSTAIN, "nbsvm, 90 %", "at least", 0.9, lambda odd: abstention_reached(NBSVM, 0.9, odd)),
    Row("recall", RECALL, "nbsvm, the most frequent class, 500 held-out documents", "at least", 0.9, recall_reached),
    Row("unknown-nbsvm", UNKNOWN, "nbsvm, 600 documents", "at most", 0.05, called_unknown(NBSVM), spread=COVERED),
    Row("unknown-copies", UNKNOWN, "nbsvm, 10 % copies", "at most", 0.05, called_unknown(NBSVM, unusual=COPIES),
        spread=COVERED),
    Row("unknown-auto", UNKNOWN, "auto", "at most", 0.05, called_unknown(Auto, budget="normal"), most=30,
        spread=COVERED),
    Row("unknown-auto-groups", UNKNOWN, "auto, classes joined to three unbalanced ones", "at most", 0.05,
        called_unknown(Auto, budget="normal", in_groups=True), most=30, spread=COVERED),
    Row("unknown-auto-fast", UNKNOWN, "auto, --budget fast, three unbalanced classes", "at most", 0.05,
        called_unknown(Auto, budget="fast", in_groups=True), most=30, spread=COVERED),
    *unusual_rows("unknown", UNKNOWN, "nbsvm", "at most", 0.05, lambda odd: called_unknown(NBSVM, unusual=odd),
        spread=COVERED),
    Row("sets-nbsvm", SETS, "nbsvm, 600 documents", "at least", 0.9, set_coverage(NBSVM),
        spread=COVERED),
    Row("sets-multinomial", SETS, "multinomial, 600 documents", "at least", 0.9, set_coverage(MultinomialNB),
        spread=COVERED),
    Row("sets-copies", SETS, "nbsvm, 10 % copies", "at least", 0.9, set_coverage(NBSVM, unusual=COPIES),
        spread=COVERED),
    Row("sets-few", SETS, "nbsvm, 150 documents", "at least", 0.9, set_coverage(NBSVM, n=FEW), spread=COVERED),
    *unusual_rows("sets", SETS, "nbsvm", "at least", 0.9, lambda odd: set_coverage(NBSVM, unusual=odd), spread=COVERED),
    Row("sets-power-lone", SETS, "power-ratio, a class of one document", "at least", 0.9,
        set_coverage(PowerRatio, unusual=LONE), spread=COVERED),
    Row("sets-unseen", SETS, "nbsvm, 150 documents; new ones of unseen classes too", "at least", 0.9,
        unseen_coverage(NBSVM), spread=2 * COVERED),
    Row("sets-unseen-auto", SETS, "auto, --budget fast, 150 documents; new ones of unseen classes too", "at least", 0.9,
        unseen_coverage(Auto, calibrate=None, budget="fast"), most=30, spread=2 * COVERED),
    Row("sets-auto", SETS, "auto, --budget fast", "at least", 0.9, set_coverage(Auto, budget="fast"), most=30,
        spread=COVERED),
    *unusual_rows("sets-auto", SETS, "auto, --budget fast", "at least", 0.9,
        lambda odd: set_coverage(Auto, unusual=odd, budget="fast"), most=30, spread=COVERED),
    Row("sets-class", BY_CLASS, "nbsvm, mean over classes with their own guarantee", "at least", 0.9,
        class_coverage(False), spread=COVERED),
    Row("sets-pooled", BY_CLASS, "nbsvm, documents of small classes, covered together", "at least", 0.9,
        class_coverage(True), spread=COVERED),
    Row("sets-pooled-lone", BY_CLASS, "nbsvm, small classes together, one of them with one document", "at least", 0.9,
        class_coverage(True, LONE), spread=COVERED),
    Row("sets-several", SEVERAL, "nbsvm; a quarter of the documents are two documents joined", "at least", 0.87,
        several_covered, spread=COVERED),
    Row("auto-fast", AUTO, "600 documents, --budget fast", "at least", 0.95, auto_interval("fast"), most=30),
    Row("auto-copies", AUTO, "the same, 10 % copies", "at least", 0.95, auto_interval("fast", COPIES), most=30),
    *unusual_rows("auto", AUTO, "600 documents, --budget fast", "at least", 0.95,
        lambda odd: auto_interval("fast", odd), most=30),
    Row("auto-few", AUTO, "150 documents, --budget fast", "at least", 0.95, auto_interval("fast", n=FEW), most=30),
    Row("auto-normal", AUTO, "600 documents", "at least", 0.95, auto_interval("normal"), most=30),
    Row("learnt-sums", LEARNT, "300 training and new documents, multinomial", "at most", 0.05,
        measured_drift(MultinomialNB)),
    Row("learnt-documents", LEARNT, "300 training and new documents, power-ratio", "at most", 0.05,
        measured_drift(PowerRatio)),
    Row("learnt-sums-copies", LEARNT, "multinomial, 10 % copies", "at most", 0.05,
        measured_drift(MultinomialNB, unusual=COPIES)),
    Row("learnt-documents-copies", LEARNT, "power-ratio, 10 % copies", "at most", 0.05,
        measured_drift(PowerRatio, unusual=COPIES)),
    Row("learnt-mix", FOUND, "300 training and new documents; a quarter of the new ones have one class", "power", 0,
        measured_drift(PowerRatio, mix=0.25), most=50),
    Row("blocks", BLOCKS, "600 documents", "at most", 0.05, block_parts),
    Row("ece-true", ECE, "multinomial, labels drawn by its probabilities", "at most", 0.6, excess_of_truth),
    Row("ece-nbsvm", EXCESS, "nbsvm, --calibrate temperature", "power", 0, calibrated_excess(NBSVM)),
    *unusual_rows("ece-nbsvm", EXCESS, "nbsvm, --calibrate temperature", "power", 0,
        lambda odd: calibrated_excess(NBSVM, unusual=odd)),
    Row("ece-power-lone", EXCESS, "power-ratio, --calibrate temperature, a class of one document", "power", 0,
        calibrated_excess(PowerRatio, unusual=LONE)),
    Row("ece-auto", EXCESS, "auto, --budget fast", "power", 0, calibrated_excess(Auto, budget="fast"), most=30),
    *unusual_rows("ece-auto", EXCESS, "auto, --budget fast", "power", 0,
        lambda odd: calibrated_excess(Auto, "fast", odd), most=30),
    Row("gauge", GAUGE, "multinomial, --calibrate temperature, 1,500 recent texts", "power", 0, gauge_off),
)  # fmt: skip
