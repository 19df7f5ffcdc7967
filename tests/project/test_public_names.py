"""What `import unnaive` offers: real types, docstrings that list every parameter, scikit-learn's conventions."""

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import unnaive
from unnaive.models.catalogue import MODELS, find_model

PUBLIC = sorted({find_model(name) for name in MODELS} | {unnaive.TextClassifier}, key=lambda one: one.__name__)
NAMES = (
    "TextClassifier", "FittedModel", "Counts", "TokenRule", "Argmax", "TopK", "Thresholds", "Proportional", "evaluate",
    "compare", "report", "top_terms", "UnnaiveError", "UnknownName", "BadData", "BadModel", "MissingExtra",
    "UnnaiveWarning",
)  # fmt: skip

USER = """
import unnaive
from unnaive import MultinomialNB, TextClassifier

classifier = TextClassifier("multinomial", alpha=0.5).fit(["a"], ["b"])
model: unnaive.MaxEnt = unnaive.MaxEnt(l2=1.0)
classifier.nosuchmethod()
MultinomialNB(alhpa=1)
MultinomialNB(alpha="x")
unnaive.nosuch
rows = [{"body": "a", "age": 1}, {"body": "b", "age": None}]
records = TextClassifier("nbsvm", fields={"body": "text", "age": "number"}).fit(rows, ["x", "y"])
records.fit({"body": ["a", "b"], "age": [1.5, 2.0]}, ["x", "y"]).partial_fit(rows, ["x", "y"]).predict(rows)
shares: dict[str, float] = dict(records.explain({"body": "a", "age": 3}).by_field)
TextClassifier(fields=["body", "age"]), TextClassifier(fields="auto")
"""


@pytest.mark.parametrize("name", NAMES)
def test_names_are_offered(name):
    assert name in dir(unnaive)
    assert getattr(unnaive, name).__doc__


@pytest.mark.slow
def test_a_users_type_checker_sees_real_types(tmp_path):
    file = tmp_path / "user.py"
    file.write_text(USER)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", file], capture_output=True, text=True, check=False)
    errors = re.findall(r"user\.py:(\d+): error", done.stdout)
    assert errors == ["7", "8", "9", "10"], done.stdout


@pytest.mark.parametrize("one", PUBLIC, ids=lambda one: one.__name__)
def test_docstrings_list_exactly_the_parameters(one):
    section = inspect.getdoc(one).split("Parameters\n----------\n")[1]
    listed = re.findall(r"^(\w+) : .+, default=(.+)$", section, flags=re.M)
    signature = {
        name: repr(parameter.default)
        for name, parameter in inspect.signature(one).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    assert {name: default.replace('"', "'") for name, default in listed} == signature


@pytest.mark.parametrize("one", PUBLIC, ids=lambda one: one.__name__)
def test_a_fitted_model_says_what_it_learnt(one):
    X = ["good ball", "fair vote"] * 3 if one is unnaive.TextClassifier else [[2, 1, 0], [0, 1, 3]] * 3
    model = one()
    assert "#" not in repr(model)
    model.fit(X, ["sport", "politics"] * 3)
    assert repr(model) == repr(one())  # an expression that makes another one
    assert re.search(r"2 classes, \d+ terms", model._repr_html_())


def small_data(n_classes=3):
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 57)])
    return csr_array(rng.poisson(rng.gamma(0.6, 1.0, (n_classes, 20))[y])), y


@pytest.mark.parametrize("model", [unnaive.MaxEnt(), unnaive.LinearSVM()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_as_scikit_learn_has_them(model, n_classes):
    X, y = small_data(n_classes)
    model.fit(X, y)
    rows = 1 if n_classes == 2 else n_classes
    assert (model.coef_.shape, model.intercept_.shape) == ((rows, 20), (rows,))
    features = model.scorer_.weighting.apply(X)
    expected = np.asarray(features @ model.coef_.T + model.intercept_)
    np.testing.assert_allclose(model.decision_function(X), expected[:, 0] if rows == 1 else expected, rtol=1e-10)
    assert SelectFromModel(model, max_features=5, threshold=-np.inf).fit(X, y).get_support().sum() == 5
    assert RFE(model, n_features_to_select=7, step=5).fit(X, y).support_.sum() == 7


def test_sample_weights_are_routed_to_a_text_classifier():
    texts, labels = np.array(["good ball", "fair vote", "ball game", "vote law"] * 5, dtype=object), ["a", "b"] * 10
    weight = np.arange(20.0)
    with config_context(enable_metadata_routing=True):
        model = (
            unnaive.TextClassifier("multinomial")
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=True)
        )
        pipeline = make_pipeline(model).fit(texts, labels, sample_weight=weight)
        assert pipeline[-1].fitted_.counts.counts.n_docs == weight.sum()
        search = GridSearchCV(model, {"alpha": [0.5, 1.0]}, cv=2).fit(texts, labels, sample_weight=weight)
        assert search.best_estimator_.fitted_.counts.counts.n_docs == weight.sum()
        assert cross_val_score(model, texts, labels, params={"sample_weight": weight}, cv=2).shape == (2,)


@pytest.mark.parametrize("one", [unnaive.MultinomialNB, unnaive.MaxEnt, unnaive.OrGate, unnaive.Rocchio])
def test_balanced_class_weights_are_sample_weights(one):
    X, y = small_data()
    sizes = np.bincount(y)
    balanced = one(class_weight="balanced").fit(X, y)
    weighted = one().fit(X, y, sample_weight=len(y) / (3 * sizes[y]))
    np.testing.assert_allclose(balanced.scores(X), weighted.scores(X), rtol=1e-10)
    given = one(class_weight={0: 2.0, 2: 3.0}).fit(X, y)
    np.testing.assert_allclose(
        given.scores(X), one().fit(X, y, sample_weight=np.array([2.0, 1, 3])[y]).scores(X), rtol=1e-10
    )


def test_float_labels_come_back_as_they_went_in():
    X, y = small_data()
    predicted = unnaive.MultinomialNB().fit(X, y.astype(float)).predict(X)
    assert predicted.dtype == np.float64
    assert set(predicted.tolist()) <= {0.0, 1.0, 2.0}


def test_a_broken_matrix_is_refused_and_read_by_nobody():
    X = csr_array(np.eye(3))
    model = unnaive.MultinomialNB().fit(X, [0, 1, 2])
    X.indices[0] = 10**9
    for use in (model.predict, lambda X: unnaive.MaxEnt().fit(X, [0, 1, 2])):
        with pytest.raises(unnaive.BadData, match="X points outside of its 3 columns; build the matrix again"):
            use(X)
