"""Every estimator is at home in scikit-learn: its own checks, without exception, and its tools."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

import unnaive
from unnaive.models.estimator import Model


def test_check_estimator(check):
    """Each of scikit-learn's checks of an estimator by itself; conftest.py names the two that cannot hold, and why."""
    estimator, function = check
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (SkipTestWarning, RuntimeWarning))
        function(clone(estimator))


def test_unfitted_says_so(case, documents):
    for method in ("predict", "predict_proba"):
        if hasattr(case.estimator, method):
            with pytest.raises(NotFittedError):
                getattr(clone(case.estimator), method)(documents.X)


def test_in_a_pipeline(case):
    texts, labels = ["good ball", "fair vote", "ball game", "vote law"], ["sport", "politics"] * 2
    pipeline = make_pipeline(CountVectorizer(), clone(case.estimator)).fit(texts, labels)
    assert pipeline.predict(["the ball game", "a law"]).tolist() == ["sport", "politics"]


def test_in_cross_validation(case, documents):
    scores = cross_val_score(clone(case.estimator), documents.X, documents.y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.4  # of three classes, the largest is half


@pytest.mark.slow
def test_in_grid_search(case, documents):
    name, value = next(iter(case.estimator.get_params().items()))
    search = GridSearchCV(clone(case.estimator), {name: [value]}, cv=2).fit(documents.X, documents.y)
    np.testing.assert_array_equal(
        search.predict(documents.X),
        clone(case.estimator).fit(documents.X, documents.y).predict(documents.X),
    )


@pytest.mark.slow
def test_in_multi_output_weights_are_repetitions(weighted, documents):
    weight = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weight)
    one = MultiOutputClassifier(clone(weighted.estimator)).fit(documents.X, documents.Y, sample_weight=weight)
    other = MultiOutputClassifier(clone(weighted.estimator)).fit(documents.X[repeated], documents.Y[repeated])
    np.testing.assert_array_equal(one.predict(documents.X), other.predict(documents.X))


def test_names_of_columns_are_kept_and_checked(case, documents):
    frame = pd.DataFrame(documents.X.toarray(), columns=[f"term{t}" for t in range(12)])
    model = clone(case.estimator).fit(frame, documents.y)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_every_estimator_is_under_the_laws(all_cases):
    homes = [getattr(unnaive, name) for name in dir(unnaive) if name not in ("__version__", "backend")]
    exported = {home for home in homes if isinstance(home, type) and issubclass(home, Model)}
    assert exported == {type(case.estimator) for case in all_cases}


def test_every_opt_out_names_a_law(all_cases):
    laws = {
        name
        for file in Path(__file__).parent.glob("test_*.py")
        for name in re.findall(r"def test_(\w+)", file.read_text())
    }
    for case in all_cases:
        named = {name for name in case.unlike if not name.startswith("check_")}  # those are scikit-learn's own
        assert named <= laws, f"{case} opts out of a law that is not there"
