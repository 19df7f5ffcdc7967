"""What a first look at a data file has found: every command, and Spark, chooses columns from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unnaive.base.lazy import lazy_property
from unnaive.data.fields.column_kinds import Profile, profile_column
from unnaive.io.tables.tables import Table


@dataclass(frozen=True, eq=False)
class Inspection:
    """The start of a data file, understood.

    source     the file in messages
    format     such as csv, by the name of the file, its first lines or --format
    names      the columns
    sample     the first values of each column
    header     says in words where the names come from
    numbered   whether the names are 1, 2, 3, … because there is no header
    roles      the column for "text", "label" or "id", if the format itself has these
    delimiter  of CSV
    table      reads the rows; without effect for Spark, which reads them itself
    """

    source: str
    format: str
    names: tuple[str, ...]
    sample: Mapping[str, Sequence[Any]]
    header: str = ""
    numbered: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    delimiter: str | None = None
    table: Table = field(default_factory=Table)

    @classmethod
    def of(cls, table: Table, source: str, format: str) -> Inspection:
        """The inspection of an opened table."""
        header, delimiter = table.header, table.delimiter
        return cls(source, format, table.names, table.sample(), header, table.numbered, table.roles, delimiter, table)

    @lazy_property
    def profiles(self) -> dict[str, Profile]:
        """The kind of the values of each column.

        >>> Inspection("tickets.csv", "csv", ("queue",), {"queue": ["bug", "billing"]}).profiles["queue"].kind
        'labels'
        """
        return {name: profile_column(name, self.sample.get(name, ())) for name in dict.fromkeys(self.names)}
