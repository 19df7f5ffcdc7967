"""Published figures as values: a Paper has Tables, a Table has values, bands for ours, and reasons why ours differ.

One rule makes every band in which a figure counts as reproduced: the published value ± two standard errors of the
difference between two measurements, ± half a unit of its last printed digit. The variance of the difference has two
parts, each of which may be 0:

- draws: 2·s²/k if both sides draw k splits with a standard deviation of s, so two standard errors are 2·√(2/k)·s;
- documents: b(1−b)/n for a share b of n documents, since two classifiers that err on the same documents with a
  correlation of one half differ by 2(1 − ½)·b(1−b)/n; averages over classes are sums, and for measures that are no
  shares the variance is that of bootstrap samples of the documents.

Counts, settings and what a text says have neither. A figure for which nothing is known has no band and no mark.

Each paper has a file `<key>.toml` with the printed figures, and a module of the same name whose `TABLES` maps the id of
a table to a function `(Run) -> Iterable[Measurement]` (paper_run.py). comparison.py compares the two.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError, choose
from unnaive.papers.claims import Claim, read_claims
from unnaive.papers.paper_run import Runner

FOLDER = Path(__file__).parent
PAPER_LISTS = ("data", "missing", "choices", "contradictions", "tries")
SOURCE_KINDS = ("paper", "earlier measurement", "noise")
REASON_KINDS = ("measured", "hypothesis", "unknown")  # shown by figures of ours, or supposed, or sought without success
CellPosition = tuple[str, str]  # row, column of a cell
Figures = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Source:
    """The source of the limits of a band: one of SOURCE_KINDS, and a description."""

    kind: str
    text: str


@dataclass(frozen=True)
class Band:
    """An interval for our value, and the source of its limits."""

    low: float
    high: float
    source: Source

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float)) and self.low <= value <= self.high


@dataclass(frozen=True)
class PublishedTable:
    """A printed table, or its part about one collection.

    values[row][column] are the printed figures, None if there are none. `models` names the classifier of a row or
    column. `bands` are the expected ranges of our values. `tolerance` defines a band of ± that much around every
    published value without a band of its own, `tolerance_in_spreads` one in printed standard deviations, and
    `tolerances` those of single cells. `documents` and `document_errors` are by column the number of documents of a
    share, and two standard errors of another measure over bootstrap samples of documents. `reasons` say why ours may
    differ, and `evidence` names the cell whose figure of ours shows it; `doubts` say why a printed value cannot be
    trusted, `inferred` how a value that is not printed was derived; `unavailable` lists rows or columns without data.
    `repeats` lists rows and columns, or all with "*", whose printed figures also occur elsewhere: they are marked only
    there, so that every printed figure has one mark.
    """

    number: str
    title: str
    collection: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Figures
    part: str = ""
    unit: str = ""
    decimals: int = 2
    printed_decimals: int | None = None
    spreads: Figures | None = None
    models: dict[str, str] = field(default_factory=dict)
    bands: dict[CellPosition, Band] = field(default_factory=dict)
    tolerance: tuple[float, Source] | None = None
    tolerance_in_spreads: tuple[float, Source] | None = None
    tolerances: dict[CellPosition, tuple[float, Source]] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    document_errors: dict[str, float] = field(default_factory=dict)
    reasons: dict[CellPosition, str] = field(default_factory=dict)
    evidence: dict[CellPosition, CellPosition] = field(default_factory=dict)
    doubts: dict[CellPosition, str] = field(default_factory=dict)
    inferred: dict[CellPosition, str] = field(default_factory=dict)
    unavailable: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    repeated_cells: frozenset[CellPosition] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def rules(self) -> str:
        """A hash of everything that decides marks: printed figures, bands, tolerances, doubts, evidence.

        Titles and the words of reasons and notes decide nothing, so they may be written after a run.
        """
        words = ("title", "what", "notes", "reasons", "inferred")
        described = {
            name: repr(sorted(value) if isinstance(value, frozenset) else value)
            for name, value in vars(self).items()
            if name not in words and value not in (None, "", (), {}, frozenset())
        }
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]

    def is_repeated(self, row: str, column: str) -> bool:
        """Whether the printed figure of a cell is marked elsewhere."""
        return not {"*", row, column}.isdisjoint(self.repeats) or (row, column) in self.repeated_cells

    @property
    def id(self) -> str:
        """The key in the runner's TABLES: the number, and the part if there is one."""
        return f"{self.number}/{self.part}" if self.part else self.number

    def theirs(self, row: str, column: str) -> float | None:
        """The printed figure."""
        return self.values[self.rows.index(row)][self.columns.index(column)]

    def their_spread(self, row: str, column: str) -> float | None:
        """The printed standard deviation."""
        return None if self.spreads is None else self.spreads[self.rows.index(row)][self.columns.index(column)]

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit; `printed_decimals` are as many as `decimals` unless they are given."""
        return 0.5 * 10.0 ** -(self.decimals if self.printed_decimals is None else self.printed_decimals)

    def band_around_theirs(self, row: str, column: str) -> Band | None:
        """The band in which our value counts as reproduced; None if there is nothing to derive it from."""
        theirs, precision = self.theirs(row, column), self._precision(row, column)
        if theirs is None or precision is None:
            return None
        width, source = precision
        width += self.rounding + 1e-9  # which keeps a difference of exactly half a unit inside
        return Band(theirs - width, theirs + width, source)

    def _precision(self, row: str, column: str) -> tuple[float, Source] | None:
        """Two standard errors of a published value: those of the cell, or in printed spreads, or of the table."""
        spread = self.their_spread(row, column)
        if (row, column) not in self.tolerances and spread is not None and self.tolerance_in_spreads is not None:
            many, source = self.tolerance_in_spreads
            return math.hypot(many * spread, self._document_error(row, column)), source
        return self.tolerances.get((row, column), self.tolerance)

    def _document_error(self, row: str, column: str) -> float:
        """Two standard errors from the documents: of a share in %, from their number, or measured; 0 if neither."""
        if column in self.document_errors:
            return self.document_errors[column]
        share, n = (self.theirs(row, column) or 0.0) / 100, self.documents.get(column)
        return 0.0 if n is None else 200 * math.sqrt(share * (1 - share) / n)

    def model_of(self, row: str, column: str) -> tuple[str, str] | None:
        """(label, model) of the classifier of a cell, if one is named."""
        label = next((label for label in (row, column) if label in self.models), None)
        return None if label is None else (label, self.models[label])


@dataclass(frozen=True)
class Paper:
    """A source, its claims and its tables.

    `data` describes each collection, `missing` what was not available, `choices` what the paper does not say and we had
    to choose, `contradictions` where it contradicts itself, `tries` what was tried to come nearer, `tried` the same in
    figures: rows of (what was tried, for which figure, the printed one, ours, and ours with it).
    """

    key: str
    title: str
    source: str
    notes: tuple[str, ...]
    tables: tuple[PublishedTable, ...]
    claims: tuple[Claim, ...] = ()
    data: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()
    tried: tuple[tuple[str, ...], ...] = ()

    def select_tables(self, number: str | None) -> tuple[PublishedTable, ...]:
        """The tables of that number or id, all by default."""
        if number is None:
            return self.tables
        tables = tuple(table for table in self.tables if number in (table.number, table.id))
        if not tables:
            there = (name for table in self.tables for name in (table.number, table.id))
            choose(list(dict.fromkeys(there)), number, f"table of {self.key}")
        return tables

    def runners(self) -> dict[str, Runner]:
        """The functions that repeat the tables, by table id."""
        runners: dict[str, Runner] = self._module.TABLES
        return runners

    def figures(self) -> dict[str, Callable[..., Any]]:
        """The functions (run, ink=…) that draw the figures of a table, by table id."""
        figures: dict[str, Callable[..., Any]] = getattr(self._module, "FIGURES", {})
        return figures

    @property
    def _module(self) -> Any:
        return import_module(f"{__package__}.{self.key.replace('-', '_')}")


def paper_keys() -> list[str]:
    """The keys of all papers.

    >>> paper_keys()
    ['hierarchical', 'higher-order', 'iir', 'maxent-bridge', 'or-gate']
    """
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def read_paper(key: str) -> Paper:
    """The published figures of one paper."""
    choose(paper_keys(), key, "paper")
    content = tomllib.loads((FOLDER / f"{key}.toml").read_text(encoding="utf-8"))
    about = content["paper"]
    sources = {name: _read_source(name, words) for name, words in content.get("sources", {}).items()}
    tables = tuple(_read_table(_fill_entry(entry, content["table"]), sources) for entry in content["table"])
    lists = {name: tuple(about.get(name, ())) for name in (*PAPER_LISTS, "notes")}
    claims = read_claims(content.get("claim", ()), tables)
    tried = tuple(tuple(map(str, row)) for row in about.get("tried", ()))
    return Paper(about["key"], about["title"], about["source"], tables=tables, claims=claims, tried=tried, **lists)


def _read_source(name: str, words: str) -> Source:
    """A source written as "kind: text".

    >>> _read_source("splits", "noise: three standard errors of 3 splits")
    Source(kind='noise', text='three standard errors of 3 splits')
    """
    kind, separator, text = words.partition(": ")
    if not separator or kind not in SOURCE_KINDS:
        raise UnnaiveError(f"the source {name!r} starts with none of {', '.join(SOURCE_KINDS)}; write 'kind: text'")
    return Source(kind, text)


def _fill_entry(entry: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Fill in missing fields of an entry from the one that it is `like`, except bands, notes and reasons.

    Its printed figures are those of the other table, which has their marks.
    """
    if "like" not in entry:
        return entry
    model = next(other for other in entries if other["number"] == entry["like"])
    not_inherited = ("bands", "notes", "reasons", "repeats", "repeated_cells")
    return {name: value for name, value in model.items() if name not in not_inherited} | {"repeats": ["*"]} | entry


def _read_table(entry: dict[str, Any], sources: dict[str, Source]) -> PublishedTable:
    rows, columns = tuple(entry["rows"]), tuple(entry["columns"])
    values, spreads = _read_figures(entry["values"]), entry.get("spreads")
    table = PublishedTable(
        **{name: entry[name] for name in ("number", "title", "collection", "what")},
        **{name: entry[name] for name in ("part", "unit", "decimals", "printed_decimals", "models") if name in entry},
        rows=rows,
        columns=columns,
        values=values,
        spreads=None if spreads is None else _read_figures(spreads),
        bands=dict(_read_band(entry["number"], line, sources) for line in entry.get("bands", ())),
        tolerance=_read_tolerance(entry, "tolerance", sources),
        tolerance_in_spreads=_read_tolerance(entry, "tolerance_in_spreads", sources),
        tolerances={
            (row, column): (line[2], _named_source(entry["number"], line, 3, sources))
            for line in entry.get("tolerances", ())
            for row, column in _places(line[0], line[1], rows, columns)
        }
        | _breakeven_tolerances(entry, values, sources),
        documents=_read_documents(entry.get("documents", {}), columns),
        document_errors=entry.get("document_errors", {}),
        reasons=_read_reasons(entry.get("reasons", ()), rows, columns),
        evidence={
            (row, column): (line[3], line[4])
            for line in entry.get("reasons", ())
            if len(line) > 3
            for row, column in _places(line[0], line[1], rows, columns)
        },
        doubts={(row, column): reason for row, column, reason in entry.get("doubts", ())},
        inferred={(row, column): reason for row, column, reason in entry.get("inferred", ())},
        unavailable=tuple(entry.get("unavailable", ())),
        repeats=tuple(entry.get("repeats", ())),
        repeated_cells=frozenset(
            place for row, column in entry.get("repeated_cells", ()) for place in _places(row, column, rows, columns)
        ),
        notes=tuple(entry.get("notes", ())),
    )
    _check_table(table)
    return table


def _read_tolerance(entry: dict[str, Any], name: str, sources: dict[str, Source]) -> tuple[float, Source] | None:
    """Read a tolerance, written [width, name of its source]."""
    line = entry.get(name)
    return None if line is None else (line[0], _named_source(entry["number"], line, 1, sources))


def _read_documents(documents: int | dict[str, int], columns: Sequence[str]) -> dict[str, int]:
    """The number of documents of each column; a single number is that of all."""
    return dict.fromkeys(columns, documents) if isinstance(documents, int) else documents


def _breakeven_tolerances(
    entry: dict[str, Any], values: Figures, sources: dict[str, Source]
) -> dict[CellPosition, tuple[float, Source]]:
    """Two standard errors of every printed breakeven in %, from the test documents of its class.

    At the breakeven point, b is the share of the n documents of a class that are found, so its variance is
    b(1−b)/n. `breakeven_documents` has n by row; `breakeven_averages` names the rows of the micro average, weighted by
    n, and of the macro average: their variances are sums over classes with squared weights.

    >>> noise = Source("noise", "b(1−b)/n")
    >>> entry = {"rows": ["a", "mean"], "columns": ["NB"], "breakeven_documents": {"a": 100}, "number": "1"}
    >>> entry |= {"breakeven_averages": {"macro": "mean"}, "breakeven_source": "n"}
    >>> found = _breakeven_tolerances(entry, ((80.0,), (80.0,)), {"n": noise})
    >>> [width for width, _ in found.values()]  # 2 · 100 · √(.8 · .2 / 100)
    [8.0, 8.0]
    """
    sizes: dict[str, int] = entry.get("breakeven_documents", {})
    if not sizes:
        return {}
    source = _named_source(entry["number"], [entry.get("breakeven_source")], 0, sources)
    weights = {name: {name: 1.0} for name in sizes}
    for kind, name in entry.get("breakeven_averages", {}).items():
        total = sum(sizes.values())
        weights[name] = {
            class_name: n / total if kind == "micro" else 1 / len(sizes) for class_name, n in sizes.items()
        }
    spreads: dict[CellPosition, tuple[float, Source]] = {}
    for index, column in enumerate(entry["columns"]):
        printed = {row: line[index] for row, line in zip(entry["rows"], values, strict=True)}
        shares = {name: value / 100 for name in sizes if (value := printed[name]) is not None}
        for row, parts in weights.items():
            if printed[row] is not None and parts.keys() <= shares.keys():
                variance = sum(
                    w * w * shares[class_name] * (1 - shares[class_name]) / sizes[class_name]
                    for class_name, w in parts.items()
                )
                spreads[row, column] = (round(200 * math.sqrt(variance), 2), source)
    return spreads


def _read_band(number: str, line: list[Any], sources: dict[str, Source]) -> tuple[CellPosition, Band]:
    """Read a band, written [row, column, low, high, name of its source]."""
    source = _named_source(number, line, 4, sources)
    row, column, low, high = line[:4]
    return (row, column), Band(low, high, source)


def _named_source(number: str, line: list[Any], last: int, sources: dict[str, Source]) -> Source:
    """The source that a band or tolerance names last; every band must have one."""
    if len(line) != last + 1 or line[last] not in sources:
        there = ", ".join(sorted(sources)) or "none yet"
        raise UnnaiveError(f"a band of table {number} names no source: {line}; end it with one of [sources]: {there}")
    return sources[line[last]]


def _read_reasons(lines: Iterable[list[str]], rows: Sequence[str], columns: Sequence[str]) -> dict[CellPosition, str]:
    """Read reasons, written [row, column, text], followed by row and column of the cell that shows it, if there is one.

    "*" means every row or column; the first matching line counts.
    """
    reasons: dict[CellPosition, str] = {}
    for row, column, text, *_ in lines:
        if text.partition(":")[0] not in REASON_KINDS:
            raise UnnaiveError(f"the reason {text!r} starts with none of {', '.join(REASON_KINDS)}; write 'kind: text'")
        for position in _places(row, column, rows, columns):
            reasons.setdefault(position, text)
    return reasons


def _places(row: str, column: str, rows: Sequence[str], columns: Sequence[str]) -> list[CellPosition]:
    """The cells of a row and a column, each of which may be "*" for all of them.

    >>> _places("*", "x", ["a", "b"], ["x", "y"])
    [('a', 'x'), ('b', 'x')]
    """
    return [
        (name, other) for name in (rows if row == "*" else [row]) for other in (columns if column == "*" else [column])
    ]


def _read_figures(grid: list[list[float]]) -> Figures:
    return tuple(tuple(None if math.isnan(value) else float(value) for value in line) for line in grid)


def _check_table(table: PublishedTable) -> None:
    """Check the cells named in bands and remarks, since a misspelt row would silently be ignored."""
    shapes = {tuple(len(line) for line in grid) for grid in (table.values, table.spreads or table.values)}
    shown = table.evidence.values()
    named = [*table.bands, *table.tolerances, *table.doubts, *table.reasons, *table.inferred, *shown]
    named += table.repeated_cells
    labels = {*table.models, *table.unavailable, *table.repeats, *table.documents} - {"*"}
    if shapes != {(len(table.columns),) * len(table.rows)}:
        size = f"{len(table.rows)} × {len(table.columns)}"
        raise UnnaiveError(f"table {table.id} has figures for other than its {size} cells")
    if any(row not in table.rows or column not in table.columns for row, column in named):
        raise UnnaiveError(f"table {table.id} has a band or a remark for a cell that it does not have")
    if not labels <= {*table.rows, *table.columns}:
        raise UnnaiveError(f"table {table.id} names a model for a row or column that it does not have")
