"""Rows of docs/statistics.md on what `audit` says of labels, `label` of the model so far, and `compare` of a mean.

As in statistics_rows.py, `simulate(collection, seed)` is one draw: 0 or 1, or a share; None where it cannot be made.
"""

from __future__ import annotations

import numpy as np
from statistics_model_rows import UNUSUAL, Simulate, draw
from statistics_rows import LONE, REPEATS, Collection, Row, mean_accuracies, record_of, split_results

from unnaive.base.types import Ids
from unnaive.curation.audit.audit_input import AuditData
from unnaive.curation.audit.label_errors import estimate_errors, leave_one_out_evidence, out_of_fold_evidence
from unnaive.curation.audit.leaks import column_findings
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.curation.labelling.texts_to_label import TextPool
from unnaive.curation.labelling.when_to_stop import STABLE, Stability, change_bound, outlook, running_accuracy
from unnaive.evaluation.summaries import summarise


def error_interval(share: float, *, fast: bool, unusual: str = "") -> Simulate:
    """Whether the labels that were exchanged at random are no more than `audit` says at the most."""

    def simulate(data: Collection, seed: int) -> float:
        X, codes, _, _ = draw(data, seed, unusual=unusual)
        classes, codes = np.unique(codes, return_inverse=True)
        rng = np.random.default_rng([seed, 13])
        wrong = rng.random(len(codes)) < share
        given = np.where(wrong, (codes + rng.integers(1, len(classes), len(codes))) % len(classes), codes)
        if fast:
            evidence = leave_one_out_evidence(LeaveOneOut.of(X, given, len(classes)), seed=seed)
        else:
            evidence = out_of_fold_evidence(X, given, len(classes), seed=seed)
        found = estimate_errors(evidence)
        return float(wrong.sum() <= found.high)

    return simulate


def leaking_column(data: Collection, seed: int) -> float:
    """Whether `audit` says that a column of random values tells the label."""
    rng = np.random.default_rng([seed, 14])
    codes = rng.permutation(data.codes)[:300]
    labels = [(data.classes[code],) for code in codes]
    columns = {"colour": rng.choice(["red", "green", "blue", "grey"], 300).tolist(), "number": rng.random(300).tolist()}
    found = AuditData([""] * 300, labels, range(1, 301), [str(n) for n in range(300)], data.name, None, columns)
    return float(bool(list(column_findings(found))))


def texts_of(data: Collection, rows: Ids) -> list[str]:
    """Documents as texts that are counted as they are: a word for each term."""
    X = data.X[rows]
    return [" ".join(f"w{t}" for t in X.indices[X.indptr[row] : X.indptr[row + 1]]) for row in range(len(rows))]


def labelled_pool(data: Collection, seed: int, n_labels: int) -> tuple[TextPool, Ids, Ids]:
    """A pool of 400 texts of which the first were labelled, in random order; the classes of all."""
    rows = np.random.default_rng([seed, 15]).permutation(len(data.codes))[:400]
    codes = data.codes[rows]
    pool = TextPool(texts_of(data, rows), [data.classes[code] for code in np.unique(codes)])
    for text in range(n_labels):
        pool.set_labels(text, [data.classes[codes[text]]])
    return pool, rows, codes


def label_interval(n_labels: int) -> Simulate:
    """Whether the interval of `label` holds the accuracy of the model on the texts that have no label yet."""

    def simulate(data: Collection, seed: int) -> float:
        pool, _, codes = labelled_pool(data, seed, n_labels)
        learner = LinearLearner(pool)
        _, low, high = running_accuracy(learner, list(range(n_labels))).interval
        right = float((best_classes(learner, data) == codes)[n_labels:].mean())
        return float(low <= right <= high)

    return simulate


def stability_bound(data: Collection, seed: int) -> float | None:
    """The share of comparisons of successive models whose accuracy moved by at most what kappa allows."""
    pool, _, codes = labelled_pool(data, seed, 50)
    learner, stability, before, held = LinearLearner(pool), Stability(), None, []
    for text in range(50, 111):
        if text % 10 == 0:
            stability.look(learner)
            right = float((best_classes(learner, data) == codes).mean())
            if before is not None and stability.kappas:
                held.append(abs(right - before) <= change_bound(stability.kappas[-1][1]))
            before = right
        pool.set_labels(text, [data.classes[codes[text]]])
    return float(np.mean(held)) if held else None


def best_classes(learner: LinearLearner, data: Collection) -> Ids:
    """The class that the model gives to each text of the pool, −1 where it has none."""
    places = learner.best()
    return np.array([data.classes.index(learner.pool.classes[place]) if place >= 0 else -1 for place in places])


def stop_holds(data: Collection, seed: int) -> float | None:
    """Whether accuracy is within 4 points 50 labels after `label` says that one may stop; None if it never does."""
    pool, _, codes = labelled_pool(data, seed, 20)
    learner, stability = LinearLearner(pool), Stability()
    for text in range(20, 350):
        if text % 10 == 0:
            stability.look(learner)
            if stability.stable:
                break
        pool.set_labels(text, [data.classes[codes[text]]])
    else:
        return None
    before = float((best_classes(learner, data) == codes).mean())
    for more in range(text, text + 50):
        pool.set_labels(more, [data.classes[codes[more]]])
    after = float((best_classes(learner, data) == codes).mean())
    return float(abs(after - before) <= change_bound(STABLE))


def outlook_interval(data: Collection, seed: int) -> float | None:
    """Whether the 80 % interval of the labels for one more point holds the true number; answers follow a curve."""
    rng = np.random.default_rng([seed, 16, len(data.codes)])
    a, b, c = rng.uniform(0.7, 1.0), rng.uniform(0.3, 1.5), rng.uniform(0.3, 0.8)
    n = np.arange(1, 201)
    curve = np.clip(a - b * n**-c, 0.001, 0.999)
    found = outlook(n.tolist(), (rng.random(200) < curve).tolist(), 200)
    target = np.clip(a - b * 200.0**-c, 0, 1) + 0.01
    needed = (b / (a - target)) ** (1 / c) - 200 if a > target else np.inf
    return None if found is None else float(found.low <= needed <= found.high)


def mean_interval(splits: int, n_folds: int = 0) -> Simulate:
    """Whether the interval of a contender's mean in `compare` holds the mean over all samples of the collection."""

    def simulate(data: Collection, seed: int) -> float:
        results = split_results(data, seed, n_folds)[1][:splits]
        (found,) = summarise([record_of(split, 0, right[0], n) for split, (n, _, right) in enumerate(results)])
        return float(abs(found.mean - mean_accuracies(data.name)[0]) <= found.half_width)

    return simulate


ERRORS = "audit: the number of wrong labels is at most the upper end of its interval"
COLUMN = "audit: a column that is independent of the label is reported in at most 5 % of audits"
LABEL = "label: the 95 % interval contains the accuracy on the texts without a label"
MOVED = "label: the change of F1 is within the reported bound in 95 % of comparisons"
STOP = "label: 50 labels after the advice to stop, accuracy is within 4 points in 95 % of cases"
OUTLOOK = "label: the 80 % interval contains the number of labels for one more point of accuracy"
MEAN = "compare: the 95 % interval contains the mean accuracy over samples of the collection"

LABEL_ROWS = (
    Row("errors-5", ERRORS, "5 % of the labels replaced at random", "at least", 0.95, error_interval(0.05, fast=False)),
    Row("errors-5-fast", ERRORS, "the same, --fast", "at least", 0.95, error_interval(0.05, fast=True)),
    Row("errors-5-repeats", ERRORS, f"5 %, {UNUSUAL[REPEATS]}", "at least", 0.95,
        error_interval(0.05, fast=False, unusual=REPEATS)),
    Row("errors-5-lone", ERRORS, f"5 %, {UNUSUAL[LONE]}", "at least", 0.95,
        error_interval(0.05, fast=False, unusual=LONE)),
    Row("column", COLUMN, "two columns: one of four words, one of numbers", "at most", 0.05, leaking_column),
    Row("label-100", LABEL, "100 texts labelled, drawn at random", "at least", 0.95, label_interval(100)),
    Row("label-moved", MOVED, "50 to 110 labels", "at least", 0.95, stability_bound),
    Row("label-stop", STOP, "400 texts, asked about in random order", "at least", 0.95, stop_holds),
    Row("outlook", OUTLOOK, "200 answers that follow a curve", "at least", 0.8, outlook_interval),
    Row("mean-5", MEAN, "5 splits", "at least", 0.95, mean_interval(5)),
    Row("mean-10", MEAN, "10 splits", "at least", 0.95, mean_interval(10)),
    Row("mean-folds", MEAN, "10 folds", "at least", 0.95, mean_interval(10, 10)),
)  # fmt: skip
