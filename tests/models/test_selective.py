"""Selective naive Bayes: against Bernoulli naive Bayes over the chosen terms, the search in plain loops, laws."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB

from unnaive.base.errors import UnnaiveError
from unnaive.models.selective import SelectiveNB

SCHEMES = ("multiclass", "one-vs-rest")


def selective_naive_bayes(X, Y, sample_weight=None, **settings):
    return SelectiveNB(**settings).learn(X, Y, sample_weight=sample_weight).scorer


def random_documents(seed=0, n_docs=150, n_terms=12, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    rates = 0.05 + 0.6 * random.random((n_classes, n_terms)) ** 3
    X = (random.random((n_docs, n_terms)) < rates[y]).astype(int)
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y]), y


def test_two_classes_are_naive_bayes_over_the_chosen_terms():
    X, Y, y = random_documents(n_classes=2)
    model = selective_naive_bayes(X, Y)
    terms = np.unique(model.sparse_weights.indices)
    peer = BernoulliNB(alpha=1.0).fit(X[:, terms], y)
    ours = model.scores(X)
    ours = ours - np.logaddexp.reduce(ours, axis=1, keepdims=True)
    prior = peer.class_log_prior_ - np.log((np.bincount(y) + 1) / (len(y) + 2))  # ours is smoothed as well
    theirs = peer.predict_joint_log_proba(X[:, terms]) - prior
    assert ours == pytest.approx(theirs - np.logaddexp.reduce(theirs, axis=1, keepdims=True), abs=1e-9)


def test_the_search_is_greedy_by_accuracy_then_likelihood():
    X, Y, y = random_documents(n_terms=6)
    rows = X.toarray()

    def fit(terms):
        prior = np.log((np.bincount(y) + 1) / (len(y) + 3))
        p = np.stack([(rows[y == c][:, terms].sum(axis=0) + 1) / ((y == c).sum() + 2) for c in range(3)])
        joint = prior + rows[:, terms] @ np.log(p).T + (1 - rows[:, terms]) @ np.log1p(-p).T
        logs = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return (joint.argmax(axis=1) == y).sum(), logs[np.arange(len(y)), y].sum()

    taken, best = [], fit([])
    while len(taken) < 6:
        value, term = max((fit([*taken, t]), -t) for t in range(6) if t not in taken)
        if value <= best:
            break
        taken, best = [*taken, -term], value
    assert sorted(taken) == np.unique(selective_naive_bayes(X, Y).sparse_weights.indices).tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_more_terms_than_allowed_and_weights_are_repetitions(scheme):
    X, Y, _ = random_documents()
    model = selective_naive_bayes(X, Y, features=2, scheme=scheme)
    assert (np.diff(model.sparse_weights.indptr) <= 2).all()
    weight = np.random.default_rng(0).integers(0, 3, X.shape[0])
    again = np.repeat(np.arange(X.shape[0]), weight)
    weighted = selective_naive_bayes(X, Y, scheme=scheme, sample_weight=weight).scores(X)
    repeated = selective_naive_bayes(X[again], Y[again], scheme=scheme).scores(X)
    assert weighted == pytest.approx(repeated, abs=1e-9)


def test_each_class_chooses_for_itself():
    X, Y, _ = random_documents()
    model = selective_naive_bayes(X, Y, scheme="one-vs-rest")
    alone = selective_naive_bayes(X, Y[:, [1]], scheme="one-vs-rest")
    assert model.link == "log-odds"
    assert model.scores(X)[:, 1] == pytest.approx(alone.scores(X)[:, 0], abs=1e-12)


@pytest.mark.parametrize("settings", [{"candidates": 0}, {"features": 0}, {"alpha": 0.0}, {"scheme": "pairwise"}])
def test_impossible_settings_are_refused(settings):
    X, _, y = random_documents()
    with pytest.raises(UnnaiveError):
        SelectiveNB(**settings).fit(X, y)


def test_nothing_to_choose_from_leaves_the_prior():
    X, Y = csr_array((4, 3), dtype=int), csr_array([[1, 0], [1, 0], [1, 0], [0, 1]])
    scores = selective_naive_bayes(X, Y).scores(X)
    assert scores[0] == pytest.approx(np.log([4 / 6, 2 / 6]))
