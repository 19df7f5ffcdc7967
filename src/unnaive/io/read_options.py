"""How to read a file (ReadOptions), and what was found while reading it (ReadLog), which every table fills in.

The one declaration of every reading option: type, default and help. The options of the command line and the reference
pages are made from it, so this module imports nothing heavy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from unnaive.base.decompression import MAX_RATIO, OnRead
from unnaive.base.errors import BadData
from unnaive.base.settings import declared_options, documented, option

if TYPE_CHECKING:
    from unnaive.io.fields.columns import Columns
    from unnaive.io.folder_ahead import FolderAhead


BATCH_ROWS = 8192
MAX_LINE = 64 << 20


@dataclass
class ReadLog:
    """The columns, bad rows and labels that were found while files were read; `describe` gives a summary line."""

    source: str = ""
    format: str = ""
    header: str = ""
    columns: Columns | None = None
    files: int = 0
    rows: int = 0
    skipped: list[tuple[int, int]] = field(default_factory=list)  # first and last line of each bad row
    repeated_headers: int = 0  # rows that were left out since they are the header once more
    label_sets: Counter[tuple[str, ...]] = field(default_factory=Counter)  # documents of each

    def describe(self) -> str:
        """One line that says what was taken: columns, header, rows.

        >>> from unnaive.io.fields.columns import Columns
        >>> ReadLog("mail.csv", "csv", "header in line 1", Columns(("body",), "queue"), files=1, rows=1024).describe()
        'mail.csv (csv, header in line 1): text from body, labels from queue, 1,024 rows'
        """
        kind = ", ".join(part for part in (self.format, self.header) if part)
        parts = [] if self.columns is None else [self.columns.describe()]
        if self.files > 1:
            parts.append(f"{self.files} files")
        parts.append("1 row" if self.rows == 1 else f"{self.rows:,} rows")
        if self.skipped:
            parts.append(f"{self.describe_skipped()} left out")
        return f"{self.source}{f' ({kind})' if kind else ''}: {', '.join(parts)}"

    def label_sizes(self) -> dict[str, int]:
        """Documents of each label.

        >>> ReadLog(label_sets=Counter([("a",), ("a", "b")])).label_sizes()
        {'a': 2, 'b': 1}
        """
        sizes: Counter[str] = Counter()
        for labels, size in self.label_sets.items():
            for label in labels:
                sizes[label] += size
        return dict(sizes)

    def describe_skipped(self) -> str:
        """The number of bad rows that were left out, and of their lines if some have several.

        >>> ReadLog(skipped=[(7, 7), (9, 12)]).describe_skipped(), ReadLog(skipped=[(7, 7)]).describe_skipped()
        ('2 (5 lines)', '1')
        """
        lines = sum(last - first + 1 for first, last in self.skipped)
        return f"{len(self.skipped)}" + (f" ({lines:,} lines)" if lines > len(self.skipped) else "")


@documented
@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: everything that is not in the file itself.

    Programs also give `ahead`, a folder that is being read already; `on_read`, called with the size of every chunk of
    bytes read, for a progress bar; `log`, filled while reading; and `looking`, for a first look, which warns about
    nothing and leaves what it reads to the next reader.
    """

    delimiter: str | None = option("Delimiter of CSV fields, e.g. ; or \\t; by default guessed from the first rows.")
    header: bool | None = option(
        "Whether the first row is a header; by default guessed.",
        more="False: the row is data, and columns are called 1, 2, 3, …. An error asks for it if the guess is unclear.",
    )
    expected: tuple[str, ...] = option(
        "Column names that the header should have.",
        default=(),
        more="The requested ones, and those of the training data.",
    )
    encoding: str | None = option(
        "Encoding of the text; by default UTF-8, or guessed if it is not UTF-8.",
        more="A byte-order mark is recognised.",
    )
    language: str = option("Language that picks the Windows code page of lines that are not UTF-8.", default="en")
    table: str | None = option("Table of a database or sheet of a workbook; required if there are several.")
    skip_bad: bool = option("Skip rows that cannot be read, instead of stopping at the first.", default=False)
    rows: int = option(
        "Maximum number of rows in a batch; 1 answers every line of a live stream at once.", default=BATCH_ROWS
    )
    follow_links: bool = option("Follow symbolic links that lead out of a folder.", default=False)
    max_line: int = option(
        "Maximum length of a line or field, e.g. 64MiB.",
        default=MAX_LINE,
        metavar="SIZE",
        more="In Python in bytes.",
    )
    max_ratio: int = option(
        "Maximum compression ratio of a packed file that is larger than 64 MiB unpacked.", default=MAX_RATIO
    )
    threads: int | None = option("Number of threads that parse large files; by default one for each core.")
    block: int | None = option("Maximum bytes of a large file that are parsed at a time; by default the fastest size.")
    ahead: FolderAhead | None = None
    on_read: OnRead | None = None
    log: ReadLog = field(default_factory=ReadLog)
    looking: bool = False

    def as_look(self) -> ReadOptions:
        """The options of a look at the start of a file: nothing is logged, counted or warned about."""
        return replace(self, log=ReadLog(), on_read=None, looking=True)

    def reject_row(self, path: str, number: int, problem: str, last: int | None = None, unit: str = "line") -> None:
        """Raise an error for a bad row on lines `number` to `last`, or record that it is left out (skip_bad)."""
        if not self.skip_bad:
            raise BadData(
                f"{unit} {number} of {path} {problem}; repair it, or leave such rows out with --set skip-bad=true"
            )
        self.log.skipped.append((number, number if last is None else last))


@documented
@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which format a file has, and which of its columns are texts and labels."""

    format: str | None = option(
        "csv, tsv, jsonl, parquet, excel, sqlite, fasttext, annif, lines, files, folder, mbox, "
        "maildir, dataset; else guessed.",
        choices=(
            "csv", "tsv", "jsonl", "parquet", "excel", "sqlite", "fasttext", "annif", "lines", "files", "folder",
            "mbox", "maildir", "dataset",
        ),
        metavar="FORMAT",
    )  # fmt: skip
    text: tuple[str, ...] = option(
        "Column of the text; may be repeated to join columns; by default guessed.",
        default=(),
        metavar="COLUMN",
    )
    label: str | None = option("Column of the labels; by default guessed.", metavar="COLUMN")
    id: str | None = option("Column of document ids; by default guessed.", metavar="COLUMN")
    category: tuple[str, ...] = option(
        "Column of categories to learn from besides the text; may be repeated.", default=(), metavar="COLUMN",
        more="With any field, text columns are fields too; all but the last also give words with the field name.",
    )  # fmt: skip
    number: tuple[str, ...] = option(
        "Column of numbers to learn from besides the text; may be repeated.", default=(), metavar="COLUMN"
    )
    date: tuple[str, ...] = option(
        "Column of dates to learn from besides the text; may be repeated.", default=(), metavar="COLUMN"
    )
    characters: tuple[str, ...] = option(
        "Column to learn from as character n-grams, e.g. of codes or names; may be repeated.",
        default=(),
        metavar="COLUMN",
    )
    vector: tuple[str, ...] = option(
        "Column of vectors (lists of numbers), or NAME=FILE.npy with a row for each document; may be repeated.",
        default=(), metavar="COLUMN", path="read-named",
        more="Such as embeddings of whole texts: auto pools them with the words.",
    )  # fmt: skip
    fields: str | None = option(
        "Other columns to learn from: auto (all but ids and columns that reveal the label) or none.",
        choices=("auto", "none"), metavar="KIND",
        more="By default only the columns named with --category, --number, --date, --set characters and --vector.",
    )  # fmt: skip
    separator: str | None = option(
        "Separator of labels in a multilabel cell, e.g. ';', or the word list for cells such as ['a', 'b'].",
        flags=("--label-separator",),
        more="A column of lists needs no separator.",
    )
    label_columns: tuple[str, ...] = option(
        "Columns of 0 and 1, one for each label: names or a pattern, e.g. 'tag_*'; may be repeated.",
        default=(),
        metavar="PATTERN",
    )
    ignore_label: tuple[str, ...] = option(
        "Label that means no label, e.g. N/A; may be repeated.", default=(), metavar="LABEL"
    )
    label_prefix: str | None = option("Prefix to remove from labels, e.g. __label__.", metavar="PREFIX")
    lower_labels: bool = option(
        "Convert labels to lower case with single spaces, so that Politics and politics are one class.", default=False
    )


READ_OPTIONS = declared_options(ReadOptions)
COLUMN_OPTIONS = declared_options(ColumnOptions)
