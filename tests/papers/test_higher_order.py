"""The higher-order paper on the real collections: every value of ours that has a band falls in it, 3 splits."""

import pytest

from unnaive.papers.comparison import reproduce
from unnaive.papers.paper_run import PaperRun
from unnaive.papers.published_tables import read_paper

MODELS = ("MVNB", "MVNB+JM", "HOS", "HONB")
BEYOND = ("HONB document prior", "HOS l2")  # not in the paper's tables


def tables(number):
    found = reproduce("higher-order", PaperRun(quick=True, models=(*MODELS, *BEYOND)), table=number)
    return {one.table.id: one for one in found}


@pytest.fixture(scope="module")
def newsgroups():
    return tables("2")


@pytest.fixture(scope="module")
def haber():
    return tables("4")


@pytest.mark.parametrize(("row", "column"), list(read_paper("higher-order").select_tables("2")[0].bands))
def test_value_is_in_its_band(newsgroups, row, column):
    cell = newsgroups["2"].cell(row, column)
    assert cell.ours is not None, cell.absent
    assert cell.ours in cell.band


@pytest.mark.parametrize("column", MODELS)
def test_honest_choice_of_terms_costs_accuracy_where_training_data_is_little(newsgroups, column):
    honest, leaking = (newsgroups[table].cell("10", column).ours for table in ("2/honest", "2"))
    assert 1.5 < leaking - honest < 5.5  # measured 2.3 to 3.9


@pytest.mark.parametrize("row", ["10", "80"])
@pytest.mark.parametrize("column", ["MVNB", "MVNB+JM", "HONB"])
def test_smoothing_is_significantly_better_on_newsgroups(newsgroups, row, column):
    assert newsgroups["2/t-test"].cell(row, column).ours < 0.05


@pytest.mark.parametrize("row", ["10", "80"])
def test_prior_from_paths_costs_a_little_and_normalised_documents_pay_a_little(newsgroups, row):
    """On the same splits, so noise is that of differences: over ten splits −0.49, −0.47 and +0.71, +0.46 points."""
    found = {column: newsgroups["2"].cell(row, column).ours for column in ("HONB", "HOS", *BEYOND)}
    assert 0 < found["HONB document prior"] - found["HONB"] < 0.9
    assert 0 < found["HOS l2"] - found["HOS"] < 1.2


def test_turkish_news_are_close_to_the_paper_at_80_percent(haber):
    for column in MODELS:  # the paper's standard deviations are up to 2.5
        assert haber["4"].cell("80", column).difference == pytest.approx(0, abs=4)


def test_numbers_are_the_same_by_seed(newsgroups):
    again = next(reproduce("higher-order", PaperRun(quick=True, models=("HOS",)), table="2"))
    assert again.cell("80", "HOS").ours == newsgroups["2"].cell("80", "HOS").ours


def test_the_paper_s_machine_comes_out_and_ours_is_another():
    """Over ten splits 65.2 and 81.9 for 65.15 and 82.07; the squared hinge of each class on presence 71.5 and 85.9."""
    machines = PaperRun(quick=True, models=("svm",))
    table = next(reproduce("higher-order", machines, table="2"))
    for row in ("10", "80"):
        assert table.cell(row, "SVM").difference == pytest.approx(0, abs=1.2)
        assert table.cell(row, "SVM one-vs-rest").ours > table.cell(row, "SVM").ours + 3
