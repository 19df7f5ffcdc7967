"""The tables of a teaching record, and their format version.

Every document has a number, and `undoes` names the first document of the chain that it belongs to: later documents of
the chain alternately reverse and restore it.
"""

from __future__ import annotations

import sqlite3

from unnaive.base.errors import UnnaiveError
from unnaive.base.sqlite_files import transaction
from unnaive.curation.teaching.log_seals import TABLES as SEALS

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
    """Create the tables of a new record; a newer format is an error."""
    version = int(data.execute("PRAGMA user_version").fetchone()[0])
    if version > FORMAT:
        raise UnnaiveError(
            f"{name} has format {version}, and this version of unnaive reads up to {FORMAT}; update with: "
            "pip install --upgrade unnaive"
        )
    with transaction(data):
        _run_all(data, EVENTS + DOCUMENTS + SEALS)
        data.execute(f"PRAGMA user_version = {FORMAT}")


def _run_all(data: sqlite3.Connection, script: str) -> None:
    """Run statements within the open transaction, which `executescript` would commit."""
    for statement in script.split(";"):
        if statement.strip():
            data.execute(statement)
