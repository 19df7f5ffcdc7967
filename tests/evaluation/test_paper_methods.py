"""Methods that only the papers' tables use: those of Dumais et al. (1998), and related work of the other papers."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import betaln
from scipy.stats import poisson

from unnaive.papers.dumais import PARAMETER_PRIOR, SAMPLE_SIZE, similarity_to_means, tree_probabilities
from unnaive.papers.related_work import RELATED, good_turing, predict_poisson, witten_bell


def toy(seed, n=90, terms=12, classes=3):
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, n)
    X = random.poisson(0.5, (n, terms))
    X[np.arange(n), labels] += 2
    return csr_array(X), csr_array(np.eye(classes, dtype=np.int64)[labels]), labels


def plain_tree(rows, inside, wanted, size):
    """The recursion written out: the evidence of a leaf is a ratio of beta functions."""

    def evidence(members, size):
        return betaln(size / 2 + members.sum(), size / 2 + (~members).sum()) - betaln(size / 2, size / 2)

    gains = [
        evidence(inside[rows[:, t]], size / 2)
        + evidence(inside[~rows[:, t]], size / 2)
        - evidence(inside, size)
        + np.log(PARAMETER_PRIOR)
        for t in range(rows.shape[1])
    ]
    best = int(np.argmax(gains))
    if gains[best] <= 0:
        return (inside.sum() + size / 2) / (len(inside) + size)
    side = rows[:, best] == wanted[best]
    return plain_tree(rows[side], inside[side], wanted, size / 2)


@pytest.mark.parametrize("seed", range(3))
def test_bayesian_trees_split_while_the_posterior_rises(seed):
    random = np.random.default_rng(seed)
    rows = random.random((400, 6)) < 0.3
    inside = (rows[:, 0] & ~rows[:, 1]) ^ (random.random(400) < 0.05)
    found = tree_probabilities(rows, inside, rows[:60])
    assert found == pytest.approx([plain_tree(rows, inside, wanted, SAMPLE_SIZE) for wanted in rows[:60]], abs=1e-12)
    assert len(set(found.round(12))) >= 3


def test_find_similar_is_the_jaccard_similarity_to_the_mean_document():
    X, Y, labels = toy(0)
    documents, _, _ = toy(1, n=4)
    weights = np.log(90 / (X.toarray() > 0).sum(axis=0))
    mean = (X.toarray() * weights)[labels == 2].mean(axis=0)
    x = documents.toarray()[3] * weights
    assert similarity_to_means(X, Y, documents)[3, 2] == pytest.approx(
        x @ mean / (x @ x + mean @ mean - x @ mean), rel=1e-12
    )


@pytest.mark.parametrize("smooth", [witten_bell, good_turing])
def test_smoothed_probabilities_sum_to_one_and_none_is_zero(smooth):
    counts = np.array([[5.0, 1, 1, 1, 2, 0, 0], [1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 3]])
    shares = smooth(counts)
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (shares > 0).all()
    assert (np.diff(shares[0, [1, 4, 0]]) > 0).all()  # the order of the counts 1, 2, 5


def test_poisson_naive_bayes_is_a_product_of_poisson_probabilities():
    X, Y, labels = toy(2)
    documents, _, _ = toy(3, n=15)
    scores = [
        np.log((labels == c).mean())
        + poisson.logpmf(
            documents.toarray(), (X.toarray()[labels == c].sum(axis=0) + 1) / ((labels == c).sum() + 1)
        ).sum(axis=1)
        for c in range(3)
    ]
    assert predict_poisson(X, Y, documents).tolist() == np.argmax(scores, axis=0).tolist()


@pytest.mark.parametrize("label", RELATED)
def test_related_methods_find_the_class_that_a_term_tells(label):
    pytest.importorskip("sklearn.svm", reason="needs scikit-learn")
    X, Y, _ = toy(4)
    documents, _, truth = toy(5, n=200)
    found = RELATED[label](X, Y, documents)
    assert (found == truth).mean() > 0.75
    assert found.tolist() == RELATED[label](X, Y, documents).tolist()
