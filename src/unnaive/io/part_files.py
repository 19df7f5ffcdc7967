"""A folder of data files as one table, as Spark and Hive write it: part files, and folders year=2023 as a column."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from unnaive.base.open_files import path_mode
from unnaive.io.endings import ENDINGS, split_ending
from unnaive.io.folder_listing import is_dataset_folder
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import Table, TableSample

PART_FORMATS = ("csv", "tsv", "jsonl", "parquet")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class PartFile(NamedTuple):
    """A file of a table, and the columns that are in its path."""

    path: str
    columns: Mapping[str, str | None]


def list_parts(folder: str, format: str | None = None) -> list[PartFile]:
    """The part files of a folder, sorted, without empty ones; none if it is no folder of data files of one format.

    Files and folders that begin with . or _, such as _SUCCESS, are left out. With a `format`, names need no ending.
    """
    if not stat.S_ISDIR(path_mode(folder) or 0) or is_dataset_folder(folder):
        return []
    parts = _list_below(folder, {})
    if not parts:
        return []
    formats = {_part_format(part.path) for part in parts}
    if format is None and (len(formats) > 1 or None in formats):
        return []
    return [part for part in parts if Path(part.path).stat().st_size] or parts[:1]


def find_part_format(folder: str) -> str | None:
    """The format of the part files of a folder; None if it has none."""
    parts = list_parts(folder)
    return _part_format(parts[0].path) if parts else None


def _list_below(folder: str, columns: Mapping[str, str | None]) -> list[PartFile] | None:
    """The files below a folder; None if another folder than one of a partition is in it, or a link out of it."""
    with os.scandir(folder) as entries:
        shown = sorted((entry for entry in entries if entry.name[0] not in "._"), key=lambda entry: entry.name)
    parts: list[PartFile] = []
    for entry in shown:
        name, sign, value = entry.name.partition("=")
        if entry.is_dir(follow_symlinks=False):
            inside = _list_below(entry.path, {**columns, unquote(name): _read_value(value)}) if sign and name else None
            if inside is None:
                return None
            parts += inside
        elif entry.is_file(follow_symlinks=False):
            parts.append(PartFile(entry.path, columns))
        else:
            return None
    return parts


def _read_value(value: str) -> str | None:
    return None if value == NO_VALUE else unquote(value)


def _part_format(path: str) -> str | None:
    kind = ENDINGS.get(split_ending(path)[0])
    return kind.format if kind is not None and kind.format in PART_FORMATS else None


class PartTable(Table):
    """A part file with the columns of its path, which have one value in all of its rows."""

    def __init__(self, table: Table, columns: Mapping[str, str | None]) -> None:
        self.table, self.options, self.path = table, table.options, table.path
        self.columns = {name: value for name, value in columns.items() if name not in table.names}
        self.roles, self.header, self.numbered, self.types = table.roles, table.header, table.numbered, table.types
        self.delimiter, self.names = table.delimiter, (*table.names, *self.columns)

    def for_reading(self, options: ReadOptions) -> PartTable:
        """The same table with its columns, read with other options."""
        table = super().for_reading(options)
        table.table = self.table.for_reading(options)
        return table

    def sample(self) -> TableSample:
        """The first values of every column."""
        sample = self.table.sample()
        size = max((len(values) for values in sample.values()), default=0)
        return {**sample, **{name: [value] * size for name, value in self.columns.items()}}

    def kept_names(self) -> tuple[str, ...]:
        """The columns of the file, then those of its path."""
        return (*self.table.kept_names(), *self.columns)

    def accept_name(self, name: str) -> None:
        """Allow a column of the file to be named by its number."""
        self.table.accept_name(name)
        self.names = (*self.table.names, *self.columns)

    def allow_absent(self, names: Sequence[str]) -> None:
        """Read keys of the file that a record may lack as empty cells."""
        self.table.allow_absent([name for name in names if name not in self.columns])

    def inside(self, names: Sequence[str]) -> list[str]:
        """The wanted columns that the file itself has; its first one if there is none, for the number of rows."""
        return [name for name in names if name not in self.columns] or list(self.table.names[:1])

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """For each wanted column a list of values, in batches."""
        inside = self.inside(names)
        for values in self.table.batches(inside):
            self.late_names = self.table.late_names
            columns = dict(zip((*inside, *self.late_names), values, strict=True))
            columns |= {name: [value] * len(values[0]) for name, value in self.columns.items()}
            yield [columns[name] for name in (*names, *self.late_names)]
