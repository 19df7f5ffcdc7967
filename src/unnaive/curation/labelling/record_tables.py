"""The tables and views of a record of labels, and the checks when it is opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from unnaive.base.damage import RecordKind, find_sqlite_damage
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.sqlite_files import connect_durable, transaction
from unnaive.curation.labelling.seals import TABLE as SEALS
from unnaive.curation.labelling.seals import find_changed_rows

FORMAT = 1
ANSWERS = ("label", "skip", "flag")  # the answers that close a text for an annotator
CLASS_CHANGES = ("class", "rename", "drop", "describe", "guidelines")
KINDS = (*ANSWERS, "reject", *CLASS_CHANGES, "texts", "undo")
DECIDED = "review"  # the way of a reviewer's answer, which decides the label of a text

# A class that was renamed keeps its old name in the decisions; `renamed` has the present name of each old one.
TABLES = """
CREATE TABLE IF NOT EXISTS labelling (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, kind TEXT NOT NULL, text INTEGER REFERENCES texts,
    labels TEXT NOT NULL, suggested TEXT, probability REAL, way TEXT, undoes INTEGER UNIQUE REFERENCES decisions
) STRICT;
CREATE INDEX IF NOT EXISTS decisions_by_text ON decisions (text);
CREATE TABLE IF NOT EXISTS leases (text INTEGER PRIMARY KEY, who TEXT NOT NULL, until REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS renamed (name TEXT PRIMARY KEY, current TEXT NOT NULL) STRICT;
CREATE VIEW IF NOT EXISTS votes AS
    SELECT id, at, text, who, kind, decides, suggested, probability, way,
        CASE WHEN NOT EXISTS (SELECT 1 FROM renamed) THEN labels ELSE (
            SELECT json_group_array(name) FROM (
                SELECT DISTINCT coalesce(renamed.current, each.value) AS name
                FROM json_each(labels) AS each LEFT JOIN renamed ON renamed.name = each.value ORDER BY 1)) END AS labels
    FROM (
        SELECT id, at, text, who, kind, labels, suggested, probability, way,
            CASE way WHEN 'review' THEN id ELSE 0 END AS decides,
            row_number() OVER (PARTITION BY text, who ORDER BY id DESC) AS place
        FROM decisions AS one
        WHERE kind IN ('label', 'skip', 'flag') AND NOT EXISTS (SELECT 1 FROM decisions WHERE undoes = one.id)
    ) WHERE place = 1;
CREATE VIEW IF NOT EXISTS final AS
    SELECT text, labels, people FROM (
        SELECT text, labels, count(*) AS people, row_number() OVER (
            PARTITION BY text ORDER BY max(decides) DESC, count(*) DESC, max(id) DESC) AS place
        FROM votes WHERE kind = 'label' GROUP BY text, labels
    ) WHERE place = 1;
CREATE VIEW IF NOT EXISTS labels AS
    SELECT texts.name AS id, texts.text AS text,
        CASE (SELECT value FROM labelling WHERE name = 'multilabel')
            WHEN '1' THEN final.labels ELSE json_extract(final.labels, '$[0]') END AS label
    FROM final JOIN texts ON texts.id = final.text ORDER BY texts.id;
CREATE VIEW IF NOT EXISTS all_texts AS
    SELECT texts.name AS id, texts.text AS text,
        CASE (SELECT value FROM labelling WHERE name = 'multilabel')
            WHEN '1' THEN final.labels ELSE json_extract(final.labels, '$[0]') END AS label
    FROM texts LEFT JOIN final ON texts.id = final.text ORDER BY texts.id;
"""


def is_label_record(path: Path) -> bool:
    """Whether the file is a record of labels."""
    try:
        with path.open("rb") as file:
            if not file.read(16).startswith(b"SQLite format 3"):
                return False
        try:
            return _has_tables(path, "mode=ro")
        except sqlite3.OperationalError:  # on a medium that cannot be written
            return _has_tables(path, "immutable=1")
    except (OSError, sqlite3.Error):
        return False


def _has_tables(path: Path, mode: str) -> bool:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as data:
        return data.execute("SELECT 1 FROM sqlite_master WHERE name = 'labelling'").fetchone() is not None


class NotRecorded(UnnaiveError):
    """The file cannot be written, for instance because the disk is full; the same may be tried again."""


@contextmanager
def writing(data: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction, whose failure to write is a NotRecorded error."""
    try:
        with transaction(data) as inside:
            yield inside
    except sqlite3.OperationalError as problem:
        raise NotRecorded(
            f"the file of labels cannot be written: {problem}; what was recorded is kept, so make room or give the "
            "right to write, and do this again"
        ) from problem


def _kind(path: Path) -> RecordKind:
    return RecordKind(
        "a file of labels",
        "nothing was changed",
        "restore it from a copy, or save what can be read with: "
        f"python -m unnaive.curation.labelling.recover {path} NEW.db",
    )


def open_database(path: Path, *, new: bool = False) -> sqlite3.Connection:
    """Open the database of a record and check it, or create its tables if it is `new`."""
    if not new and not path.is_file():
        raise BadData(f"no file of labels called {path}; make one with: unnaive label TEXTS -o {path}")
    if not new and not is_label_record(path):
        raise _kind(path).damage(path, "it has no table of labels")
    try:
        data = connect_durable(path)
    except sqlite3.OperationalError as problem:
        raise BadData(
            f"{path} cannot be opened: {problem}; a file of labels needs a folder that can be written, so copy it to "
            "one"
        ) from problem
    except sqlite3.DatabaseError as problem:
        raise _kind(path).damage(path, problem) from problem
    try:
        if new:
            data.executescript(TABLES + SEALS)
        else:
            _check_format(path, data)
            _check_sound(data)
            _check_seals(data)
    except (sqlite3.DatabaseError, ValueError) as problem:
        raise _kind(path).damage(path, problem) from problem
    return data


def _check_sound(data: sqlite3.Connection) -> None:
    """Raise an error if the file is damaged or has impossible values."""
    problem = find_sqlite_damage(data)
    if problem is not None:
        raise ValueError(problem)
    ((number, first, last),) = data.execute("SELECT count(*), min(id), max(id) FROM texts").fetchall()
    if number == 0 or (first, last) != (0, number - 1):
        raise ValueError("texts are missing")
    for _ in data.execute("SELECT name, text FROM texts"):
        pass  # reading fails if a text is not UTF-8
    kinds = ", ".join(f"'{kind}'" for kind in KINDS)
    odd = data.execute(
        f"SELECT count(*) FROM decisions WHERE kind NOT IN ({kinds}) OR NOT json_valid(labels)"
        " OR json_type(labels) <> 'array' OR text NOT IN (SELECT id FROM texts)"
    ).fetchone()[0]
    if odd:
        raise ValueError(f"{odd:,} decisions have impossible values")
    settings = dict(data.execute("SELECT name, value FROM labelling"))
    if settings.get("multilabel") not in ("0", "1") or not isinstance(
        json.loads(settings.get("classes", "null")), list
    ):
        raise ValueError("its settings have impossible values")


def _check_seals(data: sqlite3.Connection) -> None:
    """Raise an error if a row does not match its hash."""
    changed = find_changed_rows(data)
    if changed:
        raise ValueError(f"not what was written: {', '.join(changed)}")


def _check_format(path: Path, data: sqlite3.Connection) -> None:
    row = data.execute("SELECT value FROM labelling WHERE name = 'format'").fetchone()
    if row is None or not str(row[0]).isdecimal() or int(row[0]) > FORMAT:
        raise BadData(
            f"{path} was written by a newer version of unnaive (this one reads up to format {FORMAT}); update with: "
            "pip install --upgrade unnaive"
        )
