"""The tables of the or-gate paper, run again on three collections: its four classifiers, and two beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from unnaive.errors import BadData
from unnaive.evaluation.measures import measure
from unnaive.evaluation.papers.preparation import Prepared, prepared
from unnaive.evaluation.papers.tables import Classifier, Measurement, Run, Runner
from unnaive.evaluation.trials import train_scorer

CLASSIFIERS = (
    Classifier("NBayes", "multinomial", (("scheme", "one-vs-rest"),)),
    Classifier("Rocchio", "rocchio", (("beta", 16.0), ("gamma", 4.0))),
    Classifier("OR-eq12", "or-gate", (("weights", "laplace"),)),
    Classifier("OR-eq17", "or-gate", (("weights", "relaxed"),)),
    Classifier("OR-eq17 50 terms", "or-gate", (("weights", "relaxed"), ("terms_per_class", 50))),
    Classifier("OR-eq17 + Rocchio", "or-blend", (("weights", "relaxed"),)),
)

# as printed → ours; table 1, 2, 3
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


def reuters(run: Run) -> tuple[Prepared, str]:
    """All 9,603 training documents, labelled or not."""
    return prepared(run, "reuters", "or-gate", view="modapte-90-all"), ""


def newsgroups(run: Run) -> tuple[Prepared, str]:
    """Subject and body, split by date."""
    return prepared(run, "20newsgroups", "or-gate", view="subject-body"), ""


def ohsumed(run: Run) -> tuple[Prepared, str]:
    """The multi-label abstracts of the paper if they are here, else those with one category."""
    try:
        return prepared(run, "ohsumed-20000", "or-gate"), ""
    except BadData:
        note = "7,400 abstracts with one category each, not the paper's 20,000: not comparable"
        return prepared(run, "ohsumed", "or-gate"), note


COLLECTIONS = {"reuters": reuters, "ohsumed": ohsumed, "20newsgroups": newsgroups}


@lru_cache(maxsize=32)
def figures(run: Run, collection: str, classifier: Classifier) -> tuple[dict[str, float], str]:
    """All measures of the three tables on the test documents that have a label, and a remark on the data."""
    data, note = COLLECTIONS[collection](run)
    X, Y = data.part("train")
    run.tell(f"{classifier.label} on {collection}: training on {X.shape[0]:,} documents")
    model = train_scorer(classifier.model, X, Y, seed=run.seed, **dict(classifier.settings))
    test, truth = data.part("test")
    labelled = np.flatnonzero(np.diff(truth.indptr))
    names = [name for columns in COLUMNS.values() for name in columns.values()]
    return measure(names, truth[labelled], scores=model.scores(test[labelled])), note


def table(run: Run, *, number: str, collection: str) -> Iterator[Measurement]:
    """One table on one collection."""
    for classifier in CLASSIFIERS:
        if run.wants(classifier.label, classifier.model):
            found, note = figures(run, collection, classifier)
            for column, name in COLUMNS[number].items():
                yield Measurement(classifier.label, column, found[name], note=note)


TABLES: dict[str, Runner] = {
    f"{number}/{collection}": partial(table, number=number, collection=collection)
    for number in COLUMNS
    for collection in COLLECTIONS
}
