"""The format of a file, by its name and first lines, and the table that reads it."""

from __future__ import annotations

import csv
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, PluginError
from unnaive.base.open_files import STDIN, ByteSource, check_exists, path_mode
from unnaive.base.registry import Registry
from unnaive.data.fields.column_kinds import TEXT_NAMES, shorten_cell
from unnaive.io.endings import DELIMITERS, TABLES, list_endings, read_format
from unnaive.io.fields.columns import join_names
from unnaive.io.folder_listing import is_dataset_folder
from unnaive.io.folders import FilesTable, FolderTable
from unnaive.io.inspection import Inspection
from unnaive.io.part_files import find_part_format
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.binary_tables import SQLITE, DatasetTable, ExcelTable, ParquetTable, SqliteTable
from unnaive.io.tables.csv_records import longer_fields
from unnaive.io.tables.csv_tables import CsvTable, find_delimiter, find_separator_line, score_delimiter
from unnaive.io.tables.json_tables import JsonTable
from unnaive.io.tables.line_tables import FASTTEXT_PREFIX, AnnifTable, FastTextTable, LineTable
from unnaive.io.tables.mail_tables import (
    MaildirTable,
    MboxTable,
    MessageFolderTable,
    MessageTable,
    is_maildir,
    is_message_folder,
)
from unnaive.io.tables.tables import Table, check_width
from unnaive.io.text_encoding import read_lines
from unnaive.text.messages import is_message

FORMATS: dict[str, Callable[..., Table]] = {
    "csv": CsvTable, "tsv": CsvTable, "jsonl": JsonTable, "lines": LineTable, "fasttext": FastTextTable,
    "annif": AnnifTable,
    "parquet": ParquetTable, "excel": ExcelTable, "sqlite": SqliteTable, "mbox": MboxTable, "maildir": MaildirTable,
    "dataset": DatasetTable,
}  # fmt: skip
BY_CONTENT: dict[str, Callable[..., Table]] = {"message": MessageTable, "messages": MessageFolderTable}  # never named
WHOLE_FILES: dict[str, Callable[..., Table]] = {"folder": FolderTable, "files": FilesTable}  # their documents are files
REGISTRY = Registry("unnaive.formats", "format", FORMATS | WHOLE_FILES)
SNIFFED_LINES = 5


def inspect_source(source: ByteSource, format: str | None, options: ReadOptions, *, labelled: bool) -> Inspection:
    """Look at the start of one file, folder, database or of stdin, in the given format or the one that it shows."""
    name, table = _open(source, format, options, labelled=labelled)
    check_width(source.name, len(table.names))
    return Inspection.of(table, source.name, name)


def _open(source: ByteSource, format: str | None, options: ReadOptions, *, labelled: bool) -> tuple[str, Table]:
    path = source.path
    name = format or find_format(path)
    if name == "folder":
        return name, FolderTable(path, options, labelled=labelled)
    if name == "files":
        return name, FilesTable([str(check_exists(path))], options)
    if name is None or (name == "lines" and format is None):
        name = sniff_format(source, options, labelled=labelled, is_text=name == "lines")
    if name == "tsv" and not options.delimiter:
        options = replace(options, delimiter=DELIMITERS[name])
    if format is None and name in BY_CONTENT:
        return name, BY_CONTENT[name](source, options)
    table = REGISTRY.find(name)(source, options)
    if not isinstance(table, Table):
        raise PluginError(f"the format {name!r} of another package does not return a Table; update the package")
    return name, table


def read_rows(path: str | Path, *, encoding: str | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a table with a header, in any format: for tables of a command, such as findings."""
    options = ReadOptions(header=True, encoding=encoding)
    inspection = inspect_source(ByteSource(path), None, options, labelled=True)
    table = inspection.table
    names = () if table is None else table.kept_names()
    if table is None or not names:
        raise BadData(
            f"{path} is not a table with named columns (its format is {inspection.format}); give a file that ends in "
            f"{list_endings(TABLES)}"
        )
    for columns in table.batches(names):
        every = (*names, *table.late_names)
        yield from (dict(zip(every, row, strict=True)) for row in zip(*columns, strict=True))


def find_format(path: str) -> str | None:
    """The format by a name; None if only the content shows it.

    >>> find_format("tickets.csv.gz"), find_format("sqlite:notes.db?table=notes"), find_format("-")
    ('csv', 'sqlite', None)
    """
    if path.startswith(SQLITE):
        return "sqlite"
    if path != STDIN and stat.S_ISDIR(path_mode(path) or 0):
        kinds = (("dataset", is_dataset_folder), ("maildir", is_maildir), ("messages", is_message_folder))
        return next((kind for kind, holds in kinds if holds(path)), None) or find_part_format(path) or "folder"
    return read_format(path)


def sniff_format(source: ByteSource, options: ReadOptions, *, labelled: bool, is_text: bool) -> str:
    """Detect the format by the first lines: JSON lines if the first is JSON, fastText if it has fastText's labels, CSV
    if it is a header or labels are needed, otherwise plain lines.

    An error asks for --format if the lines look like a table without a header.
    """
    seen: list[str] = []
    start: list[str] = []
    for _, line in read_lines(source, options.as_look()):
        seen.append(line)
        if line.strip():
            start.append(line)
        if len(start) == min(SNIFFED_LINES, options.rows):
            break
    if not start:
        raise BadData(f"{source.name} is empty; expected documents")
    return _find_mail("".join(seen).lstrip(), labelled=labelled) or _find_kind(
        start, source.name, options, labelled=labelled, is_text=is_text
    )


def _find_mail(start: str, *, labelled: bool) -> str | None:
    """Whether a file with the first lines `start` is a mailbox, or one message; single messages have no labels."""
    if not is_message(start):
        return None
    return "mbox" if start.startswith("From ") else None if labelled else "message"


def _find_kind(lines: Sequence[str], name: str, options: ReadOptions, *, labelled: bool, is_text: bool) -> str:
    first = lines[0]
    if first.lstrip().startswith(FASTTEXT_PREFIX):
        return "fasttext"
    if find_separator_line(first):
        return "csv"
    if first.lstrip()[:1] in ("{", "[") and not is_text:
        return "jsonl"
    if labelled or options.delimiter or options.header is not None:
        return "csv"
    if is_text:
        return "lines"
    cells = split_row(first)
    if _is_header(cells, options.expected):
        return "csv"
    if len(lines) > 1 and _looks_like_table(lines):
        shown = join_names([shorten_cell(cell) for cell in cells], 5)
        raise BadData(
            f"{name} looks like a table ({shown}); use --format csv, or --format lines if each line is a document"
        )
    return "lines"


def split_row(line: str) -> list[str]:
    """The cells of a line by the best delimiter."""
    with longer_fields(len(line)):
        return next(csv.reader([line.strip("\r\n")], delimiter=find_delimiter([line])), [])


def _is_header(cells: Sequence[str], expected: Sequence[str]) -> bool:
    """Whether a first line is a header: it has an expected name, or a usual name of a text column."""
    names = [cell.strip().casefold() for cell in cells]
    expected_names = {name.strip().casefold() for name in expected if not name.isdecimal()}
    if expected_names & set(names):
        return True
    if len(names) == 1:
        return names[0] in TEXT_NAMES[0]
    return any(name in group for group in TEXT_NAMES for name in names) and all(len(name) < 40 for name in names)


def _looks_like_table(lines: Sequence[str]) -> bool:
    """Whether lines have the same number of cells, two or more, and commas are not followed by spaces as in prose."""
    delimiter = find_delimiter(lines)
    share, width = score_delimiter(lines, delimiter)
    prose = delimiter == "," and any(", " in line for line in lines)
    return share == 1 and width > 1 and not prose
