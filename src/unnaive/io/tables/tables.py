"""A table: named columns, and rows in batches of bounded size; every format is read as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from typing import Self

    from unnaive.io.read_options import ReadOptions

BATCH_CHARACTERS = 1 << 23  # maximum size of a batch
SAMPLE_ROWS = 200  # inspected to find the delimiter, the header and the columns
MOST_COLUMNS = 1 << 14  # maximum, as in a spreadsheet

TableSample = dict[str, list[Any]]


class NotPlain(Exception):
    """The rest of a file must be read row by row."""


class Table:
    """Named columns and rows in batches. The constructor looks at the start; `for_reading` returns a table to read.

    `roles` has the roles that the format itself assigns: {"text": …, "label": …, "id": …} by column name.
    `header` says in words where the names come from. `numbered` says that they are 1, 2, 3, …. `types` are Arrow types,
    if the format has them. `late_names` are kept columns that appeared while rows were read, after the wanted ones in
    each batch since. `repeated_names` is known once a column was named by a number. `reusable` says that one look
    is enough for any number of readings. `rows_before` are those of the file before the first that is read.
    """

    options: ReadOptions
    path: str = ""
    names: tuple[str, ...] = ()
    roles: Mapping[str, str] = {}
    header: str = ""
    numbered: bool = False
    repeated_names: bool | None = None
    types: Mapping[str, Any] = {}
    delimiter: str | None = None
    reusable: bool = False
    late_names: tuple[str, ...] = ()
    rows_before: int = 0

    def for_reading(self, options: ReadOptions) -> Self:
        """The same table, read with other options for progress, log and batches; its columns can be named again."""
        table = copy(self)
        table.options = options
        return table

    def sample(self) -> TableSample:
        """The first values of every column, for inspection; `batches` returns them again."""
        return {}

    def kept_names(self) -> tuple[str, ...]:
        """The columns to write before predictions; none if documents are not rows of a table."""
        times = Counter(self.names)
        return tuple(name for name in self.names if times[name] == 1)

    def accept_name(self, name: str) -> None:
        """Allow a column to be named by its number, from 1, if names are repeated; otherwise do nothing."""
        if self.repeated_names is None:
            self.repeated_names = len(set(self.names)) < len(self.names)
        index = int(name) - 1 if name.isdecimal() and len(name) < 6 and name not in self.names else -1
        if self.repeated_names and 0 <= index < len(self.names):
            self.names = (*self.names[:index], name, *self.names[index + 1 :])

    def allow_absent(self, names: Sequence[str]) -> None:
        """Read keys that a record may lack as empty cells; only JSON has such records."""

    def find_places(self, names: Sequence[str]) -> list[int]:
        """The index of each wanted column; an error for a name that several columns have."""
        times = Counter(self.names)
        twice = next((name for name in names if times[name] > 1), None)
        if twice is not None:
            alike = [str(index) for index, name in enumerate(self.names, start=1) if name == twice]
            raise BadData(
                f"{self.path} has {len(alike)} columns called {twice!r}; choose one by its number, "
                f"{', '.join(alike[:-1])} or {alike[-1]}, as in --text {alike[0]} or --label {alike[0]}"
            )
        places = {name: index for index, name in enumerate(self.names)}
        return [places[name] for name in names]

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """For each wanted column a list of values, in batches."""
        raise NotImplementedError


def check_width(path: str, n_columns: int) -> None:
    """Raise an error for a table with too many columns: each costs time for every row."""
    if n_columns > MOST_COLUMNS:
        raise BadData(
            f"{path} has {n_columns:,} columns, more than the maximum of {MOST_COLUMNS:,}; keep only those needed, or "
            "write labels as one column of lists"
        )


def split_into_batches(items: Iterable[Any], rows: int, size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Lists of at most `rows` items and about BATCH_CHARACTERS, so that memory stays constant.

    >>> [len(batch) for batch in split_into_batches(["x" * (1 << 22)] * 5, 8192, size=len)]
    [2, 2, 1]
    """
    batch: list[Any] = []
    n_chars = 0
    for item in items:
        batch.append(item)
        n_chars += size(item)
        if len(batch) >= rows or n_chars >= BATCH_CHARACTERS:
            yield batch
            batch, n_chars = [], 0
    if batch:
        yield batch
