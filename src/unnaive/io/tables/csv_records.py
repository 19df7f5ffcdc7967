"""Lines of delimited text → records with their line numbers; and the rule for stray quotes.

An unclosed quote swallows all rows up to the next quote. A quoted field over several lines is attributed to a stray
quote if all of these conditions hold:

1. it has more than STRAY_LINES line ends, or runs to the end of the file, or its record has the wrong number of fields;
2. the line where it opens, with that quote as an ordinary character, and every line inside it are complete rows by
   themselves, with the right number of fields, at least two; blank lines are ignored;
3. if its record has the right number of fields, the closing quote is where one would open a field, at the start of a
   line or after a delimiter, or is followed by something other than a delimiter or the end of a line.

The line where it opens is then a bad row, and reading continues with the next line. Every other quoted field is kept,
however long. The native parser (_rows_csv.h) leaves all such cases to this module.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

from unnaive.base.errors import count_noun
from unnaive.io.text_encoding import BYTE_ORDER_MARK

STRAY_LINES = 10  # line ends in a field; kStrayLines of _rows_csv.h


class CsvRecord(NamedTuple):
    """A row with the numbers of its first and last line, from 1.

    A bad row has a `problem`: the end of a sentence that begins with "line 7 of tickets.csv".
    """

    fields: list[str]
    first: int
    last: int
    problem: str = ""


@contextmanager
def longer_fields(most: int) -> Iterator[None]:
    """Allow fields of `most` characters; the limit of the csv module, which the whole process shares, is restored."""
    before = csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _TooLong(Exception):
    """A record has more characters than allowed."""


class RecordReader:
    """The records of numbered lines, including bad ones and without blank lines.

    most   maximum number of characters of a record
    width  number of fields of every record; None as long as it is not known
    """

    def __init__(self, lines: Iterable[tuple[int, str]], delimiter: str, most: int) -> None:
        self.delimiter, self.most = delimiter, most
        self.width: int | None = None
        self._source = iter(lines)
        self._again: deque[tuple[int, str]] = deque()  # lines that a stray quote had swallowed
        self._taken: list[tuple[int, str]] = []  # lines of the current record
        self._held = 0  # number of characters in these lines
        self._restart()

    def _restart(self) -> None:
        self._over = False  # whether a line ended inside a record
        self._rows = csv.reader(self._lines(), delimiter=self.delimiter)

    def _lines(self) -> Iterator[str]:
        while self._again:
            self._taken.append(self._again.popleft())
            yield self._taken[-1][1]
        for numbered in self._source:
            self._taken.append(numbered)
            self._held += len(numbered[1])
            if self._held > self.most:
                raise _TooLong
            # files that were joined have byte-order marks inside
            yield numbered[1] if len(self._taken) > 1 else numbered[1].removeprefix(BYTE_ORDER_MARK)
        self._over = True

    def records(self) -> Iterator[CsvRecord]:
        """The records one after another; may be called again to continue."""
        taken = self._taken
        while True:
            taken.clear()
            self._held = 0
            fields: list[str] | None = None
            problem = ""
            try:
                fields = next(self._rows)
            except StopIteration:
                return
            except csv.Error as error:
                problem = f"is not CSV ({error})"
            except _TooLong:
                problem = (
                    "begins a row that does not end (is a quote unclosed?); for such long rows: --set max-line=SIZE"
                )
            if len(taken) == 1 and fields is not None and not self._over and self.width in (None, len(fields)):
                if fields:
                    yield CsvRecord(fields, taken[0][0], taken[0][0])
            elif fields != []:
                yield self._examine(fields, problem)

    def _examine(self, fields: list[str] | None, problem: str) -> CsvRecord:
        """The record of the taken lines, complete or bad; lines that a stray quote swallowed are read again."""
        taken, over = list(self._taken), self._over or fields is None
        lines = [line for _, line in taken]
        first, last = taken[0][0], taken[-1][0]
        width = self.width or _width_of_line(lines[0], self.delimiter)
        right = fields is not None and not over and len(fields) == width
        stray = find_stray_quote(lines, width, self.delimiter, right=right)
        if stray is not None and (self.width is not None or over or len(lines) > STRAY_LINES):
            self._again.extendleft(reversed(taken[stray + 1 :]))
            self._restart()
            opened = taken[stray][0]
            where = "" if opened == first else f"on line {opened} "
            until = "is never closed" if over else f"is closed on line {last}"
            below = ", and the lines below are complete rows" if stray + 1 < len(taken) else ""
            return CsvRecord([], first, opened, f"opens a quote {where}that {until}{below}")
        if over:
            self._restart()
        if not problem and over:
            problem = "opens a quote that is never closed"
        elif not problem and self.width not in (None, len(fields or ())):
            problem = _describe_width(len(fields or ()), width, first, last)
        return CsvRecord(fields or [], first, last, problem)


def _describe_width(n_fields: int, width: int, first: int, last: int) -> str:
    where = "has" if first == last else f"begins a row, up to line {last}, that has"
    fields = count_noun(n_fields, "field")
    return f"{where} {fields}, but the header has {width} (an unclosed quote or an unquoted delimiter?)"


def find_stray_quote(lines: Sequence[str], width: int, delimiter: str, *, right: bool) -> int | None:
    """The index in `lines`, those of one record, of the line where a stray quote opens; None if there is none.

    width  the right number of fields
    right  whether the record has it, and ends before the end of the file

    >>> find_stray_quote(['"good ball,sport\\n', "fair vote,politics\\n", 'a,"b"\\n'], 2, ",", right=False)
    0
    >>> find_stray_quote(['"Dear all,\\n', "I am late\\n", '",sport\\n'], 2, ",", right=True)
    """
    if width < 2:
        return None  # any line is a row of one field
    text = "".join(lines)
    ends = list(accumulate(map(len, lines)))
    for opened, closed in quoted_fields(text, delimiter):
        first = bisect_right(ends, opened)
        until = len(lines) if closed is None else bisect_right(ends, closed)
        if until == first or (right and (until - first <= STRAY_LINES or not _may_open(text, closed, delimiter))):
            continue
        start = text[:opened] + " " + text[opened + 1 : ends[first]]
        if is_row(list(io.StringIO(start, newline="")), width, delimiter) and all(
            is_row([line], width, delimiter) for line in lines[first + 1 : until] if line.strip()
        ):
            return first
    return None


def quoted_fields(record: str, delimiter: str) -> Iterator[tuple[int, int | None]]:
    """The start and end of each quoted field of a record; the end is None for an unclosed one.

    >>> list(quoted_fields('a,"b ""c"" d"', ","))
    [(2, 12)]
    >>> list(quoted_fields('a,"b', ","))
    [(2, None)]
    """
    at = 0
    while at <= len(record):
        if record[at : at + 1] == '"':
            closed = record.find('"', at + 1)
            while closed >= 0 and record[closed + 1 : closed + 2] == '"':
                closed = record.find('"', closed + 2)
            if closed < 0:
                yield at, None
                return
            yield at, closed
            at = closed + 1
        following = record.find(delimiter, at)
        at = len(record) + 1 if following < 0 else following + 1


def _may_open(text: str, closed: int | None, delimiter: str) -> bool:
    """Whether the closing quote of a field may have been meant to open one."""
    if closed is None:
        return True
    following = text[closed + 1 : closed + 2]
    return text[closed - 1] in f"{delimiter}\r\n" or following not in ("", delimiter, "\r", "\n")


def is_row(lines: Sequence[str], width: int, delimiter: str) -> bool:
    """Whether lines are one row with this number of fields and no open quote."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return len(rows) == 1 and len(rows[0]) == width


def _width_of_line(line: str, delimiter: str) -> int:
    """The number of fields of a line if an unclosed quote is an ordinary character."""
    for opened, closed in quoted_fields(line, delimiter):
        if closed is None:
            line = line[:opened] + " " + line[opened + 1 :]
    return len(next(csv.reader([line], delimiter=delimiter), []))
