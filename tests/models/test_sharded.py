"""NB-SVM over shards: one shard is NB-SVM, several are the mean that its docstring says, whatever their order."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from unnaive import NBSVM, ShardedNBSVM, TextClassifier
from unnaive.data.counts import Counts
from unnaive.data.weighting import presence, tf_idf
from unnaive.models.svm.nbsvm import log_count_ratio
from unnaive.models.svm.sharded import MOST_SCALE, ShardTask, learn_in_rounds
from unnaive.models.svm.solver import squared_hinge

pytestmark = pytest.mark.slow


def documents(n=120, n_classes=3, seed=0):
    """Counts of 40 terms, a few of which go with each class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    rates = np.full((n_classes, 40), 0.2)
    for label in range(n_classes):
        rates[label, 5 * label : 5 * label + 5] = 1.0
    return rng.poisson(rates[labels]), labels


def test_one_shard_is_nbsvm():
    X, y = documents()
    sharded, whole = ShardedNBSVM(tol=1e-9).fit(X, y), NBSVM(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(sharded.scores(X), whole.scores(X), atol=1e-6)


def test_several_shards_are_the_mean_of_two_rounds():
    """The formula with all columns written out: w_k of each shard; then each from the mean of the others, γ_k of it."""
    X, y = documents()
    model = ShardedNBSVM(shard_size=40, tol=1e-8, max_iter=5000)
    X, Y = csr_array(X), csr_array(np.eye(3, dtype=np.int64)[y])
    Z, ratio = tf_idf(X).apply(X), log_count_ratio(Counts.of(presence(X), Y), 1.0)
    shard = ShardTask.of(model, Counts.of(X, Y)).deal(X)
    assert sorted(set(shard.tolist())) == [0, 1, 2]
    parts = [np.flatnonzero(shard == number) for number in range(3)]
    share = np.array([Y[rows].sum(axis=0) for rows in parts]) / Y.sum(axis=0)

    def minimise(Z, rows, scale):
        found = squared_hinge(Z, Y[rows], C=np.sqrt(3), scale=scale, tol=1e-8, max_iter=5000)
        return np.hstack([found.weights, found.bias[:, None]])

    first = [minimise(Z[rows], rows, ratio) for rows in parts]  # the bias is the last column
    wider, expected = np.hstack([ratio, MOST_SCALE * np.eye(3)]), np.zeros((3, 41))
    for number, rows in enumerate(parts):
        others = sum(share[k][:, None] * first[k] for k in range(3) if k != number) / (1 - share[number][:, None])
        scores = Z[rows] @ others[:, :-1].T + others[:, -1]
        found = minimise(csr_array(hstack([Z[rows], csr_array(scores)])), rows, wider)
        own, gain = np.delete(found, [40, 41, 42], axis=1), np.diagonal(found[:, 40:43])
        expected += share[number][:, None] * (own + gain[:, None] * others)
    scorer = model.learn(X, Y).scorer
    np.testing.assert_allclose(scorer.sparse_weights, expected[:, :-1], atol=1e-6)
    np.testing.assert_allclose(scorer.bias, expected[:, -1], atol=1e-6)


def test_a_class_of_one_shard_has_no_others_to_learn_from():
    X, y = documents(60)
    y[0] = 3
    model = ShardedNBSVM(shard_size=10).fit(X, y)
    assert np.isfinite(model.scores(X)).all()
    assert model.predict(X)[0] == 3


def test_more_shards_than_documents_and_empty_documents():
    X, y = documents(12)
    X[:6] = 0
    model = ShardedNBSVM(shard_size=1).fit(X, y)
    assert np.isfinite(model.scores(X)).all()


def test_the_cost_grows_up_to_16_shards_and_the_scale_of_scores_falls_with_the_size_of_a_shard():
    X, y = documents()
    X, Y = csr_array(X), csr_array(np.eye(3, dtype=np.int64)[y])
    cost = {n: ShardTask.of(ShardedNBSVM(shard_size=-(-120 // n)), Counts.of(X, Y)).C for n in (1, 4, 120)}
    assert cost == {1: 1.0, 4: 2.0, 120: 4.0}
    many = replace(ShardTask.of(ShardedNBSVM(), Counts.of(X, Y)), n_docs=8192 * 12.0, n_shards=3)
    assert many.score_scale == 0.5
    assert replace(many, n_shards=12).score_scale == 1.0
    assert replace(many, n_shards=120).score_scale == MOST_SCALE


def test_solutions_of_the_first_round_are_kept_if_they_are_small_and_computed_again_otherwise():
    """Either way gives the same bits."""
    X, y = documents()
    X, Y = csr_array(X), csr_array(np.eye(3, dtype=np.int64)[y])
    model = ShardedNBSVM(shard_size=40)
    task = ShardTask.of(model, Counts.of(X, Y))
    shards = {number: part.in_order() for number, part in task.split(X, Y)}
    kept = {}
    once = learn_in_rounds(task, sorted(shards), shards.__getitem__, kept, 1, lambda _: None)
    assert sorted(kept) == [0, 1, 2]
    again = learn_in_rounds(task, sorted(shards), shards.__getitem__, Forgetful(), 1, lambda _: None)
    np.testing.assert_array_equal(once.sparse_weights, again.sparse_weights)
    np.testing.assert_array_equal(once.bias, again.bias)


class Forgetful(dict):
    """A mapping that keeps nothing."""

    def __setitem__(self, key, value):
        """Drop the item."""


def test_progress_names_shards_and_rounds():
    texts = [f"word{number} common{number % 3}" for number in range(60)]
    events = []
    model = TextClassifier("sharded-nbsvm", shard_size=20)
    model.fit(texts, ["ab"[number % 2] for number in range(60)], progress=lambda _, details: events.append(details))
    steps = [event for event in events if "what" in event]
    n_shards = len(steps) // 2
    assert n_shards > 1
    assert [event["work"] for event in steps] == list(range(1, 2 * n_shards + 1))
    assert steps[-1]["what"] == f"shard {n_shards} of {n_shards}, round 2 of 2"
