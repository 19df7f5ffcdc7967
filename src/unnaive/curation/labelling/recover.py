"""Recover a damaged record of labels: copy all readable rows to a new record.

python -m unnaive.curation.labelling.recover DAMAGED NEW
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError, count_noun
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.record_tables import KINDS
from unnaive.curation.labelling.seals import COLUMNS, is_as_written
from unnaive.text.field import Fields, read_fields

MOST = 100_000_000  # maximum number of rows to read, because a damaged file may claim any number


@dataclass(frozen=True)
class Recovered:
    """How many texts and decisions were copied to the new record, and how many could not be read."""

    texts: int
    decisions: int
    lost_texts: int
    lost_decisions: int

    def describe(self) -> str:
        """The numbers in a sentence.

        >>> Recovered(9, 4, 1, 0).describe()
        'recovered 9 texts and 4 decisions; 1 text and 0 decisions could not be read'
        """
        return (
            f"recovered {count_noun(self.texts, 'text')} and {count_noun(self.decisions, 'decision')}; "
            f"{count_noun(self.lost_texts, 'text')} and {count_noun(self.lost_decisions, 'decision')} could not be read"
        )


def recover_record(damaged: Path, target: Path) -> Recovered:
    """Copy the readable rows of a damaged record to a new record; decisions on unreadable texts are dropped."""
    if not damaged.is_file():
        raise BadData(f"no file called {damaged}; name the damaged record")
    data = sqlite3.connect(f"{damaged.resolve().as_uri()}?mode=ro", uri=True)
    data.text_factory = lambda content: content.decode("utf-8", "replace")
    try:
        texts, lost_texts = _rows(data, "texts", "id, name, text", 0, _is_text)
        decisions, lost = _rows(data, "decisions", COLUMNS, 1, _is_decision)
        settings = {name: _setting(data, name) for name in ("multilabel", "classes", "language", "fields")}
    except sqlite3.Error as problem:
        raise BadData(f"nothing can be read of {damaged} ({problem}); restore it from a copy") from problem
    finally:
        data.close()
    if not texts:
        raise BadData(f"no text can be read of {damaged}; restore it from a copy")
    new_number = {row[0]: number for number, row in enumerate(texts)}
    readable = [row for row in decisions if row[4] is None or row[4] in new_number]
    record = LabelRecord.create(
        target, [row[2] for row in texts], [row[1] for row in texts], classes=_classes(settings["classes"]),
        multilabel=settings["multilabel"] == "1", language=settings["language"] or "en",
        fields=_fields(settings["fields"]),
    )  # fmt: skip
    record.insert([_renumbered(row, new_number) for row in readable])
    record.close()
    return Recovered(len(texts), len(readable), lost_texts, lost + len(decisions) - len(readable))


def _renumbered(row: Any, new_number: Mapping[int, int]) -> tuple[Any, ...]:
    """A decision with the numbers that its texts have in the new record."""
    number, at, who, kind, text, labels, *more = row
    if kind == "texts":
        ends = [sum(old < int(end) for old in new_number) for end in json.loads(labels)]
        labels = json.dumps([*map(str, ends)])
    return number, at, who, kind, None if text is None else new_number[text], labels, *more


def _rows(
    data: sqlite3.Connection, table: str, columns: str, first: int, accepts: Callable[[Any], bool]
) -> tuple[list[Any], int]:
    """Return the rows of a table that are readable and match their hash, and the number of other rows."""
    rows, lost = [], 0
    for number in range(first, first + _highest(data, table, first)):
        try:
            row = data.execute(f"SELECT {columns} FROM {table} WHERE id = ?", (number,)).fetchone()
        except sqlite3.Error:
            row = None
        if row is not None and row[0] == number and accepts(row) and is_as_written(data, table, row):
            rows.append(row)
        else:
            lost += 1
    return rows, lost


def _highest(data: sqlite3.Connection, table: str, first: int) -> int:
    """How many row numbers to try: up to the highest id, found by trial if the table is damaged."""
    data.execute(f"SELECT 1 FROM {table} WHERE 0")  # fails if the table does not exist
    try:
        row = data.execute(f"SELECT max(id) FROM {table}").fetchone()
        return 0 if row[0] is None else min(int(row[0]) + 1 - first, MOST)
    except (sqlite3.Error, TypeError, ValueError):
        return max(_search_highest(data, table), _highest_sealed(data, table) + 1 - first)


def _highest_sealed(data: sqlite3.Connection, table: str) -> int:
    """The highest id with a hash: the last page of a table may be the one that cannot be read."""
    try:
        row = data.execute("SELECT max(id) FROM seals WHERE part = ?", (table,)).fetchone()
        return -1 if row[0] is None else min(int(row[0]), MOST - 1)
    except (sqlite3.Error, TypeError, ValueError):
        return -1


def _search_highest(data: sqlite3.Connection, table: str) -> int:
    highest, empty, number = 0, 0, 0
    while empty < 100_000 and number < MOST:  # a longer gap is the end: a damaged page has fewer rows
        try:
            there = data.execute(f"SELECT 1 FROM {table} WHERE id = ?", (number,)).fetchone() is not None
        except sqlite3.Error:
            there = False
        highest, empty = (number + 1, 0) if there else (highest, empty + 1)
        number += 1
    return highest


def _is_text(row: Any) -> bool:
    return isinstance(row[1], str) and isinstance(row[2], str)


def _is_decision(row: Any) -> bool:
    try:
        labels = json.loads(row[5])
    except (TypeError, ValueError):
        return False
    return row[3] in KINDS and isinstance(labels, list) and all(isinstance(label, str) for label in labels)


def _setting(data: sqlite3.Connection, name: str) -> str:
    try:
        row = data.execute("SELECT value FROM labelling WHERE name = ?", (name,)).fetchone()
    except sqlite3.Error:
        return ""
    return "" if row is None else str(row[0])


def _classes(stored: str) -> list[str]:
    """The initial classes; none if they are unreadable, since the labels in the decisions name their classes."""
    try:
        names = json.loads(stored)
    except ValueError:
        return []
    return list(dict.fromkeys(label for label in names if isinstance(label, str))) if isinstance(names, list) else []


def _fields(stored: str) -> Fields | None:
    """The fields of the documents; None if they are texts, or if the setting is unreadable."""
    try:
        return read_fields(tuple(json.loads(stored))) if stored else None
    except (ValueError, TypeError):
        return None


def main(arguments: list[str]) -> int:
    """Recover a record; return the exit code."""
    if len(arguments) != 2:
        sys.stderr.write(f"{len(arguments)} arguments came; give the damaged record and the name of a new one\n")
        return 2
    try:
        sys.stdout.write(recover_record(Path(arguments[0]), Path(arguments[1])).describe() + "\n")
    except UnnaiveError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
