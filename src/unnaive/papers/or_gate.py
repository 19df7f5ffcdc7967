"""The tables of the or-gate paper, reproduced on three collections: its four classifiers, and two more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from unnaive.base.errors import BadData, count_noun
from unnaive.evaluation.measures import measure
from unnaive.evaluation.trials import train_scorer
from unnaive.papers.data import PreparedData, prepare
from unnaive.papers.paper_run import Measurement, PaperModel, PaperRun, Runner

CLASSIFIERS = (
    PaperModel("NBayes", "multinomial", (("scheme", "one-vs-rest"),)),
    PaperModel("Rocchio", "rocchio", (("beta", 16.0), ("gamma", 4.0))),
    PaperModel("OR-eq12", "or-gate", (("weights", "laplace"),)),
    PaperModel("OR-eq17", "or-gate", (("weights", "relaxed"),)),
    PaperModel("OR-eq17 50 terms", "or-gate", (("weights", "relaxed"), ("terms_per_class", 50))),
    PaperModel("OR-eq17 + Rocchio", "or-blend", (("weights", "relaxed"),)),
)

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


def load_reuters(run: PaperRun) -> tuple[PreparedData, str]:
    """All 9,603 training documents, labelled or not, with their full text (including `blah blah blah`)."""
    return prepare(run, "reuters", "or-gate", view="modapte-90-all-literal"), ""


def load_newsgroups(run: PaperRun) -> tuple[PreparedData, str]:
    """Subject and body, split by date."""
    return prepare(run, "20newsgroups", "or-gate", view="subject-body"), ""


def load_ohsumed(run: PaperRun) -> tuple[PreparedData, str]:
    """The multilabel abstracts of the paper if they are available, else those with one category."""
    try:
        return prepare(run, "ohsumed-20000", "or-gate"), ""
    except BadData:
        reason = "other data: 7,400 abstracts with one category each, not the paper's 20,000 with several"
        return prepare(run, "ohsumed", "or-gate"), reason


COLLECTIONS = {"reuters": load_reuters, "ohsumed": load_ohsumed, "20newsgroups": load_newsgroups}


@lru_cache(maxsize=32)
def measure_classifier(run: PaperRun, collection: str, classifier: PaperModel) -> tuple[dict[str, float], str]:
    """All measures of the three tables on the labelled test documents, and how the data differ, if they do."""
    data, reason = COLLECTIONS[collection](run)
    X, Y = data.part("train")
    run.tell(f"{classifier.label} on {collection}: training on {count_noun(X.shape[0], 'document')}")
    model = train_scorer(classifier.model, X, Y, seed=run.seed, **dict(classifier.settings))
    test, truth = data.part("test")
    labelled = np.flatnonzero(np.diff(truth.indptr))
    names = [name for columns in COLUMNS.values() for name in columns.values()]
    return measure(names, truth[labelled], scores=model.scores(test[labelled])), reason


def or_gate_measures(run: PaperRun, *, number: str, collection: str) -> Iterator[Measurement]:
    """One table on one collection."""
    for classifier in CLASSIFIERS:
        if run.wants(classifier.label, classifier.model):
            measures, reason = measure_classifier(run, collection, classifier)
            for column, name in COLUMNS[number].items():
                yield Measurement(classifier.label, column, measures[name], reason=reason)


TABLES: dict[str, Runner] = {
    f"{number}/{collection}": partial(or_gate_measures, number=number, collection=collection)
    for number in COLUMNS
    for collection in COLLECTIONS
}
