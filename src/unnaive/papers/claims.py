"""The claims of a paper as comparisons of figures, counted for the published figures and for ours.

A claim says that figures fall in some order ("HOS is more accurate than MVNB"), or lie near each other, in the cells of
one or more tables. It is marked by one rule: ✓ if it holds for our figures in more than half of the cells and in the
mean, ≈ if in only one of the two, ✗ if in neither. A claim about nearness has no mean; it holds in more than half
of the cells or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from unnaive.base.errors import UnnaiveError

CLAIM_HOLDS, CLAIM_PARTLY, CLAIM_FAILS = "✓", "≈", "✗"
ClaimCell = tuple[str, str, str]  # table, row, column
FigureOfCell = Callable[[ClaimCell], float | None]  # the published figure of a cell, or ours
EVERY = "*"


class ClaimTable(Protocol):
    """What a claim reads of a table."""

    @property
    def id(self) -> str:
        """The table's id."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""


@dataclass(frozen=True)
class Claim:
    """A claim, and the instances in which it can hold: cells whose figures should fall, or lie within `within`."""

    text: str
    instances: tuple[tuple[ClaimCell, ...], ...]
    within: float | None = None

    def count(self, figure: FigureOfCell) -> ClaimCount:
        """In how many of the instances with figures it holds, and the mean of first minus last figure."""
        measured = list(self._measured(figure))
        gaps = [values[0] - values[-1] for values in measured]
        return ClaimCount(sum(map(self._holds, measured)), len(measured), float(np.mean(gaps)) if gaps else None)

    def _measured(self, figure: FigureOfCell) -> Iterator[list[float]]:
        """The figures of every instance that has them all."""
        for cells in self.instances:
            values = [value for cell in cells if (value := figure(cell)) is not None]
            if len(values) == len(cells):
                yield values

    def _holds(self, values: Sequence[float]) -> bool:
        if self.within is not None:
            return max(values) - min(values) <= self.within
        return all(higher > lower for higher, lower in pairwise(values))

    def mark(self, ours: ClaimCount) -> str:
        """The mark of the claim, given the count for our figures; empty if nothing was measured.

        >>> claim = Claim("a > b", ())
        >>> [claim.mark(ClaimCount(*count)) for count in ((2, 3, 1.0), (1, 3, 1.0), (1, 3, -1.0), (0, 0, None))]
        ['✓', '≈', '✗', '']
        """
        if not ours.cells or ours.gap is None:
            return ""
        in_most = 2 * ours.holds > ours.cells
        in_mean = in_most if self.within is not None else ours.gap > 0
        return (CLAIM_FAILS, CLAIM_PARTLY, CLAIM_HOLDS)[in_most + in_mean]


@dataclass(frozen=True)
class ClaimCount:
    """The claim holds in `holds` of `cells` instances; `gap` is the mean of the first minus the last figure."""

    holds: int
    cells: int
    gap: float | None

    def __str__(self) -> str:
        """
        >>> print(ClaimCount(7, 8, 1.25)), print(ClaimCount(0, 0, None))
        7 of 8, +1.25
        –
        (None, None)
        """
        return "–" if self.gap is None else f"{self.holds} of {self.cells}, {self.gap:+.3g}"


@dataclass(frozen=True)
class ClaimComparison:
    """A claim with the counts for the published figures and for ours."""

    claim: Claim
    theirs: ClaimCount
    ours: ClaimCount

    @property
    def mark(self) -> str:
        """The mark by the rule above."""
        return self.claim.mark(self.ours)


def compare_claims(claims: Iterable[Claim], theirs: FigureOfCell, ours: FigureOfCell) -> list[ClaimComparison]:
    """Every claim counted for the published figures and for ours."""
    return [ClaimComparison(claim, claim.count(theirs), claim.count(ours)) for claim in claims]


def read_claims(entries: Iterable[Mapping[str, Any]], tables: Sequence[ClaimTable]) -> tuple[Claim, ...]:
    """The claims of a paper; entries with the same text are one claim, which they share out among tables."""
    claims: dict[str, Claim] = {}
    for entry in entries:
        claim = read_claim(entry, tables)
        before = claims.get(claim.text)
        claims[claim.text] = claim if before is None else replace(claim, instances=before.instances + claim.instances)
    return tuple(claims.values())


def read_claim(entry: Mapping[str, Any], tables: Sequence[ClaimTable]) -> Claim:
    """A claim written as `text`, `tables`, and `falling` (or `near` with `within`): a list of [row, column].

    "*" as row or column stands for each of `rows` or `columns` of the entry, by default all of the table's: the cells
    of an instance then share it. A cell may be [table, row, column], for an order across tables.
    """
    cells = entry.get("falling", entry.get("near"))
    by_id = {table.id: table for table in tables}
    if cells is None or ("near" in entry) != ("within" in entry) or not set(entry["tables"]) <= by_id.keys():
        raise UnnaiveError(f"the claim {entry['text']!r} needs tables of its paper, and falling, or near and within")
    instances = []
    for name in entry["tables"]:
        table = by_id[name]
        for row in entry.get("rows", table.rows) if _has_every(cells, -2) else [EVERY]:
            for column in entry.get("columns", table.columns) if _has_every(cells, -1) else [EVERY]:
                instances.append(tuple(_place(cell, name, row, column) for cell in cells))
    for table_id, row, column in {cell for cells in instances for cell in cells}:
        if row not in by_id[table_id].rows or column not in by_id[table_id].columns:
            raise UnnaiveError(f"the claim {entry['text']!r} is about {row}, {column}, which table {table_id} lacks")
    return Claim(entry["text"], tuple(instances), entry.get("within"))


def _has_every(cells: Sequence[Sequence[str]], place: int) -> bool:
    return any(cell[place] == EVERY for cell in cells)


def _place(cell: Sequence[str], table: str, row: str, column: str) -> ClaimCell:
    *named, own_row, own_column = cell
    return (
        named[0] if named else table,
        row if own_row == EVERY else own_row,
        column if own_column == EVERY else own_column,
    )
