"""Published tables: what the files hold adds up, and the lineup marks and explains every cell."""

import json

import pytest

from unnaive.errors import BadData, UnknownName, UnnaiveError
from unnaive.evaluation.papers import lineup as lineups
from unnaive.evaluation.papers.lineup import reproduce
from unnaive.evaluation.papers.output import Footnotes, as_json, as_text
from unnaive.evaluation.papers.page import as_html
from unnaive.evaluation.papers.tables import Measurement, Paper, Run, Table, _check, paper_keys, read_paper
from unnaive.models.catalogue import MODELS

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
        "iir": {"example", "a", "b"},
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
    (example,) = reproduce("iir", Run(), table="example")
    assert [line.mark for line in example.lines] == ["inside"] * 10
    assert example.line("P(Chinese|class)", "China").ours == pytest.approx(3 / 7, rel=1e-12)
    products = [example.line("P(class) ∏ P(t|class) of document 5", column).ours for column in ("China", "not China")]
    assert products == pytest.approx([3 / 4 * (3 / 7) ** 3 / 14**2, 1 / 4 * (2 / 9) ** 5], rel=1e-12)


TOY = Table(
    "1", "A title", "none", "what was run", ("NB", "Oracle", "Old"), ("x", "y"),
    ((0.5, 0.6), (0.9, None), (0.1, 0.2)), models={"NB": "multinomial", "Oracle": "crystal-ball"},
    bands={("NB", "x"): (0.4, 0.6), ("NB", "y"): (0.4, 0.6)}, doubts={("NB", "y"): "smudged"}, unavailable=("Old",),
)  # fmt: skip


@pytest.fixture
def toy(monkeypatch):
    def runner(run):
        if run.wants("NB", "multinomial"):
            yield Measurement("NB", "x", 0.55, 0.01)
            yield Measurement("NB", "y", 0.7, note="our remark")

    class Toy(Paper):
        def runners(self):
            return {"1": runner}

        def figures(self):
            return {}

    paper = Toy("toy", "Toys", "somebody", ("a note",), (TOY,))
    monkeypatch.setattr(lineups, "read_paper", lambda key: paper)
    return paper


def test_lines_are_marked_and_explained(toy):
    (found,) = reproduce("toy", Run())
    inside, outside = found.line("NB", "x"), found.line("NB", "y")
    assert (inside.mark, outside.mark) == ("inside", "outside")
    assert inside.difference == pytest.approx(0.05)
    assert outside.notes == ("printed value doubtful: smudged", "our remark")
    assert found.line("Oracle", "x").reason == "no classifier called crystal-ball yet"
    assert found.line("Old", "x").reason == "the data cannot be had"
    assert found.outside == (outside,)


@pytest.mark.parametrize("models", [("NB",), ("nb",), ("multinomial",), ("naive-bayes",)])
def test_filter_takes_labels_models_and_families(toy, models):
    (found,) = reproduce("toy", Run(models=models))
    assert found.line("NB", "x").ours == 0.55


def test_what_the_filter_leaves_out_says_so(toy):
    (found,) = reproduce("toy", Run(models=("baselines",)))
    assert found.line("NB", "x").reason == "left out by --models"
    assert "NB" in found.table.rows
    assert "NB" not in found.rows  # nor is it printed
    assert "NB" not in as_text(found)


def test_a_collection_that_is_not_here_is_a_reason_not_a_crash(tmp_path):
    (found,) = reproduce("hierarchical", Run(data=tmp_path), table="4.10")
    assert "the collection 'reuters' is not in" in found.line("earn", "NB (30 feat.)").reason


def test_text_has_blocks_that_fit_and_footnotes_once(toy):
    (found,) = reproduce("toy", Run())
    text = as_text(found, width=40)
    assert "0.55±0.01 | 0.50 +0.05 ✓" in text
    assert text.count("no classifier called crystal-ball yet") == 1
    assert max(map(len, text.splitlines()[2:8])) <= 40


def test_json_is_plain(toy):
    found = list(reproduce("toy", Run()))
    content = json.loads(json.dumps(as_json(toy, found, Run()), allow_nan=False))
    cell = content["tables"][0]["cells"][0]
    assert (cell["ours"], cell["theirs"], cell["band"], cell["mark"]) == (0.55, 0.5, [0.4, 0.6], "inside")


def test_page_shows_ours_and_theirs(toy):
    page = as_html(toy, list(reproduce("toy", Run())), Run())
    assert '<span class="ours">0.55±0.01</span> | 0.50 +0.05' in page
    assert "0.70 is not in 0.40 to 0.60" in page


def test_unknown_names_list_what_there_is():
    with pytest.raises(UnknownName, match="no paper called 'or-gates'; there are hierarchical"):
        list(reproduce("or-gates", Run()))
    with pytest.raises(UnknownName, match="no table of iir called '9'"):
        list(reproduce("iir", Run(), table="9"))


def test_a_misspelt_band_is_refused():
    with pytest.raises(UnnaiveError, match="a cell that it does not have"):
        _check(Table("1", "", "", "", ("a",), ("b",), ((1.0,),), bands={("A", "b"): (0, 1)}))
    with pytest.raises(UnnaiveError, match="other than its 1 × 1 cells"):
        _check(Table("1", "", "", "", ("a",), ("b",), ((1.0, 2.0),)))


def test_footnotes_of_nothing_are_nothing():
    assert Footnotes().mark([]) == ""


def test_bad_data_other_than_a_missing_collection_is_also_told(monkeypatch, toy):
    def broken(run):
        raise BadData("the archive is cut off")
        yield

    monkeypatch.setattr(type(toy), "runners", lambda self: {"1": broken})
    (found,) = reproduce("toy", Run())
    assert found.line("NB", "x").reason == "not run: the archive is cut off"
