"""The maxent-bridge paper on the real collections: bands, both readings of length, the best iteration, the curves."""

from dataclasses import replace

import numpy as np
import pytest

from unnaive.papers import maxent_bridge as bridge
from unnaive.papers.comparison import REPRODUCED, reproduce
from unnaive.papers.paper_run import PaperRun

RUN = PaperRun(quick=True)
NEWSGROUPS, UNIVERSITIES = bridge.OTHER_READINGS[0], bridge.UNIVERSITIES  # the former without stop list


@pytest.fixture(scope="module")
def tables():
    return {one.table.id: one for one in reproduce("maxent-bridge", RUN)}


def test_every_value_with_a_band_is_in_it(tables):
    banded = [cell for one in tables.values() for cell in one.cells if cell.band and cell.ours is not None]
    assert len(banded) == 5
    assert not [cell for cell in banded if cell.outside]
    marks = {(cell.row, cell.column): cell.mark for cell in banded}
    # the offset of the curves is marked; other readings of the same printed figures are not
    assert marks.pop(("20 Newsgroups", "converged − best, points of error")) == REPRODUCED
    assert set(marks.values()) == {""}


def test_gis_is_best_early_and_overfits_later(tables):
    """Best iteration 5 to 60; measured 14 in all three splits, 11.8 % there and 13.8 % at the end."""
    found = bridge.all_errors(RUN, NEWSGROUPS.collection, NEWSGROUPS.rule, None)
    assert all(5 <= int(iteration) <= 60 for iteration in bridge.best_iterations(found))
    best, held_out, end = (
        tables["2"].cell(NEWSGROUPS.row, column).ours
        for column in (f"{bridge.BEST}, full D", bridge.HELD_OUT, f"{bridge.CONVERGED}, full D")
    )
    assert best <= held_out < end  # the test set knows best, the held-out part nearly as well: measured 12.1


def test_best_over_vocabulary_sizes_is_never_above_the_full_vocabulary(tables):
    for row in (one.row for one in bridge.all_datasets(RUN)):
        for label in bridge.CURVES:
            assert tables["2"].cell(row, label).ours <= tables["2"].cell(row, f"{label}, full D").ours


def test_only_the_universities_are_better_with_fewer_terms(tables):
    """GIS after its best iteration, in %: 25.8 with 1,000 terms and 11.8 with all; universities 9.8 and 12.7."""
    for label in bridge.CURVES:
        assert tables["figure-1"].cell("20 Newsgroups", f"full D is best: {label}").ours == 1
        assert tables["figure-1"].cell("4 Universities", f"full D is best: {label}").ours == 0


def test_both_readings_of_length_are_shown_and_which_fits_differs(tables):
    """Naive Bayes, in %, over splits: universities 26.3 and 14.8 (paper 13.4), newsgroups 11.8 (paper 13.2).

    The standard deviation over three splits is at most 1.3 on the universities and 0.3 on newsgroups.
    """
    found = {one.row: tables["2"].cell(one.row, bridge.NB).ours for one in bridge.all_datasets(RUN)}
    assert found["4 Universities"] == pytest.approx(26.3, abs=2)
    assert found["4 Universities, counts at test"] == pytest.approx(14.8, abs=2)
    assert found["20 Newsgroups, no stop list"] == pytest.approx(11.8, abs=0.6)
    # 10.4 against 11.1 with the words of the paper, which used no stop list: at least the deviation of 0.3 below
    assert found["20 Newsgroups, counts at test"] < found["20 Newsgroups"] - 0.3


def test_the_mapped_model_must_keep_to_unit_length(tables):
    """Measured 53 and 94 % error on counts, where the same model errs in 14 and 14 % on documents of length 1."""
    for dataset in (NEWSGROUPS, UNIVERSITIES):
        found = bridge.all_errors(RUN, dataset.collection, dataset.rule, None)
        assert np.mean([errors["mapped/counts"] - errors["gis/end"] for errors in found]) > 20


def test_letters_only_are_nearer_to_the_paper(tables):
    """Measured 12.0 against 11.8 (paper 13.2) and 12.3 against 11.8 (paper 12.4)."""
    for label in (bridge.NB, bridge.BEST):
        plain, letters = (tables["2"].cell(f"20 Newsgroups, {e}", label) for e in ("no stop list", "letters only"))
        assert abs(letters.difference) < abs(plain.difference)


def test_records_are_not_run_again(tmp_path, monkeypatch):
    run = PaperRun(quick=True, models=("multinomial",), records=tmp_path)
    first = bridge.all_errors(run, UNIVERSITIES.collection, UNIVERSITIES.rule, 1000)
    monkeypatch.setattr(bridge, "split_errors", pytest.fail)
    again = replace(run, jobs=2)  # another run, of which nothing is in memory
    assert bridge.all_errors(again, UNIVERSITIES.collection, UNIVERSITIES.rule, 1000) == first


def test_the_figure_has_a_panel_for_each_collection_and_the_printed_points(tables):
    drawing = bridge.draw_figure(RUN)
    assert [axes.get_title() for axes in drawing.axes] == ["20 Newsgroups", "4 Universities"]
    points = [
        line.get_ydata()[0]
        for line in drawing.axes[0].get_lines()
        if line.get_marker() == "x" and len(line.get_ydata())
    ]
    assert points == [13.2, 12.4, 14.5]


def test_letters_without_stop_words_have_the_paper_s_shares_of_rare_words(tables):
    """Table 1 prints 36.0, 61.1 and 12.9 % of the vocabulary; the text says that no stop list was used."""
    rows = {"Singletons (Vocab.%)": 35.9, "Class 1-tons (Vocab.%)": 60.9, "Class 2-tons (Vocab.%)": 12.6}
    for row, share in rows.items():
        assert tables["1"].cell(row, "20 Newsgroups").ours == pytest.approx(share, abs=0.15)
