"""The native parser of CSV and JSON lines: blocks of whole rows → columns of bytes, parsed by several threads.

It parses only files for which it gives exactly the result of the Python readers. For anything unusual (another
encoding, NULs, a ragged row) it raises NotPlain; the Python readers then continue, and report errors.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.decompression import PACKED_FORMATS
from unnaive.base.open_files import ByteSource, FilePart
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Bytes, Ids, Item
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import BATCH_ROWS, ReadOptions
from unnaive.io.tables.csv_tables import CsvTable
from unnaive.io.tables.json_tables import ANNOTATION_KEYS, JsonTable
from unnaive.io.tables.tables import NotPlain
from unnaive.io.text_encoding import names_utf8
from unnaive.text.buffer import TextBuffer

if TYPE_CHECKING:
    from concurrent.futures import Future

try:
    import unnaive.base._rows as native
except ImportError:  # built without a compiler
    native = None

BLOCK = 8 << 20  # maximum bytes parsed at a time
LINES = 1 << 16  # bytes at the end of a block that are searched at a time for the end of a line
PACKED = (*PACKED_FORMATS, b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")
MISSING, STRING = 0, 1  # kinds of cells: a key that a record lacks, a string; 2 is other JSON as it is in the file

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """One column of some rows: the bytes of all cells, their offsets, and the kind of each."""

    blob: Bytes
    offsets: Ids
    kinds: Bytes

    def __len__(self) -> int:
        return len(self.kinds)

    def part(self, start: int, stop: int) -> ColumnCells:
        """The rows from `start` to before `stop`."""
        return ColumnCells(self.blob, self.offsets[start : stop + 1], self.kinds[start:stop])

    def texts(self, *, missing: bool = False) -> TextBuffer:
        """The cells as texts; NotPlain if one is not a string; with `missing`, missing cells are empty."""
        if not bool(((self.kinds == STRING) | (missing & (self.kinds == MISSING))).all()):
            raise NotPlain
        return TextBuffer(self.blob, self.offsets)

    def values(self) -> list[Any]:
        """The cells as Python values; None for a missing key."""
        strings = TextBuffer(self.blob, self.offsets)
        if bool((self.kinds == STRING).all()):
            return list(strings)
        return [_value(kind, text) for kind, text in zip(self.kinds.tolist(), strings, strict=True)]

    def distinct(self) -> tuple[NDArray[np.int32], list[Any]]:
        """(a code for each cell, the value of each code); NotPlain if strings and others are mixed."""
        if not bool((self.kinds == self.kinds[:1]).all()):
            raise NotPlain
        strings = TextBuffer(self.blob, self.offsets)
        codes, firsts = distinct_strings(strings)
        return codes, [_value(int(self.kinds[row]), strings[row]) for row in firsts]


def distinct_strings(strings: TextBuffer) -> tuple[NDArray[np.int32], list[int]]:
    """(a code for each string, the first row of each code); NotPlain without the native reader."""
    if native is None:
        raise NotPlain
    codes, firsts = native.cell_codes(strings.blob, strings.offsets)
    return codes, firsts.tolist()


def _value(kind: int, text: str) -> Any:
    return text if kind == STRING else json.loads(text) if kind else None


CellBatch = dict[str, ColumnCells]


def read_json(table: JsonTable, columns: Columns) -> Iterator[CellBatch]:
    """The rows of a JSON lines file; columns that are only kept may be missing in some rows."""
    names = list(dict.fromkeys(columns.names))
    extra_names = set(columns.kept) - set(columns.names[: len(columns.names) - len(columns.kept)])
    ordered = [name for name in names if name not in extra_names] + [name for name in names if name in extra_names]
    if table.annotated or set(names) & set(ANNOTATION_KEYS):
        raise NotPlain
    if not all(name in record for record in table.records for name in ordered[: len(names) - len(extra_names)]):
        raise NotPlain  # a nested key
    required, longest = len(names) - len(extra_names), table.options.max_line
    closed = bool(columns.kept)  # all keys are wanted, those that come late too

    def parse(block: Bytes, _: bool) -> Any:
        return native.json_rows(block, ordered, required, ANNOTATION_KEYS, longest, closed)

    return _parsed(table.source, table.options, ordered, parse, lines_end)


def read_csv(table: CsvTable, columns: Columns) -> Iterator[CellBatch]:
    """The rows of a CSV file."""
    delimiter = table.delimiter.encode()
    if table.orange or len(set(table.names)) < len(table.names) or len(delimiter) > 1:
        raise NotPlain
    names = list(dict.fromkeys(columns.names))
    numbers = {name: number for number, name in enumerate(names)}
    places = [numbers.get(name, -1) for name in table.names]
    header, separator_line = 0 if table.numbered else 1, len(table.separator_line.encode())
    if isinstance(table.source, FilePart) and table.source.start:
        header = separator_line = 0
    longest = table.options.max_line

    def parse(block: Bytes, first: bool) -> Any:
        return native.csv_rows(block, delimiter[0], places, header if first else 0, longest)

    return _parsed(table.source, table.options, names, parse, csv_rows_end, separator_line)


def json_line_columns(
    data: Bytes, names: Sequence[str], longest: int
) -> tuple[list[ColumnCells], NDArray[np.int64]] | None:
    """(columns of whole lines, start and end of the line of each row); None if Python must read them.

    The second has two numbers for each row: blank lines are not rows. `longest` is the maximum bytes of a line.

    >>> lines = np.frombuffer(b'{"text": "a"}\\n\\n{"text": "b"}', np.uint8)
    >>> (texts,), bounds = json_line_columns(lines, ["text"], 100)
    >>> list(texts.texts()), bounds.tolist()
    (['a', 'b'], [0, 14, 15, 28])
    """
    result = None if native is None else native.json_lines(data, list(names), longest)
    return None if result is None else ([ColumnCells(*cells) for cells in result[0]], result[1])


def lines_end(block: Bytes) -> int:
    """The end of the last whole line of a block; 0 if it has none."""
    start = len(block)
    while start:
        start, end = max(0, start - LINES), start
        at = block[start:end].tobytes().rfind(b"\n")
        if at >= 0:
            return start + at + 1
    return 0


def csv_rows_end(block: Bytes) -> int:
    """The end of the last whole row of a block of CSV that begins with a row; 0 if it has none, or without the parser.

    >>> csv_rows_end(np.frombuffer(b'a,"b\\nc",d\\ne', np.uint8))
    10
    """
    return 0 if native is None else int(native.csv_rows_end(block))


def _parsed(
    source: ByteSource,
    options: ReadOptions,
    names: list[str],
    parse: Callable[[Bytes, bool], Any],
    cut: Callable[[Bytes], int],
    skipped: int = 0,
) -> Iterator[CellBatch]:
    """The results of `parse(block, whether it is the first)` for each block of whole rows, in the order of the file.

    skipped  bytes at the start of the file, after a byte-order mark, that are not rows
    """
    # buffers whose rows have been parsed, for reuse: touching new memory takes longer than filling it
    spare: list[Bytes] = []

    def work(numbered: tuple[int, tuple[Bytes, int]]) -> tuple[int, Any]:
        number, (buffer, size) = numbered
        columns = parse(buffer[:size], number == 0)
        spare.append(buffer)
        return size, columns

    blocks = _blocks(source, options, cut, spare, skipped)
    for size, columns in map_in_order(work, enumerate(blocks), thread_count(options.threads)):
        if columns is None:
            raise NotPlain
        yield {name: ColumnCells(*cells) for name, cells in zip(names, columns, strict=True)}
        if options.on_read is not None:
            options.on_read(size)


def _blocks(
    source: ByteSource, options: ReadOptions, cut: Callable[[Bytes], int], spare: list[Bytes], skipped: int
) -> Iterator[tuple[Bytes, int]]:
    """(buffer, its bytes of whole rows) of a file without its byte-order mark: `cut` finds the end of the last row.

    Buffers are taken from `spare` if it has some. NotPlain if the file is compressed or UTF-16, if the options ask for
    something else, and if a row is very long.
    """
    utf8 = options.encoding is None or names_utf8(options.encoding)
    if native is None or options.skip_bad or options.rows < BATCH_ROWS or not utf8 or not source.is_file:
        raise NotPlain
    if source.starts_with(PACKED):
        raise NotPlain
    block = min(BLOCK, options.block or BLOCK)
    with source.packed(looking=options.looking) as file:
        start = file.read(max(4, 3 + skipped))
        rest = np.frombuffer(start.removeprefix(b"\xef\xbb\xbf")[skipped:], np.uint8)
        if options.on_read is not None:
            options.on_read(len(start) - len(rest))
        while True:
            buffer = _buffer(len(rest) + block, spare)
            buffer[: len(rest)] = rest
            size = len(rest) + (file.readinto(buffer[len(rest) : len(rest) + block].data) or 0)
            if size == len(rest):
                break
            end = cut(buffer[:size])
            if not end and size > 2 * options.max_line:
                raise NotPlain
            rest = buffer[end:size].copy()
            if end:
                yield buffer, end
            else:
                spare.append(buffer)
        if size:
            yield buffer, size


def _buffer(size: int, spare: list[Bytes]) -> Bytes:
    """A buffer of at least this size."""
    buffer = spare.pop() if spare else None
    return buffer if buffer is not None and len(buffer) >= size else np.empty(size + size // 4, np.uint8)


def map_in_order(work: Callable[[Item], Made], items: Iterable[Item], threads: int) -> Iterator[Made]:
    """work(item) of each item in order, computed by several threads a few items ahead.

    >>> list(map_in_order(lambda number: number * number, range(5), threads=2))
    [0, 1, 4, 9, 16]
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Made]] = deque()
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
