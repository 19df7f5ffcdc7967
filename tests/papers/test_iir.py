"""The textbook's tables on Reuters-21578: every value of ours that has a band falls in it."""

import pytest

from unnaive.papers.comparison import REPRODUCED, reproduce
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import read_paper

CELLS = [(table.id, *cell) for table in read_paper("iir").tables for cell in table.bands]


@pytest.fixture(scope="module")
def tables():
    return {one.table.id: one for one in reproduce("iir", PaperRun())}


@pytest.mark.parametrize(("table", "row", "column"), CELLS, ids=[" ".join(cell) for cell in CELLS])
def test_value_is_in_its_band(tables, table, row, column):
    cell = tables[table].cell(row, column)
    assert cell.ours is not None, cell.absent
    assert cell.ours in cell.band


def test_the_slide_s_order_of_methods_comes_out(tables):
    """ "Naive Bayes does pretty well, but some methods beat it consistently (e.g., SVM)"."""
    micro = {column: tables["a"].cell("micro-avg-L (90 classes)", column).ours for column in ("NB", "kNN", "SVM")}
    assert micro["NB"] < micro["kNN"] < micro["SVM"]


def test_cells_without_a_figure_say_why(tables):
    assert all(cell.absent for one in tables.values() for cell in one.cells if cell.ours is None)


def test_multi_class_naive_bayes_comes_near_the_slide_with_selected_terms(tables):
    """80.0/39.2 with add-one and 78.9/46.1 with discounting (slide 80/47); seeds of folds move micro .6, macro 1.6."""
    for label, micro, macro in (("add-one", 80.0, 39.2), ("discounting", 78.9, 46.1)):
        column = f"NB multi-class, 2,000 terms, {label}"
        assert tables["a"].cell("micro-avg-L (90 classes)", column).ours == pytest.approx(micro, abs=0.8)
        assert tables["a"].cell("macro-avg (90 classes)", column).ours == pytest.approx(macro, abs=1.8)


def test_naive_bayes_is_more_robust_than_some(tables):
    """Irrelevant terms: only kNN loses more (7.5 and 16.8 points). Drift: 6.2 against 6.8 to 7.4, each known to 0.6."""
    lost = {row: tables["47"].cell(row, "irrelevant terms").ours for row in ("NB", "kNN", "SVM")}
    assert lost["SVM"] + 3 < lost["NB"] < lost["kNN"] - 5
    drift = {row: tables["47"].cell(row, "drift").ours for row in ("NB", "kNN", "SVM")}
    assert drift["NB"] == pytest.approx(6.2, abs=1.2)
    assert drift["NB"] < max(drift["kNN"], drift["SVM"])


def test_breakevens_of_slide_56_b_come_out_by_the_methods_of_their_authors(tables):
    """Of ten bands NB, kNN and SVM reach all, trees 7, Find Similar 6; mean distances 1.9 to 2.4, 5.0 and 9.1."""
    reached = {"NB": 10, "kNN": 9, "SVM": 10, "trees": 7, "Rocchio": 6}
    for column, least in reached.items():
        cells = [cell for cell in tables["b"].cells if cell.column == column][:10]
        assert sum(cell.mark == REPRODUCED for cell in cells) >= least, column
        assert sum(abs(cell.difference) for cell in cells) / 10 < (10 if column == "Rocchio" else 5.5), column
