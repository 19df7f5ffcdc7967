"""The tables of the hierarchical thesis, run again: a binary classifier for each of Reuters' ten largest classes.

Every class has its own features, the best by information gain on all training documents, and its own model, trained
on their presence (n_docs, n_features) and on membership (n_docs, 1). A classifier is a row in CLASSIFIERS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.selection import information_gain, top_terms
from unnaive.evaluation.papers.preparation import Prepared, prepared
from unnaive.evaluation.papers.tables import Measurement, Run, Runner
from unnaive.evaluation.ranking import breakeven, weighted_mean
from unnaive.evaluation.tally import class_sizes
from unnaive.evaluation.training import trained

Sparse = Any  # scipy.sparse.csr_array, which ships no types

CLASSES = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
VALIDATION = 0.25  # the last quarter of the training documents, by date
FEATURES = (30, 60, 100, 200, 300, 400, 500)


@dataclass(frozen=True)
class Classifier:
    """A column of table 4.10: as printed, the model of ours, features per class, its settings."""

    label: str
    model: str
    features: int = 30
    settings: tuple[tuple[str, Any], ...] = ()


BAYES = (("alpha", 0.1), ("scheme", "one-vs-rest"))  # the thesis's N0 = 0.1
MACHINE = (("C", 0.1), ("weights", "binary"))
CLASSIFIERS = (
    Classifier("NB (30 feat.)", "bernoulli", 30, BAYES),
    Classifier("NB (100 feat.)", "bernoulli", 100, BAYES),
    Classifier("SVM (30 feat.)", "svm", 30, MACHINE),
    Classifier("SVM (200 feat.)", "svm", 200, MACHINE),
)


@lru_cache(maxsize=2)
def data(run: Run) -> Prepared:
    """Presence of words in more than one training document."""
    found = prepared(run, "reuters", "hierarchical", view="modapte-90").frequent(2)
    present = csr_array((np.ones(found.X.nnz, np.int64), found.X.indices, found.X.indptr), shape=found.X.shape)
    columns = [found.classes.index(name) for name in CLASSES]
    return Prepared(present, csr_array(found.Y[:, columns]), CLASSES, found.vocabulary, found.split)


@lru_cache(maxsize=2)
def ranked_features(run: Run) -> tuple[Any, ...]:
    """For each class its features, best first, from all training documents."""
    X, Y = data(run).part("train")
    gains = information_gain(Counts.of(X, Y), per_class=True)
    return tuple(top_terms(gain, max(FEATURES)) for gain in gains)


def sides(run: Run, *, validation: bool) -> tuple[Any, Any]:
    """(train, test) rows: of the split, or for validation the first three quarters of training and the last."""
    train = data(run).rows("train")
    if not validation:
        return train, data(run).rows("test")
    cut = round(len(train) * (1 - VALIDATION))
    return train[:cut], train[cut:]


@lru_cache(maxsize=64)
def breakevens(run: Run, classifier: Classifier, *, validation: bool = False) -> tuple[Any, float, float]:
    """Breakeven in % of each class (10,), their mean weighted by documents, and their mean."""
    found, (train, test) = data(run), sides(run, validation=validation)
    run.tell(f"{classifier.label}, {classifier.features} features: {len(CLASSES)} classes")
    scores = np.empty((len(test), len(CLASSES)))
    for c, ranked in enumerate(ranked_features(run)):
        X, member = found.X[:, np.sort(ranked[: classifier.features])], csr_array(found.Y[:, [c]])
        model = trained(classifier.model, X[train], member[train], seed=run.seed, **dict(classifier.settings))
        scores[:, c] = model.scores(X[test])[:, 0]
    points = 100 * breakeven(found.Y[test], scores.round(10))  # rounding noise must not break ties
    return points, weighted_mean(points, class_sizes(found.Y[test])), float(points.mean())


def on_test_data(run: Run) -> Iterator[Measurement]:
    """Table 4.10."""
    for classifier in CLASSIFIERS:
        if run.wants(classifier.label, classifier.model):
            points, micro, macro = breakevens(run, classifier)
            for name, point in zip(CLASSES, points, strict=True):
                yield Measurement(name, classifier.label, float(point))
            yield Measurement("Micro-averaged", classifier.label, micro)
            yield Measurement("Macro-averaged", classifier.label, macro)


def by_features(run: Run, *, label: str, model: str, settings: tuple[tuple[str, Any], ...]) -> Iterator[Measurement]:
    """Tables 4.8 and 4.9: the number of features, on validation data."""
    if not run.wants(label, model):
        return
    for features in FEATURES[:2] if run.quick else FEATURES:
        _, micro, _ = breakevens(run, Classifier(label, model, features, settings), validation=True)
        yield Measurement(str(features), label, micro)


TABLES: dict[str, Runner] = {
    "4.8": partial(by_features, label="NB", model="bernoulli", settings=BAYES),
    "4.9": partial(by_features, label="SVM", model="svm", settings=MACHINE),
    "4.10": on_test_data,
}
