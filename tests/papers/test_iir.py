"""The textbook's tables on Reuters-21578: every value of ours that has a band falls in it."""

import pytest

from unnaive.evaluation.papers.lineup import reproduce
from unnaive.evaluation.papers.tables import Run, read_paper
from unnaive.reading.collections import data_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(data_folder() is None, reason="the benchmark collections are not here; set UNNAIVE_DATA"),
]

CELLS = [(table.id, *cell) for table in read_paper("iir").tables for cell in table.bands]


@pytest.fixture(scope="module")
def lineups():
    return {lineup.table.id: lineup for lineup in reproduce("iir", Run())}


@pytest.mark.parametrize(("table", "row", "column"), CELLS, ids=[" ".join(cell) for cell in CELLS])
def test_value_is_in_its_band(lineups, table, row, column):
    line = lineups[table].line(row, column)
    assert line.ours is not None, line.reason
    assert line.band[0] <= line.ours <= line.band[1]


def test_the_slide_s_order_of_methods_comes_out(lineups):
    """ "Naive Bayes does pretty well, but some methods beat it consistently (e.g., SVM)"."""
    micro = {column: lineups["a"].line("micro-avg-L (90 classes)", column).ours for column in ("NB", "kNN", "SVM")}
    assert micro["NB"] < micro["kNN"] < micro["SVM"]


def test_cells_without_a_figure_say_why(lineups):
    assert all(line.reason for lineup in lineups.values() for line in lineup.lines if line.ours is None)
