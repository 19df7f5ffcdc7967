"""Tables of summaries: a Grid for each measure, models × (training size, vocabulary); as Markdown here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10

from unnaive.base.errors import count_noun
from unnaive.base.types import Item
from unnaive.evaluation.measures import find_measure
from unnaive.evaluation.results import Record
from unnaive.evaluation.summaries import GridPoint, Summary, summarise

SPREAD = "± is the standard deviation over the splits"


@dataclass(frozen=True)
class Grid:
    """One measure: rows are contenders, columns are points (training size and vocabulary) with their names."""

    measure: str
    names: tuple[str, ...]
    places: dict[GridPoint, str]
    cells: dict[tuple[str, GridPoint], Summary]

    @classmethod
    def of(cls, summaries: Sequence[Summary]) -> Grid:
        """From the summaries of one measure."""
        cells = {(summary.contender, (summary.train_size, summary.terms)): summary for summary in summaries}
        names = tuple(dict.fromkeys(name for name, _ in cells))
        return cls(summaries[0].measure, names, place_names(point for _, point in cells), cells)

    @property
    def has_spread(self) -> bool:
        """Whether any cell is of several splits."""
        return any(summary.splits > 1 for summary in self.cells.values())

    def text(self, name: str, point: GridPoint) -> str:
        """Mean ± standard deviation; a dash if nothing was measured."""
        return str(self.cells.get((name, point), "–"))

    def is_best(self, name: str, point: GridPoint) -> bool:
        """Whether no contender has a better mean there; in a tie all are best."""
        means = {
            who: summary.mean
            for (who, where), summary in self.cells.items()
            if where == point and summary.mean is not None
        }
        pick = max if find_measure(self.measure).larger_is_better else min
        return name in means and means[name] == pick(means.values())

    def seconds(self, name: str, places: Iterable[GridPoint] | None = None) -> float:
        """Mean seconds of a contender over some points, all by default."""
        points = self.places if places is None else places
        spent = [self.cells[name, point].seconds for point in points if (name, point) in self.cells]
        return sum(spent) / len(spent) if spent else 0.0

    def size(self, name: str, places: Iterable[GridPoint] | None = None) -> float:
        """Mean bytes of a contender's model file over some points, all by default; 0 if not measured."""
        points = self.places if places is None else places
        sizes = [self.cells[name, point].n_bytes for point in points if (name, point) in self.cells]
        return sum(sizes) / len(sizes) if sizes else 0.0


def format_seconds(seconds: float) -> str:
    """Seconds with two significant digits.

    >>> [format_seconds(seconds) for seconds in (0.0, 0.00123, 0.0456, 1.234, 78.9, 1234.6)]
    ['0', '0.0012', '0.046', '1.2', '79', '1,235']
    """
    if seconds >= 10 or seconds == 0:
        return f"{seconds:,.0f}"
    return f"{seconds:.{max(1, 1 - floor(log10(seconds)))}f}"


def short_name(data: str) -> str:
    """The name of the data in titles: the file name without folder and digest.

    >>> short_name("/home/me/mail/tickets.csv#a1b2"), short_name("20newsgroups:subject-body#c3")
    ('tickets.csv', '20newsgroups:subject-body')
    """
    return data.partition("#")[0].rstrip("/").rpartition("/")[2]


def make_grids(records: Iterable[Record]) -> list[Grid]:
    """One Grid for each measure, in the order of the records."""
    by_measure: dict[str, list[Summary]] = {}
    for summary in summarise(records):
        by_measure.setdefault(summary.measure, []).append(summary)
    return [Grid.of(group) for group in by_measure.values()]


def place_names(places: Iterable[GridPoint]) -> dict[GridPoint, str]:
    """Each training size and vocabulary in words; "all terms" if others have fewer, or there is nothing else to say.

    >>> place_names([(10.0, None)])
    {(10.0, None): '10 % training'}
    >>> list(place_names([(10.0, None), (10.0, 2000)]).values())
    ['10 % training, all terms', '10 % training, 2,000 terms']
    """
    places = list(dict.fromkeys(places))
    differ = any(terms is not None for _, terms in places)

    def name(size: float | None, terms: int | None) -> str:
        vocabulary = count_noun(terms, "term") if terms is not None else "all terms" if differ or size is None else ""
        return ", ".join(part for part in (f"{size:g} % training" if size is not None else "", vocabulary) if part)

    return {point: name(*point) for point in places}


def fitting(things: Sequence[Item], widths: Sequence[int], room: int) -> list[list[Item]]:
    """Group things such that their widths, with two spaces each, fit the room; at least one per group.

    >>> fitting(["a", "b", "c"], [5, 5, 5], 14)
    [['a', 'b'], ['c']]
    """
    groups: list[list[Item]] = [[]]
    left = room
    for thing, width in zip(things, widths, strict=True):
        if groups[-1] and left < width + 2:
            groups.append([])
            left = room
        groups[-1].append(thing)
        left -= width + 2
    return groups


def grids_as_markdown(records: Iterable[Record]) -> str:
    """A table for every measure, the best of each column in bold."""
    grids = make_grids(records)
    note = [f"{SPREAD}."] if any(grid.has_spread for grid in grids) else []
    return "\n\n".join([*map(_markdown_table, grids), *note])


def _markdown_table(grid: Grid) -> str:
    def cell(name: str, point: GridPoint) -> str:
        return f"**{grid.text(name, point)}**" if grid.is_best(name, point) else grid.text(name, point)

    rows = [(name, *(cell(name, point) for point in grid.places)) for name in grid.names]
    rule = "|---" * (len(grid.places) + 1) + "|"
    head, *body = ("| " + " | ".join(row) + " |" for row in ((grid.measure, *grid.places.values()), *rows))
    return "\n".join([head, rule, *body])
