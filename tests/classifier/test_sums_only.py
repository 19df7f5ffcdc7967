"""Models of sums are trained without rows where texts have one label each; everything else on ordered rows."""

import copy
import pickle

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.data.training_data import TrainingData
from unnaive.learning.train import train
from unnaive.text import native
from unnaive.text.backend import BACKEND
from unnaive.text.tokens import TokenRule

RNG = np.random.default_rng(0)
TEXTS = [" ".join(f"w{n}" for n in RNG.geometric(0.02, 40)) for _ in range(120)]
LABELS = [f"c{n % 3}" for n in range(120)]
COSTS = {f"c{true}": {f"c{label}": float(9 * abs(true - label)) for label in range(3)} for true in range(3)}


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"class_weight": "balanced"}, {"calibrate": True}])
def test_the_model_is_the_same_as_with_ordered_rows(options):
    classifier = TextClassifier("multinomial", **options)
    data = TrainingData.of_texts(TEXTS, LABELS, classifier.token_rule)
    expected = train(data, classifier.spec())
    fitted = classifier.fit(TEXTS, LABELS).fitted_
    assert fitted.counts == expected.counts
    assert fitted.counts.counts.class_terms.has_canonical_format
    assert np.array_equal(fitted.predict_proba(TEXTS), expected.predict_proba(TEXTS))


def test_rows_are_ordered_where_a_document_may_have_several_labels():
    labels = [[f"c{n % 3}", "c1"] for n in range(120)]
    X = TrainingData.of_texts(TEXTS, labels, TokenRule(), sums_only=True).rows.X
    assert bool(X.has_sorted_indices)


@pytest.mark.parametrize("weight", [None, np.full(120, 2.0)])
def test_rows_are_kept_only_for_weights(weight):
    data = TrainingData.of_texts(TEXTS, LABELS, TokenRule(), sample_weight=weight, sums_only=True)
    assert (data.rows is None) == (weight is None and BACKEND == "native")
    assert data.n_docs == 120
    assert data.n_terms == len(data.counts().vocabulary)


@pytest.mark.parametrize("optimise", ["accuracy", "macro-f1", COSTS])
def test_decisions_for_costs_and_measures_are_those_of_ordered_rows(optimise):
    classifier = TextClassifier("multinomial", optimise=optimise)
    expected = train(TrainingData.of_texts(TEXTS, LABELS, classifier.token_rule), classifier.spec())
    assert list(classifier.fit(TEXTS, LABELS).predict(TEXTS)) == list(expected.predict(TEXTS))
    assert type(classifier.fitted_.decision) is type(expected.decision)


@pytest.mark.skipif(BACKEND != "native", reason="the kernel is not built")
@pytest.mark.parametrize("options", [{}, {"stem": "porter"}, {"ngrams": (1, 2)}, {"n_jobs": 2}])
def test_the_first_prediction_uses_the_table_that_training_has(options, monkeypatch):
    model = TextClassifier("multinomial", **options).fit(TEXTS, LABELS)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]  # noqa: S301
    made = []
    monkeypatch.setattr(native.NativeEngine, "__init__", lambda *_, **__: made.append(1))
    found = model.predict_proba(TEXTS), model.predict(TEXTS)
    assert made == []
    monkeypatch.undo()
    for other in copies:  # which build a table of their own
        assert other.vocabulary_.table is None
        assert np.array_equal(other.predict_proba(TEXTS), found[0])
        assert np.array_equal(other.predict(TEXTS), found[1])


def test_a_model_of_chosen_terms_builds_its_own_table():
    model = TextClassifier("multinomial", min_df=3).fit(TEXTS, LABELS)
    assert model.vocabulary_.table is None
    assert list(model.predict(TEXTS)) == list(copy.deepcopy(model).predict(TEXTS))
