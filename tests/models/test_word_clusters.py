"""Word clusters: against the definition of the loss, plain naive Bayes as the limit, laws of counting."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import MultinomialNB, WordClusterNB
from unnaive.base.errors import UnnaiveError
from unnaive.data.counts import Counts
from unnaive.models.word_clusters import _loss, _purity, cluster_words

SCHEMES = ("multiclass", "one-vs-rest")


def cluster_naive_bayes(X, Y, *, sample_weight=None, **settings):
    return WordClusterNB(**settings).rule(Counts.of(X, Y, sample_weight))


def random_documents(seed=0, n_docs=60, n_terms=12, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    X = random.poisson(0.3 + 2 * random.random((n_classes, n_terms))[y])
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y])


def divergence_to_the_mean(one, other):
    """P(a)·KL(P(C|a) ‖ mean) + P(b)·KL(P(C|b) ‖ mean), times all counts: equation 1.3 of the thesis."""
    mean = (one + other) / (one + other).sum()
    return sum(part.sum() * np.sum(part / part.sum() * np.log(part / part.sum() / mean)) for part in (one, other))


def test_loss_is_the_average_divergence_to_the_mean():
    sums = np.random.default_rng(0).random((5, 4)) + 0.1
    for one in range(5):
        got = _loss(sums, _purity(sums), one)
        assert got == pytest.approx([divergence_to_the_mean(sums[one], sums[other]) for other in range(5)], abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_each_merge_is_the_one_that_loses_least(seed):
    counts = np.random.default_rng(seed).integers(0, 9, (9, 3)).astype(float) + 0.01
    expected = [[0], [1], [2]]
    for word in range(3, 9):
        expected.append([word])
        pairs = [(a, b) for a in range(4) for b in range(a)]
        sums = [counts[words].sum(axis=0) for words in expected]
        a, b = min(pairs, key=lambda pair: divergence_to_the_mean(sums[pair[0]], sums[pair[1]]))
        expected[b] += expected.pop(a)
    found = cluster_words(counts, 3)
    assert {frozenset(np.flatnonzero(found == k)) for k in range(3)} == {frozenset(words) for words in expected}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_as_many_clusters_as_terms_is_naive_bayes(scheme):
    X, Y = random_documents()
    plain = MultinomialNB(scheme=scheme).rule(Counts.of(X, Y))
    assert cluster_naive_bayes(X, Y, clusters=12, scheme=scheme).scores(X) == pytest.approx(plain.scores(X), abs=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_of_documents_is_irrelevant_and_weights_are_repetitions(scheme):
    X, Y = random_documents()
    scores = cluster_naive_bayes(X, Y, clusters=4, scheme=scheme).scores(X)
    order = np.random.default_rng(1).permutation(X.shape[0])
    assert cluster_naive_bayes(X[order], Y[order], clusters=4, scheme=scheme).scores(X) == pytest.approx(scores)
    weight = np.arange(X.shape[0]) % 3
    rows = np.repeat(np.arange(X.shape[0]), weight)
    weighted = cluster_naive_bayes(X, Y, clusters=4, scheme=scheme, sample_weight=weight).scores(X)
    assert cluster_naive_bayes(X[rows], Y[rows], clusters=4, scheme=scheme).scores(X) == pytest.approx(weighted)


def test_terms_that_were_not_clustered_are_ignored():
    X, Y = random_documents()
    model = cluster_naive_bayes(X, Y, clusters=3, terms=5)
    ignored = np.flatnonzero(model.weighting.idf == 0)
    assert len(ignored) == 7
    other = csr_array(X.toarray() + np.isin(np.arange(12), ignored))
    assert model.scores(other) == pytest.approx(model.scores(X))


def test_a_single_class_is_told_apart_from_the_documents_without_it():
    X, Y = csr_array([[3, 0, 2, 0], [1, 0, 1, 0], [0, 2, 0, 2], [0, 1, 0, 1]]), csr_array([[1], [1], [0], [0]])
    weights = cluster_naive_bayes(X, Y, clusters=2, scheme="one-vs-rest").weights()[0]
    assert weights[0] == weights[2] > 0 > weights[1] == weights[3]


def test_words_that_never_occurred_and_bad_settings():
    X, Y = csr_array([[1, 0], [2, 0]]), csr_array([[1, 0], [0, 1]])
    assert np.isfinite(cluster_naive_bayes(X, Y).scores(csr_array([[0, 3]]))).all()
    with pytest.raises(UnnaiveError, match="clusters of word-clusters came as 0; give a number from 1"):
        WordClusterNB(clusters=0).fit(X, [0, 1])
