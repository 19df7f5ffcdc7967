"""Significance tests against SciPy, against each other, and by hand."""

import numpy as np
import pytest
from scipy import stats

from unnaive.base.errors import BadData
from unnaive.evaluation.significance import (
    WinTieLoss,
    corrected_t,
    mcnemar,
    paired_t,
    split_freedom,
    variance_floor,
    win_tie_loss,
)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(5)
    first = rng.normal(0.8, 0.02, size=10)
    return first, first - rng.normal(0.02, 0.01, size=10)


def test_paired_t_equals_scipy(pairs):
    ours, theirs = paired_t(*pairs), stats.ttest_rel(*pairs)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12)
    assert ours.freedom == 9


def test_corrected_t_by_its_formula(pairs):
    d = pairs[0] - pairs[1]
    t = d.mean() / np.sqrt((1 / 10 + 20 / 80) * d.var(ddof=1))
    ours = corrected_t(*pairs, n_train=80, n_test=20)
    assert ours.statistic == pytest.approx(t, rel=1e-12)
    assert ours.p == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=1e-12)
    assert ours == corrected_t(*pairs, n_train=0.8, n_test=0.2)


def test_correction_is_more_careful_and_vanishes_with_small_test_sets(pairs):
    assert corrected_t(*pairs, n_train=80, n_test=20).p > paired_t(*pairs).p
    assert corrected_t(*pairs, n_train=1e12, n_test=1).p == pytest.approx(paired_t(*pairs).p, rel=1e-6)


def test_correction_holds_its_level_on_overlapping_splits():
    """Of two equally good rules on resampled data the plain test cries wolf, the corrected one about as it says."""
    rng = np.random.default_rng(0)
    wolf = np.zeros(3)
    for _ in range(300):
        gains = rng.normal(size=100)  # difference of the rules on each of 100 documents, mean zero
        means = np.array([rng.choice(gains, 20, replace=False).mean() for _ in range(15)])
        sizes = {"n_train": 80, "n_test": 20}
        few = split_freedom(15, **sizes)
        tests = [paired_t(means, np.zeros(15)), corrected_t(means, np.zeros(15), **sizes)]
        tests.append(corrected_t(means, np.zeros(15), **sizes, most_freedom=few))
        wolf += [test.significant() for test in tests]
    plain, corrected, careful = wolf / 300
    assert plain > 0.25  # five seeds gave 0.31 to 0.37
    assert corrected < 0.12  # five seeds gave 0.05 to 0.08
    assert careful <= 23 / 300  # at 5 %, 24 of 300 or more would be seen once in 50 times


def test_degrees_of_freedom_are_those_of_test_parts_without_common_documents(pairs):
    d = pairs[0] - pairs[1]
    t = d.mean() / np.sqrt((1 / 10 + 20 / 80) * d.var(ddof=1))
    ours = corrected_t(*pairs, n_train=80, n_test=20, most_freedom=split_freedom(10, 80, 20))
    assert (ours.freedom, ours.p) == (4, pytest.approx(2 * stats.t.sf(abs(t), 4), rel=1e-12))


def test_direction_swaps_with_the_arguments(pairs):
    there, back = paired_t(*pairs), paired_t(*pairs[::-1])
    assert (there.difference, there.statistic, there.p) == (-back.difference, -back.statistic, back.p)


def test_no_variance():
    same = paired_t([0.5, 0.6], [0.5, 0.6])
    assert (same.statistic, same.p) == (0.0, 1.0)
    always = paired_t([0.6, 0.7, 0.9], [0.5, 0.6, 0.8])  # .1 each, but for rounding
    assert always.statistic == np.inf
    careful = corrected_t([0.6, 0.7, 0.9], [0.5, 0.6, 0.8], n_train=80, n_test=20, floor=variance_floor(0.1, 20))
    assert careful.p == pytest.approx(2 * stats.t.sf(0.1 / np.sqrt((1 / 3 + 0.25) * 0.0045), 2))
    assert paired_t([1, 1], [2, 2]).statistic == -np.inf
    assert paired_t([1, 1], [2, 2]).p == 0.0


def test_mcnemar_equals_the_binomial_test():
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.random(50) < 0.7, rng.random(50) < 0.6
        wins, losses = int((a & ~b).sum()), int((b & ~a).sum())
        expected = stats.binomtest(wins, wins + losses).pvalue
        assert mcnemar(a, b).p == pytest.approx(expected, rel=1e-9)
        assert mcnemar(a, b).difference == pytest.approx(a.mean() - b.mean())


def test_mcnemar_without_disagreement():
    assert mcnemar([True, False], [True, False]).p == 1.0


def test_win_tie_loss():
    outcome = win_tie_loss([0.9, 0.81, 0.7, 0.5], [0.8, 0.8, 0.8, 0.5], tolerance=0.02)
    assert outcome == WinTieLoss(1, 2, 1)
    assert str(outcome + WinTieLoss(1, 0, 0)) == "2/2/1"


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        ([0.1], [0.2], "at least 2"),
        ([0.1, 0.2], [0.2], "equal length"),
        ([[0.1, 0.2]], [[0.1, 0.2]], "two lists"),
        ([0.1, np.nan], [0.2, 0.2], "infinity or NaN"),
    ],
)
def test_unfit_values_are_refused(first, second, match):
    with pytest.raises(BadData, match=match):
        paired_t(first, second)


def test_sizes_must_be_positive():
    with pytest.raises(BadData, match="both must be positive"):
        corrected_t([1, 2], [2, 3], n_train=0, n_test=1)
