"""Lineups as text and JSON; page.py has the HTML. Reasons and remarks become footnotes, each printed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from unnaive.evaluation.grids import fitting
from unnaive.evaluation.papers.lineup import INSIDE, OUTSIDE, Line, Lineup
from unnaive.evaluation.papers.tables import Paper, Run, Table

MARKS = {INSIDE: "✓", OUTSIDE: "✗"}
LEGEND = "ours | theirs difference; ✓ inside and ✗ outside the band stated for our value, nothing where none is stated"
QUICK = (
    "A quick run has fewer splits, folds and sizes; the bands are for the whole run, so some figures may miss theirs."
)
HALF = " | "


class Footnotes:
    """Remarks numbered in the order of their first use.

    >>> remarks = Footnotes()
    >>> remarks.mark(["left out"]), remarks.mark(["left out", "doubtful"])
    ('[1]', '[1,2]')
    """

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, remarks: Iterable[str]) -> str:
        """The numbers of these remarks, in brackets; nothing for none."""
        numbers = sorted(self.number(remark) for remark in remarks)
        return f"[{','.join(map(str, numbers))}]" if numbers else ""

    def number(self, remark: str) -> int:
        """The number of a remark, given now if it is new."""
        if remark not in self.texts:
            self.texts.append(remark)
        return self.texts.index(remark) + 1


def remarks_of(line: Line) -> list[str]:
    """All that is to be said of a cell."""
    return [*([line.reason] if line.reason else []), *line.notes]


def figure(value: float | None, table: Table, *, signed: bool = False) -> str:
    """A value with the decimals of its table, none from a thousand up; a dash for no value."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{value:{'+' if signed else ''},.0f}"
    rounded = round(value, table.decimals) + 0.0  # no "-0.0"
    return f"{rounded:{'+' if signed else ''}.{table.decimals}f}"


def spread_figure(value: float | None, spread: float | None, table: Table) -> str:
    """Mean and standard deviation."""
    return figure(value, table) + ("" if spread is None else f"±{spread:.{table.decimals}f}")


def as_text(lineup: Lineup, *, width: int = 110) -> str:
    """The table for a terminal: blocks of as many columns as fit, then the footnotes."""
    table, remarks = lineup.table, Footnotes()
    rows, columns = lineup.rows, lineup.columns
    cells = {(row, column): _cell(lineup.line(row, column), table, remarks) for row in rows for column in columns}
    first = max(len(row) for row in rows)
    widths = {column: max(len(column), *(len(cells[row, column]) for row in rows)) for column in columns}
    groups = fitting(columns, list(widths.values()), width - first)
    blocks = [_block(rows, [(one, widths[one]) for one in group], cells, first) for group in groups]
    unit = f" [{table.unit}]" if table.unit else ""
    head = f"Table {table.id}. {table.title}{unit}\n{table.what}"
    notes = [f"  [{number}] {text}" for number, text in enumerate(remarks.texts, 1)]
    return "\n".join([head, *blocks, *notes, *(f"  {note}" for note in table.notes)])


def _cell(line: Line, table: Table, remarks: Footnotes) -> str:
    """For instance `0.773 | 0.759 +0.014 ✓`."""
    ours = spread_figure(line.ours, line.our_spread, table)
    theirs = spread_figure(line.theirs, line.their_spread, table)
    apart = "" if line.difference is None else figure(line.difference, table, signed=True)
    return " ".join(
        part
        for part in (f"{ours}{HALF}{theirs}", apart, MARKS.get(line.mark, ""), remarks.mark(remarks_of(line)))
        if part
    )


def _block(rows: Sequence[str], columns: list[tuple[str, int]], cells: dict[tuple[str, str], str], first: int) -> str:
    head = " " * first + "".join(f"  {column:<{wide}}" for column, wide in columns)
    body = [f"{row:<{first}}" + "".join(f"  {cells[row, column]:<{wide}}" for column, wide in columns) for row in rows]
    return "\n".join(line.rstrip() for line in (head, *body))


def as_json(paper: Paper, lineups: Sequence[Lineup], run: Run) -> dict[str, Any]:
    """Everything as plain values, with the versions that produced it."""
    from unnaive.evaluation.records import versions

    return {
        "paper": paper.key,
        "title": paper.title,
        "source": paper.source,
        "notes": list(paper.notes),
        "seed": run.seed,
        "quick": run.quick,
        "versions": versions(),
        "tables": [_table_json(lineup) for lineup in lineups],
    }


def _table_json(lineup: Lineup) -> dict[str, Any]:
    table = lineup.table
    return {
        "table": table.id,
        "title": table.title,
        "collection": table.collection,
        "what": table.what,
        "unit": table.unit,
        "notes": list(table.notes),
        "seconds": round(lineup.seconds, 3),
        "cells": [_line_json(line) for line in lineup.lines],
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "row": line.row,
        "column": line.column,
        "theirs": line.theirs,
        "their_spread": line.their_spread,
        "ours": line.ours,
        "our_spread": line.our_spread,
        "difference": line.difference,
        "band": None if line.band is None else list(line.band),
        "mark": line.mark,
        "reason": line.reason,
        "notes": list(line.notes),
    }
