"""Decisions by hand, their tuning against exhaustive search, and what is read back from files."""

import json

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadData, BadModel
from unnaive.data.folds import folds, out_of_fold
from unnaive.learning import tuning
from unnaive.learning.decisions import Argmax, Proportional, Thresholds, TopK, decision_from_dict, default_decision
from unnaive.learning.tuning import best_cut, pcut, rcut, scut
from unnaive.linear.links import LINKS, probabilities, relative

SCORES = np.array([[3.0, 3.0, 1.0], [0.0, 2.0, 4.0], [5.0, 1.0, 5.0]])


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Argmax(), [[1, 0, 0], [0, 0, 1], [1, 0, 0]]),
        (TopK(1), [[1, 0, 0], [0, 0, 1], [1, 0, 0]]),
        (TopK(2), [[1, 1, 0], [0, 1, 1], [1, 0, 1]]),
        (TopK(9), [[1, 1, 1]] * 3),
        (Thresholds((4.0, 2.0, 5.0)), [[0, 1, 0], [0, 1, 0], [1, 0, 1]]),
        (Thresholds((6.0, 6.0, 6.0)), [[0, 0, 0]] * 3),
        (Thresholds((6.0, 6.0, 6.0), at_least_one=True), [[1, 0, 0], [0, 0, 1], [1, 0, 0]]),
        (Thresholds((0.9, 0.5, 0.9), on="relative"), [[1, 1, 0], [0, 1, 1], [1, 0, 1]]),
        (Proportional((1 / 3, 0.0, 2 / 3)), [[0, 0, 0], [0, 0, 1], [1, 0, 1]]),
    ],
)
def test_decision_by_hand_and_back_from_json(decision, expected):
    assert decision.decide(SCORES).toarray().tolist() == expected
    assert decision_from_dict(json.loads(json.dumps(decision.to_dict()))) == decision


@pytest.mark.parametrize(
    "stored",
    [
        None, [], {}, {"kind": "oracle"}, {"kind": "top-k"}, {"kind": "top-k", "k": 0}, {"kind": "top-k", "k": "3"},
        {"kind": "top-k", "k": True}, {"kind": "argmax", "extra": 1}, {"kind": "thresholds", "values": [float("nan")]},
        {"kind": "thresholds", "values": 3}, {"kind": "thresholds", "values": [1.0], "on": "moon"},
        {"kind": "proportional", "rates": [-0.5]}, {"kind": ["argmax"]},
    ],
)  # fmt: skip
def test_damaged_decision_is_refused_in_a_sentence(stored):
    with pytest.raises(BadModel, match="the decision in this model is damaged"):
        decision_from_dict(stored)


def test_thresholds_of_another_number_of_classes_are_refused():
    with pytest.raises(BadData, match="scores of 3 classes and 1 thresholds"):
        Thresholds((1.0,)).decide(SCORES)


def f1(chosen, truth):
    return 2 * (chosen & truth).sum() / max(chosen.sum() + truth.sum(), 1)


@pytest.mark.parametrize("seed", range(20))
def test_best_cut_is_as_good_as_any_threshold(seed):
    rng = np.random.default_rng(seed)
    scores, truth = rng.integers(0, 6, 15).astype(float), rng.integers(0, 2, 15) > 0
    cut, value = best_cut(scores, truth)
    assert value == pytest.approx(max(f1(scores >= t, truth) for t in scores))
    assert f1(scores >= cut, truth) == pytest.approx(value)


@pytest.mark.parametrize("seed", range(30))
def test_scores_that_no_best_threshold_reaches_are_not_sorted(seed, monkeypatch):
    """The cut is that of all scores, with ties, weights and positives without a score; few of 3,000 are sorted."""
    random = np.random.default_rng(seed)
    truth = random.random(3_000) < (0.02 if seed % 2 else 0.3)
    truth[0] = True
    scores = np.round(random.normal(size=3_000) + (3.0 if seed % 4 < 2 else 0.5) * truth, 1 if seed % 3 else 9)
    weight = random.integers(1, 4, 3_000).astype(float) if seed % 5 == 0 else None
    missed = float(random.integers(0, 20))
    expected = best_cut(scores, truth, missed, weight)
    sorted_cells = []
    monkeypatch.setattr(tuning, "FEW_CELLS", 0)
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda cells, **kind: sorted_cells.append(len(cells)) or argsort(cells, **kind))
    assert best_cut(scores, truth, missed, weight) == expected
    if seed % 2 and seed % 4 < 2:  # 2 % of positives with high scores
        assert sorted_cells[0] < 600


def test_best_cut_parts_neighbouring_floats():
    low = 1.0
    high = np.nextafter(low, 2)
    assert best_cut(np.array([high, low]), np.array([1, 0])) == (high, 1.0)


def test_scut_shrinks_toward_the_global_cut_and_falls_back_to_it():
    scores = np.array([[10.0, 1.0], [9.0, 1.0], [8.0, 9.0], [1.0, 1.0], [0.0, 1.0]])
    Y = np.array([[1, 0], [1, 0], [1, 1], [0, 0], [0, 0]])
    everywhere, _ = best_cut(scores.ravel(), Y.ravel())
    own, _ = best_cut(scores[:, 0], Y[:, 0])
    assert scut(scores, Y).values == pytest.approx(((3 * own + 5 * everywhere) / 8, everywhere))


def test_scut_shrinks_rare_classes_toward_the_cut_of_rare_ones():
    """Two frequent classes with positives at 10 and others at 0, six rare ones with positives at 3 and others at −9."""
    Y = np.zeros((600, 8), int)
    Y[:200, 0], Y[200:400, 1] = 1, 1
    for c in range(2, 8):
        Y[400 + 4 * c : 404 + 4 * c, c] = 1
    scores = np.where(Y, [10.0] * 2 + [3.0] * 6, [0.0] * 2 + [-9.0] * 6)
    scores[500:, 0] = 3.5  # hence 3.5 and less is not worth its errors for all classes together
    everywhere = best_cut(scores.ravel(), Y.ravel())[0]
    assert everywhere == 6.75
    # the rare ones together, and each by itself, are parted at (3 − 9)/2
    assert scut(scores, Y).values == pytest.approx((6.75, (200 * 5.0 + 5 * 6.75) / 205, *[-3.0] * 6))
    alike = scut(scores, Y, sizes=()).values
    assert alike[2:] == pytest.approx([(4 * -3.0 + 5 * everywhere) / 9] * 6)


def test_scut_gives_a_hopeless_class_the_global_cut():
    rng = np.random.default_rng(0)
    Y = np.zeros((200, 2), int)
    Y[:100, 0], Y[:4, 1] = 1, 1
    scores = np.column_stack([Y[:, 0] * 2.0, -Y[:, 1] + rng.random(200)])
    assert scut(scores, Y).values[1] == best_cut(scores.ravel(), Y.ravel())[0]


@pytest.mark.parametrize("seed", range(5))
def test_rcut_is_the_best_k(seed):
    rng = np.random.default_rng(seed)
    scores, Y = rng.random((12, 5)), rng.random((12, 5)) < 0.4
    values = [f1(TopK(k).decide(scores).toarray() > 0, Y) for k in range(1, 6)]
    assert rcut(scores, Y).k == int(np.argmax(values)) + 1


def test_pcut_assigns_the_training_shares():
    Y = np.array([[1, 0], [1, 0], [1, 1], [0, 0]])
    assert pcut(Y).decide(np.random.default_rng(0).random((8, 2))).sum(axis=0).tolist() == [6, 2]


def test_folds_spread_every_rare_class():
    Y = np.zeros((50, 4), int)
    Y[:40, 0], Y[40:45, 1], Y[45:, 2] = 1, 1, 1
    dealt = folds(Y, 5, seed=3)
    assert np.bincount(dealt).tolist() == [10] * 5
    assert sorted(dealt[40:45]) == sorted(dealt[45:]) == [0, 1, 2, 3, 4]
    with pytest.raises(BadData, match="cannot be split into 9 folds"):
        folds(Y[:3], 9)


def test_out_of_fold_scores_come_from_the_other_documents():
    seen = {}

    def score(train, held_out):
        seen.update({key: set(train.tolist()) for key in held_out.tolist()})
        return held_out[:, None].astype(float)

    assert out_of_fold(score, np.ones((9, 1)), n_folds=3).ravel().tolist() == list(range(9))
    assert all(row not in train and len(train) == 6 for row, train in seen.items())


@pytest.mark.parametrize("link", LINKS)
def test_the_default_multilabel_decision_is_more_likely_than_not_or_near_the_best(link):
    scores = np.abs(np.random.default_rng(0).normal(size=(40, 3))) - (0 if link == "noisy-or" else 0.5)
    scores[:2] = 0.0
    seen = probabilities(link, scores, exclusive=True) if LINKS[link].exclusive else scores
    share = LINKS[link].share
    if share is not None:
        wanted = relative(scores) >= share
    else:
        wanted = seen > 0.5 if LINKS[link].exclusive else scores > 0
    np.testing.assert_array_equal(default_decision("sets", link, 3).decide(seen).toarray() == 1, wanted)
    assert default_decision("single", link, 3) == Argmax()


@pytest.mark.parametrize("limit", [2, 3, 7, 12])
def test_the_best_of_tied_classes_are_the_first(limit):
    """Many classes tie if a text has no known term."""
    fitted = TextClassifier("multinomial").fit([f"word{c}" for c in range(40)], list(range(40))).fitted_
    scores = fitted.scores(["unknown", "word17", "word30 word3"])
    found = fitted.best_classes(scores, scores, limit).tolist()
    ahead = [[], [17], [3, 30]]
    assert found == [(first + [c for c in range(40) if c not in first])[:limit] for first in ahead]


def test_the_threshold_of_a_class_without_documents_is_its_highest_score():
    assert best_cut(np.array([0.6, 0.9, 0.2]), np.zeros(3, int)) == (0.9, 0.0)  # not .75, halfway to the next
