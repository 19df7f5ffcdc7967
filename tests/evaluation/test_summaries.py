"""Means, spreads, pairwise_tests and curves of records whose right answer is evident."""

import json
from dataclasses import replace

import numpy as np
import pytest

from unnaive.evaluation.grids import grids_as_markdown
from unnaive.evaluation.results import Record
from unnaive.evaluation.significance import mcnemar
from unnaive.evaluation.summaries import (
    every_pair,
    learning_curves,
    pairwise_tests,
    records_as_json,
    summarise,
    vocabulary_curves,
)


def record(model, split, value, *, measure="accuracy", size=80.0, terms=None, **parameters):
    return Record(
        "toy#1", "random", split, 0, model, parameters, measure, value, 0.1, size, terms, n_train=80, n_test=20
    )


def rows(model, values, **more):
    return [record(model, split, value, **more) for split, value in enumerate(values)]


def test_mean_and_standard_deviation():
    (one,) = summarise(rows("svm", [0.8, 0.9, 1.0]))
    assert (one.mean, one.spread, one.splits) == (pytest.approx(0.9), pytest.approx(0.1), 3)
    assert str(one) == "0.9000 ± 0.1000"
    (alone,) = summarise(rows("svm", [0.8]))
    assert str(alone) == "0.8000"
    (nothing,) = summarise(rows("svm", [None, None], measure="log-loss"))
    assert (nothing.mean, str(nothing)) == (None, "–")


def test_settings_tell_contenders_apart():
    found = summarise([*rows("multinomial", [0.5]), *rows("multinomial", [0.6], alpha=0.1)])
    assert [one.contender for one in found] == ["multinomial", "multinomial alpha=0.1"]


def test_pairs_are_paired_by_split():
    records = [*rows("nb", [0.70, 0.72, 0.71, 0.73, 0.60]), *rows("svm", [0.90, 0.91, 0.92, 0.93, 0.80])]
    (one,) = pairwise_tests(records)
    assert (one.first, one.second, str(one.outcome)) == ("svm", "nb", "5/0/0")
    assert one.paired.difference == pytest.approx(0.2)
    assert one.paired.p < one.corrected.p < 0.05
    assert one.verdict == "better"
    assert pairwise_tests(records, against="svm")[0].verdict == "worse"


def test_where_less_is_better_the_sign_is_turned():
    losses = {"nb": [2.0, 2.1, 2.05, 2.0, 2.1], "svm": [1.0, 1.1, 1.06, 1.0, 1.1]}
    records = [record for name, values in losses.items() for record in rows(name, values, measure="log-loss")]
    (one,) = pairwise_tests(records)
    assert (str(one.outcome), one.verdict) == ("5/0/0", "better")


def test_differences_that_are_equal_on_all_splits_prove_nothing_beyond_their_documents():
    """Of 20 test documents .1 is two: the variance is at least .1 · .9 / 20, so t = .1 / √(.45 · .0045), 4 degrees."""
    records = [*rows("nb", [0.7, 0.6, 0.5, 0.6, 0.7]), *rows("svm", [0.8, 0.7, 0.6, 0.7, 0.8])]
    (one,) = pairwise_tests(records)
    assert one.corrected.statistic == pytest.approx(0.1 / (0.45 * 0.0045) ** 0.5)
    assert one.corrected.p == pytest.approx(0.0907, abs=1e-3)
    assert one.verdict == "no difference"
    many = [replace(record, n_train=8000, n_test=2000) for record in records]
    assert 1e-6 < pairwise_tests(many)[0].corrected.p < 1e-3


def test_significance_is_refused_under_five_splits():
    records = [*rows("nb", [0.70, 0.72, 0.71, 0.73]), *rows("svm", [0.90, 0.91, 0.92, 0.93])]
    (one,) = pairwise_tests(records)
    assert (one.splits, one.tested, one.verdict) == (4, None, "untested")


def test_documents_are_tested_exactly_where_records_have_them():
    def of(model, right):
        bits = np.packbits(right).tobytes().hex()
        return Record("toy#1", "fixed", 0, 0, model, {}, "accuracy", float(np.mean(right)), 0.1, n_test=20, right=bits)

    nb, svm = np.zeros(20, bool), np.zeros(20, bool)
    svm[:9] = nb[9] = True
    (one,) = pairwise_tests([of("nb", nb), of("svm", svm)])
    assert one.documents == mcnemar(svm, nb)
    assert one.documents.p == pytest.approx(22 / 1024)
    assert one.verdict == "untested"  # these two trained models differ; of the methods one split says nothing


def test_every_pair_is_compared_the_better_first():
    records = [*rows("a", [0.5] * 5), *rows("b", [0.9] * 5), *rows("c", [0.7] * 5)]
    assert [(one.first, one.second) for one in every_pair(records)] == [("b", "c"), ("b", "a"), ("c", "a")]
    assert len(json.loads(records_as_json(records))["pairs"]) == 3


def test_the_interval_is_that_of_the_corrected_test():
    (one,) = summarise(rows("svm", [0.8, 0.9, 1.0]))
    assert one.half_width == pytest.approx(4.302653 * 0.1 * (1 / 3 + 20 / 80) ** 0.5, rel=1e-6)


def test_one_split_is_no_test():
    (one,) = pairwise_tests([*rows("nb", [0.7]), *rows("svm", [0.8])])
    assert (one.paired, one.corrected, str(one.outcome), one.verdict) == (None, None, "1/0/0", "untested")


def test_curves_run_along_their_axis():
    records = [
        *rows("nb", [0.5, 0.6], size=10.0),
        *rows("nb", [0.8, 0.9]),
        *rows("nb", [0.4, 0.4], terms=100),
        *rows("nb", [0.6, 0.6], terms=1000),
    ]
    (learning,) = learning_curves(records, "accuracy")
    assert learning.x == (10.0, 80.0)
    assert learning.mean == pytest.approx((0.55, 0.85))
    (vocabulary,) = vocabulary_curves(records, "accuracy")
    assert (vocabulary.x, vocabulary.mean) == ((100.0, 1000.0), pytest.approx((0.4, 0.6)))
    assert learning_curves(rows("nb", [0.5]), "accuracy") == []


def test_every_tied_best_is_bold():
    text = grids_as_markdown([*rows("nb", [0.9]), *rows("svm", [0.9]), *rows("tree", [0.5])])
    assert text.count("**0.9000**") == 2
    assert "| tree | 0.5000 |" in text


def test_json_is_plain():
    content = json.loads(records_as_json([*rows("nb", [0.7, 0.8]), *rows("svm", [0.8, 0.8])]))
    assert content["summaries"][0]["mean"] == pytest.approx(0.75)
    assert content["differences"][0]["win_tie_loss"] == "1/1/0"


def test_an_interval_stays_within_the_range_of_the_measure():
    """Means near 1 with a wide spread: mean ± half would pass 1; a log-loss has no upper end."""
    (near_one,) = summarise(rows("nb", [0.90, 0.99, 1.0]))
    low, high = near_one.interval
    assert (low, high) == (pytest.approx(near_one.mean - near_one.half_width), 1.0)
    (loss,) = summarise([replace(record, measure="log-loss") for record in rows("nb", [0.1, 0.9, 2.0])])
    assert loss.interval == (0.0, pytest.approx(loss.mean + loss.half_width))


def test_equal_values_of_all_splits_have_no_interval():
    """A spread of 0 from three splits does not say that the mean is known exactly."""
    (same,) = summarise(rows("nb", [0.9, 0.9, 0.9]))
    assert (same.spread, same.half_width, same.interval) == (0.0, None, None)
