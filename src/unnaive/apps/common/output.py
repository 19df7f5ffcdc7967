"""Messages about files that commands read and write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unnaive.apps.common.screen import echo, is_quiet
from unnaive.io.writing.output_files import open_output

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.io.datafiles import DataFile


def write_text(path: Path, text: str) -> None:
    """Write a file atomically and report it on stderr; - is stdout."""
    with open_output(path) as file:
        file.write(text)
    say_what_was_written(path)


def write_whole_table(
    path: Path, rows: Sequence[RowValues], columns: Sequence[str], *, excel_safe: bool = False
) -> None:
    """Write a table in the format of its name, atomically, and report it on stderr; - is stdout."""
    from unnaive.io.writing.table_writer import write_table

    write_table(path, rows, columns, excel_safe=excel_safe)
    say_what_was_written(path)


def say_what_was_written(path: Path) -> None:
    """Print one line on stderr, unless --quiet or the output is stdout."""
    if str(path) != "-" and not is_quiet():
        echo(f"wrote {path}", err=True)


def say_what_was_read(source: DataFile) -> None:
    """Print one line on stderr, unless --quiet: the columns, the header, the number of rows."""
    if not is_quiet():
        echo(f"read {source.describe()}", err=True)
