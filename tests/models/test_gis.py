"""Generalised iterative scaling: the paper's update, by hand and by laws."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.data import products
from unnaive.data.weighting import Weighting
from unnaive.models.maxent import gis
from unnaive.models.maxent.gis import Scaling

UNIT = Weighting(norm="l1")


def random_problem(n_docs=60, n_terms=30, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    targets = rng.integers(n_classes, size=n_docs)
    rates = rng.gamma(0.3, size=(n_classes, n_terms))
    return csr_array(rng.poisson(rates[targets])), targets


def scaling(X, targets, n_classes, weight=None, weighting=UNIT):
    weight = np.ones(len(targets)) if weight is None else weight
    return Scaling(weighting.apply(csr_array(X)), np.asarray(targets), n_classes, weight, weighting)


def likelihoods(run, *, tol=0.0, max_iter=200):
    return np.array([step.log_likelihood for step in run.steps(tol=tol, max_iter=max_iter)])


def dense_gis(Z, targets, n_classes, iterations):
    """The paper's iteration with full tables: λ += log(observed / expected) where observed > 0."""
    onehot = np.eye(n_classes)[targets]
    observed, weights = onehot.T @ Z, np.zeros((n_classes, Z.shape[1]))
    for _ in range(iterations):
        scores = Z @ weights.T
        posteriors = np.exp(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
        expected = posteriors.T @ Z
        weights[observed > 0] += np.log(observed[observed > 0] / expected[observed > 0])
    return weights


def test_one_step_by_hand():
    """Documents a, b of class 0 and b of class 1, all posteriors 1/2: expected a .5, b 1; observed a 1, b 1 | b 1."""
    run = scaling([[1, 0], [0, 1], [0, 1]], [0, 0, 1], 2)
    first, second = run.steps(tol=0.0, max_iter=1)
    assert first.log_likelihood == pytest.approx(np.log(0.5))
    np.testing.assert_allclose(run.cells.to_table(second.point).toarray(), [[np.log(2), 0], [0, 0]], atol=1e-15)
    assert second.log_likelihood == pytest.approx((np.log(2 / 3) + 2 * np.log(0.5)) / 3)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 21, 40])  # of 40 classes some terms have lists of 8 cells and more
def test_iterations_are_those_of_full_tables(n_classes):
    X, targets = random_problem(n_docs=300, n_classes=n_classes)
    run = scaling(X, targets, n_classes)
    *_, last = run.steps(tol=-np.inf, max_iter=25)
    expected = dense_gis(UNIT.apply(X).toarray(), targets, n_classes, 25)
    np.testing.assert_allclose(run.cells.to_table(last.point).toarray(), expected, atol=1e-10)


@pytest.mark.parametrize("weighting", [UNIT, Weighting(), Weighting("binary")], ids=["unit length", "counts", "binary"])
@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(weighting, seed):
    X, targets = random_problem(seed=seed)
    weight = np.random.default_rng(seed).random(len(targets))
    rises = np.diff(likelihoods(scaling(X, targets, 5, weight, weighting)))
    assert len(rises) > 50
    assert (rises >= -1e-13).all()  # rounding of a mean around 1


def test_the_likelihood_never_falls_with_a_prior_either():
    X, targets = random_problem()
    run = Scaling(UNIT.apply(X), targets, 5, np.ones(60), UNIT, prior=True)
    shares = np.bincount(targets) / 60
    found = likelihoods(run)
    assert found[0] == pytest.approx(shares @ np.log(shares))
    assert (np.diff(found) >= -1e-13).all()


def test_separable_documents_go_to_certainty_and_weights_without_bound():
    run = scaling([[3, 1], [1, 3]], [0, 1], 2)
    steps = list(run.steps(tol=0.0, max_iter=3000))
    assert (np.diff([step.log_likelihood for step in steps]) >= -1e-15).all()
    assert steps[-1].log_likelihood > -1e-3
    assert np.isfinite(steps[-1].point).all()


def test_weights_in_the_tens_of_thousands_overflow_nothing():
    from unnaive.linear.linear import Linear

    X, targets = random_problem()
    huge = Linear(np.random.default_rng(0).normal(size=(5, 30)) * 30_000, np.zeros(5), weighting=UNIT)
    run = Scaling(UNIT.apply(X), targets, 5, np.ones(60), UNIT, huge)
    steps = list(run.steps(tol=0.0, max_iter=50))
    assert np.abs(steps[0].point).max() > 20_000
    assert all(np.isfinite(step.point).all() and np.isfinite(step.log_likelihood) for step in steps)
    assert (np.diff([step.log_likelihood for step in steps]) >= -1e-9).all()  # of a mean around −7,000
    assert np.isfinite(run.model(steps[-1].point).scores(X)).all()


def test_a_class_absent_from_the_features_keeps_weights_of_zero():
    run = scaling([[2, 0], [0, 1], [0, 0], [1, 1]], [0, 1, 2, 0], 3)  # the document of class 2 is empty
    *_, last = run.steps(tol=0.0, max_iter=50)
    assert run.cells.to_table(last.point).toarray()[2].tolist() == [0, 0]
    assert (np.diff(likelihoods(run)) >= -1e-13).all()


def test_a_class_without_documents_is_impossible():
    run = scaling([[2, 0], [0, 1]], [0, 2], 3)
    *_, last = run.steps(tol=0.0, max_iter=50)
    scores = run.model(last.point).scores(csr_array([[1, 0], [0, 0]]))
    assert (scores[:, 1] == -np.inf).all()
    assert run.offset.dtype == np.float64
    assert np.isfinite(scores[:, [0, 2]]).all()


def test_duplicates_are_weights():
    X, targets = random_problem()
    twice = np.repeat(np.arange(60), 1 + np.arange(60) % 2)
    once = likelihoods(scaling(X, targets, 5, 1.0 + np.arange(60) % 2), max_iter=30)
    np.testing.assert_allclose(likelihoods(scaling(X[twice], targets[twice], 5), max_iter=30), once, rtol=1e-12)


def test_an_empty_document_changes_no_weight():
    X, targets = random_problem()
    with_empty = csr_array(np.vstack([X.toarray(), np.zeros((1, 30))]))
    runs = scaling(X, targets, 5), scaling(with_empty, np.append(targets, 0), 5)
    one, other = (list(run.steps(tol=-np.inf, max_iter=20))[-1] for run in runs)
    np.testing.assert_allclose(other.point, one.point, atol=1e-12)


def test_it_stops_when_the_likelihood_hardly_rises():
    X, targets = random_problem()
    rises = np.diff(likelihoods(scaling(X, targets, 5), tol=1e-3))
    assert rises[-1] < 1e-3 <= rises[:-1].min()


def test_features_below_zero_are_refused():
    with pytest.raises(BadData, match="GIS needs non-negative features"):
        Scaling(csr_array([[-1.0]]), np.array([0]), 1, np.ones(1), UNIT)


@pytest.mark.skipif(products.NATIVE is None, reason="built without the native pass")
@pytest.mark.parametrize("chunk", [8, 64, 5000])
@pytest.mark.parametrize("counts", [True, False], ids=["counts", "any values"])  # counts are packed
def test_expectations_do_not_depend_on_the_number_of_threads(monkeypatch, chunk, counts):
    rng = np.random.default_rng(3)
    X = rng.random((300, 90)) * (rng.random((300, 90)) < np.linspace(0.003, 0.1, 90))  # rare terms have lists of cells
    X = csr_array(np.ceil(9 * X) if counts else X)
    targets = rng.integers(40, size=300).astype(np.int32)
    monkeypatch.setattr(gis, "CHUNK_CELLS", 40 * chunk)
    scaling = gis.Scaling(X, targets, 40, rng.random(300), Weighting())
    weights = scaling.first + rng.normal(size=len(scaling.first))
    found = [
        scaling.documents.expectations(weights, scaling.targets, scaling.weight, scaling.offset, threads=threads)
        for threads in (1, 2, 3, 8)
    ]
    for likelihood, expected in found[1:]:
        assert likelihood == found[0][0]
        np.testing.assert_array_equal(expected, found[0][1])
    likelihood, expected = scaling.documents._expectations(weights, scaling.targets, scaling.weight, scaling.offset)
    assert found[0][0] == pytest.approx(likelihood, rel=3e-14)  # measured: 1e-15, and 8e-15 below
    np.testing.assert_allclose(found[0][1], expected, rtol=3e-14)
