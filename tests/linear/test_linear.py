"""Linear, its links and its weighting: one sparse product, written out densely here."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.special import expit

from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.data.weighting import Weighting
from unnaive.linear import linear
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.linear.links import log_probabilities, probabilities


def random_linear(seed=0, n_classes=3, n_terms=7, **more):
    rng = np.random.default_rng(seed)
    arcs = csr_array(rng.normal(size=(n_classes, n_terms)) * (rng.random((n_classes, n_terms)) < 0.5))
    backgrounds = rng.normal(size=n_classes), rng.normal(size=n_terms)
    return Linear(arcs, rng.normal(size=n_classes), *backgrounds, **more)


def random_counts(seed=1, n_docs=9, n_terms=7):
    return np.random.default_rng(seed).poisson(0.7, (n_docs, n_terms))


def test_scores_are_bias_plus_evidence_of_arcs_and_backgrounds():
    model, X = random_linear(), random_counts()
    dense = model.sparse_weights.toarray() + model.class_offset[:, None] + model.term_offset
    np.testing.assert_allclose(model.weights(), dense, rtol=1e-14)
    np.testing.assert_allclose(model.weights(np.array([5, 2])), dense[:, [5, 2]], rtol=1e-14)
    np.testing.assert_allclose(model.scores(csr_array(X)), X @ dense.T + model.bias, rtol=1e-12)
    assert (model.n_classes, model.n_terms) == (3, 7)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_documents_are_divided_by_their_length_to_the_bit_as_scipy_sums(norm):
    rng = np.random.default_rng(0)
    X = csr_array((rng.random(3000) * 9, rng.integers(0, 500, 3000), [0, 0, 1, 40, 40, 1500, 3000, 3000]), (7, 500))
    squares = csr_array((X.data**2 if norm == "l2" else X.data, X.indices, X.indptr), X.shape).sum(axis=1)
    lengths = np.maximum(np.sqrt(squares) if norm == "l2" else squares, 1e-300)
    expected = X.data / np.repeat(lengths, np.diff(X.indptr))
    np.testing.assert_array_equal(Weighting("raw", norm=norm).apply(X).data, expected)


def test_backgrounds_may_be_absent_and_arcs_dense():
    arcs = np.array([[1.0, -2.0]])
    assert Linear(arcs, np.array([0.5])).scores(csr_array([[3, 1]])).tolist() == [[1.5]]
    assert Linear(csr_array(arcs), np.array([0.5])).weights().tolist() == arcs.tolist()


def test_an_empty_document_scores_the_bias():
    model = random_linear()
    np.testing.assert_array_equal(model.scores(csr_array((1, 7)))[0], model.bias)


def test_large_tables_stay_sparse_and_score_alike(monkeypatch):
    X, dense = csr_array(random_counts()), random_linear()
    monkeypatch.setattr(linear, "DENSE_CELLS", 0)
    sparse = random_linear()
    np.testing.assert_allclose(sparse.scores(X), dense.scores(X), rtol=1e-12)
    assert issparse(sparse._by_term)


def test_a_pickle_holds_no_second_copy_of_the_weights():
    model, X = random_linear(), csr_array(random_counts())
    before = len(pickle.dumps(model))
    scores = model.scores(X)
    assert len(pickle.dumps(model)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).scores(X), scores)  # noqa: S301


@pytest.mark.parametrize("arcs", [csr_array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])])
def test_arrays_make_an_equal_model(arcs):
    weighting = Weighting("log", np.array([1.0, 0.5]), "l2")
    model = Linear(arcs, np.array([0.1, 0.2]), np.zeros(2), np.ones(2), weighting, "log-odds")
    again = Linear.from_arrays(*model.to_arrays())
    X = csr_array([[1, 4], [0, 0]])
    np.testing.assert_array_equal(again.scores(X), model.scores(X))
    assert again.link == "log-odds"


def damaged(**changes):
    arrays, settings = random_linear().to_arrays()
    for name, value in changes.items():
        key = name.replace("__", ".")
        target = settings if key in settings else arrays
        target[key] = value(target[key]) if callable(value) else value
    return arrays, settings


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [3, 8]},
        {"shape": [3]},
        {"shape": "no"},
        {"link": "telepathy"},
        {"norm": "l7"},
        {"bias": lambda bias: bias[:-1]},
        {"bias": lambda bias: bias.astype(int)},
        {"term_offset": lambda values: values[:2]},
        {"weights__indices": lambda indices: indices + 100},
        {"weights__indices": lambda indices: indices - 100},
        {"weights__indices": lambda indices: indices.astype(float)},
        {"weights__indptr": lambda indptr: indptr[::-1].copy()},
        {"weights__indptr": lambda indptr: indptr[:-1]},
        {"weights__data": lambda data: data[:-1]},
        {"weights__data": lambda data: data[:, None]},
    ],
)
def test_damaged_arrays_are_refused_in_a_sentence(changes):
    with pytest.raises(BadModel, match="train it again"):
        Linear.from_arrays(*damaged(**changes))


def test_a_missing_array_is_refused():
    arrays, settings = random_linear().to_arrays()
    del arrays["bias"]
    with pytest.raises(BadModel, match="damaged"):
        Linear.from_arrays(arrays, settings)


def test_a_full_table_that_would_not_fit_is_refused():
    refuse_full_table(90, 30_000, "bernoulli")
    with pytest.raises(UnnaiveError, match="5000 classes × 300000 terms"):
        refuse_full_table(5_000, 300_000, "bernoulli")


SCORES = np.array([[0.0, 1.0, -2.0], [-800.0, -900.0, -1000.0], [30.0, 31.0, 29.0]])


@pytest.mark.parametrize("link", ["softmax", "log-odds", "noisy-or"])
def test_exclusive_probabilities_sum_to_one_and_keep_the_order(link):
    scores = np.abs(SCORES) if link == "noisy-or" else SCORES
    p = probabilities(link, scores, exclusive=True)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(np.exp(log_probabilities(link, scores, exclusive=True)), p, rtol=1e-12)


def test_each_class_by_itself():
    np.testing.assert_allclose(probabilities("log-odds", SCORES, exclusive=False), expit(SCORES), rtol=1e-12)
    tiny = np.array([[1e-20, 0.5]])
    np.testing.assert_allclose(
        probabilities("noisy-or", tiny, exclusive=False), [[1e-20, 1 - np.exp(-0.5)]], rtol=1e-15
    )
    assert log_probabilities("log-odds", np.array([[-1e4, 1e4]]), exclusive=False).tolist() == [[-1e4, 0.0]]


def test_softmax_scores_exclude_each_other_whatever_is_asked():
    p = probabilities("softmax", SCORES, exclusive=False)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_a_class_that_cannot_be_and_a_document_without_evidence():
    impossible = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    assert probabilities("softmax", impossible, exclusive=True).tolist() == [[1.0, 0.0], [0.5, 0.5]]
    assert probabilities("noisy-or", np.zeros((1, 4)), exclusive=True).tolist() == [[0.25] * 4]
    assert probabilities("log-odds", impossible[:1], exclusive=False).tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize("link", ["cosine", "margin"])
def test_scores_that_are_no_probabilities_say_so(link):
    with pytest.raises(UnnaiveError, match="use decision_function, or calibrate the model first"):
        probabilities(link, SCORES, exclusive=True)
