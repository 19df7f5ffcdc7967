"""How to read a file, and what was found while reading it; every table takes the first and fills in the second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from unnaive.io.columns import Columns
    from unnaive.io.folder_ahead import FolderAhead

OnRead = Callable[[int], None]  # called with the number of bytes just read

BATCH_ROWS = 8192
MAX_LINE = 64 << 20
MAX_RATIO = 250


@dataclass
class ReadLog:
    """What came to light while files were read: `describe` says it in one line."""

    source: str = ""
    format: str = ""
    header: str = ""
    columns: Columns | None = None
    files: int = 0
    rows: int = 0
    skipped: list[int] = field(default_factory=list)

    def describe(self) -> str:
        """One line that says what was taken: columns, header, rows.

        >>> from unnaive.io.columns import Columns
        >>> ReadLog("mail.csv", "csv", "header in line 1", Columns(("body",), "queue"), files=1, rows=1024).describe()
        'mail.csv (csv, header in line 1): text from body, labels from queue, 1,024 rows'
        """
        kind = ", ".join(part for part in (self.format, self.header) if part)
        taken = [] if self.columns is None else [self.columns.describe()]
        if self.files > 1:
            taken.append(f"{self.files} files")
        taken.append("1 row" if self.rows == 1 else f"{self.rows:,} rows")
        if self.skipped:
            taken.append(f"{len(self.skipped)} left out")
        return f"{self.source}{f' ({kind})' if kind else ''}: {', '.join(taken)}"


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: everything that is not in the file itself.

    delimiter      between the fields of a CSV file; found from the first rows by default
    header         True: the first row names the columns; False: it is data and they are called 1, 2, 3, …;
                   None: found from the row itself, and asked for where it cannot be told
    expected       names that a header is known to have: those asked for, and those of the training data
    encoding       UTF-8 by default; a byte-order mark is believed
    language       picks the Windows code page of lines that are not UTF-8
    table          of a database, or the sheet of a workbook; needed where there are several
    skip_bad       leave out rows that cannot be read, instead of stopping at the first
    rows           in a batch, at most; 1 answers every line of a live stream at once
    follow_links   read files that links in a folder lead to, outside of it
    max_line       bytes of the longest line, and characters of the longest field
    max_ratio      bytes that one byte of a packed file may unpack to, once that is more than 64 MiB
    threads        that parse large files; None for all cores
    block          bytes of a large file that are parsed at a time, at most; None for what is fastest
    ahead          a folder that is being read already
    on_read        told of every chunk of bytes read, for a progress bar
    log            filled while reading
    """

    delimiter: str | None = None
    header: bool | None = None
    expected: tuple[str, ...] = ()
    encoding: str | None = None
    language: str = "en"
    table: str | None = None
    skip_bad: bool = False
    rows: int = BATCH_ROWS
    follow_links: bool = False
    max_line: int = MAX_LINE
    max_ratio: int = MAX_RATIO
    threads: int | None = None
    block: int | None = None
    ahead: FolderAhead | None = None
    on_read: OnRead | None = None
    log: ReadLog = field(default_factory=ReadLog)

    def reject_row(self, path: str, number: int, problem: str) -> None:
        """Stop at a bad line, or remember that it was left out."""
        if not self.skip_bad:
            raise BadData(f"line {number} of {path} {problem}; repair it, or leave such rows out with --skip-bad")
        self.log.skipped.append(number)
