"""Show a comparison for people: the best model, tables of means, and what the tests say of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.apps.common.screen import echo, echo_sentence
from unnaive.base.errors import count_noun

if TYPE_CHECKING:
    from unnaive.evaluation.grids import Grid
    from unnaive.evaluation.results import Record
    from unnaive.evaluation.summaries import PairwiseTest, Summary


def show_comparison(records: list[Record], rival: str, file: Path | None) -> None:
    """The best model, then means and differences as tables."""
    from unnaive.apps.common.screen import console, say_headline, say_summary
    from unnaive.evaluation.grids import SPREAD, make_grids
    from unnaive.evaluation.summaries import pairwise_tests, summarise

    summaries = summarise(records)
    best = find_best(summaries)
    if best is not None:
        say_headline(describe_best(best, summaries))
        say_summary("")
    grids = make_grids(records)
    for grid in grids:
        show_grid(grid)
    if any(grid.has_spread for grid in grids):
        echo(SPREAD)
    tests = pairwise_tests(records, against=rival)
    if tests:
        console().print(f"{tests[0].measure} against {rival}", style="bold")
        console().print(printed_difference_table(tests, summaries))
    for sentence in explain_tests(tests):
        echo_sentence(sentence)
    if file is not None:
        say_summary(f"records: {file}")
    if best is not None:
        model, *settings = best.contender.split(" ")
        wanted = "".join(f" --set {setting}" for setting in settings)
        say_summary(f"next: unnaive train DATA -m {model}{wanted}, or --report FILE.html for a page")


def find_best(summaries: Sequence[Summary]) -> Summary | None:
    """The best mean by the first measure; None if nothing was measured."""
    from unnaive.evaluation.measures import find_measure

    measured = [one for one in summaries if one.mean is not None and one.measure == summaries[0].measure]
    if not measured:
        return None
    sign = 1 if find_measure(measured[0].measure).larger_is_better else -1
    return max(measured, key=lambda one: sign * (one.mean or 0.0))


def describe_best(best: Summary, summaries: Sequence[Summary]) -> str:
    """The headline: the model with the best mean, and where, if there are several training sizes or vocabularies."""
    from unnaive.evaluation.grids import place_names

    places = place_names((one.train_size, one.terms) for one in summaries)
    where = f" with {places[best.train_size, best.terms]}" if len(places) > 1 else ""
    return f"{best.contender} has the best {best.measure}, {best.mean:.4f}{where} ({count_noun(best.splits, 'split')})"


def explain_tests(tests: list[PairwiseTest]) -> list[str]:
    """Explain the columns of p, and what is missing for a verdict."""
    from unnaive.evaluation.summaries import FEWEST_SPLITS

    sentences = []
    if any(test.corrected and test.splits >= FEWEST_SPLITS for test in tests):
        sentences.append(
            "p is of the two-sided corrected resampled t-test (Nadeau and Bengio): whether the methods "
            "would differ with other training documents of the same kind; verdict at .05"
        )
    elif tests:
        sentences.append(
            f"no p with {count_noun(tests[0].splits, 'split')}: the test needs at least {FEWEST_SPLITS}; "
            f"compare with --folds {FEWEST_SPLITS}, or with --splits {FEWEST_SPLITS} --train-sizes 0.8, or more"
        )
    if any(test.documents for test in tests):
        sentences.append(
            "McNemar is an exact test on the documents that only one of the two labels right. It tests whether these "
            "trained models differ, not whether the methods would with other training documents"
        )
    return sentences


def show_grid(grid: Grid) -> None:
    """One measure: models by training size and vocabulary, in as many tables as the width asks for."""
    from unnaive.apps.common.screen import console, format_size, plain_table
    from unnaive.evaluation.grids import fitting, format_seconds

    out, sized = console(), any(grid.size(name) for name in grid.names)
    room = out.width - max(len(word) for word in (grid.measure, *grid.names)) - len("  seconds") - 10 * sized
    widths = [max(map(len, (words, *(grid.text(who, at) for who in grid.names)))) for at, words in grid.places.items()]
    for group in fitting(list(grid.places), widths, room):
        table = plain_table(
            grid.measure, *(f">{grid.places[point]}" for point in group), ">seconds", *[">file size"][:sized]
        )
        for name in grid.names:
            costs = [format_seconds(grid.seconds(name, group)), *[format_size(grid.size(name, group))][:sized]]
            table.add_row(name, *(grid.text(name, point) for point in group), *costs)
        out.print(table, "")


def printed_difference_table(tests: list[PairwiseTest], summaries: Sequence[Summary]) -> Any:
    """The difference of each paired test and what is known of it: columns that would say nothing are left out."""
    from unnaive.apps.common.screen import plain_table
    from unnaive.evaluation.grids import place_names

    measure = tests[0].measure
    means = {(one.contender, (one.train_size, one.terms)): one.mean for one in summaries if one.measure == measure}
    where = place_names(pair.place for pair in tests)
    rows = []
    for pair in tests:
        own, other = (means[name, pair.place] or 0.0 for name in (pair.first, pair.second))
        test, exact = pair.tested, pair.documents
        rows.append({
            "model": pair.first,
            "where": where[pair.place] if len(where) > 1 else "",
            ">difference": f"{own - other:+.4f}",
            "better on": f"{pair.outcome.wins} of {pair.splits} splits" if pair.splits > 1 else "",
            ">p": "" if test is None else f"{test.p:.2g}",
            ">McNemar p": "" if exact is None else f"{exact.p:.2g}",
            "verdict": "" if test is None else pair.verdict,
        })  # fmt: skip
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    table = plain_table(*names)
    for row in rows:
        table.add_row(*(row[name] for name in names))
    return table
