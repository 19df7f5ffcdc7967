"""The records of a comparison as an HTML page: tables of means, curves, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from unnaive.evaluation import page as html
from unnaive.evaluation import plots
from unnaive.evaluation.grids import Grid, grids, place_names
from unnaive.evaluation.records import Record
from unnaive.evaluation.summaries import Place, contender_name, duels, learning_curves, vocabulary_curves


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
            html.Section("Results", "".join(map(result_table, grids(records)))),
            html.Section("Curves", record_curves(records)),
            html.Section("Differences", duel_table(records, against)),
        ],
    )


def result_table(grid: Grid) -> str:
    """One measure: models by training size and vocabulary; the best in bold."""

    def cell(name: str, place: Place) -> str:
        return f"<b>{grid.text(name, place)}</b>" if grid.is_best(name, place) else grid.text(name, place)

    rows = [
        (escape(name), *(cell(name, place) for place in grid.places), f"{grid.seconds(name):.2f}")
        for name in grid.names
    ]
    head = (escape(grid.measure), *map(escape, grid.places.values()), "seconds")
    return f"<h3>{escape(grid.measure)}</h3>" + html.table(head, rows, label=f"{grid.measure} of the models")


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
