"""Published figures as values: a Paper has Tables; a Run says how to repeat them, a Measurement is one figure of ours.

Each paper is `<key>.toml` with what was printed, and a module of the same name whose `TABLES` maps the id of a
table to a function `(Run) -> Iterable[Measurement]`. lineup.py sets the two beside each other.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from unnaive.errors import UnnaiveError, choose
from unnaive.models.catalogue import MODELS
from unnaive.reading.corpus import Corpus

FOLDER = Path(__file__).parent
Cell = tuple[str, str]  # row, column
Figures = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Measurement:
    """One figure of ours: where it stands in the table, its standard deviation if it is a mean, a remark."""

    row: str
    column: str
    value: float
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Classifier:
    """A row or column of a table: as printed, the model of ours, its settings."""

    label: str
    model: str
    settings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Run:
    """How to repeat a paper's experiments; hashable, so that tables can share what they computed.

    `models` keeps only these: labels of the table, names of models, or families ("naive-bayes", "baselines"). `records`
    is a folder for the records of random splits; with it an interrupted run goes on where it stopped.
    """

    data: Path | None = None
    quick: bool = False
    seed: int = 0
    models: tuple[str, ...] | None = None
    jobs: int = 1
    progress: Callable[[str], None] | None = None
    records: Path | None = None

    def wants(self, label: str, model: str) -> bool:
        """Whether the classifier printed as `label` is there, and not filtered out.

        >>> Run(models=("naive-bayes",)).wants("NBayes", "multinomial"), Run().wants("Oracle", "does-not-exist")
        (True, False)
        """
        return model in MODELS and self.keeps(label, model)

    def keeps(self, label: str, model: str) -> bool:
        """Whether the filter lets this classifier through, there or not."""
        names = {label.lower(), model, family(model)}
        return self.models is None or any(wanted.lower() in names for wanted in self.models)

    def tell(self, message: str) -> None:
        """Pass a line on to whoever watches."""
        if self.progress is not None:
            self.progress(message)

    def corpus(self, name: str, view: str | None = None) -> Corpus:
        """A benchmark collection, from where this run has its data."""
        from unnaive.reading.collections import load

        self.tell(f"reading {name}")
        return load(name, view=view, data=self.data)


def family(model: str) -> str:
    """The module or folder of unnaive.models that a model lives in, as a name.

    >>> family("bernoulli")
    'naive-bayes'
    """
    if model not in MODELS:
        return model
    return MODELS[model].split(":")[0].split(".")[2].replace("_", "-")


@dataclass(frozen=True)
class Table:
    """A printed table, or the part of it that is about one collection.

    values[row][column] are as printed, None where nothing is. `models` names the classifier behind a row or a column;
    `bands` say where our value should fall, `doubts` why a printed value is not to be trusted, `unavailable`
    lists rows or columns whose data cannot be had.
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
    spreads: Figures | None = None
    models: dict[str, str] = field(default_factory=dict)
    bands: dict[Cell, tuple[float, float]] = field(default_factory=dict)
    doubts: dict[Cell, str] = field(default_factory=dict)
    unavailable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The name by which TABLES of the runner knows it: the number, and the part if there is one."""
        return f"{self.number}/{self.part}" if self.part else self.number

    def theirs(self, row: str, column: str) -> float | None:
        """The printed figure."""
        return self.values[self.rows.index(row)][self.columns.index(column)]

    def their_spread(self, row: str, column: str) -> float | None:
        """The printed standard deviation."""
        return None if self.spreads is None else self.spreads[self.rows.index(row)][self.columns.index(column)]

    def model_of(self, row: str, column: str) -> tuple[str, str] | None:
        """(label, model) of the classifier that a cell is about, if one is named."""
        label = next((label for label in (row, column) if label in self.models), None)
        return None if label is None else (label, self.models[label])


Runner = Callable[[Run], Iterable[Measurement]]


@dataclass(frozen=True)
class Paper:
    """A source and its tables."""

    key: str
    title: str
    source: str
    notes: tuple[str, ...]
    tables: tuple[Table, ...]

    def chosen(self, number: str | None) -> tuple[Table, ...]:
        """The tables of that number or id, all by default."""
        if number is None:
            return self.tables
        found = tuple(table for table in self.tables if number in (table.number, table.id))
        if not found:
            there = (name for table in self.tables for name in (table.number, table.id))
            choose(list(dict.fromkeys(there)), number, f"table of {self.key}")
        return found

    def runners(self) -> dict[str, Runner]:
        """The functions that repeat the tables, by table id."""
        runners: dict[str, Runner] = self._module.TABLES
        return runners

    def figures(self) -> dict[str, Callable[..., Any]]:
        """The functions (run, ink=…) that draw what a table has in figures, by table id."""
        figures: dict[str, Callable[..., Any]] = getattr(self._module, "FIGURES", {})
        return figures

    @property
    def _module(self) -> Any:
        return import_module(f"{__package__}.{self.key.replace('-', '_')}")


def paper_keys() -> list[str]:
    """The papers there are.

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
    tables = tuple(_table(_filled(entry, content["table"])) for entry in content["table"])
    return Paper(about["key"], about["title"], about["source"], tuple(about.get("notes", ())), tables)


def _filled(entry: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry with what it leaves out taken from the one of the number that it is `like`; but not bands or notes."""
    if "like" not in entry:
        return entry
    model = next(one for one in entries if one["number"] == entry["like"])
    return {name: value for name, value in model.items() if name not in ("bands", "notes")} | entry


def _table(entry: dict[str, Any]) -> Table:
    rows, columns = tuple(entry["rows"]), tuple(entry["columns"])
    values, spreads = _figures(entry["values"]), entry.get("spreads")
    table = Table(
        **{name: entry[name] for name in ("number", "title", "collection", "what")},
        **{name: entry[name] for name in ("part", "unit", "decimals", "models") if name in entry},
        rows=rows,
        columns=columns,
        values=values,
        spreads=None if spreads is None else _figures(spreads),
        bands={(row, column): (low, high) for row, column, low, high in entry.get("bands", ())},
        doubts={(row, column): reason for row, column, reason in entry.get("doubts", ())},
        unavailable=tuple(entry.get("unavailable", ())),
        notes=tuple(entry.get("notes", ())),
    )
    _check(table)
    return table


def _figures(grid: list[list[float]]) -> Figures:
    return tuple(tuple(None if math.isnan(value) else float(value) for value in line) for line in grid)


def _check(table: Table) -> None:
    """A misspelt row in a band would silently never be looked at."""
    shapes = {tuple(len(line) for line in grid) for grid in (table.values, table.spreads or table.values)}
    named = [*table.bands, *table.doubts]
    labels = {*table.models, *table.unavailable}
    if shapes != {(len(table.columns),) * len(table.rows)}:
        size = f"{len(table.rows)} × {len(table.columns)}"
        raise UnnaiveError(f"table {table.id} has figures for other than its {size} cells")
    if any(row not in table.rows or column not in table.columns for row, column in named):
        raise UnnaiveError(f"table {table.id} has a band or a doubt for a cell that it does not have")
    if not labels <= {*table.rows, *table.columns}:
        raise UnnaiveError(f"table {table.id} names a model for a row or column that it does not have")
