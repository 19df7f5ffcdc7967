"""TextClassifier on texts ≡ its estimator on the counts of those texts: every model × form of labels × method."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import StratifiedKFold

import unnaive
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import MODELS, find_model
from unnaive.text.counting import TextCounter

SMALL = {"hierarchical": {"restarts": 4, "average": 1, "features": 8}, "knn": {"k": 5}, "maxent": {"max_iter": 50}}
SMALL["hierarchical-naive-bayes"] = SMALL["hierarchical"]
METHODS = ("scores", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function")
FORMS = ("single", "two", "sets", "indicator", "nested", "sparse")


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(3)
    words = [f"word{n}" for n in range(30)]
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 57)])
    rates = rng.gamma(0.5, 1.0, (3, 30))
    shares = rates / rates.sum(axis=1, keepdims=True)
    made = [" ".join(rng.choice(words, rng.integers(1, 12), p=shares[c])) for c in y]
    return made, y


def labels_in(form, y):
    Y = np.eye(3, dtype=int)[y] | (np.random.default_rng(4).random((len(y), 3)) < 0.2)
    return {
        "single": np.array(["politics", "science", "sport"])[y],
        "two": y == 1,
        "sets": [tuple(np.flatnonzero(row).tolist()) for row in Y],
        "indicator": Y,
        "nested": Y.tolist(),
        "sparse": csr_array(Y),
    }[form]


@pytest.mark.parametrize("form", [*FORMS[:3], *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS[3:])])
# auto reads pairs and characters where it is handed texts, and only columns where it is handed counts
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"auto"}))
@pytest.mark.slow
def test_both_entrances_agree(name, form, texts):
    documents, y = texts
    labels = labels_in(form, y)
    counter = TextCounter()
    X = counter.count(documents, grow=True)
    X = X[:, counter.vocabulary.order()]  # models of documents read terms in order, and ties are broken by it
    # multilabel decisions of the estimators are untuned unless told otherwise; those of TextClassifier are tuned
    by_text = unnaive.TextClassifier(name, decision="untuned", **SMALL.get(name, {})).fit(documents, labels)
    by_counts = find_model(name)(**SMALL.get(name, {})).fit(X, labels)
    assert by_text.classes_.tolist() == by_counts.classes_.tolist()
    assert by_text.target_type_ == by_counts.target_type_
    one, other = by_text.predict(documents), by_counts.predict(X)
    assert type(one) is type(other)
    if form == "sparse":
        one, other = one.toarray(), other.toarray()
    assert list(map(str, one)) == list(map(str, other))
    for method in METHODS:
        assert hasattr(by_text, method) == hasattr(by_counts, method), method
        if hasattr(by_text, method):
            # the fused scorer sums in another order; measured below 2e-15 relative
            np.testing.assert_allclose(
                getattr(by_text, method)(documents), getattr(by_counts, method)(X), rtol=1e-12, atol=1e-12
            )
    assert by_text.score(documents, labels) == by_counts.score(X, labels)
    why, also = by_text.explain(documents[5]), by_counts.explain(X[5:6])
    assert why.label == also.label
    assert sorted(one.count for one in why.evidence) == sorted(one.count for one in also.evidence)
    assert why.score == pytest.approx(also.score, rel=1e-12, abs=1e-12)


def test_log_probabilities_do_not_underflow():
    """p(politics) is e^−7408 here: 0 as a float, finite as a logarithm."""
    model = unnaive.TextClassifier("multinomial", alpha=1e-3).fit(["ball " * 20, "vote " * 20], ["sport", "politics"])
    logs = model.predict_log_proba(["ball " * 1000])
    assert np.isfinite(logs).all()
    assert logs[0, 0] < -7000


@pytest.mark.parametrize("name", sorted(MODELS))
def test_methods_are_there_before_fit_as_after(name):
    for model in (unnaive.TextClassifier(name), find_model(name)()):
        assert hasattr(model, "decision_function") == (not find_model(name).traits.generative)
        assert hasattr(model, "predict_proba") == find_model(name).traits.probabilistic
    assert hasattr(unnaive.TextClassifier(name, calibrate=True), "predict_proba")


def test_after_remake_there_are_the_probabilities_that_the_model_has():
    """Counts have no documents to hold out, so remake refuses to calibrate what it makes of them."""
    for name in ("rocchio-counts", "rocchio", "multinomial"):
        model = unnaive.TextClassifier(name).fit(["good ball", "fair vote"] * 5, ["sport", "politics"] * 5)
        assert hasattr(model, "predict_proba") == (name == "multinomial")
        if name == "rocchio":
            model.remake(calibrate="temperature")
        else:
            with pytest.raises(unnaive.UnnaiveError, match="keeps only counts"):
                model.remake(calibrate="temperature")
        assert hasattr(model, "predict_proba") == model.fitted_.probabilistic == (name != "rocchio-counts")


def test_stacking_and_soft_voting_use_probabilities_or_scores(texts):
    documents, y = texts
    parts = [(name, unnaive.TextClassifier(name)) for name in ("multinomial", "svm", "rocchio", "or-gate")]
    stacked = StackingClassifier(parts, cv=3).fit(documents, y)
    assert stacked.stack_method_ == ["predict_proba", "decision_function", "decision_function", "predict_proba"]
    voted = VotingClassifier([parts[0], parts[3]], voting="soft").fit(documents, y)
    assert voted.score(documents, y) > 0.8


# Isotonic steps on 217 documents of 8 classes are coarse, and cosines lie close together: measured −1.5 and −2.2 points
# for Rocchio, −1.5 points for auto, which is four documents of 275.
POINT = 3.001 / 275  # of the test documents, rounded up to whole ones
TIED = {("rocchio", "isotonic"): 0.022, ("rocchio-counts", "isotonic"): 0.03, ("auto", "isotonic"): 4.001 / 275}


class Remembering(unnaive.TextClassifier):
    """Documents that were learnt before give the model that they gave: CalibratedClassifierCV learns our thirds."""

    learnt: ClassVar[dict[tuple[str, ...], unnaive.FittedModel]] = {}

    def fit(self, texts, labels):
        key = (self.model, *texts)
        if key not in self.learnt:
            self.learnt[key] = super().fit(texts, labels).fitted_
        self.fitted_ = self.learnt[key]
        return self


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"hierarchical-naive-bayes"}))
def test_calibrated_classifier_cv_costs_at_most_a_point_of_accuracy(name):
    """On the built-in tickets; with a decision function that shifts with length it cost up to 60 points.

    cv=3 averages three models of two thirds of the documents each, which by itself costs Bernoulli naive Bayes 9 points
    (scikit-learn's alike). So the loss is against the whole model or, where they are worse, those three uncalibrated.
    """
    corpus = load_tickets()
    train, test = corpus.part("train"), corpus.part("test")
    X, X_test = (np.array(part.texts, dtype=object) for part in (train, test))
    y, y_test = (np.array([labels[0] for labels in part.labels]) for part in (train, test))
    model = Remembering(name, **{"hierarchical": {"restarts": 8, "average": 2}}.get(name, {}))
    thirds = [clone(model).fit(X[rows], y[rows]) for rows, _ in StratifiedKFold(3).split(X, y)]
    mean = sum(one.predict_proba(X_test) if hasattr(one, "predict_proba") else one.scores(X_test) for one in thirds)
    plain = clone(model).fit(X, y).score(X_test, y_test)
    uncalibrated = min(plain, float((thirds[0].classes_[mean.argmax(axis=1)] == y_test).mean()))
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(X, y).score(X_test, y_test)
        assert uncalibrated - calibrated <= TIED.get((name, method), POINT), method
    assert len(Remembering.learnt) == 4
    Remembering.learnt.clear()
