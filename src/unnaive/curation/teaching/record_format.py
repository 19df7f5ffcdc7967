"""The tables of a teaching record, their format version, and the migration of older records.

In format 1 documents had no numbers, so an event could not say which document it reverses. Since format 2 every
document has a number, and `undoes` names the first document of the chain that it belongs to: later documents of the
chain alternately reverse and restore it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.sqlite_files import transaction
from unnaive.curation.teaching.record_seals import TABLES as SEALS
from unnaive.curation.teaching.record_seals import find_record_problem, seal_all, seal_unsealed

FORMAT = 2  # stored as user_version; raised when earlier versions of unnaive cannot read the new format
EVENTS = """
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT UNIQUE, request TEXT, answer TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS folds (sha256 TEXT PRIMARY KEY, event INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS measures (event INTEGER PRIMARY KEY, found TEXT NOT NULL) STRICT;
"""
DOCUMENTS = """
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, event INTEGER NOT NULL REFERENCES events, sign INTEGER NOT NULL, text TEXT NOT NULL,
    labels TEXT NOT NULL, source TEXT, undoes INTEGER REFERENCES documents
) STRICT;
CREATE INDEX IF NOT EXISTS documents_by_event ON documents (event);
CREATE INDEX IF NOT EXISTS documents_by_source ON documents (source) WHERE source IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_by_undone ON documents (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX IF NOT EXISTS documents_by_start ON documents (substr(text, 1, 32));
"""


def prepare_tables(data: sqlite3.Connection, name: str) -> None:
    """Create the tables of a new record, or migrate an older format; a newer format is an error."""
    version = int(data.execute("PRAGMA user_version").fetchone()[0])
    if version > FORMAT:
        raise UnnaiveError(
            f"{name} has format {version}, and this version of unnaive reads up to {FORMAT}; update with: "
            "pip install --upgrade unnaive"
        )
    tables = {row[0] for row in data.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    with transaction(data):
        if "documents" in tables and version < FORMAT:
            _run_all(data, SEALS)
            MIGRATIONS[version or 1](data)
        _run_all(data, EVENTS + DOCUMENTS + SEALS)
        data.execute(f"PRAGMA user_version = {FORMAT}")


def _run_all(data: sqlite3.Connection, script: str) -> None:
    """Run statements within the open transaction, which `executescript` would commit."""
    for statement in script.split(";"):
        if statement.strip():
            data.execute(statement)


def _migrate_1(data: sqlite3.Connection) -> None:
    """Number the documents, and determine which later ones reverse them.

    The old hashes are verified first, so that damage is not sealed as valid; then new ones are computed.
    """
    columns = "sign, text, labels, source"
    seal_unsealed(data, columns)
    problem = find_record_problem(data, columns)
    if problem is not None:
        raise sqlite3.DatabaseError(problem)
    rows = data.execute(
        "SELECT event, sign, text, labels, source, kind FROM documents JOIN events ON events.id = event"
        " ORDER BY documents.rowid"
    ).fetchall()
    data.execute("DROP TABLE documents")
    _run_all(data, DOCUMENTS)
    # documents currently taught, and documents forgotten without having been taught
    stack: dict[tuple[str, str], list[int]] = {}
    gone: dict[tuple[str, str], list[int]] = {}
    for number, (event, sign, text, labels, source, kind) in enumerate(rows, start=1):
        same = (text, json.dumps(sorted(json.loads(labels), key=str)))
        restores = str(kind).startswith("rollback")
        here, there = (stack, gone) if sign > 0 else (gone, stack)
        waiting = there.get(same) if sign < 0 or restores else None
        undone = waiting.pop() if waiting else None
        here.setdefault(same, []).append(number if undone is None else undone)
        data.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)",
                     (number, event, sign, text, labels, source, undone))  # fmt: skip
    seal_all(data)


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], Any]] = {
    1: _migrate_1
}  # format → the function that migrates it to the next
