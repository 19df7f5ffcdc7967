"""Lineups as one HTML page: our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from unnaive.evaluation import page as html
from unnaive.evaluation.papers.lineup import Line, Lineup
from unnaive.evaluation.papers.output import MARKS, QUICK, Footnotes, figure, remarks_of, spread_figure
from unnaive.evaluation.papers.tables import Paper, Run, Table


def as_html(paper: Paper, lineups: Sequence[Lineup], run: Run) -> str:
    """The tables of a paper, ours and theirs, with a summary of what fell outside its band."""
    about = f"{paper.source}. Seed {run.seed}." + (f" {QUICK}" if run.quick else "")
    return html.page(
        f"{paper.title}: theirs and ours",
        about,
        [
            html.Section("Summary", summary(lineups) + notes(paper.notes)),
            *(html.Section(f"Table {one.table.id}", lineup_table(one) + drawn(paper, one, run)) for one in lineups),
        ],
    )


def drawn(paper: Paper, lineup: Lineup, run: Run) -> str:
    """The figure of a table that has one and was measured."""
    draw = paper.figures().get(lineup.table.id)
    if draw is None or all(line.ours is None for line in lineup.lines):
        return ""
    return html.figure(draw, run, alt=lineup.table.title, kind="wide")


def summary(lineups: Sequence[Lineup]) -> str:
    """How many figures there are, and which fell outside."""
    lines = [line for one in lineups for line in one.lines]
    measured = sum(line.ours is not None for line in lines)
    inside = sum(line.mark == "inside" for line in lines)
    outside = [(one.table, line) for one in lineups for line in one.outside]
    shown = html.tiles(
        [
            ("figures measured", f"{measured:,}"),
            ("inside their band", f"{inside:,}"),
            ("outside their band", f"{len(outside):,}"),
            ("without a band", f"{measured - inside - len(outside):,}"),
            ("not measured", f"{len(lines) - measured:,}"),
        ]
    )
    listed = "".join(
        f"<li>table {escape(table.id)}, {escape(line.row)}, {escape(line.column)}: "
        f"{figure(line.ours, table)} is not in {_band(line, table)}</li>"
        for table, line in outside
    )
    return shown + (f"<ul>{listed}</ul>" if listed else "")


def lineup_table(lineup: Lineup) -> str:
    """One table: ours in bold, theirs, the difference; ✓ and ✗ where a band is stated."""
    table, remarks = lineup.table, Footnotes()
    unit = f" [{table.unit}]" if table.unit else ""
    rows = [
        (escape(row), *(_cell(lineup.line(row, column), table, remarks) for column in lineup.columns))
        for row in lineup.rows
    ]
    shown = html.table(("", *map(escape, lineup.columns)), rows, kind="lineup", label=f"Table {table.id}")
    about = f"<p><b>{escape(table.title)}{escape(unit)}</b></p><p class='note'>{escape(table.what)}</p>"
    legend = (
        "<p class='note'><span class='ours'>ours</span> | theirs difference; ✓ inside, ✗ outside the stated band.</p>"
    )
    return about + legend + shown + notes(remarks.texts, numbered=True) + notes(table.notes)


def _cell(line: Line, table: Table, remarks: Footnotes) -> str:
    ours = f'<span class="ours">{spread_figure(line.ours, line.our_spread, table)}</span>'
    theirs = spread_figure(line.theirs, line.their_spread, table)
    apart = "" if line.difference is None else f" {figure(line.difference, table, signed=True)}"
    title = f' title="band {_band(line, table)}"' if line.band else ""
    mark = f' <span class="{line.mark}"{title}>{MARKS[line.mark]}</span>' if line.mark else ""
    numbers = remarks.mark(remarks_of(line))
    return f"{ours} | {theirs}{apart}{mark}" + (f"<sup>{numbers}</sup>" if numbers else "")


def _band(line: Line, table: Table) -> str:
    low, high = line.band if line.band is not None else (None, None)
    return f"{figure(low, table)} to {figure(high, table)}"


def notes(texts: Iterable[str], *, numbered: bool = False) -> str:
    """Remarks below a table."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    kind = "ol" if numbered else "ul"
    return f'<{kind} class="notes">{items}</{kind}>' if items else ""
