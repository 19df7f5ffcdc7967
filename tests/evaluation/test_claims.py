"""Claims of papers: counted in published figures and in ours, marked by one rule, read from the tables' files."""

import json
from pathlib import Path

import pytest

from unnaive.base.errors import UnnaiveError
from unnaive.papers.claims import Claim, ClaimCount, compare_claims, read_claims
from unnaive.papers.comparison import claim_comparisons, compare_measurements
from unnaive.papers.paper_run import Measurement, PaperRun
from unnaive.papers.published_tables import Paper, PublishedTable, paper_keys, read_paper
from unnaive.papers.render import as_html, summary_as_text, tables_as_json, tables_as_markdown

DOCS = Path(__file__).parents[2] / "docs"
TABLE = PublishedTable("1", "T", "none", "w", ("a", "b", "c"), ("X", "Y"), ((3.0, 1.0), (5.0, 4.0), (2.0, 6.0)))
ENTRY = {"text": "X > Y", "tables": ["1"], "falling": [["*", "X"], ["*", "Y"]]}
OURS = {("1", "a", "X"): 9.0, ("1", "a", "Y"): 1.0, ("1", "b", "X"): 2.0, ("1", "b", "Y"): 3.0}


def theirs(cell):
    return TABLE.theirs(*cell[1:])


def test_a_claim_counts_the_cells_where_it_holds_and_the_mean_gap():
    """Theirs: 3 > 1, 5 > 4, 2 < 6; gaps 2, 1, −4. Ours: 9 > 1, 2 < 3, and c is not measured; gaps 8, −1."""
    (found,) = compare_claims(read_claims([ENTRY], [TABLE]), theirs, OURS.get)
    assert found.theirs == ClaimCount(2, 3, pytest.approx(-1 / 3))
    assert found.ours == ClaimCount(1, 2, 3.5)
    assert found.mark == "≈"  # in the mean, but not in more than half of the cells


def test_a_claim_may_fix_a_row_and_name_the_others():
    (claim,) = read_claims([ENTRY | {"falling": [["*", "X"], ["a", "X"]], "rows": ["b", "c"]}], [TABLE])
    assert claim.instances == ((("1", "b", "X"), ("1", "a", "X")), (("1", "c", "X"), ("1", "a", "X")))
    assert claim.count(theirs) == ClaimCount(1, 2, 0.5)  # 5 > 3, 2 < 3


def test_a_claim_may_order_three_figures():
    """7 > 5 > 2 holds, 7 > 7 does not; the gap is first minus last."""
    cells = tuple(("1", row, "X") for row in "abc")
    assert Claim("", (cells,)).count(dict(zip(cells, (7, 5, 2), strict=True)).get) == ClaimCount(1, 1, 5.0)
    assert Claim("", (cells,)).count(dict(zip(cells, (7, 7, 2), strict=True)).get) == ClaimCount(0, 1, 5.0)


def test_a_claim_of_nearness_holds_within_its_width():
    entry = {"text": "alike", "tables": ["1"], "near": [["*", "X"], ["*", "Y"]], "within": 2}
    (found,) = compare_claims(read_claims([entry], [TABLE]), theirs, OURS.get)
    assert (found.theirs.holds, found.ours.holds) == (2, 1)  # gaps 2, 1, 4; and 8, 1
    assert found.mark == "✗"


def test_entries_with_one_text_are_one_claim():
    (claim,) = read_claims([ENTRY, ENTRY | {"rows": ["a"]}], [TABLE])
    assert len(claim.instances) == 4


@pytest.mark.parametrize(
    "wrong", [{"tables": ["2"]}, {"falling": [["*", "Z"], ["*", "Y"]]}, {"within": 1}, {"rows": ["d"]}]
)
def test_a_claim_about_what_is_not_there_is_refused(wrong):
    with pytest.raises(UnnaiveError, match="the claim 'X > Y'"):
        read_claims([ENTRY | wrong], [TABLE])


def test_claims_stand_before_the_tables_in_every_form():
    class Toy(Paper):
        def figures(self):
            return {}

    paper = Toy("toy", "Toys", "s", (), (TABLE,), claims=read_claims([ENTRY], [TABLE]), contradictions=("2 < 6",))
    done = [compare_measurements(TABLE, [Measurement(*cell[1:], value) for cell, value in OURS.items()], PaperRun())]
    text = summary_as_text(paper, done)
    assert text.startswith(
        "Claims that hold ✓ 0; in part ≈ 1; that fail ✗ 0\n  ≈ X > Y\n    published 2 of 3, -0.333; ours 1 of 2, +3.5\n"
    )
    assert summary_as_text(paper, []).startswith("Claims that hold ✓ 0; in part ≈ 0; that fail ✗ 0; not measured 1\n\n")
    assert text.endswith("The paper contradicts itself\n  2 < 6")
    page = tables_as_markdown(paper, done, PaperRun())
    assert page.index("| X > Y | 2 of 3, -0.333 | 1 of 2, +3.5 | ≈ |") < page.index("### Table 1")
    html = as_html(paper, done, PaperRun())
    assert html.index("X &gt; Y") < html.index("<b>T</b>")
    claim = {"claim": "X > Y", "published": "2 of 3, -0.333", "ours": "1 of 2, +3.5", "mark": "≈"}
    assert tables_as_json(paper, done, PaperRun())["claims"] == [claim]


@pytest.mark.parametrize("key", paper_keys())
def test_every_paper_has_claims_that_its_own_figures_mostly_bear_out(key):
    """Where they do not, the paper contradicts itself, which is said."""
    counts = [found.theirs for found in claim_comparisons(read_paper(key), [])]
    assert counts
    assert sum(2 * count.holds <= count.cells for count in counts if count.cells) <= len(counts) // 4


@pytest.mark.parametrize("key", paper_keys())
def test_every_figure_that_differs_has_a_reason_and_rules_are_those_of_the_run(key):
    stored = json.loads((DOCS / "reproductions.json").read_text(encoding="utf-8"))["papers"][key]
    tables = {table.id: table for table in read_paper(key).tables}
    for name, measured in stored.items():
        figures = [Measurement(**one) for one in measured["figures"]]
        found = compare_measurements(tables[name], figures, PaperRun(), rules=measured["rules"])
        assert not found.void
        assert not found.unaccounted, [(cell.row, cell.column) for cell in found.unaccounted]
