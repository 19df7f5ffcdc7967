"""The or-gate paper's tables on the real collections: every value of ours that has a band falls in it."""

import pytest

from unnaive.papers.comparison import REPRODUCED, UNEXPLAINED, reproduce
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


def test_breakeven_of_or_rows_is_marked_per_document_and_of_the_others_on_scores(tables):
    table = tables["1/reuters"]
    for kind in ("micr.BEP", "macr.BEP"):
        assert table.cell("OR-eq17", f"{kind} per document").theirs == table.cell("OR-eq17", kind).theirs
        assert table.cell("OR-eq17", kind).mark == table.cell("NBayes", f"{kind} per document").mark == ""
    # per document .535 for the published .544, and .798 for .766
    assert table.cell("OR-eq17", "macr.BEP per document").mark == REPRODUCED
    assert table.cell("OR-eq17", "micr.BEP per document").mark == UNEXPLAINED


def test_totals_over_classes_and_rocchio_without_idf_are_near_the_paper_on_reuters(tables):
    """Mean distance of the figures that are marked; with corpus totals and with idf it was .044 and .057."""
    for row, most in (("OR-eq12", 0.016), ("Rocchio without idf", 0.025)):
        cells = [cell for n in "123" for cell in tables[f"{n}/reuters"].cells if cell.row == row and cell.mark]
        assert len(cells) == 9
        assert sum(abs(cell.difference) for cell in cells) / 9 < most


def test_a_random_split_is_easier_than_the_one_by_date(tables):
    """Micro F1@1 of naive Bayes: .866 and .799; the paper has .809, in a version with copies."""
    random, dated = (tables[f"2/20newsgroups{part}"].cell("NBayes", "micr.F1@1") for part in ("-random", ""))
    assert random.ours == pytest.approx(0.866, abs=0.01)
    assert random.ours > dated.ours + 0.05
    assert (random.mark, dated.mark) == (UNEXPLAINED, "")  # a printed figure has one mark


def test_laplace_and_relaxed_weights_are_the_better_ones(tables):
    """The paper chose equations 12 and 17 for its tables, rather than 11 and 15."""
    for better, other in (("OR-eq17", "OR-eq15"), ("OR-eq17", "OR-eq11")):
        for k in (1, 3, 5):
            ours = {row: tables["3/reuters"].cell(row, f"macr.F1@{k}").ours for row in (better, other)}
            assert ours[better] > ours[other] + 0.05


def test_the_blend_lifts_macro_f1_and_term_selection_lifts_micro_breakeven(tables):
    macro, breakeven = tables["3/reuters"], tables["1/reuters"]
    assert macro.cell("OR-eq17 + Rocchio", "macr.F1@1").ours > macro.cell("OR-eq17", "macr.F1@1").ours + 0.04
    assert breakeven.cell("OR-eq17 50 terms", "micr.BEP").ours > breakeven.cell("OR-eq17", "micr.BEP").ours + 0.2


def test_normalising_by_document_is_what_makes_breakeven_of_the_gate(tables):
    table = tables["1/reuters"]
    raw, divided = (table.cell("OR-eq17", f"micr.BEP{ending}").ours for ending in ("", " per document"))
    assert raw == pytest.approx(0.419, abs=0.02)
    assert divided == pytest.approx(0.798, abs=0.02)
