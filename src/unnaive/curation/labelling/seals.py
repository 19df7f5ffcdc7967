"""Hashes of every text, every decision and the settings of a record of labels, to detect changed rows.

SQLite detects torn pages, but not a flipped bit inside a text or a label.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from unnaive.base.damage import hash_values

TABLE = """
CREATE TABLE IF NOT EXISTS seals (
    part TEXT NOT NULL, id INTEGER NOT NULL, hash INTEGER NOT NULL, PRIMARY KEY (part, id)
) STRICT, WITHOUT ROWID;
"""
COLUMNS = "id, at, who, kind, text, labels, suggested, probability, way, undoes"  # the columns of a decision
PARTS = {"texts": "id, name, text", "decisions": COLUMNS}
SETTINGS = "settings"  # all settings share one hash


def row_hash(row: Sequence[Any]) -> int:
    """The hash of a row as a signed 64-bit integer, the integer type of SQLite.

    >>> row_hash((0, "1", "a ball"))
    3845716566056223017
    """
    return int.from_bytes(hash_values(row, 8), "little", signed=True)


def seal_new_rows(data: sqlite3.Connection) -> None:
    """Add the hashes of all rows after the last hashed row, in the transaction that writes the rows."""
    for part, columns in PARTS.items():
        last = data.execute("SELECT max(id) FROM seals WHERE part = ?", (part,)).fetchone()[0]
        rows = data.execute(f"SELECT {columns} FROM {part} WHERE id > ?", (-1 if last is None else last,))
        data.executemany("INSERT INTO seals VALUES (?, ?, ?)", [(part, row[0], row_hash(row)) for row in rows])
    if _sealed(data, SETTINGS, 0) is None:
        data.execute("INSERT INTO seals VALUES (?, 0, ?)", (SETTINGS, row_hash(_settings(data))))


def find_changed_rows(data: sqlite3.Connection) -> list[str]:
    """Describe the rows that do not match their hashes, table by table; rows after the last hash are not checked."""
    changed = []
    for part, columns in PARTS.items():
        sealed = dict(data.execute("SELECT id, hash FROM seals WHERE part = ?", (part,)).fetchall())
        rows = data.execute(f"SELECT {columns} FROM {part} WHERE id <= ?", (max(sealed, default=-1),))
        sound = sum(sealed.get(row[0]) == row_hash(row) for row in rows)
        if sound < len(sealed):
            changed.append(f"{len(sealed) - sound:,} of {len(sealed):,} {part}")
    stored = _sealed(data, SETTINGS, 0)
    return [*changed, SETTINGS] if stored is not None and stored != row_hash(_settings(data)) else changed


def is_as_written(data: sqlite3.Connection, part: str, row: Sequence[Any]) -> bool:
    """Whether a row of a damaged record matches its hash; true if the hash is missing or unreadable."""
    try:
        stored = _sealed(data, part, row[0])
    except sqlite3.Error:
        return True
    return stored is None or stored == row_hash(row)


def _sealed(data: sqlite3.Connection, part: str, number: int) -> int | None:
    row = data.execute("SELECT hash FROM seals WHERE part = ? AND id = ?", (part, number)).fetchone()
    return None if row is None else int(row[0])


def _settings(data: sqlite3.Connection) -> list[Any]:
    return data.execute("SELECT name, value FROM labelling ORDER BY name").fetchall()
