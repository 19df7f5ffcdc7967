"""Ours beside theirs: runs the tables of a paper and lines up every cell, with a reason where there is no figure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from unnaive.errors import BadData
from unnaive.evaluation.papers.tables import Measurement, Paper, Run, Runner, Table, read_paper
from unnaive.models.catalogue import MODELS

INSIDE, OUTSIDE, UNMARKED = "inside", "outside", ""
LEFT_OUT = "left out by --models"


@dataclass(frozen=True)
class Line:
    """One cell: the printed figure, ours, and what to make of the two.

    `mark` is "inside" or "outside" of the stated band, "" where there is none; `reason` says why ours is missing.
    """

    row: str
    column: str
    theirs: float | None
    their_spread: float | None = None
    ours: float | None = None
    our_spread: float | None = None
    band: tuple[float, float] | None = None
    mark: str = UNMARKED
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.ours is None or self.theirs is None else self.ours - self.theirs


@dataclass(frozen=True)
class Lineup:
    """A table with all its lines."""

    table: Table
    lines: tuple[Line, ...]
    seconds: float = 0.0

    def line(self, row: str, column: str) -> Line:
        """The cell at row and column."""
        return next(line for line in self.lines if (line.row, line.column) == (row, column))

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows to show: without those that --models leaves out, all of them if it leaves out every one."""
        kept = {line.row for line in self.lines if line.reason != LEFT_OUT}
        return tuple(row for row in self.table.rows if row in kept) or self.table.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to show, likewise."""
        kept = {line.column for line in self.lines if line.reason != LEFT_OUT}
        return tuple(column for column in self.table.columns if column in kept) or self.table.columns

    @property
    def outside(self) -> tuple[Line, ...]:
        """The cells that fall outside their band."""
        return tuple(line for line in self.lines if line.mark == OUTSIDE)


def reproduce(key: str, run: Run, *, table: str | None = None) -> Iterator[Lineup]:
    """Run the tables of the paper `key`, one after the other, and line each up as it is done."""
    paper = read_paper(key)
    for chosen in paper.chosen(table):
        yield _lineup(paper, chosen, run)


def _lineup(paper: Paper, table: Table, run: Run) -> Lineup:
    started = time.perf_counter()
    measured, problem = _measurements(paper.runners().get(table.id), run)
    lines = tuple(
        _line(table, row, column, measured.get((row, column)), problem, run)
        for row in table.rows
        for column in table.columns
    )
    return Lineup(table, lines, time.perf_counter() - started)


def _measurements(runner: Runner | None, run: Run) -> tuple[dict[tuple[str, str], Measurement], str]:
    """What the runner yields, and the reason when it could not run, such as a collection that is not here."""
    if runner is None:
        return {}, "not run: this table has no runner yet"
    try:
        return {(one.row, one.column): one for one in runner(run)}, ""
    except BadData as error:
        return {}, f"not run: {error}"


def _line(table: Table, row: str, column: str, ours: Measurement | None, problem: str, run: Run) -> Line:
    doubt = table.doubts.get((row, column))
    notes = [f"printed value doubtful: {doubt}"] if doubt else []
    band = table.bands.get((row, column))
    theirs, spread = table.theirs(row, column), table.their_spread(row, column)
    if ours is None:
        reason = _reason(table, row, column, problem, run)
        return Line(row, column, theirs, spread, band=band, reason=reason, notes=tuple(notes))
    if ours.note:
        notes.append(ours.note)
    return Line(row, column, theirs, spread, ours.value, ours.spread, band, _mark(ours.value, band), "", tuple(notes))


def _mark(value: float, band: tuple[float, float] | None) -> str:
    if band is None:
        return UNMARKED
    return INSIDE if band[0] <= value <= band[1] else OUTSIDE


def _reason(table: Table, row: str, column: str, problem: str, run: Run) -> str:
    """Why a cell has no figure of ours, most telling reason first."""
    if row in table.unavailable or column in table.unavailable:
        return "the data cannot be had"
    named = table.model_of(row, column)
    if named is not None and named[1] not in MODELS:
        return f"no classifier called {named[1]} yet"
    if named is not None and not run.keeps(*named):
        return LEFT_OUT
    return problem or "not measured in this run"
