"""SQLite files whose commits survive a crash; they hold texts, so only the owner can read them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30.0  # seconds to wait for another process's transaction


def connect_durable(path: Path) -> sqlite3.Connection:
    """Open the database, creating it if necessary; a transaction is on disk when it ends."""
    is_new = not path.exists()
    data = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=PATIENCE)
    if is_new:
        path.chmod(0o600)
    data.execute("PRAGMA journal_mode = WAL")
    data.execute("PRAGMA synchronous = FULL")
    return data


@contextmanager
def transaction(data: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit the statements of the block together, or roll all of them back if it raises."""
    data.execute("BEGIN IMMEDIATE")
    try:
        yield data
        data.execute("COMMIT")
    except BaseException:
        if data.in_transaction:  # SQLite rolls back by itself if, for instance, the disk is full
            data.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(data: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Let all statements of the block read the same state, whatever other connections write meanwhile."""
    data.execute("BEGIN")
    try:
        yield data
    finally:
        if data.in_transaction:
            data.execute("ROLLBACK")
