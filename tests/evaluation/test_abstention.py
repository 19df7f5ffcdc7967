"""Risk and coverage: by hand, brute force over thresholds, ties, and the points that reports show."""

import numpy as np
import pytest
from scipy.stats import binomtest

from unnaive import TextClassifier
from unnaive.base.errors import BadData
from unnaive.evaluation.abstention import (
    THRESHOLDS,
    all_right,
    choose_abstention,
    choose_threshold,
    given_confidence,
    risk_coverage,
    set_coverage,
)
from unnaive.evaluation.evaluate import evaluate
from unnaive.evaluation.evaluation_report import abstention_choices
from unnaive.evaluation.measures import measure
from unnaive.evaluation.reports.plots import risk_coverage_figure
from unnaive.io.tickets import load_tickets

RNG = np.random.default_rng(0)


def test_every_threshold_by_brute_force():
    p = RNG.random(300).round(2)  # with ties
    right = RNG.random(300) < p
    curve = risk_coverage(p, right)
    for threshold, coverage, accuracy in zip(curve.thresholds, curve.coverage, curve.accuracy, strict=True):
        chosen = p >= threshold
        assert coverage == pytest.approx(chosen.mean())
        assert accuracy == pytest.approx(right[chosen].mean())
    point = curve.point_for(0.9)
    allowed = [t for t in np.unique(p) if right[p >= t].mean() >= 0.9]
    assert point.threshold == min(allowed)


def test_area_by_hand_with_ties():
    """Two tied documents, one right: each is right half the time; risks ½, ½, then 1 − 2/3."""
    curve = risk_coverage(np.array([0.9, 0.9, 0.5]), np.array([True, False, True]))
    assert curve.area == pytest.approx((0.5 + 0.5 + 1 / 3) / 3)
    assert curve.best_area == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert curve.coverage.tolist() == pytest.approx([2 / 3, 1.0])


def test_the_area_of_ties_is_the_mean_over_orders():
    p, right = np.array([0.9, 0.5, 0.5, 0.5]), np.array([True, True, False, False])
    from itertools import permutations

    areas = []
    for order in permutations([1, 2, 3]):
        hits = np.cumsum(right[[0, *order]])
        areas.append(np.mean(1 - hits / np.arange(1, 5)))
    assert risk_coverage(p, right).area == pytest.approx(np.mean(areas))


def test_an_accuracy_that_cannot_be_reached():
    curve = risk_coverage(np.array([0.9, 0.5]), np.array([False, True]))
    assert curve.point_for(0.9) is None
    for wrong in (0.0, 1.5, -1.0):
        with pytest.raises(BadData, match="a share above 0 and up to 1"):
            curve.point_for(wrong)


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_that_is_promised_by_brute_force(seed):
    """From the first threshold with twice 22 documents on (.9²² ≤ .1) all pass the binomial test; the next fails."""
    rng = np.random.default_rng(seed)
    p = rng.random(400)
    right = rng.random(400) < np.sqrt(p)
    chosen = choose_threshold(p, right, 0.9)
    tested = [t for t in THRESHOLDS if (p >= t).sum() >= 44]
    passes = [binomtest(int((~right[p >= t]).sum()), int((p >= t).sum()), 0.1, "less").pvalue <= 0.1 for t in tested]
    first_failure = passes.index(False)
    assert chosen == (tested[first_failure - 1] if first_failure else None)


def test_thresholds_fixed_beforehand_fall_to_zero():
    assert np.all(np.diff(THRESHOLDS) < 0)
    assert THRESHOLDS[-1] == 0


def test_what_cannot_be_promised():
    p, right = np.full(500, 0.99), np.ones(500, bool)
    assert choose_threshold(p, right, 1.0) is None  # that no document at all is wrong
    assert choose_threshold(p[:21], right[:21], 0.9) is None  # .9²¹ = .109
    assert choose_threshold(p[:22], right[:22], 0.9) == 0.0
    assert choose_threshold(p, ~right, 0.5) is None
    for sureness in (0.0, 1.0, 90.0):
        with pytest.raises(BadData, match="between 0 and 1"):
            choose_threshold(p, right, 0.9, sureness=sureness)


def test_the_choice_is_reported_on_the_other_half():
    rng = np.random.default_rng(1)
    p = rng.random(1001)
    right = rng.random(1001) < p
    choice = choose_abstention(p, right, 0.8, seed=3)
    chosen = np.random.default_rng(3).permutation(1001) < 501
    assert choice.threshold == choose_threshold(p[chosen], right[chosen], 0.8)
    labelled = p[~chosen] >= choice.threshold
    assert (choice.chosen_on, choice.reported_on) == (501, 500)
    assert choice.coverage == pytest.approx(labelled.mean())
    assert choice.accuracy == pytest.approx(right[~chosen][labelled].mean())


def test_confidence_is_that_of_the_label_given():
    given = np.array([[0, 1], [1, 1], [0, 0]])
    p = np.array([[0.7, 0.3], [0.6, 0.4], [0.2, 0.1]])
    assert given_confidence(p, given).tolist() == [0.3, 0.6, 0.0]
    assert all_right(np.array([[0, 1], [1, 0], [0, 0]]), given).tolist() == [True, False, True]


def test_the_threshold_does_what_predict_does_with_it():
    train, test = (load_tickets().part(part) for part in ("train", "test"))
    made = TextClassifier("multinomial", calibrate="temperature").fit(train.texts, [one[0] for one in train.labels])
    found = evaluate(made, test.texts, test.labels)
    point = found.abstention.point_for(0.95)
    sure = made.predict_proba(test.texts).max(axis=1) >= point.threshold
    right = made.predict(test.texts) == np.array([one[0] for one in test.labels])
    assert point.coverage == pytest.approx(sure.mean())
    assert point.accuracy == pytest.approx(right[sure].mean())
    assert found.measures["aurc"] == pytest.approx(found.abstention.area)
    again = measure(["aurc"], found.Y, probabilities=found.probabilities)[
        "aurc"
    ]  # by the best class, which is the same
    assert again == pytest.approx(found.abstention.area)
    choices = abstention_choices(found)
    drawing = risk_coverage_figure(found.abstention, choices=choices)
    assert [len(line.get_xdata()) for line in drawing.axes[0].lines][1] == 2
    legend = [text.get_text() for text in drawing.legends[0].get_texts()] if drawing.legends else []
    drawn = [line for line in legend if "p ≥" in line]
    promised = [f"{100 * choice.for_accuracy:g} %: p ≥ {choice.threshold:.3f}" for choice in choices]
    assert drawn == promised  # one threshold for an accuracy: the figure's is that of the table
    assert promised


def test_sets_by_hand():
    """Three documents, two known classes and one unknown: sizes 2, 1, 0; covered are the first and not the others."""
    inside = np.array([[True, True], [False, True], [False, False]])
    found = set_coverage(inside, np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]]), 0.9)
    assert (found.coverage, found.mean_size) == pytest.approx((1 / 3, 1.0))
    assert (found.empty, found.single, found.worst_class) == pytest.approx((1 / 3, 1 / 3, 0.5))
