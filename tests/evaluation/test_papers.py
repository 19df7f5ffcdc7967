"""Published tables: what the files hold adds up, and the comparison marks and explains every cell."""

import json
from dataclasses import replace

import pytest

from unnaive.base.errors import BadData, UnknownName, UnnaiveError
from unnaive.models.catalogue import MODELS
from unnaive.papers import comparison
from unnaive.papers.comparison import (
    EXPLAINED,
    REPRODUCED,
    UNEXPLAINED,
    UNMARKED,
    compare_measurements,
    reproduce,
    summary_line,
)
from unnaive.papers.paper_run import Measurement, PaperRun
from unnaive.papers.published_tables import (
    SOURCE_KINDS,
    Band,
    Paper,
    PublishedTable,
    Source,
    _check_table,
    _read_source,
    _read_table,
    paper_keys,
    read_paper,
)
from unnaive.papers.render import Footnotes, as_html, tables_as_json, tables_as_markdown, tables_as_text

TEST_DOCUMENTS = (1087, 719, 179, 149, 189, 117, 131, 89, 71, 56)  # of the ten largest Reuters classes


def table(key, number):
    return next(one for one in read_paper(key).tables if one.id == number)


def test_every_table_of_the_five_sources_is_there():
    there = {key: {one.number for one in read_paper(key).tables} for key in paper_keys()}
    published = {
        "or-gate": {"1", "2", "3"},
        "maxent-bridge": {"1", "2", "figure-1"},
        "higher-order": {str(number) for number in range(1, 10)},
        "hierarchical": {f"4.{number}" for number in range(1, 11)},
        "iir": {"example", "a", "b", "36", "46", "47", "50"},
    }
    assert there.keys() == published.keys()
    assert all(published[key] <= there[key] for key in published)


@pytest.mark.parametrize("key", paper_keys())
def test_runners_are_about_tables_that_exist(key):
    assert set(read_paper(key).runners()) <= {one.id for one in read_paper(key).tables}


@pytest.mark.parametrize("key", paper_keys())
def test_every_model_that_a_table_names_is_in_the_catalogue(key):
    assert {model for one in read_paper(key).tables for model in one.models.values()} <= set(MODELS)


def test_averages_of_the_thesis_agree_with_their_columns():
    """Macro: mean of the ten classes; micro: weighted by test documents. One printed micro average does not."""
    printed = table("hierarchical", "4.10")
    for place, column in enumerate(printed.columns):
        points = [row[place] for row in printed.values[:10]]
        if None in points:  # a column of ours, beyond the thesis
            continue
        assert printed.theirs("Macro-averaged", column) == pytest.approx(sum(points) / 10, abs=0.06)
        weighted = sum(size * point for size, point in zip(TEST_DOCUMENTS, points, strict=True)) / sum(TEST_DOCUMENTS)
        doubtful = ("Micro-averaged", column) in printed.doubts
        assert (abs(printed.theirs("Micro-averaged", column) - weighted) < 0.1) != doubtful


@pytest.mark.parametrize(("derived", "from_table"), [("5", "2"), ("6", "3"), ("7", "4")])
def test_gains_of_the_higher_order_paper_follow_from_its_accuracies(derived, from_table):
    gains, accuracies = table("higher-order", derived), table("higher-order", from_table)
    for row in gains.rows:
        for column in gains.columns:
            own, other = accuracies.theirs(row, "HOS"), accuracies.theirs(row, column)
            assert gains.theirs(row, column) == pytest.approx(100 * (own - other) / other, abs=0.011)


def test_running_words_over_documents_are_the_printed_lengths():
    printed = table("maxent-bridge", "1")
    for column in printed.columns:
        words, documents = (
            printed.theirs("Running words (thousands)", column),
            printed.theirs("Number of documents", column),
        )
        assert printed.theirs("Average document length", column) == pytest.approx(1000 * words / documents, abs=1.01)


def test_identical_rows_of_the_or_gate_paper_are_marked_as_doubtful():
    printed = table("or-gate", "3/reuters")
    assert printed.values[0] == printed.values[1]
    assert len(printed.doubts) == 3


def test_the_worked_example_comes_out():
    (example,) = reproduce("iir", PaperRun(), table="example")
    assert [cell.mark for cell in example.cells] == [REPRODUCED] * 10
    assert example.cell("P(Chinese|class)", "China").ours == pytest.approx(3 / 7, rel=1e-12)
    products = [example.cell("P(class) ∏ P(t|class) of document 5", column).ours for column in ("China", "not China")]
    assert products == pytest.approx([3 / 4 * (3 / 7) ** 3 / 14**2, 1 / 4 * (2 / 9) ** 5], rel=1e-12)


MEASURED = Source("earlier measurement", "the first run")
NOISE = Source("noise", "two standard deviations of three splits")
TOY = PublishedTable(
    "1", "A title", "none", "what was run", ("NB", "Oracle", "Old"), ("x", "y", "z", "w", "v"),
    ((0.5, 0.6, 0.2, 0.8, None), (0.9, None, None, None, None), (0.1, 0.2, None, None, None)),
    models={"NB": "multinomial", "Oracle": "crystal-ball"},
    bands={("NB", "x"): Band(0.4, 0.6, MEASURED), ("NB", "z"): Band(0.65, 0.75, MEASURED)},
    tolerance=(0.05, NOISE), reasons={("NB", "z"): "other documents", ("NB", "w"): "a guess"},
    evidence={("NB", "z"): ("NB", "v")}, doubts={("NB", "y"): "smudged"},
    unavailable=("Old",),
)  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    def runner(run):
        if run.wants("NB", "multinomial"):
            yield Measurement("NB", "x", 0.55, 0.01)
            yield Measurement("NB", "y", 0.7, note="our remark")
            yield Measurement("NB", "z", 0.7)
            yield Measurement("NB", "w", 0.7)
            yield Measurement("NB", "v", 0.22)

    class Toy(Paper):
        def runners(self):
            return {"1": runner}

        def figures(self):
            return {}

    paper = Toy("toy", "Toys", "somebody", ("a note",), (TOY,))
    monkeypatch.setattr(comparison, "read_paper", lambda key: paper)
    return paper


def test_each_mark_means_one_thing(toy):
    """✓ in a band around the published value; ≈ differs for a reason that is shown; ✗ differs.

    Of z, .2 is published and ours is .7; with the published documents (v) ours is .22, in .145 to .255: shown.
    """
    (found,) = reproduce("toy", PaperRun())
    x, y, z, w = (found.cell("NB", column) for column in "xyzw")
    assert (x.mark, y.mark, z.mark, w.mark) == (REPRODUCED, EXPLAINED, EXPLAINED, UNEXPLAINED)
    assert x.difference == pytest.approx(0.05)
    assert y.remarks == ["printed value doubtful: smudged", "our remark"]
    assert z.reason == "other documents"
    assert w.reason == "a guess"
    assert found.cell("Oracle", "x").absent == "no classifier called crystal-ball yet"
    assert found.cell("Old", "x").absent == "not measured: the data is not here; it is used if you have it"
    assert summary_line([found]).startswith("✓ 1 reproduced, ≈ 2 differ for a reason that is shown, ✗ 1 differ")


@pytest.mark.parametrize("shown", [0.14, 0.26, None])
def test_a_reason_that_the_rerun_does_not_bear_out_explains_nothing(shown):
    """The figure without the difference must lie in .145 to .255, the band around the published .2, and be measured."""
    measured = [Measurement("NB", "z", 0.7), *([] if shown is None else [Measurement("NB", "v", shown)])]
    assert compare_measurements(TOY, measured, PaperRun()).cell("NB", "z").mark == UNEXPLAINED


def test_a_printed_figure_that_stands_twice_is_marked_once():
    measured = [Measurement("NB", "x", 0.55), Measurement("NB", "w", 0.7)]
    found = compare_measurements(replace(TOY, repeats=("w",)), measured, PaperRun())
    assert [found.cell("NB", column).mark for column in "xw"] == [REPRODUCED, UNMARKED]
    assert found.cell("NB", "w").difference == pytest.approx(-0.1)


def test_marks_are_void_when_the_rules_change_after_the_run():
    measured = [Measurement("NB", "x", 0.55)]
    wider = replace(TOY, tolerance=(0.5, NOISE))
    assert compare_measurements(TOY, measured, PaperRun(), rules=TOY.rules).cell("NB", "x").mark == REPRODUCED
    found = compare_measurements(wider, measured, PaperRun(), rules=TOY.rules)
    assert (found.void, found.cell("NB", "x").mark) == (True, UNMARKED)
    assert replace(TOY, notes=("other words",)).rules == TOY.rules


def test_the_expected_range_of_our_value_decides_no_mark(toy):
    """NB, z lies in its range of .65 to .75, but .2 is published. Half a unit of the last digit, .005, is added."""
    (found,) = reproduce("toy", PaperRun())
    cell = found.cell("NB", "z")
    assert not cell.outside
    assert (cell.around.low, cell.around.high) == pytest.approx((0.145, 0.255))
    assert {found.cell("NB", column).around.source for column in "xz"} == {NOISE}


def test_a_figure_without_a_derived_band_has_no_mark():
    """A running time of .01 s against 60 s is neither reproduced nor wrong."""
    measured = [Measurement("NB", "x", 0.55), Measurement("NB", "w", 0.7)]
    found = compare_measurements(replace(TOY, tolerance=None), measured, PaperRun())
    assert [found.cell("NB", column).mark for column in "xw"] == [UNMARKED, UNMARKED]
    assert found.mean_difference is None


def test_the_mean_difference_of_a_table_is_over_its_marked_cells(toy):
    """Of x, y, z, w: (.05 + .1 + .5 − .1) / 4."""
    (found,) = reproduce("toy", PaperRun())
    assert found.mean_difference == pytest.approx(0.1375)


def test_a_value_that_left_its_band_is_told(toy, monkeypatch):
    monkeypatch.setattr(type(toy), "runners", lambda self: {"1": lambda run: [Measurement("NB", "z", 0.8)]})
    (found,) = reproduce("toy", PaperRun())
    assert [cell.column for cell in found.outside] == ["z"]
    assert "outside 0.65 to 0.75, where our value should fall (earlier measurement)" in tables_as_text(found)
    assert summary_line([found]).endswith("1 outside the band of our value")


def test_spreads_make_a_band_where_they_are_printed():
    table = PublishedTable(
        "1", "", "", "", ("a",), ("b", "c"), ((10.0, 10.0),), spreads=((0.5, None),), tolerance_in_spreads=(2, NOISE),
        tolerance=(3, NOISE),
    )  # fmt: skip
    around = [table.band_around_theirs("a", column) for column in "bc"]
    ends = [end for band in around for end in (band.low, band.high)]
    assert ends == pytest.approx([9 - 0.005, 11.005, 7 - 0.005, 13.005])


def test_a_tolerance_of_one_cell_goes_before_that_of_its_table():
    cells = {("a", "b"): (2, NOISE)}
    one = PublishedTable(
        "1", "", "", "", ("a",), ("b",), ((10.0,),), tolerance=(9, MEASURED), tolerances=cells, printed_decimals=0
    )  # fmt: skip
    around = one.band_around_theirs("a", "b")
    assert (around.low, around.high) == pytest.approx((7.5, 12.5))
    assert around.source == NOISE


def test_a_published_figure_that_rounds_to_ours_is_reproduced():
    """80 printed without decimals is anything from 79.5 to 80.5, both ends included."""
    one = PublishedTable("1", "", "", "", ("a",), ("b",), ((80.0,),), tolerance=(0, NOISE), decimals=0)
    assert all(value in one.band_around_theirs("a", "b") for value in (79.5, 80.5))
    assert 80.6 not in one.band_around_theirs("a", "b")


@pytest.mark.parametrize("key", paper_keys())
def test_every_band_names_its_source(key):
    for one in read_paper(key).tables:
        sources = [band.source for band in one.bands.values()]
        tolerances = [one.tolerance, one.tolerance_in_spreads, *one.tolerances.values()]
        sources += [tolerance[1] for tolerance in tolerances if tolerance is not None]
        assert all(source.kind in SOURCE_KINDS and len(source.text) > 20 for source in sources)


def test_a_band_without_a_source_is_refused():
    entry = {
        "number": "1",
        "title": "",
        "collection": "",
        "what": "",
        "rows": ["a"],
        "columns": ["b"],
        "values": [[1.0]],
    }
    sources = {"splits": NOISE}
    good = _read_table(entry | {"bands": [["a", "b", 0, 2, "splits"]], "tolerance": [1, "splits"]}, sources)
    assert good.bands["a", "b"] == Band(0, 2, NOISE)
    for bad in (
        {"bands": [["a", "b", 0, 2]]},
        {"bands": [["a", "b", 0, 2, "hearsay"]]},
        {"tolerance": [1]},
        {"tolerance_in_spreads": [1, "hearsay"]},
    ):
        with pytest.raises(UnnaiveError, match=r"a band of table 1 names no source: .*; end it with one of .*splits"):
            _read_table(entry | bad, sources)
    with pytest.raises(UnnaiveError, match="starts with none of paper, earlier measurement, noise"):
        _read_source("splits", "hearsay: somebody said so")


def test_reasons_may_be_for_all_rows_and_the_first_counts():
    entry = {
        "number": "1", "title": "", "collection": "", "what": "", "rows": ["a", "b"], "columns": ["c"],
        "values": [[1.0], [2.0]],
        "reasons": [["a", "c", "unknown: nothing helped"], ["*", "*", "measured: other documents"]],
    }  # fmt: skip
    reasons = {("a", "c"): "unknown: nothing helped", ("b", "c"): "measured: other documents"}
    assert _read_table(entry, {}).reasons == reasons


def test_a_reason_says_how_it_is_known():
    entry = {
        "number": "1", "title": "", "collection": "", "what": "", "rows": ["a"], "columns": ["c"],
        "values": [[1.0]], "reasons": [["a", "c", "other documents"]],
    }  # fmt: skip
    with pytest.raises(UnnaiveError, match="starts with none of measured, hypothesis, unknown; write 'kind: text'"):
        _read_table(entry, {})


def test_one_cell_may_be_marked_elsewhere():
    measured = [Measurement("NB", "x", 0.55), Measurement("NB", "w", 0.8)]
    found = compare_measurements(replace(TOY, repeated_cells=frozenset({("NB", "w")})), measured, PaperRun())
    assert [found.cell("NB", column).mark for column in "xw"] == [REPRODUCED, UNMARKED]


def test_the_words_of_a_reason_do_not_void_marks():
    assert replace(TOY, reasons={("NB", "w"): "measured: another"}).rules == TOY.rules
    assert replace(TOY, doubts={}).rules != TOY.rules


def test_a_reason_that_only_the_run_knows_is_told(toy, monkeypatch):
    found = [Measurement("NB", "w", 0.1, reason="half of the documents")]
    monkeypatch.setattr(type(toy), "runners", lambda self: {"1": lambda run: found})
    (compared,) = reproduce("toy", PaperRun())
    assert (compared.cell("NB", "w").mark, compared.cell("NB", "w").reason) == (UNEXPLAINED, "half of the documents")


def test_inferred_values_say_so():
    (offset,) = (one for one in read_paper("maxent-bridge").tables if one.id == "figure-1")
    place = ("4 Universities", "converged − best, points of error")
    assert offset.theirs(*place) == 0.1
    assert "7.8 − 7.7 of table 2" in offset.inferred[place]
    shown = comparison.compare_measurements(offset, [Measurement(*place, 0.15)], PaperRun()).cell(*place)
    assert any(note.startswith("inferred, not printed") for note in shown.notes)


@pytest.mark.parametrize("models", [("NB",), ("nb",), ("multinomial",), ("naive-bayes",)])
def test_filter_takes_labels_models_and_families(toy, models):
    (found,) = reproduce("toy", PaperRun(models=models))
    assert found.cell("NB", "x").ours == 0.55


def test_what_the_filter_leaves_out_says_so(toy):
    (found,) = reproduce("toy", PaperRun(models=("baselines",)))
    assert found.cell("NB", "x").absent == "left out by --models"
    assert "NB" in found.table.rows
    assert "NB" not in found.rows  # nor is it printed
    assert "NB" not in tables_as_text(found)


def test_a_collection_that_is_not_here_is_a_reason_not_a_crash(tmp_path):
    (found,) = reproduce("hierarchical", PaperRun(data=tmp_path), table="4.10")
    assert "the collection 'reuters' is not in" in found.cell("earn", "NB (30 feat.)").absent


def test_text_has_blocks_that_fit_and_footnotes_once(toy):
    (found,) = reproduce("toy", PaperRun())
    text = tables_as_text(found, width=40)
    assert "0.55±0.01 | 0.50 +0.05 ✓" in text
    assert text.count("no classifier called crystal-ball yet") == 1
    assert max(map(len, text.splitlines()[2:8])) <= 40


def test_json_is_plain(toy):
    found = list(reproduce("toy", PaperRun()))
    content = json.loads(json.dumps(tables_as_json(toy, found, PaperRun()), allow_nan=False))
    cell = content["tables"][0]["cells"][0]
    assert (cell["ours"], cell["theirs"], cell["mark"]) == (0.55, 0.5, "reproduced")
    assert cell["band"] == {"low": 0.4, "high": 0.6, "source": {"kind": MEASURED.kind, "text": MEASURED.text}}
    assert content["marks"] == {"reproduced": 1, "explained": 2, "unexplained": 1}


def test_page_shows_ours_and_theirs(toy):
    page = as_html(toy, list(reproduce("toy", PaperRun())), PaperRun())
    assert '<span class="ours">0.55±0.01</span> | 0.50 +0.05' in page
    assert "NB, w: 0.70 is not in 0.74 to 0.86" in page
    assert '<span class="unexplained"' in page


def test_markdown_has_tables_reasons_and_sources(toy):
    text = tables_as_markdown(toy, list(reproduce("toy", PaperRun())), PaperRun())
    assert "| NB | 0.55±0.01 / 0.50 +0.05 ✓ |" in text
    assert "- [2] our remark" in text
    assert "- expected range of ours: the first run (earlier measurement)" in text
    assert (
        "- ± 0.05 + 0.005 for rounding around published values: two standard deviations of three splits (noise)" in text
    )


def test_unknown_names_list_what_there_is():
    with pytest.raises(UnknownName, match="no paper called 'or-gates'; there are hierarchical"):
        list(reproduce("or-gates", PaperRun()))
    with pytest.raises(UnknownName, match="no table of iir called '9'"):
        list(reproduce("iir", PaperRun(), table="9"))


def test_a_misspelt_band_is_refused():
    with pytest.raises(UnnaiveError, match="a cell that it does not have"):
        _check_table(PublishedTable("1", "", "", "", ("a",), ("b",), ((1.0,),), bands={("A", "b"): Band(0, 1, NOISE)}))
    with pytest.raises(UnnaiveError, match="other than its 1 × 1 cells"):
        _check_table(PublishedTable("1", "", "", "", ("a",), ("b",), ((1.0, 2.0),)))


def test_footnotes_of_nothing_are_nothing():
    assert Footnotes().mark([]) == ""


def test_bad_data_other_than_a_missing_collection_is_also_told(monkeypatch, toy):
    def broken(run):
        raise BadData("the archive is cut off")
        yield

    monkeypatch.setattr(type(toy), "runners", lambda self: {"1": broken})
    (found,) = reproduce("toy", PaperRun())
    assert found.cell("NB", "x").absent == "not run: the archive is cut off"
