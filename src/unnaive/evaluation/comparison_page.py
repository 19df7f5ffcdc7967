"""The HTML page of a comparison: figures with intervals, tables, tests of every pair; summaries.py computes them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from unnaive.base.errors import count_noun
from unnaive.evaluation.grids import SPREAD, Grid, format_seconds, make_grids, place_names, short_name
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports import plots
from unnaive.evaluation.results import Record
from unnaive.evaluation.significance import holm
from unnaive.evaluation.summaries import (
    FEWEST_SPLITS,
    GridPoint,
    PairwiseTest,
    every_pair,
    learning_curves,
    pairwise_tests,
    vocabulary_curves,
)

ONE_SPLIT = "One split, so there is no interval."
INTERVAL = (
    "Mean over the splits; the line is its 95 % interval, widened because splits share documents (Nadeau and Bengio)."
)


def comparison_page(records: Sequence[Record], *, title: str | None = None, against: str | None = None) -> str:
    """The page of a comparison: tables of means, curves, and paired tests against the first model, or `against`."""
    names = list(dict.fromkeys(record.contender for record in records))
    data = ", ".join(dict.fromkeys(short_name(record.data) for record in records))
    splits = len({record.split for record in records})
    protocol = ", ".join(dict.fromkeys(record.protocol for record in records))
    kind = protocol if "fold" in protocol else count_noun(splits, f"{protocol} split")
    about = f"{count_noun(len(names), 'model')}, {kind}, {count_noun(len(records), 'figure')}"
    return html.page(
        title or f"{data}: comparison",
        about,
        [
            html.Section("Best first", interval_figures(records)),
            html.Section("Results", "".join(map(result_table, make_grids(records)))),
            html.Section("Curves", record_curves(records)),
            html.Section("Every pair", pair_tables(records)),
            html.Section("Differences", difference_table(records, against)),
        ],
    )


def interval_figures(records: Sequence[Record]) -> str:
    """Each measure at the largest training size and vocabulary: a dot and an interval for each model, best first."""
    drawn = []
    for grid in make_grids(records):
        point = list(grid.places)[-1]
        summaries = [grid.cells[name, point] for name in grid.names if (name, point) in grid.cells]
        summaries = [summary for summary in summaries if summary.mean is not None]
        better = find_measure(grid.measure).larger_is_better
        summaries.sort(key=lambda summary: -(summary.mean or 0.0) if better else (summary.mean or 0.0))
        if summaries:
            words = ", ".join(f"{summary.contender} {summary.mean:.3f}" for summary in summaries)
            drawn.append(
                html.figure(
                    plots.intervals_figure,
                    [(summary.contender, summary.mean or 0.0, summary.interval) for summary in summaries],
                    title=f"{grid.measure}, {grid.places[point]}",
                    x=grid.measure,
                    alt=f"{grid.measure}, best first: {words}",
                    caption=ONE_SPLIT if summaries[0].splits < 2 else INTERVAL,
                )
            )
    return html.figures(*drawn)


def pair_tables(records: Sequence[Record]) -> str:
    """Every model against every other by the first measure, for each training size and vocabulary."""
    tests = every_pair(records) if records else []
    if not tests:
        return ""
    where = place_names(test.place for test in tests)
    note = (
        f"{escape(tests[0].measure)} of the row minus that of the column, best first. In bold: "
        "significant at .05 after Holm's correction for the number of pairs; in brackets the p before that, by the "
        f"corrected resampled t-test. It needs at least {FEWEST_SPLITS} splits."
    )
    tables = (
        f"<h3>{escape(words)}</h3>" + pair_matrix([test for test in tests if test.place == point])
        for point, words in where.items()
    )
    return html.page_note(note) + "".join(tables)


def pair_matrix(tests: Sequence[PairwiseTest]) -> str:
    """A triangular table: rows are the better models, columns the others."""
    names = list(dict.fromkeys(name for test in tests for name in (test.first, test.second)))
    p_values = [test.tested.p if test.tested is not None else 1.0 for test in tests]
    cells = {
        (test.first, test.second): pair_cell(test, p) for test, p in zip(tests, holm(p_values), strict=True)
    }  # fmt: skip
    rows = [(escape(name), *(cells.get((name, other), "") for other in names[1:])) for name in names[:-1]]
    return html.table(("", *map(escape, names[1:])), rows, label="Every pair of models")


def pair_cell(test: PairwiseTest, adjusted: float) -> str:
    """The difference, in bold if it is significant, and p."""
    shown = test.paired or test.documents
    if shown is None:
        return str(test.outcome)
    difference = f"{shown.difference:+.4f}"
    if test.tested is None:
        return difference
    return f"{f'<b>{difference}</b>' if adjusted < 0.05 else difference} ({test.tested.p:.2g})"


def result_table(grid: Grid) -> str:
    """One measure: models by training size and vocabulary; the best in bold."""

    def cell(name: str, point: GridPoint) -> str:
        return f"<b>{grid.text(name, point)}</b>" if grid.is_best(name, point) else grid.text(name, point)

    rows = [
        (escape(name), *(cell(name, point) for point in grid.places), format_seconds(grid.seconds(name)))
        for name in grid.names
    ]
    head = (escape(grid.measure), *map(escape, grid.places.values()), "seconds")
    note = html.page_note(f"{SPREAD}.") if grid.has_spread else ""
    return f"<h3>{escape(grid.measure)}</h3>{note}" + html.table(head, rows, label=f"{grid.measure} of the models")


def difference_table(records: Sequence[Record], against: str | None = None) -> str:
    """Every model against the first, or `against`, by the first measure."""
    tests = pairwise_tests(records, against=against) if records else []
    if not tests:
        return ""
    where = place_names(test.place for test in tests)
    rows = [
        (
            escape(test.first),
            escape(where[test.place]),
            str(test.outcome),
            "–" if test.paired is None else f"{test.paired.difference:+.4f}",
            "–" if test.paired is None else f"{test.paired.p:.2g}",
            "–" if test.corrected is None else f"{test.corrected.p:.2g}",
            "–" if test.documents is None else f"{test.documents.p:.2g}",
            escape(test.verdict),
        )
        for test in tests
    ]
    note = (
        f"Against {escape(tests[0].second)}, by {escape(tests[0].measure)}, on the same splits. "
        "The plain paired test assumes independent splits, which they are not; the verdict uses the corrected "
        f"resampled test (Nadeau and Bengio) at level .05, from {FEWEST_SPLITS} splits on. McNemar's exact test is "
        "on documents, whether all labels of each are right; it tests whether these trained models differ, not whether "
        "the methods would with other training documents."
    )
    head = ("model", "where", "win/tie/loss", "difference", "paired p", "corrected p", "McNemar p", "verdict")
    return html.page_note(note) + html.table(
        head, rows, kind="pairwise_tests", label="Differences and their significance"
    )


def record_curves(records: Sequence[Record]) -> str:
    """Learning and vocabulary curves of every measure, if the records have them."""
    drawn = []
    for measure in dict.fromkeys(record.measure for record in records):
        for kind, curves, x, logarithmic in (
            ("training size", learning_curves(records, measure), "training documents, % of all", False),
            ("vocabulary", vocabulary_curves(records, measure), "terms, best by information gain (log scale)", True),
        ):
            if curves:
                ends = ", ".join(f"{curve.name} {curve.mean[0]:.3f} to {curve.mean[-1]:.3f}" for curve in curves)
                drawn.append(
                    html.figure(
                        plots.curves_figure,
                        curves,
                        title=f"{measure} by {kind}",
                        x=x,
                        y=measure,
                        logarithmic=logarithmic,
                        alt=f"{measure} by {kind}: {ends}",
                        caption="Mean over the splits; the band is one standard deviation on either side.",
                    )
                )
    return html.figures(*drawn)
