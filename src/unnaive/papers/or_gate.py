"""The tables of the or-gate paper, reproduced on three collections: its four classifiers, and what it mentions.

N_•k is Σ_i N_ik, as the paper defines it before eq. 7 (`totals="classes"`); in multilabel data that is more than the
count in the corpus. Rocchio is measured with and without idf. 20 Newsgroups is measured on random splits of 60/40, and
by date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial

import numpy as np

from unnaive.base.errors import count_noun
from unnaive.base.types import Sparse
from unnaive.evaluation.measures import measure
from unnaive.evaluation.splits import stratified_split
from unnaive.evaluation.trials import train_scorer
from unnaive.papers.data import PreparedData, prepare
from unnaive.papers.paper_run import Measurement, PaperModel, PaperRun, Runner

CLASS_TOTALS = ("totals", "classes")
CLASSIFIERS = (
    PaperModel("NBayes", "multinomial", (("scheme", "one-vs-rest"),)),
    PaperModel("Rocchio", "rocchio", (("beta", 16.0), ("gamma", 4.0))),
    PaperModel("Rocchio without idf", "rocchio", (("beta", 16.0), ("gamma", 4.0), ("idf", "none"))),
    PaperModel("OR-eq11", "or-gate", (("weights", "ml"), CLASS_TOTALS)),
    PaperModel("OR-eq12", "or-gate", (("weights", "laplace"), CLASS_TOTALS)),
    PaperModel("OR-eq15", "or-gate", (("weights", "independent"), CLASS_TOTALS)),
    PaperModel("OR-eq17", "or-gate", (("weights", "relaxed"), CLASS_TOTALS)),
    PaperModel("OR-eq17 50 terms", "or-gate", (("weights", "relaxed"), CLASS_TOTALS, ("terms_per_class", 50))),
    PaperModel("OR-eq17 + Rocchio", "or-blend", (("weights", "relaxed"),)),
)
RANDOM_SPLITS, RANDOM_SHARE = 3, 0.6

# table → printed column → name of the measure
COLUMNS: dict[str, dict[str, str]] = {
    "1": {
        "micr.BEP": "breakeven-micro",
        "macr.BEP": "breakeven-macro",
        "Av-11": "11-point",
        "micr.BEP per document": "breakeven-micro-per-document",
        "macr.BEP per document": "breakeven-macro-per-document",
    },
    "2": {f"micr.F1@{k}": f"micro-f1@{k}" for k in (1, 3, 5)},
    "3": {f"macr.F1@{k}": f"macro-f1@{k}" for k in (1, 3, 5)},
}


def load_reuters(run: PaperRun) -> PreparedData:
    """All 9,603 training documents, labelled or not, with their full text (including `blah blah blah`)."""
    return prepare(run, "reuters", "or-gate", view="modapte-90-all-literal")


def load_newsgroups(run: PaperRun) -> PreparedData:
    """Subject and body, split by date."""
    return prepare(run, "20newsgroups", "or-gate", view="subject-body")


def load_ohsumed(run: PaperRun) -> PreparedData:
    """The multilabel abstracts of the paper."""
    return prepare(run, "ohsumed-20000", "or-gate")


def load_random_newsgroups(run: PaperRun) -> PreparedData:
    """Subject and body; the 19,997 messages of the paper if they are available, else those of the split by date."""
    name = "20news-19997" if run.has("20news-19997") else "20newsgroups"
    return prepare(run, name, "or-gate", view="subject-body", split=False)


COLLECTIONS: dict[str, Callable[[PaperRun], PreparedData]] = {
    "reuters": load_reuters,
    "ohsumed": load_ohsumed,
    "20newsgroups": load_newsgroups,
    "20newsgroups-random": load_random_newsgroups,
}


def splits(run: PaperRun, collection: str) -> Iterator[tuple[Sparse, Sparse, Sparse, Sparse]]:
    """X and Y of the training documents, and of the labelled test documents, for each split.

    A random split keeps the terms of its training documents, as prepare() does for a fixed one.
    """
    data = COLLECTIONS[collection](run)
    if data.split is not None:
        test, truth = data.part("test")
        labelled = np.flatnonzero(np.diff(truth.indptr))
        yield *data.part("train"), test[labelled], truth[labelled]
        return
    for number in range(1 if run.quick else RANDOM_SPLITS):
        train, rest = stratified_split(data.Y, RANDOM_SHARE, seed=run.seed, split=number)
        X = data.X[train]
        seen = np.unique(X.indices)
        yield X[:, seen], data.Y[train], data.X[rest][:, seen], data.Y[rest]


@lru_cache(maxsize=64)
def measure_classifier(run: PaperRun, collection: str, classifier: PaperModel) -> dict[str, list[float]]:
    """All measures of the three tables, split by split."""
    names = [name for columns in COLUMNS.values() for name in columns.values()]
    values: dict[str, list[float]] = {name: [] for name in names}
    for X, Y, test, truth in splits(run, collection):
        run.tell(f"{classifier.label} on {collection}: training on {count_noun(X.shape[0], 'document')}")
        model = train_scorer(classifier.model, X, Y, seed=run.seed, **dict(classifier.settings))
        for name, value in measure(names, truth, scores=model.scores(test)).items():
            values[name].append(value)
    return values


def or_gate_measures(run: PaperRun, *, number: str, collection: str) -> Iterator[Measurement]:
    """One table on one collection."""
    for classifier in CLASSIFIERS:
        if run.wants(classifier.label, classifier.model):
            measures = measure_classifier(run, collection, classifier)
            for column, name in COLUMNS[number].items():
                yield Measurement.of_values(classifier.label, column, measures[name])


TABLES: dict[str, Runner] = {
    f"{number}/{collection}": partial(or_gate_measures, number=number, collection=collection)
    for number in COLUMNS
    for collection in COLLECTIONS
}
