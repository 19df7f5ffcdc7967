"""Rows or columns → lines of CSV and TSV, as Python's csv module writes them; natively if the extension is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from unnaive.base.types import Bytes
from unnaive.base.visible_text import visible_json
from unnaive.io.tables.kept_columns import KeptColumn
from unnaive.text.buffer import TextBuffer

try:
    import unnaive.base._rows as native
except ImportError:  # built without a compiler
    native = None

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
NUMBER = re.compile(r"[+-]?(\d++(?:\.\d*+)?|\.\d++)(e[+-]?\d+)?|-?inf|nan")
ROWS = 256  # rows of a table formatted at a time, so that they are written while they are in the cache


class CsvWriter:
    """Writes rows or columns to a CSV or TSV file; the header comes first."""

    def __init__(self, file: Any, delimiter: str, *, excel_safe: bool = False) -> None:
        self._file, self._delimiter, self._excel_safe = file, delimiter, excel_safe
        self._started = False

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write some rows, which have the same columns in the same order."""
        if rows:
            self.write_header(tuple(rows[0]))
        self._file.writelines(self._line([cell_text(value) for value in row.values()]) for row in rows)

    def write_header(self, names: Sequence[str]) -> None:
        """Write the header, unless it is written already."""
        if not self._started:
            self._file.write(self._line(names))
            self._started = True

    def _line(self, cells: Sequence[str]) -> str:
        if self._excel_safe:
            cells = [without_formula(cell) for cell in cells]
        if len(cells) == 1 and not cells[0]:
            return '""\n'  # an empty line would not be a row
        return self._delimiter.join([quote(cell, self._delimiter) for cell in cells]) + "\n"

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes the same as rows would."""
        return not self._excel_safe and hasattr(self._file, "buffer")

    def write_columns(self, make: Callable[[], Mapping[str, TextBuffer]]) -> None:
        """Write the rows of two or more text columns, by name, that `make` returns."""
        columns = make()
        self.write_header(tuple(columns))
        texts = list(columns.values())
        self._file.flush()
        for start in range(0, len(texts[0]), ROWS):
            rows = slice(start, start + ROWS)
            self._file.buffer.write(csv_lines([column[rows] for column in texts], self._delimiter))


def csv_lines(columns: Sequence[TextBuffer], delimiter: str) -> Bytes:
    """The bytes of a line for each row, for two columns or more.

    >>> columns = [TextBuffer.of(["ham, eggs", "ham"]), TextBuffer.of(['a 5" pipe', ""])]
    >>> csv_lines(columns, ",").tobytes()
    b'"ham, eggs","a 5"" pipe"\\nham,\\n'
    """
    if native is None:
        return by_rows(columns, delimiter)
    whole = [(np.ascontiguousarray(column.blob), np.ascontiguousarray(column.offsets, np.int64)) for column in columns]
    lines: Bytes = native.csv_lines(whole, ord(delimiter))
    return lines


def by_rows(columns: Sequence[TextBuffer], delimiter: str) -> Bytes:
    """The same row by row: the reference for the extension."""
    rows = (delimiter.join([quote(cell, delimiter) for cell in row]) + "\n" for row in zip(*columns, strict=True))
    return np.frombuffer("".join(rows).encode(), np.uint8)


def quote(cell: str, delimiter: str) -> str:
    """The cell as the csv module writes it, but much faster for long texts; for rows of two cells or more.

    >>> [quote("ham", ","), quote("ham, eggs", ","), quote("ham, eggs", ";")]
    ['ham', '"ham, eggs"', 'ham, eggs']
    """
    if '"' in cell:
        cell = cell.replace('"', '""')
    elif delimiter not in cell and "\n" not in cell and "\r" not in cell:
        return cell
    return f'"{cell}"'


def cell_text(value: Any) -> str:
    """A value as a cell: None is empty, a number has all digits, a list or an object is JSON.

    >>> cell_text(None), cell_text(0.1), cell_text(["oil", "gas"])
    ('', '0.1', '["oil", "gas"]')
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    return visible_json(value, default=str) if isinstance(value, (list, dict)) else str(value)


def column_texts(column: Sequence[Any]) -> TextBuffer:
    """The cells of a column as texts, without a copy if possible."""
    texts = column.texts() if isinstance(column, KeptColumn) else None
    return texts if texts is not None else join_cells(encode_cells(column))


def encode_cells(values: Iterable[Any]) -> list[bytes]:
    """Cells in UTF-8; characters that it cannot encode, such as half a surrogate pair, as escapes."""
    return [cell_text(value).encode("utf-8", "backslashreplace") for value in values]


def join_cells(cells: Sequence[bytes]) -> TextBuffer:
    """The cells of a column in one buffer."""
    offsets = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, cells), np.int64, len(cells)), out=offsets[1:])
    return TextBuffer(np.frombuffer(b"".join(cells), np.uint8), offsets)


def without_formula(cell: str) -> str:
    """The cell with a ' before it if a spreadsheet would run it as a formula; numbers stay unchanged.

    >>> without_formula("=HYPERLINK(1)"), without_formula("-0.5"), without_formula("spam")
    ("'=HYPERLINK(1)", '-0.5', 'spam')
    """
    return f"'{cell}" if cell[:1] in FORMULA_STARTS and not NUMBER.fullmatch(cell) else cell
