"""The accuracy estimated without labels: by hand, against accuracies with labels, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

from unnaive import TextClassifier, estimate_accuracy, evaluate
from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.evaluation import estimated_accuracy
from unnaive.evaluation.estimated_accuracy import AccuracyEstimator, estimate_from_uncertainty
from unnaive.io.tickets import load_tickets
from unnaive.learning.conformal import ConformalScores, Ladder

TRAIN, TEST = load_tickets().part("train"), load_tickets().part("test")
LABELS = [label for (label,) in TRAIN.labels]


@pytest.fixture(scope="module")
def model():
    return TextClassifier("nbsvm", calibrate="temperature").fit(TRAIN.texts, LABELS)


def held_out(right, wrong, unseen=0.0):
    """Held-out scores with this uncertainty of right and wrong documents."""
    ladders = [Ladder.of(np.array(values, np.float64), 1000) for values in (right, wrong)]
    return ConformalScores(ladders[0], (), unseen=unseen, right=ladders[0], wrong=ladders[1])


def test_both_estimates_and_the_interval_by_hand():
    found = estimate_from_uncertainty(held_out([0.1, 0.2, 0.3], [0.5]), np.array([0.1, 0.1, 0.6, 0.6]))
    assert (found.documents, found.held_out_documents, found.held_out) == (4, 4, 0.75)
    assert found.by_confidence == pytest.approx(0.75 + 1.1 / 4 - 1.4 / 4)
    assert found.by_threshold == 0.5  # three of four held-out documents have at most .3, two of four new ones
    assert found.accuracy == pytest.approx((0.675 + 0.5) / 2)
    new, old = (4 * 0.5875 + 2) / 8, (4 * 0.75 + 2) / 8
    chance = 1.959963984540054**2 * (new * (1 - new) + old * (1 - old)) / 8
    assert found.accuracy - found.low == pytest.approx(min(found.accuracy, np.sqrt(chance + 0.25**2)))
    assert found.high == 1.0


def test_documents_like_the_held_out_ones_have_their_accuracy():
    rng = np.random.default_rng(0)
    right, wrong = rng.uniform(0, 0.5, 300), rng.uniform(0.2, 0.9, 100)
    found = estimate_from_uncertainty(held_out(right, wrong), np.concatenate([right, wrong]))
    assert found.by_confidence == pytest.approx(0.75, abs=1e-6)
    assert found.by_threshold == pytest.approx(0.75, abs=0.005)
    assert found.low < 0.75 < found.high


def test_more_uncertainty_gives_a_lower_estimate_and_a_wider_interval():
    scores, new = held_out([0.1, 0.2, 0.3] * 100, [0.5] * 100), np.linspace(0, 0.5, 200)
    usual, less = (estimate_from_uncertainty(scores, part) for part in (new, np.minimum(new + 0.2, 1)))
    assert less.accuracy < usual.accuracy
    assert less.high - less.low > usual.high - usual.low


def test_documents_unlike_the_classes_widen_the_interval():
    scores, new = held_out([0.1] * 300, [0.5] * 100), np.repeat([0.1, 0.5], [150, 50])
    usual, unlike = (estimate_from_uncertainty(scores, new, share) for share in (0.05, 0.25))
    assert unlike.accuracy == usual.accuracy
    half, wider = usual.accuracy - usual.low, unlike.accuracy - unlike.low
    assert wider == pytest.approx(np.hypot(half, 0.2))


def test_classes_without_a_training_document_lower_it():
    new = np.full(50, 0.2)
    known, some = (estimate_from_uncertainty(held_out([0.1] * 90, [0.5] * 10, share), new) for share in (0.0, 0.2))
    assert (known.held_out, some.held_out) == (pytest.approx(0.9), pytest.approx(0.72))
    assert some.accuracy < known.accuracy


@pytest.mark.parametrize("extreme", [0.0, 1.0])
def test_extremes_stay_between_0_and_1(extreme):
    found = estimate_from_uncertainty(held_out([extreme] * 3, []), np.full(2, 1 - extreme))
    assert 0 <= found.low <= found.accuracy <= found.high <= 1


def test_the_interval_has_the_accuracy_that_labels_give(model):
    found = estimate_accuracy(model, TEST.texts)
    accuracy = evaluate(model, TEST.texts, [label for (label,) in TEST.labels]).measures["accuracy"]
    assert found.documents == 275
    assert abs(found.accuracy - accuracy) < 0.05
    assert found.low < accuracy < found.high
    assert found.doubts == ()


def test_texts_of_which_words_are_lost_are_estimated_lower_and_doubted(model):
    short = [" ".join(text.split()[-4:]) for text in TEST.texts]
    found = estimate_accuracy(model, short)
    accuracy = evaluate(model, short, [label for (label,) in TEST.labels]).measures["accuracy"]
    assert found.accuracy < found.held_out - 0.1
    assert found.low < accuracy < found.high
    assert any("less like the classes" in sentence for sentence in found.doubts)


def test_texts_without_a_known_term_are_named(model):
    found = estimate_accuracy(model, ["zzyzx qwrtp", *TEST.texts[:9]])
    assert "10 % of the documents have no term that the model knows, so their labels are guesses" in found.doubts


def test_batches_give_what_all_at_once_gives(model, monkeypatch):
    whole = estimate_accuracy(model, TEST.texts)
    monkeypatch.setattr(estimated_accuracy, "CELLS", 8 * 50)
    estimator = AccuracyEstimator(model.fitted_)
    for start in (0, 100, 200):
        estimator.add(TEST.texts[start : start + 100])
    found = estimator.result()
    assert replace(found, by_confidence=0, accuracy=0, low=0, high=0) == replace(
        whole, by_confidence=0, accuracy=0, low=0, high=0
    )
    assert found.accuracy == pytest.approx(whole.accuracy, rel=1e-12)


@pytest.mark.parametrize("kind", ["platt", "isotonic"])
def test_right_is_what_predict_gives_whatever_the_calibration(kind):
    """Calibrations of each class may rank classes otherwise than scores, by which predict decides."""
    made = TextClassifier("multinomial", calibrate=kind).fit(TRAIN.texts[:150], LABELS[:150])
    plain = TextClassifier("multinomial", calibrate="temperature").fit(TRAIN.texts[:150], LABELS[:150])
    assert made.fitted_.conformal.right.n == plain.fitted_.conformal.right.n


def test_a_document_of_weight_two_counts_as_two():
    log_p, Y = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), np.array([[1, 0], [0, 1], [0, 1]])
    weighted = ConformalScores.of(log_p, Y, weight=np.array([1.0, 2.0, 1.0]))
    copied = ConformalScores.of(log_p[[0, 1, 1, 2]], Y[[0, 1, 1, 2]])
    for name in ("right", "wrong"):
        assert getattr(weighted, name).n == getattr(copied, name).n == 2
        np.testing.assert_array_equal(getattr(weighted, name).values, getattr(copied, name).values)


def test_files_keep_what_it_needs(model, tmp_path):
    model.save(tmp_path / "m.model")
    assert estimate_accuracy(TextClassifier.load(tmp_path / "m.model"), TEST.texts) == estimate_accuracy(
        model, TEST.texts
    )


def test_models_that_it_is_not_for_are_refused_in_a_sentence(model):
    texts, labels = TRAIN.texts[:200], LABELS[:200]
    multilabel = TextClassifier("multinomial", calibrate="temperature").fit(texts, [[label] for label in labels])
    tuned = TextClassifier("multinomial", calibrate="temperature", optimise="macro-f1").fit(texts, labels)
    older = replace(model.fitted_, conformal=replace(model.fitted_.conformal, right=None, wrong=None))
    for made, reason in (
        (TextClassifier("multinomial").fit(texts, labels), "calibrated probabilities of held-out documents"),
        (multilabel, "for exclusive classes only"),
        (tuned, "trained with optimise"),
        (older, "train the model again"),
    ):
        with pytest.raises(UnnaiveError, match=reason) as problem:
            estimate_accuracy(made, TEST.texts)
        assert "\n" not in str(problem.value)
    with pytest.raises(BadData, match="no documents"):
        estimate_accuracy(model, [])


def test_damaged_files_are_refused(model, tmp_path):
    scores = model.fitted_.conformal
    arrays, about = scores.to_arrays()
    for damaged in (
        (arrays | {"right": arrays["right"][:-1]}, about),
        (arrays, about | {"right": about["right"] + 1}),
        (arrays | {"wrong": -arrays["wrong"]}, about),
        ({name: table for name, table in arrays.items() if name != "wrong"}, about),
    ):
        with pytest.raises((ValueError, BadModel), match="held-out scores"):
            ConformalScores.from_arrays(*damaged, n_classes=len(model.classes_))
    again = ConformalScores.from_arrays(arrays, json.loads(json.dumps(about)), n_classes=len(model.classes_))
    assert again.right.n == scores.right.n
