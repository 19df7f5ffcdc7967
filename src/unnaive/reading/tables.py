"""Files with columns, read in batches of bounded size: CSV, JSON lines, Parquet, plain lines; see datafiles.py."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from unnaive.errors import BadData
from unnaive.reading.columns import Columns, join_names
from unnaive.reading.sources import STDIN, OnRead, check_exists, decode_lines, open_bytes

BATCH_ROWS = 8192  # in a batch, at most
BATCH_CHARACTERS = 1 << 23  # in a batch, before it is handed on
SAMPLE_ROWS = 200  # rows looked at to find the delimiter and the columns

Lines = Iterator[tuple[int, str]]


class Table(Protocol):
    """Named columns, and the rows in batches: for each wanted column a list of values."""

    names: tuple[str, ...]

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""


@dataclass
class ReadLog:
    """What comes to light while a file is read: lines that were skipped, the columns that were taken."""

    skipped: list[int] = field(default_factory=list)
    columns: Columns | None = None


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: everything that is not in the file itself.

    delimiter   between the fields of a CSV file; found from the first rows by default
    header      False: the columns are called 1, 2, 3, …
    encoding    see sources.text_lines; `language` picks the code page of a file that is not UTF-8
    skip_bad    leave out rows that cannot be read, instead of stopping at the first
    rows        in a batch, at most; 1 answers every line of a live stream at once
    on_read       told of every chunk of bytes read, for a progress bar
    """

    delimiter: str | None = None
    header: bool = True
    encoding: str | None = None
    language: str = "en"
    skip_bad: bool = False
    rows: int = BATCH_ROWS
    on_read: OnRead | None = None
    log: ReadLog = field(default_factory=ReadLog)

    def bad(self, path: str, number: int, problem: str) -> None:
        """Stop at a bad line, or remember that it was skipped."""
        if not self.skip_bad:
            raise BadData(f"line {number} of {path} {problem}; repair it, or leave such rows out with --skip-bad")
        self.log.skipped.append(number)


def read_lines(path: str, options: ReadOptions) -> Lines:
    """The numbered lines of a file or of stdin; the file is closed at the end."""
    name = "stdin" if path == STDIN else path
    with open_bytes(path, options.on_read) as stream:
        yield from decode_lines(stream, name, encoding=options.encoding, language=options.language)


class CsvTable:
    """Delimited text; quoted fields may hold delimiters, doubled quotes and newlines."""

    def __init__(self, path: str, options: ReadOptions, lines: Lines | None = None) -> None:
        self._path, self._options, self._line = path, options, 0
        numbered = lines if lines is not None else read_lines(path, options)
        sample = list(islice(numbered, min(SAMPLE_ROWS, options.rows)))
        if not any(line.strip() for _, line in sample):
            raise BadData(f"{path} is empty; expected a header and rows")
        delimiter = options.delimiter or find_delimiter(
            [line for _, line in sample if len(line) < BATCH_CHARACTERS], path
        )
        csv.field_size_limit(2**31 - 1)  # a document of 50 MB is unusual, not wrong
        self._rows = csv.reader(self._counted(chain(sample, numbered)), delimiter=delimiter)
        self.names = self._header()

    def _counted(self, numbered: Iterable[tuple[int, str]]) -> Iterator[str]:
        for self._line, line in numbered:  # the reader asks for lines; an error wants their number
            yield line

    def _header(self) -> tuple[str, ...]:
        first = next((row for row in self._rows if row), [])
        if self._options.header:
            return tuple(name.strip() for name in first)
        self._rows = chain([first], self._rows)  # type: ignore[assignment]
        return tuple(str(number) for number in range(1, len(first) + 1))

    def _good_rows(self) -> Iterator[list[str]]:
        width = len(self.names)
        rows = iter(self._rows)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as problem:
                self._options.bad(self._path, self._line, f"is not CSV ({problem})")
                continue
            if len(row) == width:
                yield row
            elif row:
                fields = f"has {len(row)} fields where the header has {width} (an open quote or a bare delimiter?)"
                self._options.bad(self._path, self._line, fields)

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        twice = next((name for name in wanted if self.names.count(name) > 1), None)
        if twice is not None:
            raise BadData(f"{self._path} has two columns called {twice!r}; rename one")
        places = [self.names.index(name) for name in wanted]
        for rows in split_into_batches(self._good_rows(), self._options.rows, size=lambda row: sum(map(len, row))):
            yield [[row[place] for row in rows] for place in places]


def find_delimiter(lines: Sequence[str], path: str = "") -> str:
    """The delimiter that cuts the sample into the most even rows of two fields or more; a comma if none does.

    >>> find_delimiter(["text;label\\n", '"ham, eggs; toast";food\\n'])
    ';'
    """
    if ".tsv" in Path(path).suffixes or ".tab" in Path(path).suffixes:
        return "\t"
    return max((",", "\t", ";", "|"), key=lambda delimiter: _score_delimiter(lines, delimiter))


def _score_delimiter(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return (0.0, 0)
    if not widths or widths[0] < 2:
        return (0.0, 0)
    alike = sum(width == widths[0] for width in widths) / len(widths)
    return (round(alike, 1), widths[0])


class JsonTable:
    """One JSON object a line; a file that is one JSON array of objects is read whole."""

    def __init__(self, path: str, options: ReadOptions, lines: Lines | None = None) -> None:
        self._path, self._options = path, options
        records = self._records(lines if lines is not None else read_lines(path, options))
        sample = list(islice(records, min(SAMPLE_ROWS, options.rows)))
        if not sample:
            raise BadData(f"{path} is empty; expected one JSON object a line")
        self._rows = chain(sample, records)
        self.names = tuple(dict.fromkeys(name for _, record in sample for name in record))

    def _records(self, lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in lines:
            if not line.strip():
                continue
            if line.lstrip().startswith("["):
                yield from self._array(line, lines)
                return
            try:
                record = json.loads(line, strict=False)
            except (ValueError, RecursionError) as problem:
                self._options.bad(self._path, number, f"is not JSON ({_json_problem(problem)})")
                continue
            if isinstance(record, dict):
                yield number, record
            else:
                self._options.bad(self._path, number, 'is not a JSON object such as {"text": …}')

    def _array(self, start: str, lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            records = json.loads(start + "".join(line for _, line in lines), strict=False)
        except (ValueError, RecursionError) as problem:
            raise BadData(f"{self._path} is not a JSON array ({problem}); expected one object a line") from problem
        for number, record in enumerate(records, start=1):
            if not isinstance(record, dict):
                raise BadData(f'item {number} of {self._path} is not a JSON object such as {{"text": …}}')
            yield number, record

    def _complete(self, wanted: Sequence[str]) -> Iterator[list[Any]]:
        for number, record in self._rows:
            missing = [name for name in wanted if name not in record]
            if missing:
                self._options.bad(self._path, number, f"has no {missing[0]!r}; it has {join_names(list(record))}")
            else:
                yield [record[name] for name in wanted]

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        for rows in split_into_batches(self._complete(wanted), self._options.rows, size=_json_size):
            yield [list(column) for column in zip(*rows, strict=True)]


def _json_problem(problem: Exception) -> str:
    """What is wrong in a line, without the line number that the library counts from the line itself."""
    return f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)


def _json_size(row: list[Any]) -> int:
    return sum(len(value) if isinstance(value, str) else 16 for value in row)


class ParquetTable:
    """An Apache Parquet file; a column of lists holds label sets."""

    def __init__(self, path: str, options: ReadOptions, lines: Lines | None = None) -> None:
        if path == STDIN:
            raise BadData("Parquet cannot be read from stdin; save it to a file first")
        import pyarrow
        import pyarrow.parquet

        try:
            self._file = pyarrow.parquet.ParquetFile(check_exists(path))
        except (pyarrow.ArrowException, OSError) as problem:
            raise BadData(f"{path} is not a whole Parquet file ({problem}); write it again") from problem
        self._path, self._damage = path, (pyarrow.ArrowException, OSError)
        self.names = tuple(self._file.schema_arrow.names)

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, a batch at a time."""
        try:
            for batch in self._file.iter_batches(batch_size=BATCH_ROWS, columns=list(wanted)):
                yield [batch.column(name).to_pylist() for name in wanted]
        except self._damage as problem:
            raise BadData(f"{self._path} is a damaged Parquet file ({problem}); write it again") from problem


class LineTable:
    """Plain text: every line that is not blank is a document; the one column is called text."""

    names: tuple[str, ...] = ("text",)

    def __init__(self, path: str, options: ReadOptions, lines: Lines | None = None) -> None:
        self._lines, self._rows = lines if lines is not None else read_lines(path, options), options.rows

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The lines without their ends, a batch at a time."""
        documents = (line.rstrip("\r\n") for _, line in self._lines if line.strip())
        for batch in split_into_batches(documents, self._rows, size=len):
            yield [batch for _ in wanted]


FORMATS: dict[str, Callable[..., Table]] = {
    "csv": CsvTable, "tsv": CsvTable, "jsonl": JsonTable, "parquet": ParquetTable, "lines": LineTable,
}  # fmt: skip
SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".parquet": "parquet", ".pq": "parquet", ".txt": "lines",
}  # fmt: skip


def split_into_batches(items: Iterable[Any], rows: int, size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Lists of at most `rows` items, cut once they hold BATCH_CHARACTERS, so that memory stays constant.

    >>> [len(batch) for batch in split_into_batches(["x" * (1 << 22)] * 5, BATCH_ROWS, size=len)]
    [2, 2, 1]
    """
    batch: list[Any] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) >= rows or held >= BATCH_CHARACTERS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
