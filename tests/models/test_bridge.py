"""The bridge between maximum entropy and naive Bayes: equal posteriors, and the way back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from scipy.special import log_softmax, logsumexp

import unnaive
from unnaive.base.errors import UnnaiveError
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting
from unnaive.linear.linear import Linear
from unnaive.linear.links import probabilities
from unnaive.models.maxent.bridge import to_maxent, to_naive_bayes
from unnaive.models.naive_bayes import MultinomialNB

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

UNIT = Weighting(norm="l1")


def posteriors(model, X):
    return probabilities(model.link, model.scores(X), exclusive=True)


@st.composite
def models(draw):
    """λ from nothing to tens of thousands, dense or sparse, with and without backgrounds."""
    n_classes, n_terms = draw(st.integers(1, 6)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.0, 1.0, 50.0, 20_000.0]))
    arcs = scale * rng.normal(size=(n_classes, n_terms))
    sparse = csr_array(arcs * (rng.random(arcs.shape) < 0.4))
    return Linear(
        sparse if draw(st.booleans()) else arcs,
        rng.normal(size=n_classes),
        rng.normal(size=n_classes) if draw(st.booleans()) else None,
        rng.normal(size=n_terms) if draw(st.booleans()) else None,
        UNIT,
    )


def some_documents(n_terms, seed=0):
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((20, n_terms), density=0.3, rng=rng, format="csr") * 5)
    return csr_array(X[np.diff(X.indptr) > 0])


@settings(deadline=None, max_examples=150)
@given(models())
def test_naive_bayes_has_the_posteriors_of_maximum_entropy(maxent):
    bayes, X = to_naive_bayes(maxent), some_documents(maxent.n_terms)
    assert logsumexp(bayes.bias) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(logsumexp(bayes.weights(), axis=1), 0, atol=1e-7)  # of logs up to 80,000
    scale = max(1.0, float(np.abs(maxent.weights()).max()))
    np.testing.assert_allclose(posteriors(bayes, X), posteriors(maxent, X), atol=1e-12 * scale)


@settings(deadline=None, max_examples=150)
@given(models())
def test_there_and_back_is_the_same_up_to_one_constant(maxent):
    bayes = to_naive_bayes(maxent)
    again = to_naive_bayes(to_maxent(bayes))
    scale = max(1.0, float(np.abs(maxent.weights()).max()))
    np.testing.assert_allclose(again.bias, bayes.bias, atol=1e-12 * scale)
    np.testing.assert_allclose(again.weights(), bayes.weights(), atol=1e-12 * scale)
    constant = to_maxent(bayes).weights() - (maxent.weights() + maxent.bias[:, None])
    np.testing.assert_allclose(constant, constant[0, 0], atol=1e-12 * scale)


def test_a_class_with_an_arc_from_each_term_may_have_large_negative_weights():
    """log (e^−2000 + e^−2001) = −2000 + log (1 + e^−1)."""
    arcs = csr_array(np.array([[-2000.0, -2001.0]]))
    bayes = to_naive_bayes(Linear(arcs, np.zeros(1), weighting=UNIT))
    np.testing.assert_allclose(bayes.weights()[0], [-np.log(1 + np.exp(-1)), -1 - np.log(1 + np.exp(-1))], atol=1e-9)


def test_by_hand():
    """exp λ = 1, 3 | 2, 2: joint 1/8, 3/8 | 2/8, 2/8."""
    bayes = to_naive_bayes(Linear(np.log([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2), weighting=UNIT))
    np.testing.assert_allclose(np.exp(bayes.bias), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(bayes.weights()), [[0.25, 0.75], [0.5, 0.5]])


def test_posteriors_of_trained_naive_bayes_survive_to_1e_12():
    rng = np.random.default_rng(0)
    X, Y = csr_array(rng.poisson(0.4, size=(80, 40))), csr_array(np.eye(4)[rng.integers(4, size=80)])
    Z = UNIT.apply(X)
    bayes = replace(MultinomialNB(alpha=1e-5).rule(Counts.of(Z, Y)), weighting=UNIT)
    known = csr_array(X[np.diff(X.indptr) > 0])
    np.testing.assert_allclose(posteriors(to_maxent(bayes), known), posteriors(bayes, known), atol=1e-12)
    np.testing.assert_allclose(to_naive_bayes(to_maxent(bayes)).bias, bayes.bias, atol=1e-12)


def test_an_unknown_document_gets_the_prior_from_what_gis_trained():
    X, y = [[4, 0, 0], [3, 1, 0], [0, 5, 0], [2, 0, 2], [0, 0, 0]], ["a", "a", "b", "a", "b"]
    model = unnaive.MaxEnt(solver="gis", early_stopping=False, tol=1e-3).fit(X, y)
    bayes = model.to_naive_bayes()
    expected = np.exp(log_softmax(bayes.bias))
    np.testing.assert_allclose(model.predict_proba([[0, 0, 0]])[0], expected, atol=1e-12)
    np.testing.assert_allclose(posteriors(bayes, csr_array([[0, 0, 0]]))[0], expected, atol=1e-12)
    assert abs(expected[0] - 0.5) > 0.01


def test_a_class_that_cannot_be_stays_so():
    counts = Counts.of(csr_array([[1.0, 0.0], [0.5, 0.5]]), csr_array([[1, 0, 0], [0, 1, 0]]))
    bayes = replace(MultinomialNB().rule(counts), weighting=UNIT)
    for model in (to_maxent(bayes), to_naive_bayes(to_maxent(bayes))):
        shares = posteriors(model, csr_array([[3, 1], [0, 0]]))
        assert (shares[:, 2] == 0).all()
        assert np.isfinite(shares).all()


def test_estimators_cross_the_bridge():
    X, y = np.array([[2, 0], [1, 3], [0, 1]]), ["a", "b", "b"]
    bayes = unnaive.MultinomialNB().fit(X / X.sum(axis=1, keepdims=True), y)
    maxent = bayes.to_maxent()
    assert maxent.bias.tolist() == [0, 0]
    unit = X / X.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posteriors(maxent, csr_array(X)), bayes.predict_proba(unit), atol=1e-12)


@pytest.mark.parametrize(
    "model", [Linear(np.ones((1, 1)), np.zeros(1)), Linear(np.ones((1, 1)), np.zeros(1), None, None, UNIT, "log-odds")]
)
def test_other_models_are_refused_in_one_sentence(model):
    for cross in (to_maxent, to_naive_bayes):
        with pytest.raises(UnnaiveError, match="documents of unit length and exclusive classes"):
            cross(model)
