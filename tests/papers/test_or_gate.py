"""The or-gate paper's tables on the real collections: every value of ours that has a band falls in it."""

import pytest

from unnaive.evaluation.papers.lineup import reproduce
from unnaive.evaluation.papers.tables import Run, read_paper
from unnaive.reading.collections import data_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(data_folder() is None, reason="the benchmark collections are not here; set UNNAIVE_DATA"),
]

# The plain reading of Rocchio (Joachims) lands just above these bands on Reuters: .581, .904, .773 when measured. No
# reading that was tried gives the whole expected row, and none was adopted for falling inside.
ABOVE = {("1/reuters", "Rocchio", "micr.BEP"), ("1/reuters", "Rocchio", "Av-11"), ("2/reuters", "Rocchio", "micr.F1@1")}


def banded_cells():
    for table in read_paper("or-gate").tables:
        for row, column in table.bands:
            known = (table.id, row, column) in ABOVE
            marks = pytest.mark.xfail(reason="just above its band, see ABOVE", strict=True) if known else ()
            yield pytest.param(table.id, row, column, marks=marks, id=f"{table.id} {row} {column}")


@pytest.fixture(scope="module")
def lineups():
    return {lineup.table.id: lineup for lineup in reproduce("or-gate", Run())}


@pytest.mark.parametrize(("table", "row", "column"), list(banded_cells()))
def test_value_is_in_its_band(lineups, table, row, column):
    line = lineups[table].line(row, column)
    assert line.ours is not None, line.reason
    low, high = line.band
    assert low <= line.ours <= high


def test_the_blend_lifts_macro_f1_and_term_selection_lifts_micro_breakeven(lineups):
    macro, breakeven = lineups["3/reuters"], lineups["1/reuters"]
    assert macro.line("OR-eq17 + Rocchio", "macr.F1@1").ours > macro.line("OR-eq17", "macr.F1@1").ours + 0.04
    assert breakeven.line("OR-eq17 50 terms", "micr.BEP").ours > breakeven.line("OR-eq17", "micr.BEP").ours + 0.2


def test_normalising_by_document_is_what_makes_breakeven_of_the_gate(lineups):
    table = lineups["1/reuters"]
    raw, divided = (table.line("OR-eq17", f"micr.BEP{ending}").ours for ending in ("", " per document"))
    assert raw == pytest.approx(0.396, abs=0.02)
    assert divided == pytest.approx(0.796, abs=0.02)
