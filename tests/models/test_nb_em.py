"""EM over unlabelled documents: λ = 0 is naive Bayes, the objective never falls, unlabelled documents teach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import unnaive
from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.data.partly_labelled import read_partly_labelled

pytestmark = pytest.mark.filterwarnings("ignore:.*have the label −1")


def documents(n: int = 120, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """Three classes, each with its own favourite terms among twelve."""
    draw = np.random.default_rng(seed)
    y = draw.integers(3, size=n)
    shares = np.full((3, 12), 1.0)
    for c in range(3):
        shares[c, 4 * c : 4 * c + 4] = 3.0
    X = np.stack([draw.multinomial(8, shares[c] / shares[c].sum()) for c in y])
    return csr_array(X), y


@pytest.mark.parametrize("fit_prior", [True, False])
def test_weight_zero_is_naive_bayes_on_the_labelled(fit_prior: bool) -> None:
    X, y = documents()
    partly = np.where(np.arange(len(y)) < 30, y, -1)
    em = unnaive.NaiveBayesEM(unlabelled_weight=0, fit_prior=fit_prior).fit(X, partly)
    plain = unnaive.MultinomialNB(alpha=0.1, fit_prior=fit_prior).fit(X[:30], y[:30])
    np.testing.assert_array_equal(em.predict_joint_log_proba(X), plain.predict_joint_log_proba(X))
    full = unnaive.NaiveBayesEM(unlabelled_weight=1).fit(X, y)  # nothing to fill in
    np.testing.assert_array_equal(
        full.predict_joint_log_proba(X), unnaive.MultinomialNB(alpha=0.1).fit(X, y).predict_joint_log_proba(X)
    )


@pytest.mark.parametrize("weight", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls(weight: float, seed: int) -> None:
    X, y = documents(seed=seed)
    partly = np.where(np.arange(len(y)) < 9, y, -1)
    em = unnaive.NaiveBayesEM(unlabelled_weight=weight, tol=1e-12, max_iter=40).fit(X, partly)
    rises = np.diff([one["objective"] for one in em.history_])
    assert len(rises) > 3
    assert (rises > -1e-9 * abs(em.history_[0]["objective"])).all()  # rounding of sums of some thousand logarithms


def test_one_step_by_hand() -> None:
    """Two labelled documents [1 0] a and [0 1] b, one unlabelled [1 0]; α = 1, λ = 1.

    Naive Bayes: p(t1|a) = 2/3, p(t1|b) = 1/3, priors alike: q(a) = 2/3. Then n_a = 5/3, n_b = 4/3; p(a) = 5/9;
    N_a = (5/3, 0): p(t1|a) = (8/3)/(11/3) = 8/11; N_b = (1/3, 1): p(t1|b) = (4/3)/(10/3) = 2/5.
    """
    em = unnaive.NaiveBayesEM(unlabelled_weight=1, alpha=1, max_iter=2, tol=1e-15)
    em.fit([[1, 0], [0, 1], [1, 0]], ["a", "b", None])
    joint = np.exp(em.predict_joint_log_proba([[1, 0], [0, 1]]))
    np.testing.assert_allclose(joint, [[5 / 9 * 8 / 11, 4 / 9 * 2 / 5], [5 / 9 * 3 / 11, 4 / 9 * 3 / 5]], rtol=1e-12)


def test_unlabelled_documents_teach() -> None:
    """Where classes are the clusters, twelve labels and many unlabelled documents beat twelve labels."""
    X, y = documents(600, seed=5)
    partly = np.where(np.arange(600) < 12, y, -1)
    alone = unnaive.NaiveBayesEM(unlabelled_weight=0).fit(X, partly).score(X[12:], y[12:])
    both = unnaive.NaiveBayesEM(unlabelled_weight=1).fit(X, partly).score(X[12:], y[12:])
    assert both > alone + 0.02


def test_both_entrances_and_every_way_of_missing() -> None:
    texts = ["good ball", "fair vote", "ball game", "vote count"]
    model = unnaive.TextClassifier("nb-em", unlabelled_weight=1.0).fit(texts, ["sport", "politics", None, None])
    assert model.predict(["game", "count"]).tolist() == ["sport", "politics"]
    assert list(model.classes_) == ["politics", "sport"]
    with pytest.warns(UnnaiveWarning, match="1 of 4 documents have the label −1, which is read as no label"):
        assert read_partly_labelled([0, 1, -1, 1], 4).classes == (0, 1)
    assert read_partly_labelled([0, 1, -1, None], 4).classes == (-1, 0, 1)  # None says what is missing
    nan = float("nan")
    for y in (["a", "b", None], np.array(["a", "b", None], object), [0, 1, -1], [0.0, 1.0, nan], np.array([0, 1, -1])):
        assert read_partly_labelled(y, 3).Y.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
        unnaive.NaiveBayesEM().fit([[1, 0], [0, 1], [1, 0]], y)
    with pytest.raises(BadData, match="no document has a label"):
        unnaive.NaiveBayesEM().fit([[1], [1]], [None, None])
    with pytest.raises(BadData):  # only models that say so take documents without a label
        unnaive.TextClassifier("multinomial").fit(texts, ["sport", "politics", None, None])


def test_calibration_goes_by_the_labelled() -> None:
    X, y = documents(90)
    texts = [" ".join(f"w{t}" for t in np.repeat(np.arange(12), row)) for row in X.toarray()]
    labels = [f"c{c}" if row < 45 else None for row, c in enumerate(y)]
    model = unnaive.TextClassifier("nb-em", calibrate="temperature").fit(texts, labels)
    shares = model.predict_proba(texts)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
