"""The textbook's worked example and its two tables on Reuters-21578, run again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.decisions import out_of_fold, scut
from unnaive.evaluation.papers.preparation import Prepared, prepared
from unnaive.evaluation.papers.tables import Classifier, Measurement, Run, Runner
from unnaive.evaluation.tally import Tally
from unnaive.evaluation.trials import train_scorer
from unnaive.models.naive_bayes import MultinomialNB
from unnaive.text.counting import TextCounter

TRAINING = ("Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese")
TEST = "Chinese Chinese Chinese Tokyo Japan"
TOP_10 = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")


CLASSIFIERS = (
    Classifier("NB", "multinomial"),
    Classifier("Rocchio", "rocchio"),
    Classifier("kNN", "knn", (("k", 30),)),
    Classifier("trees", "tree"),
    Classifier("SVM", "svm"),
)


def worked_example(run: Run) -> Iterator[Measurement]:
    """Priors, conditional probabilities and the two products of slides 34 and 35."""
    if not run.wants("NB", "multinomial"):
        return
    counter = TextCounter()
    X = counter.count(TRAINING, grow=True)
    model = MultinomialNB().rule(Counts.of(X, csr_array([[1, 0], [1, 0], [1, 0], [0, 1]])))
    products = np.exp(model.scores(counter.count([TEST])))[0]
    for c, column in enumerate(("China", "not China")):
        yield Measurement("P(class)", column, float(np.exp(model.bias[c])))
        for term in ("Chinese", "Tokyo", "Japan"):
            weight = model.weights(counter.vocabulary.ids([term.lower()]))[c, 0]
            yield Measurement(f"P({term}|class)", column, float(np.exp(weight)))
        yield Measurement("P(class) ∏ P(t|class) of document 5", column, float(products[c]))


def all_classes(run: Run) -> Iterator[Measurement]:
    """Table a: micro and macro F1 over the 90 classes."""
    for classifier in _wanted(run, "NB", "Rocchio", "kNN", "SVM"):
        tally = decisions(run, classifier, "modapte-90")
        yield Measurement("micro-avg-L (90 classes)", classifier.label, 100 * tally.micro("f1"))
        yield Measurement("macro-avg (90 classes)", classifier.label, 100 * tally.macro("f1"))


def largest_classes(run: Run) -> Iterator[Measurement]:
    """Table b: F1 of each of the ten largest classes, their micro average, and that over all classes in training."""
    for classifier in _wanted(run, *(one.label for one in CLASSIFIERS)):
        tally = decisions(run, classifier, "modapte-90")
        places = [_data(run, "modapte-90").classes.index(name) for name in TOP_10]
        for name, place in zip(TOP_10, places, strict=True):
            yield Measurement(name, classifier.label, 100 * float(tally.f1[place]))
        top = Tally(tally.tp[places], tally.fp[places], tally.fn[places], tally.n, tally.exact)
        yield Measurement("micro-avg (top 10)", classifier.label, 100 * top.micro("f1"))
        if classifier.label in ("NB", "Rocchio", "SVM") and not run.quick:
            every = decisions(run, classifier, "modapte-115")
            yield Measurement("micro-avg-D (118 classes)", classifier.label, 100 * every.micro("f1"))


def _wanted(run: Run, *labels: str) -> list[Classifier]:
    return [one for one in CLASSIFIERS if one.label in labels and run.wants(one.label, one.model)]


def _data(run: Run, view: str) -> Prepared:
    return prepared(run, "reuters", "or-gate", view=view)


@lru_cache(maxsize=16)
def decisions(run: Run, classifier: Classifier, view: str) -> Tally:
    """Right and wrong decisions on the test documents, with a threshold for each class.

    Thresholds come from scores of training documents by models that have not seen them (2 folds when quick, else 5).
    """
    data, settings = _data(run, view), dict(classifier.settings)
    X, Y = data.part("train")

    def held_out_scores(inside: Any, outside: Any) -> Any:
        return train_scorer(classifier.model, X[inside], Y[inside], seed=run.seed, **settings).scores(X[outside])

    run.tell(f"{classifier.label}: thresholds for {len(data.classes)} classes, out of fold")
    rule = scut(out_of_fold(held_out_scores, Y, n_folds=2 if run.quick else 5, seed=run.seed), Y)
    run.tell(f"{classifier.label}: training on {X.shape[0]:,} documents")
    test, truth = data.part("test")
    scores = train_scorer(classifier.model, X, Y, seed=run.seed, **settings).scores(test)
    return Tally.of(truth, rule.decide(scores))


TABLES: dict[str, Runner] = {"example": worked_example, "a": all_classes, "b": largest_classes}
