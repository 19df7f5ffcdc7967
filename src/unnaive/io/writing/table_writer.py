"""The writer of tables: rows to CSV, TSV, JSON lines or Parquet, atomically.

    with open_table_writer(Path("labelled.csv"), "csv") as write:
        write([{"id": "1", "label": "spam"}])

endings.py maps names to formats; csv_writer.py formats CSV.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unnaive.base.types import RowValues
from unnaive.base.visible_text import visible_json
from unnaive.io.endings import DELIMITERS, written_format
from unnaive.io.writing.csv_writer import CsvWriter
from unnaive.io.writing.output_files import open_output
from unnaive.io.writing.parquet_writer import ColumnTypes, open_parquet_writer
from unnaive.text.buffer import TextBuffer

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Write = Callable[[Sequence[RowValues]], None]


@contextmanager
def open_table_writer(
    path: Path | None, format: str, *, excel_safe: bool = False, types: ColumnTypes = dict
) -> Iterator[Write]:
    """A function that writes rows to a file, which appears when the block is done; to stdout without a path.

    All rows have the same columns in the same order, except in JSON lines.

    excel_safe  escape cells of CSV and TSV that a spreadsheet would run as a formula
    types       known types of columns in Parquet, asked before rows are written; others follow from the values
    """
    path = None if path is not None and str(path) == "-" else path
    if format == "parquet" and path is not None:
        with open_parquet_writer(path, types) as write_rows:
            yield write_rows
        return
    with open_output(path) as file:
        if format == "jsonl":
            yield lambda rows: file.writelines(visible_json(dict(row), default=str) + "\n" for row in rows)
        else:
            writer = CsvWriter(file, DELIMITERS[format], excel_safe=excel_safe)
            with writing_behind(writer) if path is not None else nullcontext(writer) as write:
                yield write
        if path is None:
            file.flush()


def write_table(path: Path, rows: Sequence[RowValues], columns: Sequence[str], *, excel_safe: bool = False) -> None:
    """Write a whole table in the format of its name; `columns` has the names if there are no rows."""
    format = written_format(path)
    with open_table_writer(path, format, excel_safe=excel_safe, types=lambda: _string_types(columns, rows)) as write:
        if not rows and format in DELIMITERS:
            write.write_header(columns)  # type: ignore[attr-defined]
        write(rows)


def _string_types(columns: Sequence[str], rows: Sequence[RowValues]) -> dict[str, Any]:
    """String columns, whose type an empty first batch would not show."""
    import pyarrow

    return {} if rows else dict.fromkeys(columns, pyarrow.string())


class WritingBehind:
    """A CsvWriter that formats and writes columns in a separate thread, while the next documents are read.

    Errors of the thread are raised at the next columns, or at the end.
    """

    def __init__(self, writer: CsvWriter, pool: Executor) -> None:
        self._writer, self._pool = writer, pool
        self._ahead: deque[Future[None]] = deque()

    @property
    def takes_columns(self) -> bool:
        """Whether `write_columns` writes the same as rows would."""
        return self._writer.takes_columns

    def __call__(self, rows: Sequence[RowValues]) -> None:
        """Write some rows, after all earlier columns."""
        self.wait(0)
        self._writer(rows)

    def write_header(self, names: Sequence[str]) -> None:
        """Write the header, unless it is written already."""
        self.wait(0)
        self._writer.write_header(names)

    def write_columns(self, make: Callable[[], Mapping[str, TextBuffer]]) -> None:
        """Compute and write columns in the thread, after the earlier ones."""
        self.wait(1)
        self._ahead.append(self._pool.submit(self._writer.write_columns, make))

    def wait(self, most: int) -> None:
        """Wait until at most this number of columns is still to be written."""
        while len(self._ahead) > most:
            self._ahead.popleft().result()


@contextmanager
def writing_behind(writer: CsvWriter) -> Iterator[WritingBehind]:
    """The writer with a thread; everything is written when the block ends without an error."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        behind = WritingBehind(writer, pool)
        yield behind
        behind.wait(0)
