"""The view of squared word vectors: its kernel, its folded weights, and ridge regression against scikit-learn."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from unnaive import TextClassifier
from unnaive.data.word_vectors import WordVectors
from unnaive.models.auto import vector_views
from unnaive.models.auto.members import Training, fit_family
from unnaive.models.auto.squared_view import SquaredVectors, SquaredView
from unnaive.models.auto.views import SQUARES

RANDOM = np.random.default_rng(0)
WORDS = [f"w{n}" for n in range(40)]
VECTORS = WordVectors.of(WORDS, RANDOM.normal(size=(40, 6)) * np.arange(1, 7) + 0.5)
TERMS = VECTORS.over(VECTORS.words)
X = csr_array(RANDOM.poisson(0.3, size=(25, 40)))


def test_inner_products_of_documents_sum_the_squared_cosines_of_their_words():
    view = SquaredView.of(SquaredVectors(TERMS))
    Z = view.weighting.apply(X).toarray()
    rows = view.rows(X).toarray()
    expected = Z @ (view.units @ view.units.T) ** 2 @ Z.T
    np.testing.assert_allclose(rows @ rows.T, expected, rtol=1e-4, atol=1e-5)
    assert rows.shape[1] == SquaredVectors(TERMS).n_dims == 21


def test_folded_weights_score_as_the_squares_do():
    view = SquaredView.of(SquaredVectors(TERMS))
    weights, bias = RANDOM.normal(size=(3, 21)), RANDOM.normal(size=3)
    folded, offset = view.fold((weights, bias))
    expected = view.rows(X) @ weights.T + bias
    np.testing.assert_allclose(view.weighting.apply(X) @ folded.T + offset, expected, rtol=1e-4, atol=1e-4)


def test_whitened_vectors_have_length_1_and_no_common_direction():
    units = TERMS.whitened
    np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1, rtol=1e-5)
    assert np.linalg.norm(units.mean(axis=0)) < 0.5 * np.linalg.norm(TERMS.units.mean(axis=0))


def test_ridge_regression_is_that_of_scikit_learn():
    Z = RANDOM.normal(size=(30, 50)).astype(np.float32)
    targets, weight = np.arange(30) % 3, RANDOM.uniform(0.5, 2.0, 30)
    Y = np.eye(3)[targets]
    data = Training(csr_array(Z), csr_array(Z), csr_array(Y), weight, tol=1e-2, random_state=0, n_jobs=1)
    weights, bias = fit_family("ridge", (0.3,), data)
    mean = np.average(Z, axis=0, weights=weight)
    strength = 0.3 * np.average(((Z - mean) ** 2).sum(axis=1), weights=weight)
    peer = Ridge(alpha=strength).fit(Z, Y, sample_weight=weight)
    np.testing.assert_allclose(weights, peer.coef_, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(bias, peer.intercept_, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_the_view_is_tried_with_few_documents_only(monkeypatch):
    texts = [" ".join(RANDOM.choice(WORDS[:20] if n % 2 else WORDS[20:], 5)) for n in range(30)]
    labels = ["odd" if n % 2 else "even" for n in range(30)]

    def views():
        model = TextClassifier(budget="fast", word_vectors=VECTORS).fit(texts, labels)
        return {row["view"] for row in model.fitted_.provenance.recipe["report"]["tried"]}

    assert SQUARES in views()
    monkeypatch.setattr(vector_views, "MOST_DOCUMENTS", 29)
    assert SQUARES not in views()


@pytest.mark.slow
def test_its_solver_learns_from_so_many_documents_at_most():
    texts = [" ".join(RANDOM.choice(WORDS[:20] if n % 2 else WORDS[20:], 5)) for n in range(30)]
    model = TextClassifier(budget="fast", word_vectors=VECTORS).fit(
        texts, ["odd" if n % 2 else "even" for n in range(30)]
    )
    members = [member for member in model.fitted_.provenance.recipe["members"] if member["view"] == SQUARES]
    assert [member["documents"] for member in members] == [2_000] * len(members)
    assert members


def test_documents_without_words_of_the_list_have_weights_of_0():
    rows, labels = csr_array(np.zeros((6, 4), np.float32)), csr_array(np.eye(2)[[0, 1, 0, 1, 0, 0]])
    data = Training(rows, rows, labels, None, tol=1e-2, random_state=0, n_jobs=1)
    weights, bias = fit_family("ridge", (0.1,), data)
    assert not weights.any()
    np.testing.assert_allclose(bias, [4 / 6, 2 / 6])  # the class shares
