"""Platt and isotonic calibration of each class: scikit-learn on the same scores, by hand, and damaged files."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel, UnknownName, UnnaiveWarning
from unnaive.evaluation.calibration_measures import (
    calibration_error,
    error_by_chance,
    excess_calibration_error,
    reliability,
)
from unnaive.io.tickets import load_tickets
from unnaive.learning.calibration import Isotonic, Platt, Temperature, calibration_from_dict
from unnaive.learning.fit_calibration import FITS, fit_isotonic, fit_platt, fit_temperature
from unnaive.linear.links import comparable_scores

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

RNG = np.random.default_rng(1)
N, C = 600, 4
LOGITS = RNG.normal(size=(N, C)) * 2
RIGHT = np.array([RNG.choice(C, p=np.exp(row) / np.exp(row).sum()) for row in LOGITS])
Y = np.eye(C, dtype=int)[RIGHT]
SETS = (RNG.random((N, C)) < 1 / (1 + np.exp(-LOGITS))).astype(int)


@pytest.mark.parametrize("scores", [LOGITS, 50 * LOGITS + 7], ids=["plain", "large"])
def test_platt_equals_scikit_learns_sigmoid_on_the_same_scores(scores):
    found = fit_platt("margin", scores, SETS, exclusive=False).probabilities("margin", scores)
    for c in range(C):
        oracle = _SigmoidCalibration().fit(scores[:, c], SETS[:, c]).predict(scores[:, c])
        np.testing.assert_allclose(found[:, c], oracle, atol=2e-5)  # its own tolerance: it stops at a gradient of 1e-6


def test_platt_with_many_documents_is_plain_logistic_regression():
    """With 60,000 documents the targets (n+1)/(n+2) are 1 to four places."""
    scores, truth = np.tile(LOGITS[:, [0]], (100, 1)), np.tile(SETS[:, [0]], (100, 1))
    found = fit_platt("margin", scores, truth, exclusive=False)
    oracle = LogisticRegression(C=1e9, tol=1e-10).fit(scores, truth[:, 0])
    assert (found.slopes[0], found.offsets[0]) == pytest.approx((oracle.coef_[0, 0], oracle.intercept_[0]), abs=2e-3)


def test_isotonic_equals_scikit_learns_on_the_same_scores():
    scores = LOGITS.round(1)  # ties among them
    found = fit_isotonic("margin", scores, SETS, exclusive=False)
    grid = np.tile(np.linspace(-9, 9, 400)[:, None], (1, C))
    ours = found.probabilities("margin", grid)
    for c in range(C):
        oracle = IsotonicRegression(out_of_bounds="clip").fit(scores[:, c], SETS[:, c])
        np.testing.assert_allclose(ours[:, c], oracle.predict(grid[:, c]), atol=1e-12)


@pytest.mark.parametrize(("name", "method"), [("platt", "sigmoid"), ("isotonic", "isotonic")])
def test_exclusive_classes_are_those_of_calibrated_classifier_cv(name, method):
    """A classifier that hands its features on as scores, calibrated on the same documents by both."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.frozen import FrozenEstimator

    class Echo(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def decision_function(self, X):
            return X

        def predict(self, X):
            return self.classes_[X.argmax(axis=1)]

    echo = Echo().fit(LOGITS, RIGHT)
    oracle = CalibratedClassifierCV(FrozenEstimator(echo), method=method).fit(LOGITS, RIGHT)
    found = FITS[name]("margin", LOGITS, Y, exclusive=True)
    np.testing.assert_allclose(found.probabilities("margin", LOGITS), oracle.predict_proba(LOGITS), atol=2e-5)


def test_scores_of_naive_bayes_are_compared_as_log_odds():
    """Joint log-likelihoods fall with length; what is fitted does not, so a shift of a document changes nothing."""
    shifted = LOGITS - RNG.integers(0, 500, size=(N, 1))
    for fit in (fit_platt, fit_isotonic):
        one, two = fit("softmax", LOGITS, Y, exclusive=True), fit("softmax", shifted, Y, exclusive=True)
        np.testing.assert_allclose(
            one.probabilities("softmax", LOGITS), two.probabilities("softmax", shifted), atol=1e-5
        )
    odds = comparable_scores("softmax", LOGITS)
    by_odds = fit_platt("log-odds", odds, Y, exclusive=True).probabilities("log-odds", odds)
    np.testing.assert_array_equal(
        fit_platt("softmax", LOGITS, Y, exclusive=True).probabilities("softmax", LOGITS), by_odds
    )


def test_rows_sum_to_one_and_nothing_is_uniform():
    never = ((0.0,), (0.0,))
    p = Isotonic((never, never)).probabilities("log-odds", np.zeros((2, 2)))
    assert p.tolist() == [[0.5, 0.5], [0.5, 0.5]]  # every class gets 0: all alike
    for fit in (fit_platt, fit_isotonic):
        found = fit("margin", LOGITS, Y, exclusive=True)
        np.testing.assert_allclose(found.probabilities("margin", LOGITS).sum(axis=1), 1.0)
        np.testing.assert_allclose(
            np.exp(found.log_probabilities("margin", LOGITS)), found.probabilities("margin", LOGITS)
        )


def test_a_class_without_documents_gets_little_and_no_error():
    truth = np.zeros((10, 2), int)
    truth[:, 0] = 1
    scores = RNG.normal(size=(10, 2))
    assert fit_isotonic("margin", scores, truth, exclusive=False).probabilities("margin", scores)[:, 1].max() == 0.0
    assert fit_platt("margin", scores, truth, exclusive=False).probabilities("margin", scores)[:, 1].max() < 0.2


def test_scores_that_mislead_give_each_document_the_share_of_the_class():
    scores = np.array([[3.0], [2.0], [-2.0], [-3.0]] * 50)
    truth = np.array([[0], [0], [1], [1]] * 50)
    p = fit_platt("margin", scores, truth, exclusive=False).probabilities("margin", scores)
    np.testing.assert_allclose(p, 0.5, atol=1e-4)


@pytest.mark.parametrize("found", [Temperature(1.5), fit_platt("margin", LOGITS, Y, exclusive=True),
                                   fit_isotonic("margin", LOGITS, SETS, exclusive=False)])  # fmt: skip
def test_what_is_stored_comes_back_equal(found):
    import json

    assert calibration_from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    "stored",
    [
        {"kind": "plat"},
        {"kind": "platt", "slopes": [1.0], "offsets": [], "exclusive": True},
        {"kind": "platt", "slopes": [-1.0], "offsets": [0.0], "exclusive": True},
        {"kind": "platt", "slopes": "1", "offsets": [0.0], "exclusive": True},
        {"kind": "isotonic", "curves": [[[0.0, 1.0], [1.0, 0.0]]], "exclusive": True},
        {"kind": "isotonic", "curves": [[[1.0, 1.0], [0.0, 0.5]]], "exclusive": True},
        {"kind": "isotonic", "curves": [[[0.0], [2.0]]], "exclusive": True},
        {"kind": "isotonic", "curves": 3, "exclusive": True},
        {"kind": "isotonic", "curves": [], "exclusive": "yes"},
        [],
    ],
)
def test_damaged_calibrations_are_refused(stored):
    with pytest.raises(BadModel, match="damaged"):
        calibration_from_dict(stored)
    with pytest.raises(BadData):
        Platt((0.0,), (1.0,))


TEXTS = ["good ball, good game", "fair vote in a fair law", "warm soup with bread", "the ball is lost", "a new law"] * 6
LABELS = ["sport", "politics", "food", "sport", "politics"] * 6


@pytest.mark.parametrize("kind", ["temperature", "platt", "isotonic"])
@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("model", ["multinomial", "svm", "or-gate"])
def test_every_classifier_is_calibrated_and_stored(tmp_path, model, kind, multilabel):
    labels = [(label, "any") for label in LABELS] if multilabel else LABELS
    made = TextClassifier(model, calibrate=kind).fit(TEXTS, labels)
    p = made.predict_proba(TEXTS)
    assert ((p >= 0) & (p <= 1)).all()
    if not multilabel:
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert list(made.predict(TEXTS)) == list(TextClassifier(model).fit(TEXTS, labels).predict(TEXTS)) or multilabel
    made.save(tmp_path / "a.model")
    copy = TextClassifier.load(tmp_path / "a.model")
    assert copy.fitted_.calibration == made.fitted_.calibration
    assert copy.calibrate == kind
    np.testing.assert_array_equal(copy.predict_proba(TEXTS), p)
    copy.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


def test_the_setting_is_a_name_or_true():
    assert isinstance(TextClassifier("multinomial", calibrate=True).fit(TEXTS, LABELS).fitted_.calibration, Temperature)
    for nothing in (None, False, "none"):
        assert TextClassifier("multinomial", calibrate=nothing).fit(TEXTS, LABELS).fitted_.calibration is None
    assert not hasattr(TextClassifier("svm", calibrate="none"), "predict_proba")
    with pytest.raises(UnknownName, match="did you mean 'platt'"):
        TextClassifier("multinomial", calibrate="plat").fit(TEXTS, LABELS)


@pytest.mark.parametrize("kind", ["platt", "temperature"])
def test_after_a_new_class_the_calibration_is_that_of_training(kind):
    """A model that is tuned keeps its documents; one without them says that its calibration is gone."""
    new = ["rain and wind"] * 6
    made = TextClassifier("multinomial", calibrate=kind).fit(TEXTS, LABELS)
    made.partial_fit(new, ["weather"] * 6, new_classes=True)
    whole = TextClassifier("multinomial", calibrate=kind).fit([*TEXTS, *new], [*LABELS, *["weather"] * 6])
    assert made.fitted_.calibration == whole.fitted_.calibration
    assert made.fitted_.calibration is not None
    sums = TextClassifier("multinomial", calibrate=kind, documents_limit=0).fit(TEXTS, LABELS)
    with pytest.warns(UnnaiveWarning, match="the calibration and the held-out scores are lost"):
        sums.partial_fit(new, ["weather"] * 6, new_classes=True)
    assert sums.fitted_.calibration is None
    assert sums.fitted_.conformal is None


def test_calibration_brings_the_error_of_tickets_down():
    """Measured: naive Bayes .077 above chance, temperature .010, platt −.001, isotonic −.001; noise about .01."""
    train, test = (load_tickets().part(part) for part in ("train", "test"))
    targets = [one[0] for one in train.labels]
    truth = np.array([one[0] for one in test.labels])
    excess = {}
    for kind in ("none", "temperature", "platt", "isotonic"):
        made = TextClassifier("multinomial", calibrate=kind).fit(train.texts, targets)
        labels = (truth[:, None] == made.classes_).astype(int)
        excess[kind] = excess_calibration_error(labels, made.predict_proba(test.texts))
    assert excess["none"] > 0.05
    assert all(excess[kind] < 0.03 for kind in ("temperature", "platt", "isotonic"))


@pytest.mark.slow
def test_the_excess_of_calibrated_probabilities_is_nothing_but_noise():
    """True probabilities: the mean excess over 40 draws of 500 documents is 0 within twice its standard error."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(3), size=500)
        truth = np.array([rng.choice(3, p=row) for row in p])
        found.append(excess_calibration_error(np.eye(3, dtype=int)[truth], p))
    assert abs(np.mean(found)) < 2 * np.std(found) / np.sqrt(len(found)) + 0.001


def test_chance_is_the_same_every_time_and_falls_with_documents():
    p = RNG.dirichlet(np.ones(3), size=2000)
    truth = np.eye(3, dtype=int)[p.argmax(axis=1)]
    assert error_by_chance(truth, p) == error_by_chance(truth, p)
    assert error_by_chance(truth, p) < 0.6 * error_by_chance(truth[:300], p[:300])  # about 1/√n: .39
    assert excess_calibration_error(truth, p) == calibration_error(truth, p) - error_by_chance(truth, p)
    assert sum(one["predictions"] for one in reliability(truth, p).to_dict()["bins"]) == 2000


def test_a_temperature_is_still_the_first_kind():
    stored = {"value": 2.0, "offset": 0.0, "exclusive": True}  # as files had it when there was one kind
    assert calibration_from_dict(stored) == Temperature(2.0)
    assert fit_temperature("log-odds", LOGITS, Y, exclusive=True).kind == "temperature"


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("name", FITS)
def test_a_weight_of_two_is_a_document_twice(name, exclusive):
    rng = np.random.default_rng(3)
    scores, labels, weight = rng.normal(size=(60, 3)), rng.integers(3, size=60), rng.integers(1, 4, size=60)
    scores[np.arange(60), labels] += 1
    truth = np.eye(3, dtype=int)[labels]
    found = FITS[name]("margin", scores, truth, exclusive=exclusive, weight=weight.astype(float))
    rows = np.repeat(np.arange(60), weight)
    twice = FITS[name]("margin", scores[rows], truth[rows], exclusive=exclusive)
    np.testing.assert_allclose(found.probabilities("margin", scores), twice.probabilities("margin", scores), rtol=1e-6)
    unweighted = FITS[name]("margin", scores, truth, exclusive=exclusive)
    assert not np.allclose(found.probabilities("margin", scores), unweighted.probabilities("margin", scores), rtol=1e-3)
