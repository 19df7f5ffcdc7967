"""Tables with additional columns of vectors from .npy files, which have a row for each row of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import Table, TableSample


def split_vector_file(option: str) -> tuple[str, str | None]:
    """(name of a vector field, its .npy file); the file is None if the field is a column of the table.

    >>> split_vector_file("topic=train.npy"), split_vector_file("a=b")
    (('topic', 'train.npy'), ('a=b', None))
    """
    name, sign, path = option.partition("=")
    if option.lower().endswith(".npy"):
        if not (sign and name):
            raise BadData(f"{option!r} names no field of vectors; give it as NAME={path or option}")
        return name, path
    if sign and name and Path(path).is_file():
        raise BadData(f"the vectors of {name!r} came as {path}; give an .npy file, written with numpy.save")
    return option, None


def with_vector_files(table: Table, vectors: Sequence[str], source: str, n_files: int) -> Table:
    """The table with an additional column for each .npy file in `vectors`."""
    files = {name: path for name, path in map(split_vector_file, vectors) if path is not None}
    if not files:
        return table
    if n_files != 1:
        raise BadData(
            f"the rows of {min(files.values())} belong to one data file, but {n_files} came; give one data file"
        )
    return VectorTable(table, {name: _read_array(path) for name, path in files.items()}, source)


def _read_array(path: str) -> NDArray[Any]:
    """The rows of a file, memory-mapped."""
    try:
        rows: NDArray[Any] = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise BadData(f"no file called {path}; give an existing one as NAME=FILE.npy") from None
    except (OSError, ValueError, EOFError) as problem:
        raise BadData(f"{path} is not an .npy file of numbers ({problem}); write it with numpy.save") from problem
    if rows.ndim != 2 or rows.dtype.kind not in "fiu":
        raise BadData(
            f"{path} has the shape {rows.shape} and type {rows.dtype}; give a row of numbers for each document"
        )
    return rows


class VectorTable(Table):
    """A table with additional columns, whose values are the rows of arrays."""

    def __init__(self, table: Table, arrays: dict[str, NDArray[Any]], source: str) -> None:
        self.table, self.arrays, self.source, self.options = table, arrays, source, table.options
        self.roles, self.header, self.numbered, self.types = table.roles, table.header, table.numbered, table.types
        twice = next((name for name in arrays if name in table.names), None)
        if twice is not None:
            raise BadData(f"{source} already has a column {twice!r}; give the vectors another name")
        self.names = (*table.names, *arrays)

    def for_reading(self, options: ReadOptions) -> VectorTable:
        """The same table with its columns, read with other options."""
        table = super().for_reading(options)
        table.table = self.table.for_reading(options)
        return table

    def sample(self) -> TableSample:
        """The first values of every column."""
        sample = self.table.sample()
        size = max((len(values) for values in sample.values()), default=0)
        for name, rows in self.arrays.items():
            self._check_enough(name, rows, size)
        return {**sample, **{name: rows[:size].tolist() for name, rows in self.arrays.items()}}

    def kept_names(self) -> tuple[str, ...]:
        """The columns of the table itself."""
        return self.table.kept_names()

    def accept_name(self, name: str) -> None:
        """Allow a column of the table to be named by its number."""
        self.table.accept_name(name)
        self.names = (*self.table.names, *self.arrays)

    def allow_absent(self, names: Sequence[str]) -> None:
        """Read keys of the table that a record may lack as empty cells."""
        self.table.allow_absent(names)

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """For each wanted column a list of values, in batches; an error if a file has another number of rows."""
        table_columns = [name for name in names if name not in self.arrays] or list(self.table.names[:1])
        at = 0
        for values in self.table.batches(table_columns):
            size = len(values[0])
            columns = dict(zip((*table_columns, *self.table.late_names), values, strict=True))
            for name, rows in self.arrays.items():
                self._check_enough(name, rows, at + size)
                columns[name] = list(rows[at : at + size])
            self.late_names = self.table.late_names
            yield [columns[name] for name in (*names, *self.late_names)]
            at += size
        for name, rows in self.arrays.items():
            if len(rows) > at:
                raise BadData(
                    f"there are {len(rows):,} vectors of {name!r}, but {self.source} has {count_noun(at, 'row')}; "
                    "give one for each row"
                )

    def _check_enough(self, name: str, rows: NDArray[Any], n_rows: int) -> None:
        """Raise an error if there are fewer vectors than rows of the table that were read."""
        if len(rows) < n_rows:
            raise BadData(
                f"there are {len(rows):,} vectors of {name!r}, but {self.source} has more rows; give one for each row"
            )
