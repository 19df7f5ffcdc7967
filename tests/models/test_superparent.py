"""SuperParent TAN: against the definition by its network, naive Bayes where nothing helps, no circles, storage."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.networks import check_scores_by_network

from unnaive import SuperParentTAN
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.models.distinct_cases import DistinctCases
from unnaive.models.superparent import SuperParentFold, add_arcs, fold_weights
from unnaive.models.tan import FeatureTrees

SCHEMES = ("multiclass", "one-vs-rest")


def superparent_tan(X, Y, *, sample_weight=None, **settings):
    return SuperParentTAN(**settings).learn(X, Y, sample_weight=sample_weight).scorer


def random_documents(seed=0, n_docs=160, n_terms=6, n_classes=3):
    """Terms 0 and 1 agree in class 1 and disagree elsewhere: neither tells anything alone."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    X = (random.random((n_docs, n_terms)) < 0.2 + 0.4 * random.random((n_classes, n_terms))[y]).astype(int)
    X[:, 1] = np.where(random.random(n_docs) < 0.9, X[:, 0] ^ (y == 1), X[:, 1])
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_are_log_probabilities_of_the_network(scheme):
    X, Y = random_documents()
    check_scores_by_network(superparent_tan(X, Y, features=5, scheme=scheme), X[:20], scheme)


def test_the_pair_that_tells_only_together_gets_an_arc():
    X, Y = random_documents(n_docs=600)
    model = superparent_tan(X, Y, features=6)
    terms, parents = model.terms[0], model.parents[0]
    arcs = {frozenset((terms[i], terms[parent])) for i, parent in enumerate(parents) if parent >= 0}
    assert frozenset((0, 1)) in arcs


def test_without_a_gain_it_is_naive_bayes():
    """Independent terms that tell the class perfectly: no arc can classify more documents right."""
    X = csr_array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]] * 5)
    Y = csr_array([[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
    model = superparent_tan(X, Y)
    assert (model.parents == -1).all()
    p = (np.array([10, 0]) + 5 * 11 / 22) / (10 + 5)  # P(term 0 | class), 5 made-up cases with P(term 0) = 11/22
    own = np.flatnonzero(model.terms[0] == 0)[0]
    assert np.exp(model.logs[0, :, own, 0, 1]) == pytest.approx(p)


@pytest.mark.parametrize("seed", range(4))
def test_arcs_never_run_in_a_circle_and_never_classify_worse(seed):
    X, Y = random_documents(seed)
    states = Y.indices.astype(np.int64)
    cases = DistinctCases.of(X.toarray().astype(np.int8), states, np.ones(len(states)), 3)

    def make_folds():
        return [SuperParentFold(cases, weight, 5.0, exclusive=True) for weight in fold_weights(cases, 4)]

    parents = add_arcs(make_folds())
    for node in range(6):
        seen = set()
        while node >= 0:
            assert node not in seen
            seen.add(node)
            node = int(parents[node])
    plain = added = 0.0
    for held_out in make_folds():
        nothing = np.zeros_like(held_out.scores)
        arcs = [held_out.with_parent(i, int(parent)) for i, parent in enumerate(parents) if parent >= 0]
        plain += held_out.correct(nothing)
        added += held_out.correct(sum(arcs, nothing))
    assert added >= plain


@pytest.mark.parametrize("whole", [True, False])
def test_folds_share_out_the_documents_of_each_state_evenly(whole):
    random = np.random.default_rng(0)
    rows, states = random.integers(0, 2, (50, 3)).astype(np.int8), random.integers(0, 3, 50)
    cases = DistinctCases.of(rows, states, np.ones(50) if whole else random.random(50), 3)
    folds = fold_weights(cases, 4)
    np.testing.assert_allclose(folds.sum(axis=0), cases.weight)
    by_state = np.stack([folds[:, cases.states == state].sum(axis=1) for state in range(3)])
    assert (np.ptp(by_state, axis=1) <= 1 + 1e-9).all()


def test_it_can_be_stored_and_weights_of_one_change_nothing():
    X, Y = random_documents()
    model = superparent_tan(X, Y, sample_weight=np.ones(X.shape[0]))
    again = FeatureTrees.from_arrays(*model.to_arrays())
    assert np.array_equal(again.scores(X), superparent_tan(X, Y).scores(X))


def test_bad_settings_are_refused():
    X, Y = random_documents()
    with pytest.raises(UnnaiveError, match="folds of superparent came as 1; give a number from 2"):
        SuperParentTAN(folds=1).fit(X, Y.indices)
    with pytest.raises(BadData, match="one-vs-rest"):
        SuperParentTAN(scheme="multiclass").fit(X, np.ones((X.shape[0], 3), int))


@pytest.mark.parametrize("weight", [1.0, 0.1], ids=["whole", "fractional"])
def test_the_search_has_the_prior_of_the_model(weight):
    """A class whose documents are all in the fold has none to learn from: it is never predicted."""
    random = np.random.default_rng(0)
    rows, states = random.integers(0, 2, (12, 3)).astype(np.int8), np.array([0, 1] * 5 + [0, 2])
    cases = DistinctCases.of(rows, states, np.full(12, weight), 3)
    fold = SuperParentFold(cases, cases.weight * (cases.states == 2), 5.0, exclusive=True)
    n, totals = 11 * weight, weight * np.array([6, 5])
    np.testing.assert_allclose(np.exp(fold.estimates.prior), [*(totals + 1) / (n + 2), 0.0], rtol=1e-12)
    assert (fold.scores.argmax(axis=1) != 2).all()
