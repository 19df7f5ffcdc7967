"""Detect damage to a teaching record: a hash chain over its events, and a small file that knows the last one.

hash of event n = BLAKE2b(hash of event n − 1, event n, its documents). The hashes are in the record, so that a modified
event is detected; the last event of each model file has a hash too. If final events are lost, the record is valid but
shorter, as SQLite leaves it when its write-ahead log was cut or damaged; so a second file, NAME.record.last, gets a
line for each event after the event is on disk and before it is acknowledged.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.base.damage import hash_values
from unnaive.base.errors import count_noun
from unnaive.base.system import PLAIN

SUFFIX = ".last"  # appended to the record's file name
LONGEST = 1 << 20  # bytes after which only the last lines are kept
TABLES = """
CREATE TABLE IF NOT EXISTS seals (event INTEGER PRIMARY KEY, hash TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS fold_seals (sha256 TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT;
"""
START = "0" * 64  # the hash before the first event
COLUMNS = "id, sign, text, labels, source, undoes"  # columns of a document that its event's hash covers


def event_hash(before: str, event: Any, documents: Any) -> str:
    """Extend the hash chain by one event.

    event      (id, at, kind, key, request, answer)
    documents  (id, sign, text, labels, source, undoes) of each

    >>> document = (1, 1, "a ball", '["sport"]', None, None)
    >>> event_hash(START, (1, "2026-01-01", "teach", None, None, "{}"), [document])[:16]
    '916a47e9640e3ccc'
    """
    return hash_values([before, list(event), [list(document) for document in documents]]).hex()


def seal_event(data: sqlite3.Connection, event: int) -> str:
    """Store the hash of the last event, in the same transaction as the event."""
    row = data.execute("SELECT hash FROM seals WHERE event < ? ORDER BY event DESC LIMIT 1", (event,)).fetchone()
    digest = event_hash(START if row is None else row[0], *_content(data, event))
    data.execute("INSERT INTO seals VALUES (?, ?)", (event, digest))
    return digest


def seal_file(data: sqlite3.Connection, sha256: str, event: int) -> None:
    """Store the hash of a model file's last event."""
    data.execute("INSERT OR REPLACE INTO fold_seals VALUES (?, ?)", (sha256, file_seal(sha256, event)))


def file_seal(sha256: str, event: int) -> str:
    """The hash that seals a model file's last event.

    >>> file_seal("ab" * 32, 7)[:16]
    'a080a143fdf409f8'
    """
    return hashlib.blake2b(f"{sha256} {event}".encode(), digest_size=32).hexdigest()


def find_record_problem(data: sqlite3.Connection) -> str | None:
    """Describe a difference from what was written: events, documents without an event, or the events of model files."""
    changed = find_changed_events(data)
    if changed:
        every = int(data.execute("SELECT max(event) FROM seals").fetchone()[0] or 0)
        is_are = "is" if len(changed) == 1 else "are"
        return (
            f"{len(changed):,} of {count_noun(every, 'event')}, the first of them number {changed[0]}, {is_are} not "
            "what was written"
        )
    if data.execute("SELECT 1 FROM documents WHERE event NOT IN (SELECT id FROM events) LIMIT 1").fetchone():
        return "it has documents without an event"
    expected = {sha256: file_seal(sha256, event) for sha256, event in data.execute("SELECT sha256, event FROM folds")}
    sealed = dict(data.execute("SELECT sha256, hash FROM fold_seals").fetchall())
    has_events = data.execute("SELECT 1 FROM events LIMIT 1").fetchone() is not None
    if expected != sealed or (has_events and not expected):
        return "the events recorded for its model files are not what was written"
    return None


def find_changed_events(data: sqlite3.Connection) -> list[int]:
    """The numbers of events that differ from what was written, or are missing between others."""
    changed, before = [], START
    rows = data.execute(
        "SELECT event, hash FROM seals UNION SELECT id, NULL FROM events WHERE id NOT IN (SELECT event FROM seals)"
        " ORDER BY event"
    )
    for event, written in rows.fetchall():
        content = _content(data, event)
        if written is None or content[0] is None or event_hash(before, *content) != written:
            changed.append(int(event))
        before = written or before
    return changed


def _content(data: sqlite3.Connection, event: int) -> tuple[Any, list[Any]]:
    row = data.execute("SELECT id, at, kind, key, request, answer FROM events WHERE id = ?", (event,)).fetchone()
    documents = data.execute(
        f"SELECT {COLUMNS} FROM documents WHERE event = ? ORDER BY id",
        (event,),
    ).fetchall()
    return row, documents


@dataclass(frozen=True)
class LastKnown:
    """The content of the small file: the last acknowledged event, and the last event of each model file."""

    event: int
    files: dict[str, int]


class LastFile:
    """The small file beside a record: lines are only appended; an incomplete line is ignored.

    Lines are not flushed: an event is on disk before its line, so the file can be behind, but never ahead. So it is
    no error either if a line cannot be written, for instance because the disk is full.
    """

    def __init__(self, record: Path) -> None:
        self.path = record.with_name(record.name + SUFFIX)
        self._torn = False  # whether the last line may be incomplete

    def read(self) -> LastKnown:
        """Read the file; empty if it does not exist."""
        event, files = 0, {}
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except FileNotFoundError:
            return LastKnown(0, {})
        for line in lines:
            words = line.split(" ")
            if len(words) != 4 or not words[1].isdecimal() or words[3] != _check_word(*words[:3]):
                continue
            event = max(event, int(words[1]))
            if words[0] == "fold":
                files[words[2]] = int(words[1])
        return LastKnown(event, files)

    def begin_anew(self) -> LastKnown:
        """Return the content and start again: the record that it belongs to was moved away."""
        before = self.read()
        self.path.unlink(missing_ok=True)
        return before

    def add_event(self, event: int, digest: str) -> None:
        """Note that an event is on disk."""
        self._add("event", event, digest[:16])

    def add_file(self, sha256: str, event: int) -> None:
        """Note the last event of a model file."""
        self._add("fold", event, sha256)

    def _add(self, kind: str, event: int, value: str) -> None:
        line = f"{kind} {event} {value} {_check_word(kind, str(event), value)}\n"
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | PLAIN, 0o600)
        except OSError:
            return
        data = (b"\n" if self._torn else b"") + line.encode()
        try:
            if os.fstat(handle).st_size > LONGEST:
                os.ftruncate(handle, 0)
            self._torn = os.write(handle, data) < len(data)
        except OSError:
            self._torn = True
        finally:
            os.close(handle)


def _check_word(kind: str, event: str, value: str) -> str:
    return hashlib.blake2b(f"{kind} {event} {value}".encode(), digest_size=4).hexdigest()
