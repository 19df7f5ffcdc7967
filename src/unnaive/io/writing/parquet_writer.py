"""Rows to Parquet, where a column has one type for all rows: if later rows need a wider type, all rows get it.

Rows are written as they come. When the type of a column widens, such as from integers to fractions, what was written is
set aside; at the end, all parts are written again with the final types. No value is rounded: a column without a type
that holds all of its values is an error.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.extras import import_extra
from unnaive.base.types import RowValues
from unnaive.io.writing.output_files import open_output

ColumnTypes = Callable[[], Mapping[str, Any]]  # the known Arrow types of the columns of the next rows


@contextmanager
def open_parquet_writer(path: Path, types: ColumnTypes) -> Iterator[Callable[[Sequence[RowValues]], None]]:
    """A function that writes rows; types are those given, or those of the values."""
    parquet = import_extra("pyarrow.parquet", "writing Parquet files")
    with open_output(path, binary=True) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            with _closing(ParquetRows(parquet, file, path.parent, types)) as writer:
                yield writer
            return
        with TemporaryFile() as whole:  # a pipe or a device, which cannot be read again
            with _closing(ParquetRows(parquet, whole, None, types)) as writer:
                yield writer
            whole.seek(0)
            shutil.copyfileobj(whole, file)


@contextmanager
def _closing(writer: ParquetRows) -> Iterator[ParquetRows]:
    try:
        yield writer
        writer.finish()
    finally:
        writer.close()


class ParquetRows:
    """Writes rows to an open file, which it may read; parts with narrower types wait in unnamed files of `folder`."""

    def __init__(self, parquet: Any, file: IO[bytes], folder: Path | None, types: ColumnTypes) -> None:
        self._parquet, self._file, self._folder, self._types = parquet, file, folder, types
        self._schema: Any = None  # columns that were only null so far have the type null
        self._writer: Any = None
        self._parts: list[IO[bytes]] = []

    def __call__(self, rows: Sequence[RowValues]) -> None:
        """Write rows that all have the same columns."""
        if rows:
            types = self._types()
            self._write({name: as_array(name, [row[name] for row in rows], types.get(name)) for name in rows[0]})

    def finish(self) -> None:
        """Write everything with the final types; a file without rows is a table too."""
        if self._writer is None:
            import pyarrow

            self._begin(pyarrow.schema(list(self._types().items())))
        if self._parts:
            self._set_aside()
            self._begin(self._schema)
            for part in self._parts:
                stored = self._parquet.ParquetFile(part)
                for number in range(stored.num_row_groups):
                    self._write_table(stored.read_row_group(number))
        self._writer.close()

    def close(self) -> None:
        """Release files, also after an error."""
        if self._writer is not None:
            with suppress(Exception):  # its file is deleted after an error
                self._writer.close()
        for part in self._parts:
            part.close()

    def _write(self, columns: dict[str, Any]) -> None:
        import pyarrow

        table = pyarrow.table(columns)
        if self._writer is None:
            self._begin(table.schema)
        elif table.schema != self._schema:
            wider = unify_types(self._schema, table.schema)
            if _stored(wider) != self._writer.schema:
                self._set_aside()
                self._begin(wider)
            self._schema = wider
        self._write_table(table)

    def _begin(self, schema: Any) -> None:
        self._schema = schema
        self._writer = self._parquet.ParquetWriter(self._file, _stored(schema))

    def _write_table(self, table: Any) -> None:
        import pyarrow

        schema = self._writer.schema
        columns = [_cast(name, table.column(name), schema.field(name).type) for name in schema.names]
        self._writer.write_table(pyarrow.table(columns, schema=schema))

    def _set_aside(self) -> None:
        """Move what was written so far to a file without a name."""
        self._writer.close()
        part = TemporaryFile(dir=self._folder)  # noqa: SIM115, `close` closes it
        self._parts.append(part)
        self._file.seek(0)
        shutil.copyfileobj(self._file, part)
        self._file.seek(0)
        self._file.truncate()


def as_array(name: str, values: list[Any], kind: Any) -> Any:
    """Values as an Arrow array of the type, or of the type that they have; an error if they have several."""
    import pyarrow

    values = [getattr(value, "scalar", value) for value in values] if kind is not None else values
    try:
        return pyarrow.array(values, kind)
    except (pyarrow.ArrowException, OverflowError, ValueError) as problem:
        raise _mixed(name, problem) from problem


def _cast(name: str, column: Any, kind: Any) -> Any:
    """The column with a wider type; an error if it would change a value."""
    import pyarrow

    if column.null_count == len(column):
        return pyarrow.nulls(len(column), kind)
    try:
        return column.cast(kind)
    except pyarrow.ArrowException as problem:
        raise _mixed(name, problem) from problem


def unify_types(before: Any, now: Any) -> Any:
    """The narrowest types that hold the values of both schemas, column by column."""
    import pyarrow

    fields = []
    for name in before.names:
        parts = [pyarrow.schema([schema.field(name)]) for schema in (before, now)]
        try:
            fields.append(pyarrow.unify_schemas(parts, promote_options="permissive").field(name))
        except pyarrow.ArrowException as problem:
            raise _mixed(name, problem) from problem
    return pyarrow.schema(fields)


def _stored(schema: Any) -> Any:
    """The schema of the file: a column without values holds strings."""
    import pyarrow

    return pyarrow.schema(
        [field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field for field in schema]
    )


def _mixed(name: str, problem: Exception) -> UnnaiveError:
    reason = str(problem).splitlines()[0]
    return UnnaiveError(
        f"column {name!r} has values of several types, which Parquet has not ({reason}); write a .jsonl or .csv file"
    )
