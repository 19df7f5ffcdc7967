"""Estimators × laws: each pair is a test with its own name. A law asks for the estimators it is about by argument.

case         every estimator
updatable    those that update, forget and merge
choosing     those that hold to what they chose when they are updated
counting     those that learn from counts
weighted     those that take sample weights
probable     those that give probabilities
margin       those with a decision function
check        every estimator with each of scikit-learn's own checks
"""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

HERE = Path(__file__).parent

ABOUT = {
    "case": lambda estimator: True,
    "updatable": lambda estimator: hasattr(estimator, "forget"),
    "choosing": lambda estimator: estimator.traits.keeps_choice,
    "counting": lambda estimator: hasattr(estimator, "from_counts"),
    "weighted": lambda estimator: has_fit_parameter(estimator, "sample_weight"),
    "probable": lambda estimator: hasattr(estimator, "predict_proba"),
    "margin": lambda estimator: hasattr(estimator, "decision_function"),
}


@cache
def cases():
    spec = importlib.util.spec_from_file_location("laws_estimators", HERE / "estimators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CASES


def marks(case, law):
    skipped = [pytest.mark.skip(reason=case.unlike[law])] if law in case.unlike else []
    return skipped if is_quick(case) else [*skipped, pytest.mark.slow]


# The quick suite takes one estimator of each way to learn: sums of counts or of presence, weights of a gate, two
# solvers, and all documents at once.
QUICK = ("MultinomialNB", "BernoulliNB", "OrGate", "MaxEnt", "NBSVM", "HigherOrderSmoothing")


def is_quick(case):
    """Whether it is the first case of an estimator of the quick suite."""
    first = next(one for one in cases() if type(one.estimator) is type(case.estimator))
    return case is first and type(case.estimator).__name__ in QUICK


def pytest_generate_tests(metafunc):
    law = metafunc.function.__name__.removeprefix("test_")
    for argument, is_meant in ABOUT.items():
        if argument in metafunc.fixturenames:
            meant = [case for case in cases() if is_meant(case.estimator)]
            metafunc.parametrize(argument, [pytest.param(one, marks=marks(one, law), id=str(one)) for one in meant])
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", list(checks()))


NEGATIVE = "it trains on Gaussian blobs, whatever the tags say of negative values, and these are models of counts"
EXPECTED_FAILURES = {"check_class_weight_classifiers": NEGATIVE, "check_decision_proba_consistency": NEGATIVE}


def checks():
    """Left to the whole suite, but for one estimator that learns from counts and one that learns from documents."""
    quick = {case.estimator.traits.statistic: case for case in reversed(cases())}.values()
    for case in cases():
        later = [] if case in quick else [pytest.mark.slow]
        for estimator, check in estimator_checks_generator(case.estimator):
            name = check.func.__name__
            fails = EXPECTED_FAILURES.get(name)
            expected = [pytest.mark.xfail(reason=fails, strict=True)] if fails and applies(name, estimator) else []
            yield pytest.param((estimator, check), marks=[*marks(case, name), *later, *expected], id=f"{name}-{case}")


def applies(check, estimator):
    """Whether the check does anything: the second is only about estimators that have both methods."""
    both = hasattr(estimator, "decision_function") and hasattr(estimator, "predict_proba")
    return both or check != "check_decision_proba_consistency"


class Documents:
    """Counts X (n, 12), a label each, and the same with any number of labels each."""

    def __init__(self, X, y, Y):
        self.X, self.y, self.Y = X, y, Y

    def __len__(self):
        return len(self.y)

    def take(self, rows):
        return Documents(self.X[rows], self.y[rows], self.Y[rows])


@pytest.fixture(scope="session")
def documents():
    """60 documents of three overlapping classes; a few are empty, some have several labels, some none."""
    rng = np.random.default_rng(20)
    y = np.concatenate([np.arange(3), rng.choice(3, 57, p=[0.5, 0.3, 0.2])])
    rates = rng.gamma(0.7, 1.0, (3, 12))
    X = rng.poisson(rates[y])
    X[5] = X[40] = 0
    Y = np.eye(3, dtype=int)[y] | (rng.random((60, 3)) < 0.15)
    Y[7] = Y[31] = 0
    return Documents(csr_array(X), np.array(["politics", "science", "sport"])[y], Y)


@pytest.fixture(scope="session")
def all_cases():
    return cases()
