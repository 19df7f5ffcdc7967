"""Compare our figures with the published ones: run the tables of a paper and mark every cell.

✓  ours is in a band around the published value
≈  ours differs from the published value for a reason that is shown: another of our figures, measured without that
   difference, is in the band; or the printed value contradicts others of its paper
✗  ours differs; the reason beside the mark says whether it was measured, is a hypothesis, or is unknown

A cell has no mark if the paper prints nothing, if nothing says how precisely the figure is known (a running time), if
the same printed figure is marked elsewhere, or if nothing was measured; then the reason is given. The marks of a table
are void if its bands, tolerances or reasons were changed after it was measured.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from unnaive.base.errors import BadData
from unnaive.models.catalogue import MODELS
from unnaive.papers.claims import ClaimCell, ClaimComparison, compare_claims
from unnaive.papers.paper_run import Measurement, PaperRun
from unnaive.papers.published_tables import Band, CellPosition, Paper, PublishedTable, read_paper

REPRODUCED, EXPLAINED, UNEXPLAINED, UNMARKED = "reproduced", "explained", "unexplained", ""
SYMBOLS = {REPRODUCED: "✓", EXPLAINED: "≈", UNEXPLAINED: "✗"}
LEFT_OUT = "left out by --models"


@dataclass(frozen=True)
class CellComparison:
    """One cell of a table: the published figure, ours, and the reason for the difference.

    `mark` is one of REPRODUCED, EXPLAINED, UNEXPLAINED, UNMARKED. `band` is the expected range of our value, `around`
    the band around the published value. `reason` says why ours differs, `absent` why it is missing.
    """

    row: str
    column: str
    theirs: float | None
    their_spread: float | None = None
    ours: float | None = None
    our_spread: float | None = None
    band: Band | None = None
    around: Band | None = None
    mark: str = UNMARKED
    reason: str = ""
    absent: str = ""
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """Ours minus theirs."""
        return None if self.ours is None or self.theirs is None else self.ours - self.theirs

    @property
    def outside(self) -> bool:
        """Whether our value is outside its expected range."""
        return self.ours is not None and self.band is not None and self.ours not in self.band

    @property
    def unaccounted(self) -> bool:
        """Whether our value differs and no reason is stated."""
        return self.mark == UNEXPLAINED and not self.reason

    @property
    def remarks(self) -> list[str]:
        """All remarks about the cell; what is missing or differs comes first."""
        return [text for text in (self.absent, self.reason, *self.notes) if text]


@dataclass(frozen=True)
class TableComparison:
    """A table with all its cells, and its running time in seconds; void: its rules changed after it was measured."""

    table: PublishedTable
    cells: tuple[CellComparison, ...]
    seconds: float = 0.0
    void: bool = False

    def cell(self, row: str, column: str) -> CellComparison:
        """The cell at row and column."""
        return next(cell for cell in self.cells if (cell.row, cell.column) == (row, column))

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows to show: without those excluded by --models, or all if every row is excluded."""
        rows = {cell.row for cell in self.cells if cell.absent != LEFT_OUT}
        return tuple(row for row in self.table.rows if row in rows) or self.table.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to show, likewise."""
        columns = {cell.column for cell in self.cells if cell.absent != LEFT_OUT}
        return tuple(column for column in self.table.columns if column in columns) or self.table.columns

    def marked(self, mark: str) -> tuple[CellComparison, ...]:
        """The cells with one mark."""
        return tuple(cell for cell in self.cells if cell.mark == mark)

    @property
    def outside(self) -> tuple[CellComparison, ...]:
        """The cells whose value is outside its expected range."""
        return tuple(cell for cell in self.cells if cell.outside)

    @property
    def unaccounted(self) -> tuple[CellComparison, ...]:
        """The cells that differ without a stated reason."""
        return tuple(cell for cell in self.cells if cell.unaccounted)

    @property
    def mean_difference(self) -> float | None:
        """The mean of ours minus theirs over the marked cells; None if there are none."""
        differences = [cell.difference for cell in self.cells if cell.mark and cell.difference is not None]
        return sum(differences) / len(differences) if differences else None


def count_marks(comparisons: Iterable[TableComparison]) -> dict[str, int]:
    """The number of cells with each mark."""
    counted = Counter(cell.mark for comparison in comparisons for cell in comparison.cells)
    return {mark: counted[mark] for mark in SYMBOLS}


def summary_line(comparisons: Iterable[TableComparison]) -> str:
    """The numbers of marks, in one line.

    >>> summary_line([])
    '✓ 0 reproduced, ≈ 0 differ for a reason that is shown, ✗ 0 differ; 0 outside the band of our value'
    """
    comparisons = list(comparisons)
    counts = count_marks(comparisons)
    return (
        f"✓ {counts[REPRODUCED]} reproduced, ≈ {counts[EXPLAINED]} differ for a reason that is shown, "
        f"✗ {counts[UNEXPLAINED]} differ; "
        f"{sum(len(comparison.outside) for comparison in comparisons)} outside the band of our value"
    )


def claim_comparisons(paper: Paper, comparisons: Iterable[TableComparison]) -> list[ClaimComparison]:
    """The claims of a paper, counted for the published figures and for ours in these tables."""
    cells = {
        (comparison.table.id, cell.row, cell.column): cell for comparison in comparisons for cell in comparison.cells
    }
    tables = {table.id: table for table in paper.tables}

    def theirs(cell: ClaimCell) -> float | None:
        return tables[cell[0]].theirs(*cell[1:])

    def ours(cell: ClaimCell) -> float | None:
        return cells[cell].ours if cell in cells else None

    return compare_claims(paper.claims, theirs, ours)


def reproduce(key: str, run: PaperRun, *, table: str | None = None) -> Iterator[TableComparison]:
    """Run the tables of the paper `key`, one after the other, and yield each comparison."""
    paper = read_paper(key)
    for selected in paper.select_tables(table):
        yield compare_table(paper, selected, run)


def compare_table(paper: Paper, table: PublishedTable, run: PaperRun) -> TableComparison:
    """Run one table, and compare its cells with the published ones."""
    started = time.perf_counter()
    measurements, problem = measure_table(paper, table, run)
    return compare_measurements(table, measurements, run, problem, time.perf_counter() - started)


def measure_table(paper: Paper, table: PublishedTable, run: PaperRun) -> tuple[list[Measurement], str]:
    """The measurements of a table's runner, and why it could not run, for instance because a collection is missing."""
    runner = paper.runners().get(table.id)
    if runner is None:
        return [], "not run: this table has no runner yet"
    try:
        return list(runner(run)), ""
    except BadData as error:
        return [], f"not run: {error}"


def compare_measurements(
    table: PublishedTable,
    measurements: Iterable[Measurement],
    run: PaperRun,
    problem: str = "",
    seconds: float = 0.0,
    rules: str | None = None,
) -> TableComparison:
    """Compare the cells of a table with our figures, measured now or earlier.

    `rules` is the hash of the table's rules when they were measured; marks are void if it has changed.
    """
    measured = {(measurement.row, measurement.column): measurement for measurement in measurements}
    cells = tuple(
        _compare_cell(table, row, column, measured, problem, run) for row in table.rows for column in table.columns
    )
    void = rules is not None and rules != table.rules
    if void:
        cells = tuple(replace(cell, mark=UNMARKED) for cell in cells)
    return TableComparison(table, cells, seconds, void)


def _compare_cell(
    table: PublishedTable,
    row: str,
    column: str,
    measured: Mapping[CellPosition, Measurement],
    problem: str,
    run: PaperRun,
) -> CellComparison:
    position = row, column
    ours = measured.get(position)
    theirs, spread = table.theirs(row, column), table.their_spread(row, column)
    band, around = table.bands.get(position), table.band_around_theirs(row, column)
    notes = [f"inferred, not printed: {table.inferred[position]}"] if position in table.inferred else []
    if ours is None:
        absent = _why_absent(table, row, column, problem, run)
        return CellComparison(row, column, theirs, spread, band=band, around=around, absent=absent, notes=tuple(notes))
    mark, reason = UNMARKED, ""
    if theirs is not None and not table.is_repeated(row, column):
        mark = mark_value(ours.value, around, shown=_is_shown(table, position, around, measured))
        reason = "" if mark == REPRODUCED else _known_reason(table, row, column, ours)
    if band is not None and ours.value not in band:
        notes.append(f"outside {band.low:g} to {band.high:g}, where our value should fall ({band.source.kind})")
    if ours.note:
        notes.append(ours.note)
    return CellComparison(
        row, column, theirs, spread, ours.value, ours.spread, band, around, mark, reason, notes=tuple(notes)
    )


def mark_value(value: float, around: Band | None, *, shown: bool) -> str:
    """The mark of our value, given the band around the published one, and whether a reason for a difference is shown.

    >>> mark_value(0.5, None, shown=False)
    ''
    >>> from unnaive.papers.published_tables import Source
    >>> band = Band(0.6, 0.8, Source("noise", "an example"))
    >>> [mark_value(value, band, shown=shown) for value, shown in ((0.7, False), (0.5, False), (0.5, True))]
    ['reproduced', 'unexplained', 'explained']
    """
    if around is None:
        return UNMARKED
    if value in around:
        return REPRODUCED
    return EXPLAINED if shown else UNEXPLAINED


def _is_shown(
    table: PublishedTable, position: CellPosition, around: Band | None, measured: Mapping[CellPosition, Measurement]
) -> bool:
    """Whether the printed value is doubtful, or our figure in the cell that the reason names is in the band."""
    if position in table.doubts:
        return True
    shows = measured.get(table.evidence.get(position, position))
    return position in table.evidence and shows is not None and around is not None and shows.value in around


def _known_reason(table: PublishedTable, row: str, column: str, ours: Measurement) -> str:
    if (row, column) in table.doubts:
        return f"printed value doubtful: {table.doubts[row, column]}"
    return ours.reason or table.reasons.get((row, column), "")


def _why_absent(table: PublishedTable, row: str, column: str, problem: str, run: PaperRun) -> str:
    """Why a cell has no figure of ours, most informative reason first."""
    if row in table.unavailable or column in table.unavailable:
        return "not measured: the data is not here; it is used if you have it"
    named = table.model_of(row, column)
    if named is not None and named[1] not in MODELS:
        return f"no classifier called {named[1]} yet"
    if named is not None and not run.keeps(*named):
        return LEFT_OUT
    return problem or "not measured in this run"
