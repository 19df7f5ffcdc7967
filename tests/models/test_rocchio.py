"""Rocchio against its definition written out, and what of it is exact online."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.data.counts import Counts
from unnaive.models.rocchio import Rocchio, RocchioCounts

RNG = np.random.default_rng(0)
X, Y = csr_array(RNG.integers(0, 4, (15, 8))), csr_array(RNG.integers(0, 2, (15, 3)))


def by_definition(unit, beta=16, gamma=4):
    dense, labels = X.toarray().astype(float), Y.toarray() > 0
    idf = np.log(len(dense) / (dense > 0).sum(axis=0))
    weighted = dense * idf
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    z = weighted / np.where(lengths > 0, lengths, 1)
    source = z if unit else weighted
    rows = [
        np.maximum(beta * source[own].mean(axis=0) - gamma * source[~own].mean(axis=0), 0)
        for own in labels.T
    ]  # fmt: skip
    return z @ np.array([row / np.linalg.norm(row) for row in rows]).T


def test_scores_are_cosines_with_the_centroids_of_the_definition():
    assert Rocchio().learn(X, Y).scorer.scores(X) == pytest.approx(by_definition(unit=True), abs=1e-12)
    assert RocchioCounts().rule(Counts.of(X, Y)).scores(X) == pytest.approx(by_definition(unit=False), abs=1e-12)


def test_counts_version_is_exact_in_parts_and_the_documents_version_is_not():
    parts = Counts.of(X[:7], Y[:7]) + Counts.of(X[7:], Y[7:])
    assert np.array_equal(RocchioCounts().rule(parts).scores(X), RocchioCounts().rule(Counts.of(X, Y)).scores(X))
    assert not np.allclose(
        Rocchio().learn(X[:7], Y[:7]).scorer.weighting.idf, Rocchio().learn(X, Y).scorer.weighting.idf
    )


def test_class_without_documents_class_of_all_documents_and_unknown_document():
    labels = csr_array(np.column_stack([np.ones(15, int), np.zeros(15, int)]))
    scores = Rocchio().learn(X, labels).scorer.scores(csr_array(np.vstack([X.toarray()[0], np.zeros(8, int)])))
    assert np.isfinite(scores).all()
    assert scores[:, 1].tolist() == [0, 0]
    assert scores[1].tolist() == [0, 0]


def test_weights_are_repetitions():
    weight = np.arange(15) % 3
    repeated = np.repeat(np.arange(15), weight)
    heavy = Rocchio().learn(X, Y, sample_weight=weight).scorer.scores(X)
    assert heavy == pytest.approx(Rocchio().learn(X[repeated], Y[repeated]).scorer.scores(X), abs=1e-12)


def test_bad_settings_are_refused():
    for model in (Rocchio, RocchioCounts):
        for beta in (0, float("inf")):
            with pytest.raises(
                UnnaiveError, match=f"beta of {model.traits.name} came as {beta}; give a number above 0"
            ):
                model(beta=beta).fit(X, Y.toarray())
        with pytest.raises(UnnaiveError, match=r"gamma of .* came as -1"):
            model(gamma=-1).fit(X, Y.toarray())
        with pytest.raises(BadData, match="give a larger beta"):
            model(beta=1e-300, gamma=1e300).fit(X, Y.toarray())
    with pytest.raises(UnknownName, match="no tf called 'log'; there are binary, raw"):
        RocchioCounts(tf="log").fit(X, Y.toarray())


@pytest.mark.parametrize("model", [Rocchio, RocchioCounts])
def test_all_weights_may_be_divided_by_a_number(model):
    """log(n / df) took n as at least 1, so weights with a sum below 1 gave other centroids."""
    y = Y.indices[Y.indptr[:-1].clip(max=Y.nnz - 1)]
    whole = model().fit(X, y, sample_weight=np.full(15, 1.0)).scores(X)
    assert model().fit(X, y, sample_weight=np.full(15, 1e-3)).scores(X) == pytest.approx(whole, abs=1e-12)


def test_a_term_of_all_documents_says_nothing_for_any_rounding():
    """An idf of 2e-16 is 0: documents of length 1 would magnify it."""
    weight = np.random.default_rng(0).random(30)
    documents = csr_array(np.column_stack([np.ones(30, int), np.arange(30) % 2]))
    model = Rocchio().fit(documents, np.arange(30) % 2, sample_weight=weight)
    assert model.scores([[5, 0]]).tolist() == [[0.0, 0.0]]
