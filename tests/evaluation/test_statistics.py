"""The promises of docs/statistics.md, simulated on the built-in tickets with few draws; bounds by the binomial law."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def load_tool(name):
    """A module of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


rows = load_tool("statistics_rows")
load_tool("statistics_model_rows")
load_tool("statistics_shift_rows")
load_tool("statistics_label_rows")
suite = load_tool("statistics_suite")
DRAWS, MORE = 4, 12  # of rows that take a tenth of a second a draw, and of those that take less
LEVEL = 1e-3  # for each row: of about fifty rows one would fail by chance once in twenty changes of the seeds
QUICK = ("compare-5", "errors-5-fast", "column", "label", "outlook", "mean", "blocks", "sets-multinomial")
TOO_SMALL = ("abstain", "recall", "mcnemar", "sets-pooled")  # the tickets are too few, or have no class that is pooled
SIMULATED = [row for row in suite.ROWS if row.kind != "power" and not row.key.startswith(TOO_SMALL)]


@pytest.mark.slow
@pytest.mark.parametrize("row", SIMULATED, ids=lambda row: row.key)
def test_promises_hold_on_the_tickets(row):
    draws = MORE if row.key.startswith(QUICK) else DRAWS
    values = [row.simulate(rows.collection("tickets"), seed) for seed in range(draws)]
    assert any(value is not None for value in values)
    assert suite.holds(row, values, LEVEL), f"{row.promise}, {row.circumstance}: {suite.describe(values)}"


@pytest.mark.slow
def test_a_changed_mix_is_found():
    """A quarter of the new texts of one class: the two-sample test alone found about one in six."""
    power = next(row for row in suite.ROWS if row.key == "power-quarter")
    assert np.mean([power.simulate(rows.collection("tickets"), seed) for seed in range(6)]) >= 0.5


@pytest.mark.slow
def test_what_broke_before_would_be_noticed():
    """The suite can fail: intervals that hold in half of the cases, copies that give an alarm in nine of twelve."""
    row = next(row for row in suite.ROWS if row.key == "shares")
    assert not suite.holds(row, [0.5, 0.4, 0.6] * 4, LEVEL)
    alarm = next(row for row in suite.ROWS if row.key == "differ-copies")
    assert not suite.holds(alarm, [1.0] * 9 + [0.0] * 3, LEVEL)


def test_bounds_are_those_of_the_binomial_law():
    """At 5 %, of 20 draws 5 or more are seen in .26 % of cases, and 6 or more in .033 %."""
    alarm = next(row for row in suite.ROWS if row.key == "differ")
    assert suite.holds(alarm, [1.0] * 5 + [0.0] * 15, LEVEL)
    assert not suite.holds(alarm, [1.0] * 6 + [0.0] * 14, LEVEL)
    reached = next(row for row in suite.ROWS if row.key == "abstain-nbsvm-90")
    assert suite.holds(reached, [1.0] * 13 + [0.0] * 7, LEVEL)  # P(X ≤ 13 | 20, .9) = .0024
    assert not suite.holds(reached, [1.0] * 12 + [0.0] * 8, LEVEL)  # .00042


def test_the_page_is_made_from_the_draws():
    draws = suite.read_draws()
    assert suite.make_page(draws) == suite.PAGE.read_text(encoding="utf-8")
    assert set(draws) == {row.key for row in suite.ROWS}
    assert {name for row in draws.values() for name in row} == set(rows.COLLECTIONS)


def test_sides_share_no_document_and_copies_are_copies():
    data = rows.collection("tickets")
    plain = rows.two_sides(data, 3, 200, 200)
    assert plain.old.shape[0] == plain.new.shape[0] == 200
    copied = rows.two_sides(data, 3, 200, 200, unusual=rows.COPIES)
    assert copied.old.shape[0] == 220
    row_of_copy = copied.old[[210]].toarray()
    assert (copied.old[:200].toarray() == row_of_copy).all(axis=1).any()
    mixed = rows.two_sides(data, 3, 200, 200, mix=0.5)
    assert np.bincount(mixed.truth).max() / len(mixed.truth) > 0.4


def test_sides_of_unusual_documents():
    data = rows.collection("tickets")
    repeats = rows.two_sides(data, 3, 200, 300, unusual=rows.REPEATS)
    assert (repeats.old.shape[0], repeats.new.shape[0]) == (200, 240)  # phrases come from 60 that are left out
    for side in (repeats.old, repeats.new):
        short = np.diff(side.indptr) <= rows.PHRASE_TERMS
        assert 0.3 < short.mean() < 0.5
        assert len(np.unique(side[short].toarray(), axis=0)) <= rows.N_PHRASES
    fewer = rows.two_sides(data, 3, 200, 150, unusual=rows.REPEATS)
    assert np.array_equal(np.sort(fewer.old.sum(axis=1)), np.sort(repeats.old.sum(axis=1)))
    assert np.array_equal(fewer.codes, repeats.codes)
    weighted = rows.two_sides(data, 3, 200, 200, unusual=rows.WEIGHTS)
    assert sorted(weighted.class_weight) == [1] * 4 + [rows.HEAVY] * 4
    lone = rows.two_sides(data, 3, 200, 400, unusual=rows.LONE)
    sizes = np.bincount(lone.codes)
    assert sizes.min() == 1
    assert np.bincount(lone.truth)[sizes.argmin()] == round((len(lone.truth) - 2) / (len(lone.codes) - 1)) == 2


def test_records_of_the_simulation_are_those_that_compare_would_write():
    """Splits and seeds stand in their own columns: swapped, all splits were one, and no comparison was tested."""
    data = rows.collection("tickets")
    _, results = rows.split_results(data, 0)
    records = [
        rows.record_of(split, method, right, n_train)
        for split, (n_train, _, both) in enumerate(results[:5])
        for method, right in enumerate(both)
    ]
    assert sorted({record.split for record in records}) == [0, 1, 2, 3, 4]
    assert {record.seed for record in records} == {0}
    (test,) = rows.pairwise_tests(records)
    assert (test.splits, test.verdict == "untested") == (5, False)
    with pytest.raises(RuntimeError, match="4 splits are not tested"):
        rows.called_different([record for record in records if record.split < 4])
