"""The records of a comparison as an HTML page: tables of means, curves, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from unnaive.evaluation import page as html
from unnaive.evaluation import plots
from unnaive.evaluation.measures import measure_called
from unnaive.evaluation.records import Record
from unnaive.evaluation.summaries import (
    contender_name,
    duels,
    learning_curves,
    place_names,
    summaries,
    vocabulary_curves,
)


def comparison_page(records: Sequence[Record], *, title: str | None = None, against: str | None = None) -> str:
    """The records of a comparison: tables of means, curves, and who beats whom (the first, or `against`)."""
    names = list(dict.fromkeys(contender_name(record) for record in records))
    data = ", ".join(dict.fromkeys(record.data.split("#")[0] for record in records))
    splits = len({record.split for record in records})
    protocol = ", ".join(dict.fromkeys(record.protocol for record in records))
    about = f"{len(names)} models, {protocol} split{'s' if splits > 1 else ''} ({splits}), {len(records):,} figures"
    return html.page(
        title or f"{data}: comparison",
        about,
        [
            html.Section("Results", result_tables(records)),
            html.Section("Curves", record_curves(records)),
            html.Section("Differences", duel_table(records, against)),
        ],
    )


def result_tables(records: Sequence[Record]) -> str:
    """A table for each measure: models by training size and vocabulary; the best in bold."""
    return "".join(_result_table(records, measure) for measure in dict.fromkeys(record.measure for record in records))


def _result_table(records: Sequence[Record], measure: str) -> str:
    found = [one for one in summaries(records) if one.measure == measure]
    places = list(dict.fromkeys((one.train_size, one.terms) for one in found))
    cells = {(one.contender, (one.train_size, one.terms)): one for one in found}
    pick = max if measure_called(measure).larger_is_better else min
    best = {place: _best(cells, place, pick) for place in places}
    rows = []
    for name in dict.fromkeys(one.contender for one in found):
        shown = [cells.get((name, place)) for place in places]
        texts = [
            "–" if one is None else f"<b>{one}</b>" if one.mean is not None and one.mean == best[place] else str(one)
            for one, place in zip(shown, places, strict=True)
        ]
        seconds = [one.seconds for one in shown if one is not None]
        rows.append((escape(name), *texts, f"{sum(seconds) / len(seconds):.2f}"))
    head = (escape(measure), *map(escape, place_names(places).values()), "seconds")
    return f"<h3>{escape(measure)}</h3>" + html.table(head, rows, label=f"{measure} of the models")


def _best(cells: dict[Any, Any], place: Any, pick: Any) -> float | None:
    values = [one.mean for (_, where), one in cells.items() if where == place and one.mean is not None]
    return pick(values) if values else None


def duel_table(records: Sequence[Record], against: str | None = None) -> str:
    """Everyone against the first, or another, by the first measure."""
    found = duels(records, against=against) if records else []
    if not found:
        return ""
    where = place_names(duel.place for duel in found)
    rows = [
        (
            escape(duel.first),
            escape(where[duel.place]),
            str(duel.outcome),
            "–" if duel.paired is None else f"{duel.paired.difference:+.4f}",
            "–" if duel.paired is None else f"{duel.paired.p:.2g}",
            "–" if duel.corrected is None else f"{duel.corrected.p:.2g}",
            escape(duel.verdict),
        )
        for duel in found
    ]
    note = (
        f'<p class="note">Against {escape(found[0].second)}, by {escape(found[0].measure)}, on the same splits. '
        "The plain paired test takes splits as independent, which they are not; the verdict is by the corrected "
        "resampled test (Nadeau and Bengio) at the level .05.</p>"
    )
    head = ("model", "where", "win/tie/loss", "difference", "paired p", "corrected p", "verdict")
    return note + html.table(head, rows, kind="duels", label="Differences and their significance")


def record_curves(records: Sequence[Record]) -> str:
    """Learning and vocabulary curves of every measure, where the records have them."""
    drawn = []
    for measure in dict.fromkeys(record.measure for record in records):
        for kind, found, x, logarithmic in (
            ("training size", learning_curves(records, measure), "training documents, % of all", False),
            ("vocabulary", vocabulary_curves(records, measure), "terms, best by information gain (log scale)", True),
        ):
            if found:
                ends = ", ".join(f"{curve.name} {curve.mean[0]:.3f} to {curve.mean[-1]:.3f}" for curve in found)
                drawn.append(
                    html.figure(
                        plots.curves_figure,
                        found,
                        title=f"{measure} by {kind}",
                        x=x,
                        y=measure,
                        logarithmic=logarithmic,
                        alt=f"{measure} by {kind}: {ends}",
                        caption="Mean over the splits; the band is one standard deviation on either side.",
                    )
                )
    return html.figures(*drawn)
