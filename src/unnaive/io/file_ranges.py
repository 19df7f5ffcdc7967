"""Cut a large file between rows, so that its parts are read apart: by lines, by rows of CSV, by row groups of Parquet.

`cut_table` returns a range only where its part gives the rows that reading the whole file would give: never inside a
packed file, a file in UTF-16, or a JSON array. A part of CSV is read by the native parser or not at all, because a
stray quote in one part may belong to another; then it raises NotPlain, and the file must be read whole.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from unnaive.base.decompression import FOREIGN_FORMATS
from unnaive.base.open_files import ByteSource, FilePart
from unnaive.io.part_files import PartTable
from unnaive.io.read_options import BATCH_ROWS, ReadOptions
from unnaive.io.tables.binary_tables import ParquetTable
from unnaive.io.tables.csv_tables import CsvTable
from unnaive.io.tables.json_tables import JsonTable
from unnaive.io.tables.line_tables import FastTextTable, LineTable
from unnaive.io.tables.native_parser import PACKED, csv_rows_end
from unnaive.io.tables.tables import Table
from unnaive.io.text_encoding import names_utf8

MARK = b"\xef\xbb\xbf"
# no part begins like a packed or foreign file, with a byte-order mark or a blank line, and none of JSON like an array
NOT_FIRST = (*PACKED, *FOREIGN_FORMATS, MARK, b"\r", b"\n", b"\0")
NOT_FIRST_IN_JSON = (*NOT_FIRST, b"[", b" ", b"\t")
LONGEST_START = max(map(len, NOT_FIRST))
LOOKED_AT = 1 << 16  # bytes
LONGEST = 4  # times the size of a part: the longest row that is passed over


class Range(NamedTuple):
    """Part of a file: bytes, or row groups of Parquet, from `start` to before `stop`; and the rows before, if known."""

    start: int
    stop: int
    rows_before: int = 0


def cut_table(table: Table, size: int) -> list[Range]:
    """Ranges of `size` bytes or more, except for the last, that cover a file in order; none if it is read whole."""
    if isinstance(table, PartTable):
        return cut_table(table.table, size)
    cutter = CUTTERS.get(type(table))
    return [] if cutter is None else cutter(table, size)


def take_range(table: Table, part: Range) -> Table:
    """The table with the rows of a range only; of an opened table, by options and names the same."""
    taken = copy(table)
    if isinstance(taken, PartTable):
        taken.table = take_range(taken.table, part)
    elif isinstance(taken, ParquetTable):
        taken.row_groups, taken.rows_before = range(part.start, part.stop), part.rows_before
    else:
        taken.source = FilePart(taken.path or taken.source.path, part.start, part.stop)  # type: ignore[attr-defined]
    return taken


def find_part(table: Table) -> FilePart | None:
    """The part of a file that a table reads; None if it reads a whole file, or row groups."""
    table = table.table if isinstance(table, PartTable) else table
    source = getattr(table, "source", None)
    return source if isinstance(source, FilePart) else None


def _cut_rows(table: CsvTable, size: int) -> list[Range]:
    """Blocks of whole rows of CSV, by the parser that reads them."""
    plain = not table.orange and len(table.delimiter.encode()) == 1
    if not plain or table.options.skip_bad or table.options.rows < BATCH_ROWS:
        return []
    return _cut_file(table.source, table.options, size, _whole_rows)


def _cut_records(table: JsonTable, size: int) -> list[Range]:
    """Blocks of whole lines, unless the file is one array."""
    if not table.source.is_file:
        return []
    with Path(table.source.path).open("rb") as file:
        if not file.read(LOOKED_AT).removeprefix(MARK).lstrip().startswith(b"{"):
            return []
    return _cut_file(table.source, table.options, size, _whole_lines, NOT_FIRST_IN_JSON)


def _cut_lines(table: LineTable, size: int) -> list[Range]:
    return _cut_file(table.source, table.options, size, _whole_lines)


def _cut_row_groups(table: ParquetTable, size: int) -> list[Range]:
    ranges, start, rows, before, held = [], 0, 0, 0, 0
    metadata = table.file.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows, held = rows + group.num_rows, held + group.total_byte_size
        if held >= size or number == metadata.num_row_groups - 1:
            ranges.append(Range(start, number + 1, before))
            start, before, held = number + 1, rows, 0
    return ranges if len(ranges) > 1 else []


CUTTERS: dict[type[Table], Callable[[Any, int], list[Range]]] = {
    CsvTable: _cut_rows, JsonTable: _cut_records, LineTable: _cut_lines, FastTextTable: _cut_lines,
    ParquetTable: _cut_row_groups,
}  # fmt: skip


def _cut_file(
    source: ByteSource,
    options: ReadOptions,
    size: int,
    find_ends: Callable[[bytes], list[int]],
    not_first: tuple[bytes, ...] = NOT_FIRST,
) -> list[Range]:
    """Ranges of whole rows; `find_ends` returns some places in a block that begins with a row where rows end.

    not_first  what no range begins with
    """
    utf8 = options.encoding is None or names_utf8(options.encoding)
    if not source.is_file or not utf8 or source.starts_with(PACKED):
        return []
    length = Path(source.path).stat().st_size
    if length <= size:
        return []
    ends = [0]
    with Path(source.path).open("rb") as file:
        begin = len(MARK) if file.read(len(MARK)) == MARK else 0
        while length - ends[-1] > size:
            end = _find_end(file, max(ends[-1], begin), size, find_ends, not_first)
            if end is None:
                break
            ends.append(end)
    ends += [length] if ends[-1] < length else []
    return [Range(*pair) for pair in pairwise(ends)] if len(ends) > 2 else []


def _find_end(
    file: IO[bytes], start: int, size: int, find_ends: Callable[[bytes], list[int]], not_first: tuple[bytes, ...]
) -> int | None:
    """The end of the rows in the next `size` bytes or more; None if they have no good end."""
    file.seek(start)
    block = file.read(size)
    while len(block) <= LONGEST * size:
        more = file.read(LOOKED_AT)
        for end in find_ends(block):
            following = block[end : end + LONGEST_START] + more[:LONGEST_START]
            if following and not following.startswith(not_first):
                return start + end
        if not more:
            return None
        block += more + file.read(len(block))  # twice as long, so that the time is in proportion
    return None


def _whole_rows(block: bytes) -> list[int]:
    end = csv_rows_end(np.frombuffer(block, np.uint8))
    return [end] if end else []


def _whole_lines(block: bytes) -> list[int]:
    """The last ends of lines, the last first."""
    ends: list[int] = []
    at = len(block)
    while len(ends) < 100 and (at := block.rfind(b"\n", 0, at)) >= 0:
        ends.append(at + 1)
    return ends
