"""Messages about files that commands read and write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unnaive.apps.common.screen import echo, is_quiet
from unnaive.base.errors import UnnaiveError
from unnaive.io.writing.output_files import open_output

if TYPE_CHECKING:
    from unnaive.base.types import RowValues
    from unnaive.io.datafiles import DataFile

MARKDOWN = ".md"


def write_text(path: Path, text: str) -> None:
    """Write a file atomically and report it on stderr; - is stdout."""
    with open_output(path) as file:
        file.write(text)
    say_what_was_written(path)


def check_reports(reports: Sequence[Path] | None, endings: Sequence[str]) -> list[Path]:
    """The files of --report, whose folders are made; an error for an ending that is none of these. - is stdout."""
    from unnaive.apps.common.shared_options import make_output_folders

    for path in reports or ():
        if report_ending(path, endings) not in endings:
            raise UnnaiveError(f"a report was named {path}; give a name that ends with {' or '.join(endings)}")
    make_output_folders(reports or ())
    return list(reports or ())


def write_reports(reports: Sequence[Path] | None, renderers: Mapping[str, Callable[[], str]]) -> None:
    """Write each report by the function for its ending."""
    for path in reports or ():
        write_text(path, renderers[report_ending(path, renderers)]())


def report_ending(path: Path, endings: Collection[str]) -> str:
    """The ending of a report's name. On stdout it is Markdown if the command writes that, else its first format.

    >>> report_ending(Path("a.HTML"), [".html", ".md"]), report_ending(Path("-"), [".html", ".md"])
    ('.html', '.md')
    """
    if str(path) != "-":
        return path.suffix.lower()
    return MARKDOWN if MARKDOWN in endings else next(iter(endings))


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
