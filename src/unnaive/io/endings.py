"""The table of file endings: format, readers and writers of each, and the error for all others.

Readers, writers and every message that lists endings use it. Compressed variants also end in one of PACKINGS.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unnaive.base.errors import BadData, UnnaiveError

PACKINGS = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bzip2", ".xz": "xz"}


@dataclass(frozen=True)
class Ending:
    """An ending of files with documents.

    suffix   with its dot, in lower case
    format   the name of the format, as --format has it
    read     whether every command that reads documents reads it
    written  whether every command that writes a table writes it
    packed   whether it may be compressed: x.csv.gz. Other formats are compressed already, or need random access
    spark    whether `--engine spark` reads and writes it
    """

    suffix: str
    format: str
    read: bool = True
    written: bool = False
    packed: bool = False
    spark: bool = False


ENDINGS = {
    ending.suffix: ending
    for ending in (
        Ending(".csv", "csv", written=True, packed=True, spark=True),
        Ending(".tsv", "tsv", written=True, packed=True, spark=True),
        Ending(".tab", "tsv", written=True, packed=True, spark=True),
        Ending(".jsonl", "jsonl", written=True, packed=True, spark=True),
        Ending(".ndjson", "jsonl", written=True, packed=True, spark=True),
        Ending(".json", "jsonl", packed=True, spark=True),
        Ending(".parquet", "parquet", written=True, spark=True),
        Ending(".pq", "parquet", written=True, spark=True),
        Ending(".orc", "orc", read=False, spark=True),
        Ending(".txt", "lines", packed=True),
        Ending(".xlsx", "excel"),
        Ending(".xlsm", "excel"),
        Ending(".db", "sqlite"),
        Ending(".sqlite", "sqlite"),
        Ending(".sqlite3", "sqlite"),
        Ending(".mbox", "mbox", packed=True),
        Ending(".eml", "files", packed=True),
        Ending(".html", "files", packed=True),
        Ending(".htm", "files", packed=True),
        Ending(".md", "files", packed=True),
    )
}
READ = tuple(ending.suffix for ending in ENDINGS.values() if ending.read)
TABLES = tuple(ending.suffix for ending in ENDINGS.values() if ending.written)
SPARK = tuple(ending.suffix for ending in ENDINGS.values() if ending.spark)
# the endings of files with records of experiments
RECORDS = tuple(ending.suffix for ending in ENDINGS.values() if ending.written and ending.format == "jsonl")
FIGURES = (".png", ".svg", ".pdf")
REPORTS = (".html", ".md", ".json", ".txt")
NETWORKS = (".bif", ".uai")
DELIMITERS = {"csv": ",", "tsv": "\t"}


def split_ending(path: str | Path) -> tuple[str, str]:
    """(the ending of a name, the ending of its compression), in lower case and empty if there is none.

    >>> split_ending("mail/Tickets.CSV.gz"), split_ending("tickets.db"), split_ending("-")
    (('.csv', '.gz'), ('.db', ''), ('', ''))
    """
    name = Path(path)
    packing = ""
    while name.suffix.lower() in PACKINGS:
        packing, name = packing or name.suffix.lower(), name.with_suffix("")
    return name.suffix.lower(), packing


def list_endings(endings: Iterable[str]) -> str:
    """The endings in words.

    >>> list_endings(FIGURES)
    '.png, .svg or .pdf'
    """
    *most, last = endings
    return f"{', '.join(most)} or {last}" if most else last


def choose_ending(path: str | Path, endings: Iterable[str], what: str) -> str:
    """The ending of a file to write, if it is one of `endings`; otherwise an error that lists them.

    >>> choose_ending("curve.gif", FIGURES, "a figure")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: curve.gif: a figure cannot be written as .gif; give a name that ends in .png, ...
    """
    return _check_ending(path, Path(path).suffix.lower(), endings, what)


def _check_ending(path: str | Path, ending: str, endings: Iterable[str], what: str) -> str:
    allowed = tuple(endings)
    if ending not in allowed:
        problem = f"cannot be written as {ending}" if ending else "needs an ending"
        raise UnnaiveError(f"{path}: {what} {problem}; give a name that ends in {list_endings(allowed)}")
    return ending


def written_format(path: Path | None, *, as_json: bool = False) -> str:
    """The format of a table to write, by its name; CSV for stdout or without an ending.

    >>> written_format(Path("labelled.tab.gz")), written_format(None, as_json=True)
    ('tsv', 'jsonl')
    >>> written_format(Path("new.xlsx"))
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: new.xlsx: a table cannot be written as .xlsx; give a name that ends in ...
    """
    ending, packing = ("", "") if path is None else split_ending(path)
    if path is None or not ending:
        return "jsonl" if as_json else "csv"
    kind = ENDINGS[_check_ending(path, ending, TABLES, "a table")]
    if packing:
        check_packing(str(path))
    if as_json and kind.format != "jsonl":
        raise UnnaiveError(
            f"--json writes JSON lines, but {path} is the name of a {kind.format} file; leave --json out, or name a "
            ".jsonl file"
        )
    return kind.format


def read_format(path: str) -> str | None:
    """The format of a file to read, by its name; None if only its content shows it.

    >>> read_format("tickets.csv.gz"), read_format("tickets.dat")
    ('csv', None)
    """
    ending, packing = split_ending(path)
    kind = ENDINGS.get(ending)
    if kind is None:
        return None
    if not kind.read:
        raise BadData(
            f"{path}: {ending} files are read only with --engine spark; otherwise give a file that "
            f"ends in {list_endings(READ)}"
        )
    if packing:
        check_packing(path)
    return kind.format


def check_packing(path: str) -> None:
    """Raise an error if a file is compressed whose format does not allow it."""
    ending, packing = split_ending(path)
    if ending in ENDINGS and not ENDINGS[ending].packed:
        kinds = list_endings(kind.suffix for kind in ENDINGS.values() if kind.packed)
        raise BadData(
            f"{path}: {ending} files cannot be compressed as {packing}, only {kinds} files can; leave out {packing}"
        )


def spark_format(path: str | Path) -> str | None:
    """The format of a file or folder for Spark, by its name; None if the name does not show it.

    >>> spark_format("s3a://bucket/tickets.parquet"), spark_format("tickets.db")
    ('parquet', None)
    """
    kind = ENDINGS.get(split_ending(str(path).rstrip("/"))[0])
    return kind.format if kind is not None and kind.spark else None
