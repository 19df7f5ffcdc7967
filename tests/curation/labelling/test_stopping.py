"""When to stop: intervals by hand, bounds, curves that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unnaive.curation.labelling.label_model import LinearLearner
from unnaive.curation.labelling.simulate import LabellingCurve, seed_sign_test, simulate
from unnaive.curation.labelling.texts_to_label import TextPool
from unnaive.curation.labelling.when_to_stop import (
    Accuracy,
    ModelChange,
    Stability,
    describe_outlook,
    outlook,
    running_accuracy,
    to_dict,
)
from unnaive.data.corpus import Corpus

from .test_pool import random_texts


def test_running_accuracy_is_that_of_a_model_which_has_not_learnt_the_texts() -> None:
    """One reserved text is like the others of its class, the other alone in its class, and wrong."""
    pool = TextPool(["ball goal", "ball game", "vote law", "vote seat", "rain"], ["a", "b", "c"])
    pool.reserve([1, 4])
    for text, label in enumerate("aabbc"):
        pool.set_labels(text, [label])
    assert running_accuracy(LinearLearner(pool), [1, 4]) == Accuracy(1, 2)
    assert running_accuracy(LinearLearner(pool), []) == Accuracy(0, 0)
    assert math.isnan(Accuracy(0, 0).interval.share)


def test_the_interval_is_that_of_the_random_sample() -> None:
    share, low, high = Accuracy(80, 100).interval
    assert (share, round(low, 4), round(high, 4)) == (0.8, 0.7112, 0.8666)  # Wilson's


def test_accuracy_cannot_move_further_than_predictions_do() -> None:
    """Ten classes, of which one is swallowed by another: F1 of it falls from 1 to 0, accuracy by its 3 of 100 texts."""
    pool = TextPool([f"word{number % 10 if number < 97 else 10}" for number in range(100)])
    stability = Stability()
    for text in range(90):
        pool.set_labels(text, [f"class {text % 10}"])
    stability.look(LinearLearner(pool))
    for text in range(90, 100):
        pool.set_labels(text, ["rare" if text >= 97 else f"class {text % 10}"])
    stability.look(LinearLearner(pool))
    (one,) = stability.comparisons
    assert (one.labels, one.changed) == (100, 0.03)
    (sentence,) = describe_outlook(Accuracy(0, 0), stability, None)
    assert sentence == (
        "the last 10 labels changed the predictions for 3.0 % of the texts, so accuracy on these texts moved by at "
        "most 3.0 points; a rare class may have moved more"
    )


def test_labels_that_are_not_learnt_leave_the_model_as_it_is_and_say_nothing_of_its_stability() -> None:
    pool, stability = TextPool(["ball goal", "vote law"] * 50, ["a", "b"]), Stability()
    pool.reserve(range(60, 100))
    for text in range(50):
        pool.set_labels(text, ["ab"[text % 2]])
    stability.look(LinearLearner(pool))
    for text in range(60, 100):
        pool.set_labels(text, ["ab"[text % 2]])
        stability.look(LinearLearner(pool))
    assert stability.comparisons == []


def test_a_model_that_changes_half_of_its_predictions_is_called_unstable() -> None:
    stability = Stability()
    stability.comparisons.append(ModelChange(60, 0.1, 0.8))
    assert describe_outlook(Accuracy(0, 0), stability, None) == [
        "the last 10 labels changed the predictions for 80.0 % of the texts: the model is not stable yet"
    ]


def test_models_that_no_longer_change_are_stable() -> None:
    pool, stability = TextPool(["ball goal", "vote law"] * 50, ["a", "b"]), Stability()
    for text in range(60):
        pool.set_labels(text, ["ab"[text % 2]])
        stability.look(LinearLearner(pool))
    assert [one.labels for one in stability.comparisons] == [10, 20, 30, 40, 50, 60]
    assert stability.comparisons[-1] == (60, 1.0, 0.0)
    assert stability.stable
    assert any(
        "more labels like these change little" in one for one in describe_outlook(Accuracy(9, 10), stability, None)
    )
    pool.set_labels(59, None)
    for text in range(40, 59):
        pool.set_labels(text, None)
    stability.look(LinearLearner(pool))
    assert max(one.labels for one in stability.comparisons) <= 40


@pytest.mark.slow
def test_the_outlook_finds_the_curve_that_answers_were_drawn_from() -> None:
    """accuracy = 0.9 − 2/√n: at 400 labels 0.8, and +1 point at (2/0.09)² = 494: 94 more."""
    draw = np.random.default_rng(0)
    n = np.repeat(np.arange(20, 401, 5), 40)
    ahead = outlook(n, draw.random(len(n)) < 0.9 - 2 / np.sqrt(n), 400)
    assert ahead is not None
    assert ahead.accuracy == pytest.approx(0.8, abs=0.03)  # 3,080 answers: a standard error of 0.007, four times that
    assert ahead.low <= 94 <= ahead.high
    labels, means, lows, highs = zip(*ahead.curve, strict=True)
    assert (labels[0], labels[-1]) == (20, 800)
    truth = 0.9 - 2 / np.sqrt(np.array(labels, float))
    np.testing.assert_allclose(means, truth, atol=0.08)  # the standard error of the 40 answers at the first point
    assert all(low <= mean <= high for low, mean, high in zip(lows, means, highs, strict=True))
    assert to_dict(Accuracy(9, 10), Stability(), ahead)["outlook"]["curve"][0]["labels"] == 20
    few = outlook(n[:30], [True] * 15 + [False] * 15, 400)
    assert few is not None
    assert few.high - few.low > ahead.high - ahead.low or few.high == math.inf
    assert outlook([1] * 29, [True] * 29, 50) is None
    assert to_dict(Accuracy(0, 0), Stability(), few)["accuracy"] is None


def test_labels_for() -> None:
    curve = LabellingCurve("mixed", (20, 40, 60), np.array([[0.5, 0.6, 0.8], [0.5, 0.6, 0.8]]))
    assert curve.labels_for(0.7) == pytest.approx(50)
    assert curve.labels_for(0.4) == 20
    assert curve.labels_for(0.9) is None


def test_sign_test_by_hand() -> None:
    assert seed_sign_test(np.zeros(5)) == 1.0
    assert seed_sign_test(np.ones(10)) == pytest.approx(2 / 1024)
    assert seed_sign_test(np.array([1.0, -1.0])) == 1.0


def test_a_simulation_is_repeatable_and_ends_with_an_empty_pool() -> None:
    texts = random_texts(200, 7)
    labels = [("sport",) if "ball" in text or "goal" in text else ("else",) for text in texts]
    pool, test = Corpus(texts[:140], labels[:140]), Corpus(texts[140:], labels[140:])
    one = simulate(pool, test, labels=60, seeds=2)
    two = simulate(pool, test, labels=60, seeds=2)
    assert [curve.way for curve in one] == ["mixed", "uncertain", "random"]
    for left, right in zip(one, two, strict=True):
        assert left.labels == (20, 40, 60)
        np.testing.assert_array_equal(left.accuracy, right.accuracy)
    assert one[0].mean[-1] > 0.8
