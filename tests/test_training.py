"""Training by name, and scores that can be ranked over documents."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

from unnaive.errors import UnknownName
from unnaive.evaluation.training import comparable, trained


def test_scheme_follows_the_labels():
    X, one, several = csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]), csr_array([[1, 1], [0, 0]])
    assert trained("multinomial", X, one).link == "softmax"
    assert trained("multinomial", X, several).link == "log-odds"
    assert trained("multinomial", X, one, scheme="one-vs-rest").link == "log-odds"


def test_unknown_settings_are_refused():
    with pytest.raises(UnknownName, match="no setting of svm called 'alpha'"):
        trained("svm", csr_array([[1]]), csr_array([[1]]), alpha=1)


def test_posterior_log_odds_are_exact_and_do_not_saturate():
    scores = np.random.default_rng(0).normal(0, 3, (50, 4)) - 1000  # log joint: posteriors are their softmax
    p = softmax(scores, axis=1)
    np.testing.assert_allclose(comparable("softmax", scores), np.log(p) - np.log1p(-p), atol=1e-9)
    sure = comparable("softmax", np.array([[0.0, -800.0], [0.0, -900.0]]))
    np.testing.assert_allclose(sure, [[800, -800], [900, -900]])


def test_other_scores_stay():
    scores = np.array([[0.3, -0.2]])
    assert comparable("margin", scores) is scores
    assert comparable("softmax", scores[:, :1]) is not None
