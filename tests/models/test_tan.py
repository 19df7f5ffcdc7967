"""Tree-augmented naive Bayes: against the definition by its network, Chow–Liu by enumeration, laws, storage."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.networks import check_scores_by_network

from unnaive.base.errors import BadModel, UnnaiveError
from unnaive.models.tan import FeatureTrees, TreeAugmentedNB, conditional_information, spanning_tree

SCHEMES = ("multiclass", "one-vs-rest")


def tan(X, Y, sample_weight=None, **settings):
    return TreeAugmentedNB(**settings).learn(X, Y, sample_weight=sample_weight).scorer


def random_documents(seed=0, n_docs=120, n_terms=6, n_classes=3):
    """Terms in pairs that depend on each other in a way that differs by class."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    X = (random.random((n_docs, n_terms)) < 0.2 + 0.2 * random.random((n_classes, n_terms))[y]).astype(int)
    X[:, 1] = np.where(random.random(n_docs) < 0.85, X[:, 0] ^ (y == 1), X[:, 1])
    X[:, 3] = np.where(random.random(n_docs) < 0.85, X[:, 2], X[:, 3])
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_are_log_probabilities_of_the_network(scheme):
    X, Y = random_documents()
    check_scores_by_network(tan(X, Y, features=5, scheme=scheme), X[:20], scheme)


def test_conditional_information_is_that_of_the_definition():
    random = np.random.default_rng(1)
    rows, states = random.integers(0, 2, (50, 3)), random.integers(0, 2, 50)
    both = np.stack([rows[states == s].T @ rows[states == s] for s in (0, 1)]).astype(float)
    got = conditional_information(both, np.bincount(states).astype(float))
    for i, j in combinations(range(3), 2):
        expected = 0.0
        for a, b, s in product((0, 1), repeat=3):
            p = np.mean((rows[:, i] == a) & (rows[:, j] == b) & (states == s))
            inside = states == s
            alone = [np.mean(rows[inside, k] == value) for k, value in ((i, a), (j, b))]
            if p > 0:
                expected += p * np.log(p / inside.mean() / (alone[0] * alone[1]))
        assert got[i, j] == pytest.approx(expected, abs=1e-12)
        assert got[j, i] == pytest.approx(expected, abs=1e-12)


def test_spanning_tree_is_the_heaviest_of_all():
    def weight(parents, strength):
        return sum(strength[i, p] for i, p in enumerate(parents) if p >= 0)

    for seed in range(5):
        strength = np.random.default_rng(seed).random((5, 5))
        strength += strength.T
        best = 0.0
        for parents in product(range(5), repeat=4):
            # node 0 is the root; a tree if every node reaches it
            full = (-1, *parents)
            reached = all(0 in _path(full, i) for i in range(5))
            best = max(best, weight(full, strength)) if reached else best
        assert weight(spanning_tree(strength), strength) == pytest.approx(best, abs=1e-12)


def _path(parents, node):
    seen = []
    while node >= 0 and node not in seen:
        seen.append(node)
        node = parents[node]
    return seen


def test_it_sees_what_naive_bayes_cannot():
    random = np.random.default_rng(0)
    rows = random.integers(0, 2, (600, 2))
    same = rows[:, 0] == rows[:, 1]
    Y = csr_array(np.stack([~same, same], axis=1).astype(int))
    predicted = tan(csr_array(rows), Y, features=2).scores(csr_array(rows)).argmax(axis=1)
    assert (predicted == same).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_weights_are_repetitions_and_order_is_irrelevant(scheme):
    X, Y = random_documents()
    weight = np.random.default_rng(0).integers(0, 4, X.shape[0])
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(X.shape[0]), weight))
    weighted = tan(X, Y, scheme=scheme, sample_weight=weight).scores(X)
    assert weighted == pytest.approx(tan(X[again], Y[again], scheme=scheme).scores(X), abs=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_arrays_give_the_same_scorer_again_and_damage_is_refused(scheme):
    X, Y = random_documents()
    model = tan(X, Y, features=4, scheme=scheme)
    arrays, settings = model.to_arrays()
    again = FeatureTrees.from_arrays(arrays, settings)
    assert np.array_equal(again.scores(X), model.scores(X))
    for name, array in arrays.items():
        for spoilt in (array[..., :-1], array[None], array.astype(np.complex128)):
            with pytest.raises(BadModel):
                FeatureTrees.from_arrays(arrays | {name: spoilt}, settings)
        wrong = array.copy()
        wrong.flat[0] = 99 if array.dtype.kind == "i" else np.nan
        with pytest.raises(BadModel):
            FeatureTrees.from_arrays(arrays | {name: wrong}, settings)
    for name, value in (("link", "margin"), ("n_terms", 2), ("n_terms", None)):
        with pytest.raises(BadModel):
            FeatureTrees.from_arrays(arrays, settings | {name: value})


@pytest.mark.parametrize("settings", [{"features": 0}, {"prior_cases": 0.0}, {"scheme": "pairwise"}])
def test_impossible_settings_are_refused(settings):
    X, Y = random_documents()
    with pytest.raises(UnnaiveError):
        TreeAugmentedNB(**settings).fit(X, Y.toarray())


def test_constant_terms_give_finite_scores_and_a_class_without_documents_minus_infinity():
    X, Y = (part.toarray() for part in random_documents())
    X[:, 0], X[:, 1] = 1, 0
    Y[:, 2] = 0
    Y[0], Y[1] = (1, 0, 0), (0, 1, 0)
    for scheme in SCHEMES:
        scores = tan(csr_array(X), csr_array(Y), scheme=scheme).scores(csr_array(1 - X))
        assert np.isfinite(scores[:, :2]).all()
        assert (scores[:, 2] == -np.inf).all()
