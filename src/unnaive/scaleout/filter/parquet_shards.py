"""Shards in Parquet: kept rows are written with all their columns, types and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.extras import import_extra
from unnaive.base.open_files import ByteSource
from unnaive.data.fields.fields import encode_records
from unnaive.io.batches import join_texts
from unnaive.io.fields.columns import Columns, join_names
from unnaive.io.read_options import BATCH_ROWS
from unnaive.io.row_reader import parse_text
from unnaive.io.tables.arrow import ArrowCells
from unnaive.io.tables.binary_tables import ParquetTable, explain_arrow_errors
from unnaive.io.tables.tables import NotPlain
from unnaive.scaleout.filter.blocks import ReadTexts, ShardReading

GROUP_ROWS = 1 << 16  # maximum number of rows in a row group of the output
GROUP_BYTES = 64 << 20


class ParquetShard:
    """A Parquet file."""

    def __init__(self, path: str, reading: ShardReading) -> None:
        self.path, self.reading = path, reading
        self.table = ParquetTable(ByteSource(path), reading.options)
        self.columns = reading.columns or Columns(("text",))
        missing = [name for name in self.columns.inputs if name not in self.table.names]
        if missing:
            raise BadData(f"{path} has no column {missing[0]!r}; it has {join_names(self.table.names)}: name the "
                          "column of texts with --text")  # fmt: skip

    def blocks(self) -> Iterator[RowBlock]:
        """Batches of rows."""
        on_read, n_rows = self.reading.options.on_read, self.table.file.metadata.num_rows
        row_size = Path(self.path).stat().st_size / max(1, n_rows)
        with explain_arrow_errors(self.path, "a damaged Parquet file"):
            for batch in self.table.file.iter_batches(batch_size=BATCH_ROWS):
                yield RowBlock(self.path, batch, self.columns)
                if on_read is not None:
                    on_read(int(row_size * batch.num_rows))

    @contextmanager
    def writing(self, file: IO[bytes], packing: str) -> Iterator[RowWriter]:
        """A writer of rows with the compression of the shard."""
        parquet = import_extra("pyarrow.parquet", "writing Parquet files")
        metadata = self.table.file.metadata
        codec = metadata.row_group(0).column(0).compression.lower() if metadata.num_row_groups else "snappy"
        schema = self.table.file.schema_arrow
        with parquet.ParquetWriter(file, schema, compression="none" if codec == "uncompressed" else codec) as out:
            writer = RowWriter(out)
            yield writer
            writer.flush()


@dataclass
class RowWriter:
    """A writer that collects rows into row groups."""

    out: Any
    waiting: list[Any] = field(default_factory=list)

    def pack(self, part: Any) -> Any:
        """Return the rows unchanged; they are compressed when a row group is written."""
        return part

    def write(self, packed: Any) -> int:
        """Write rows, now or later with the following rows."""
        if packed.num_rows:
            self.waiting.append(packed)
        rows, size = sum(table.num_rows for table in self.waiting), sum(table.nbytes for table in self.waiting)
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            self.flush()
        return count_row_bytes(packed)

    def flush(self) -> None:
        """Write the waiting rows."""
        import pyarrow

        if self.waiting:
            self.out.write_table(pyarrow.Table.from_batches(self.waiting))
            self.waiting = []


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Consecutive rows of a shard."""

    path: str
    batch: Any
    columns: Columns

    @property
    def size(self) -> int:
        """The size in bytes."""
        return count_row_bytes(self.batch)

    def read(self) -> ReadTexts:
        """The texts; a missing text is empty."""
        cells = [self.batch.column(name) for name in self.columns.inputs]
        if self.columns.fields:
            values = {name: column.to_pylist() for name, column in zip(self.columns.inputs, cells, strict=True)}
            return ReadTexts(encode_records(values, self.columns.fields, f"the rows of {self.path}"))
        try:
            return ReadTexts(join_texts([ArrowCells(column).texts() for column in cells]))
        except NotPlain:
            rows = zip(*(column.to_pylist() for column in cells), strict=True)
            return ReadTexts(["\n".join(parse_text(value, self.path) for value in row) for row in rows])

    def take(self, kept: NDArray[np.bool_]) -> Any:
        """The kept rows."""
        import pyarrow

        return self.batch.filter(pyarrow.array(kept))


def count_row_bytes(batch: Any) -> int:
    """The bytes of all rows. Every batch has the whole dictionary of a dictionary column, so its values are counted."""
    return sum(
        (column.dictionary_decode() if hasattr(column, "dictionary_decode") else column).nbytes
        for column in batch.columns
    )
