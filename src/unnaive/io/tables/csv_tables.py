"""The row-by-row parser of CSV: detects delimiter and header, reports ragged rows; native_parser.py parses blocks."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from unnaive.base.errors import BadData
from unnaive.base.open_files import ByteSource, FilePart
from unnaive.data.fields.column_kinds import looks_like_data, shorten_cell
from unnaive.io.endings import DELIMITERS, read_format
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.csv_records import CsvRecord, RecordReader, longer_fields
from unnaive.io.tables.tables import (
    BATCH_CHARACTERS,
    SAMPLE_ROWS,
    NotPlain,
    Table,
    TableSample,
    check_width,
    split_into_batches,
)
from unnaive.io.text_encoding import read_lines


class CsvTable(Table):
    """Delimited text; quoted fields may contain delimiters, doubled quotes and newlines."""

    reusable = True
    delimiter: str

    def __init__(self, source: ByteSource, options: ReadOptions) -> None:
        self.source, self.path, self.options = source, source.name, options
        numbered = read_lines(source, options.as_look())
        start = list(islice(numbered, min(SAMPLE_ROWS, options.rows)))
        if not any(line.strip() for _, line in start):
            raise BadData(f"{self.path} is empty; expected a header and rows")
        separator = find_separator_line(start[0][1])
        self.separator_line = start.pop(0)[1] if separator else ""
        if separator and not start:  # a live stream, or a file with only this line
            start = list(islice(numbered, 1))
        sampled = [line for _, line in start if len(line) < 1 << 16]
        self.delimiter = options.delimiter or separator or find_delimiter(sampled, self.path)
        reader = RecordReader(chain(start, numbered), self.delimiter, 2 * options.max_line)
        with longer_fields(options.max_line):
            first = self._read_first(reader)
            check_width(self.path, len(first))
            self._sampled = self._take_sample(reader)
        self._read_header(first)

    def _read_first(self, reader: RecordReader) -> list[str]:
        """The first row, which all others are as wide as."""
        first = next(reader.records(), CsvRecord([], 0, 0))
        if first.problem:  # a bad header cannot be skipped like a bad row
            raise BadData(f"line {first.first} of {self.path} {first.problem}; repair it")
        reader.width = len(first.fields)
        return first.fields

    def _take_sample(self, reader: RecordReader) -> list[list[str]]:
        sample: list[list[str]] = []
        if self.options.rows > 1:  # a live stream has only its first line yet
            n_chars = 0
            for row in islice(_good_rows(reader, self.path, self.options.as_look()), SAMPLE_ROWS):
                sample.append(row)
                n_chars += sum(map(len, row))
                if n_chars > BATCH_CHARACTERS:
                    break
        return sample

    def _read_header(self, first: list[str]) -> None:
        self.orange, self.header_rows = False, 1
        if find_header(self.path, first, self._sampled, self.options):
            self.names = tuple(name.strip() for name in first)
            self.header = "header in line 1"
            if self.separator_line:
                self.header = f"{self.separator_line.strip()} in line 1, header in line 2"
            self._read_orange_header()
        else:
            self._sampled.insert(0, first)
            self.names = tuple(str(number) for number in range(1, len(first) + 1))
            self.header, self.numbered = "no header", True

    def _read_orange_header(self) -> None:
        """Orange's tables have two more header rows, types and flags, or prefixes such as cD#label."""
        if len(self._sampled) > 1 and is_orange_header(self._sampled[0], self._sampled[1]):
            flags = [cell.split()[0] if cell.strip() else "" for cell in self._sampled[1]]
            self._sampled, self.orange, self.header_rows = self._sampled[2:], True, 3
            self.header = "Orange header of 3 rows"
        elif any(_ORANGE_PREFIX.match(name) for name in self.names):
            prefixes = [_ORANGE_PREFIX.match(name) for name in self.names]
            flags = ["class" if match and "c" in match[1] else "" for match in prefixes]
            self.names = tuple(_ORANGE_PREFIX.sub("", name) for name in self.names)
            self.header, self.orange = "Orange header", True
        else:
            return
        label = next((name for name, flag in zip(self.names, flags, strict=True) if flag in ("class", "c")), None)
        self.roles = {} if label is None else {"label": label}

    def _read_rows(self) -> Iterator[list[str]]:
        """All rows below the header, from the start of the file."""
        if isinstance(self.source, FilePart):
            raise NotPlain  # a quote may have been opened before the part
        lines = read_lines(self.source, self.options)
        if self.separator_line:
            next(lines)
        reader = RecordReader(lines, self.delimiter, 2 * self.options.max_line)
        first = self._read_first(reader)
        rows = _good_rows(reader, self.path, self.options)
        return chain([first], rows) if self.numbered else islice(rows, self.header_rows - 1, None)

    def sample(self) -> TableSample:
        """The first values of every column."""
        return {name: [row[index] for row in self._sampled] for index, name in enumerate(self.names)}

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, in batches."""
        places = self.find_places(names)
        for batch in self._batches_of_rows():
            yield [[row[index] for row in batch] for index in places]

    def _batches_of_rows(self) -> Iterator[list[list[str]]]:
        """All rows in batches; the limit of the csv module is changed only while a batch is read."""
        with longer_fields(self.options.max_line):
            rows = self._read_rows()
        batches = split_into_batches(rows, self.options.rows, size=lambda row: sum(map(len, row)))
        while True:
            with longer_fields(self.options.max_line):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


def _good_rows(reader: RecordReader, path: str, options: ReadOptions) -> Iterator[list[str]]:
    """The rows without the bad ones, which are errors, or logged."""
    for fields, first, last, problem in reader.records():
        if problem:
            options.reject_row(path, first, problem, last)
        else:
            yield fields


def find_header(path: str, first: list[str], below: list[list[str]], options: ReadOptions) -> bool:
    """Whether the first row is a header: `options.header` if set, otherwise guessed; an error if it looks like data."""
    if options.header is not None:
        return options.header
    if looks_like_data(first, below, options.expected):
        shown = ", ".join(shorten_cell(cell) for cell in first[:4])
        raise BadData(
            f"the first row of {path} looks like data, not like column names ({shown}); "
            "use --set header=false if it is a document, --set header=true if it is the header"
        )
    return True


_ORANGE_PREFIX = re.compile(r"([a-z]?)[CDST]?#|([mciw])([CDST])#")
_ORANGE_TYPES = frozenset(
    ("c", "d", "s", "t", "n", "continuous", "discrete", "string", "time", "numeric", "text", "basket", "")
)
_ORANGE_FLAGS = re.compile(r"(?:|class|c|meta|m|ignore|i|weight|w|multiclass|-dc|\S[^\s=]*+=\S+)(?: \S[^\s=]*+=\S+)*")


def is_orange_header(types: Sequence[str], flags: Sequence[str]) -> bool:
    """Whether two rows are the types and the flags of an Orange table.

    >>> is_orange_header(["string", "spam ham"], ["meta", "class"]), is_orange_header(["a", "b"], ["x", "y"])
    (True, False)
    """
    cells = [cell.strip() for cell in flags]
    if not all(_ORANGE_FLAGS.fullmatch(cell) for cell in cells):
        return False
    named = [cell.strip().casefold() in _ORANGE_TYPES for cell in types]
    if all(named) and any(cell.strip() for cell in types):
        return True
    return any(named) and any(cell.startswith(("class", "meta")) for cell in cells)


_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)


def find_separator_line(line: str) -> str:
    """The delimiter of a first line such as sep=;, which Excel writes and hides; empty for any other line.

    >>> find_separator_line("sep=;\\r\\n"), find_separator_line("text;label\\n")
    (';', '')
    """
    match = _SEPARATOR_LINE.fullmatch(line)
    return match[1] if match and match[1] not in "\r\n" else ""


def find_delimiter(lines: Sequence[str], path: str = "") -> str:
    """The delimiter that splits the sample into the most regular rows of two or more fields; a comma if none does.

    >>> find_delimiter(["text;label\\n", '"ham, eggs; toast";food\\n'])
    ';'
    """
    if read_format(path) == "tsv":
        return DELIMITERS["tsv"]
    return max((",", "\t", ";", "|"), key=lambda delimiter: score_delimiter(lines, delimiter))


def score_delimiter(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """(share of rows as wide as the first, that width); (0, 0) if the first row has one field."""
    try:
        with longer_fields(sum(map(len, lines))):
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return (0.0, 0)
    if not widths or widths[0] < 2:
        return (0.0, 0)
    alike = sum(width == widths[0] for width in widths) / len(widths)
    return (round(alike, 1), widths[0])
