"""The or-gate paper's tables on the real collections: every value of ours that has a band falls in it."""

import pytest

from unnaive.papers.comparison import EXPLAINED, UNEXPLAINED, reproduce
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import read_paper

CELLS = [(table.id, *place) for table in read_paper("or-gate").tables for place in table.bands]
# of the first implementation, on the same text: micr.BEP, macr.BEP, Av-11, micr.F1@1, @3, @5, macr.F1@1, @3, @5
ROCCHIO = (0.556, 0.546, 0.882, 0.746, 0.505, 0.368, 0.521, 0.324, 0.241)


@pytest.fixture(scope="module")
def tables():
    return {lineup.table.id: lineup for lineup in reproduce("or-gate", PaperRun())}


@pytest.mark.parametrize(("table", "row", "column"), CELLS, ids=[" ".join(cell) for cell in CELLS])
def test_value_is_in_its_band(tables, table, row, column):
    cell = tables[table].cell(row, column)
    assert cell.ours is not None, cell.absent
    assert cell.ours in cell.band


def test_rocchio_on_all_of_the_text_is_the_row_of_the_first_implementation(tables):
    """Nothing is random: the same to the third digit. Without the filler three of them are .581, .904 and .773."""
    columns = {"1": ("micr.BEP", "macr.BEP", "Av-11"), "2": (), "3": ()}
    columns |= {n: tuple(f"{kind}.F1@{k}" for k in (1, 3, 5)) for n, kind in (("2", "micr"), ("3", "macr"))}
    found = [tables[f"{n}/reuters"].cell("Rocchio", column).ours for n, names in columns.items() for column in names]
    assert found == pytest.approx(ROCCHIO, abs=0.0006)


def test_breakeven_per_document_stands_beside_the_published_one(tables):
    table = tables["1/reuters"]
    for kind in ("micr.BEP", "macr.BEP"):
        assert table.cell("OR-eq17", f"{kind} per document").theirs == table.cell("OR-eq17", kind).theirs
        repeated = table.cell("OR-eq17", f"{kind} per document")
        assert repeated.ours in repeated.band
        assert repeated.mark == ""  # a printed figure has one mark
    # per document .550 for the published .544, which shows the reason; .796 for .766 does not
    assert table.cell("OR-eq17", "macr.BEP").mark == EXPLAINED
    assert table.cell("OR-eq17", "micr.BEP").mark == UNEXPLAINED


def test_the_blend_lifts_macro_f1_and_term_selection_lifts_micro_breakeven(tables):
    macro, breakeven = tables["3/reuters"], tables["1/reuters"]
    assert macro.cell("OR-eq17 + Rocchio", "macr.F1@1").ours > macro.cell("OR-eq17", "macr.F1@1").ours + 0.04
    assert breakeven.cell("OR-eq17 50 terms", "micr.BEP").ours > breakeven.cell("OR-eq17", "micr.BEP").ours + 0.2


def test_normalising_by_document_is_what_makes_breakeven_of_the_gate(tables):
    table = tables["1/reuters"]
    raw, divided = (table.cell("OR-eq17", f"micr.BEP{ending}").ours for ending in ("", " per document"))
    assert raw == pytest.approx(0.396, abs=0.02)
    assert divided == pytest.approx(0.796, abs=0.02)
