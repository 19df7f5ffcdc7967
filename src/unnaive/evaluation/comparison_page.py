"""The HTML page of a comparison: figures with intervals, tables, tests of every pair; summaries.py computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from unnaive.base.errors import count_noun
from unnaive.evaluation.grids import SPREAD, Grid, format_seconds, make_grids, place_names, short_name
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.reports import html_page as html
from unnaive.evaluation.reports import plots
from unnaive.evaluation.reports.identity import Identity
from unnaive.evaluation.results import Record
from unnaive.evaluation.significance import Test, holm
from unnaive.evaluation.summaries import (
    FEWEST_SPLITS,
    GridPoint,
    PairwiseTest,
    Summary,
    every_pair,
    learning_curves,
    pairwise_tests,
    vocabulary_curves,
)
from unnaive.learning.confidence_interval import wilson_interval

ONE_SPLIT = "One split, so there is no interval."
INTERVAL = (
    "Mean over the splits; the line is its 95 % interval, widened because splits share documents (Nadeau and Bengio)."
)


def comparison_page(
    records: Sequence[Record],
    *,
    title: str | None = None,
    against: str | None = None,
    identity: Identity | None = None,
) -> str:
    """The page of a comparison: tables of means, curves, and paired tests against the first model, or `against`."""
    names = list(dict.fromkeys(record.contender for record in records))
    data = ", ".join(dict.fromkeys(short_name(record.data) for record in records))
    splits = len({record.split for record in records})
    protocol = ", ".join(dict.fromkeys(record.protocol for record in records))
    kind = protocol if "fold" in protocol else count_noun(splits, f"{protocol} split")
    documents = [f"{record.n_train:,} training and {record.n_test:,} test documents" for record in records[-1:]]
    sizes = ", ".join([count_noun(len(names), "model"), kind, *documents])
    return html.page(
        title or f"{data}: comparison",
        comparison_verdict(records),
        [
            html.Section("Summary", summary_tiles(records)),
            html.Section("Best first", interval_figures(records)),
            html.Section("Results", html.side_by_side(*map(result_table, make_grids(records)))),
            html.Section("Curves", record_curves(records)),
            html.Section("Every pair", pair_tables(records)),
            html.Section("Differences", difference_table(records, against)),
        ],
        identity=replace(identity or Identity(), sizes=sizes),
    )


def rank_models(records: Sequence[Record]) -> list[Summary]:
    """The summaries of the first measure at the largest training size and vocabulary, best first."""
    if not records:
        return []
    grid = make_grids(records)[0]
    point = list(grid.places)[-1]
    measured = [summary for name in grid.names if (summary := grid.cells.get((name, point)))]
    sign = -1 if find_measure(grid.measure).larger_is_better else 1
    return sorted((one for one in measured if one.mean is not None), key=lambda one: sign * (one.mean or 0.0))


def comparison_verdict(records: Sequence[Record]) -> str:
    """The best model, its interval, and whether it is better than the next one, in one sentence."""
    ranked = rank_models(records)
    if not ranked:
        return "Nothing was measured."
    best = ranked[0]
    most, apart = ("highest", "above") if find_measure(best.measure).larger_is_better else ("lowest", "below")
    tied = [one.contender for one in ranked if one.mean == best.mean]
    if len(tied) > 1:
        return f"{', '.join(tied[:-1])} and {tied[-1]} have the same {best.measure}, {best.mean:.4f}, the {most}."
    low, high = best.interval or _interval_of_documents(records, best) or (None, None)
    interval = "" if low is None else f" (95 % interval {low:.4f} to {high:.4f})"
    found = f"{best.contender} has the {most} {best.measure}, {best.mean:.4f}{interval}"
    test = _test_of_best(records, ranked)
    if test is None:
        return f"{found}."
    distance = abs((best.mean or 0.0) - (ranked[1].mean or 0.0))
    return f"{found}, {distance:.4f} {apart} {ranked[1].contender}; {_describe_test(test)}."


def _describe_test(test: PairwiseTest) -> str:
    """Whether a difference is significant, in words."""
    if test.tested is not None:
        verdict = "significant" if test.tested.significant() else "not significant"
        return f"the difference is {verdict} (p {test.tested.p:.2g})"
    few = f"whether the methods differ cannot be tested with {count_noun(test.splits, 'split')}"
    if test.documents is None:
        return few
    verdict = "differ" if test.documents.significant() else "cannot be told apart"
    return f"on these documents the two {verdict} (McNemar's p {test.documents.p:.2g}), and {few}"


def _test_of_best(records: Sequence[Record], ranked: Sequence[Summary]) -> PairwiseTest | None:
    """The test of the two best models, at the same place; None if there is one model."""
    pair = {summary.contender for summary in ranked[:2]}
    place = (ranked[0].train_size, ranked[0].terms)
    tests = every_pair([record for record in records if record.contender in pair]) if len(pair) == 2 else []
    return next((test for test in tests if test.place == place), None)


def _interval_of_documents(records: Sequence[Record], best: Summary) -> tuple[float, float] | None:
    """Wilson's interval of the accuracy on the documents of a single split; None for other measures."""
    place = (best.contender, best.measure, best.train_size, best.terms)
    own = [one for one in records if (one.contender, one.measure, one.train_size, one.terms) == place]
    if best.measure != "accuracy" or len(own) != 1 or not own[0].right:
        return None
    return wilson_interval(int(own[0].right_documents().sum()), own[0].n_test)


def summary_tiles(records: Sequence[Record]) -> str:
    """The best model and its distance from the next, and what was compared, in five figures."""
    ranked = rank_models(records)
    figures = [(f"{one.measure} of {one.contender}", f"{one.mean:.4f}") for one in ranked[:2]]
    test = _test_of_best(records, ranked)
    if test is not None and (test.tested or test.documents) is not None:
        how = "the corrected resampled t-test" if test.tested is not None else "McNemar's exact test"
        p = (test.tested or test.documents).p  # type: ignore[union-attr]
        figures.append((f"p of their difference, by {how}", f"{p:.2g}"))
    models = len({record.contender for record in records})
    figures += [("models", f"{models:,}"), ("splits", f"{len({record.split for record in records}):,}")]
    return html.tiles(figures)


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
        f"Of the row minus that of the column: {escape(tests[0].measure)}, best first. In bold: "
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
    return html.fixed_table(("", *map(escape, names[1:])), rows, label="Every pair of models")


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
    shown = note + html.table(head, rows, label=f"{grid.measure} of the models")
    return html.headed(grid.measure, shown)


def difference_table(records: Sequence[Record], against: str | None = None) -> str:
    """Every model against the first, or `against`, by the first measure."""
    tests = pairwise_tests(records, against=against) if records else []
    if not tests:
        return ""
    where = place_names(test.place for test in tests)
    columns = {
        "model": [escape(test.first) for test in tests],
        "where": [escape(where[test.place]) for test in tests],
        "splits won/tied/lost": [str(test.outcome) if test.splits > 1 else "" for test in tests],
        "difference": [_difference(test) for test in tests],
        "paired p": [_p_value(test.paired) for test in tests],
        "corrected p": [_p_value(test.corrected) for test in tests],
        "McNemar p": [_p_value(test.documents) for test in tests],
        "verdict": [escape(test.verdict) for test in tests],
    }
    filled = [name for name, cells in columns.items() if any(cells)]
    rows = list(zip(*(columns[name] for name in filled), strict=True))
    note = (
        f"Against {escape(tests[0].second)}, by {escape(tests[0].measure)}, on the same splits. "
        "The plain paired test assumes independent splits, which they are not; the verdict uses the corrected "
        f"resampled test (Nadeau and Bengio) at level .05, from {FEWEST_SPLITS} splits on. McNemar's exact test is "
        "on documents, whether all labels of each are right; it tests whether these trained models differ, not whether "
        "the methods would with other training documents."
    )
    return html.page_note(note) + html.table(
        filled, rows, kind="differences", label="Differences and their significance"
    )


def _difference(test: PairwiseTest) -> str:
    """The mean difference over the splits or, of one split, that of the documents that are right."""
    shown = test.paired or test.documents
    return "" if shown is None else f"{shown.difference:+.4f}"


def _p_value(test: Test | None) -> str:
    return "" if test is None else f"{test.p:.2g}"


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
