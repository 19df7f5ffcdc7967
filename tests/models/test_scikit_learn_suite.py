"""scikit-learn's own tests of naive Bayes, with our classes in the place of theirs; what differs carries its reason."""

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest
import sklearn

import unnaive

SUITE = Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py"
OURS = ("MultinomialNB", "BernoulliNB", "ComplementNB")

ALPHA = "a smoothing of 0, or one for each term, is refused: log 0 is no weight"
UNLIKE = {
    "test_alpha": ALPHA,
    "test_alpha_vector": ALPHA,
    "test_check_alpha": "scikit-learn's private _check_alpha; ours is checked by its declared range",
}
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
    # differences of 1e-14, where the log-probability itself is nearly 0; from 1.9 on the test allows 1e-12
    UNLIKE["test_predict_joint_proba"] = "it asks for the rounding of scikit-learn's own subtraction"


def load_suite():
    spec = importlib.util.spec_from_file_location("scikit_learn_naive_bayes", SUITE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    theirs = {getattr(module, name): getattr(unnaive, name) for name in OURS}
    for name in OURS:
        setattr(module, name, getattr(unnaive, name))
    return module, theirs


def cases():
    """Every test of the suite with its parameters, our classes put in."""
    if not SUITE.exists():
        return [pytest.param(None, {}, marks=pytest.mark.skip(reason="this scikit-learn ships no tests"))]
    module, theirs = load_suite()
    gaussian = {module.GaussianNB, module.CategoricalNB}
    found = []
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if not name.startswith("test_") or "gnb" in name or "categorical" in name:
            continue
        for parameters in combinations(function):
            if any(isinstance(value, type) and value in gaussian for value in parameters.values()):
                continue
            given = {
                key: theirs.get(value, value) if isinstance(value, type) else value for key, value in parameters.items()
            }
            reason = UNLIKE.get(name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            shown = ",".join(getattr(value, "__name__", str(value)) for value in given.values())
            found.append(pytest.param(function, given, id=f"{name}[{shown}]", marks=marks))
    return found


def combinations(function):
    """The parameters that the marks of a test ask for, each combination as a dict."""
    made = [{}]
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args[0], mark.args[1]
            names = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
            rows = [value if len(names) > 1 else (value,) for value in values]
            made = [{**one, **dict(zip(names, row, strict=True))} for one in made for row in rows]
    return made


@pytest.mark.parametrize(("function", "given"), cases())
def test_of_scikit_learn(function, given):
    if "global_random_seed" in inspect.signature(function).parameters:
        given = {**given, "global_random_seed": 42}
    function(**given)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB"])
def test_attributes_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (40, 9)), np.concatenate([np.arange(3), rng.integers(0, 3, 37)])
    ours, theirs = getattr(unnaive, name)(alpha=0.5).fit(X, y), getattr(sklearn.naive_bayes, name)(alpha=0.5).fit(X, y)
    for attribute in ("classes_", "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"):
        np.testing.assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-12, err_msg=attribute)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12)
