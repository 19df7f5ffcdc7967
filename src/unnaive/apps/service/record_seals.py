"""Whether a teaching record is what was written: a running hash over its events, and a small file that knows the last.

hash of event n = BLAKE2b(hash of event n − 1, event n, its documents). It is in the record itself, so that an event
that was changed is found; up to which event a model file goes has a hash too. Events that are gone from the end leave
a record that is sound and shorter, as SQLite leaves it when its write-ahead log was cut or damaged; so a second file,
NAME.record.last, has a line for each event, written when the event is on disk and before it is acknowledged.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.base.errors import count_noun
from unnaive.base.system import PLAIN

SUFFIX = ".last"  # of the record's file name
LONGEST = 1 << 20  # bytes after which only the last lines are kept
TABLES = """
CREATE TABLE IF NOT EXISTS seals (event INTEGER PRIMARY KEY, hash TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS fold_seals (sha256 TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT;
"""
START = "0" * 64  # the hash before the first event
COLUMNS = "id, sign, text, labels, source, undoes"  # of a document, that its event's hash is over


def event_hash(before: str, event: Any, documents: Any) -> str:
    """The running hash with one more event.

    event      (id, at, kind, key, request, answer)
    documents  (id, sign, text, labels, source, undoes) of each

    >>> document = (1, 1, "a ball", '["sport"]', None, None)
    >>> event_hash(START, (1, "2026-01-01", "teach", None, None, "{}"), [document])[:16]
    '916a47e9640e3ccc'
    """
    words = json.dumps([before, list(event), [list(one) for one in documents]], ensure_ascii=True)
    return hashlib.blake2b(words.encode(), digest_size=32).hexdigest()


def seal_event(data: sqlite3.Connection, event: int, columns: str = COLUMNS) -> str:
    """Write the running hash up to an event, the last one, in the transaction that writes the event."""
    row = data.execute("SELECT hash FROM seals WHERE event < ? ORDER BY event DESC LIMIT 1", (event,)).fetchone()
    found = event_hash(START if row is None else row[0], *_content(data, event, columns))
    data.execute("INSERT INTO seals VALUES (?, ?)", (event, found))
    return found


def seal_all(data: sqlite3.Connection, columns: str = COLUMNS) -> None:
    """Make the hashes of all events anew."""
    data.execute("DELETE FROM seals")
    for (event,) in data.execute("SELECT id FROM events ORDER BY id").fetchall():
        seal_event(data, event, columns)


def seal_unsealed(data: sqlite3.Connection, columns: str = COLUMNS) -> None:
    """Give the events of a record from before there were hashes theirs; once, when the first service opens it."""
    if data.execute("SELECT 1 FROM seals LIMIT 1").fetchone() is None:
        seal_all(data, columns)
    if data.execute("SELECT 1 FROM fold_seals LIMIT 1").fetchone() is None:
        for sha256, event in data.execute("SELECT sha256, event FROM folds").fetchall():
            seal_fold(data, sha256, event)


def seal_fold(data: sqlite3.Connection, sha256: str, event: int) -> None:
    """Write the hash of what is said of a model file: up to which event it goes."""
    data.execute("INSERT OR REPLACE INTO fold_seals VALUES (?, ?)", (sha256, fold_hash(sha256, event)))


def fold_hash(sha256: str, event: int) -> str:
    """The hash of a model file's place among the events.

    >>> fold_hash("ab" * 32, 7)[:16]
    'a080a143fdf409f8'
    """
    return hashlib.blake2b(f"{sha256} {event}".encode(), digest_size=32).hexdigest()


def find_record_problem(data: sqlite3.Connection, columns: str = COLUMNS) -> str | None:
    """What is not as it was written, in words: events, documents of no event, or which events model files have."""
    changed = find_changed_events(data, columns)
    if changed:
        every = int(data.execute("SELECT max(event) FROM seals").fetchone()[0] or 0)
        is_are = "is" if len(changed) == 1 else "are"
        return (
            f"{len(changed):,} of {count_noun(every, 'event')}, the first of them number {changed[0]}, {is_are} not "
            "what was written"
        )
    if data.execute("SELECT 1 FROM documents WHERE event NOT IN (SELECT id FROM events) LIMIT 1").fetchone():
        return "it has documents of no event"
    told = {sha256: fold_hash(sha256, event) for sha256, event in data.execute("SELECT sha256, event FROM folds")}
    sealed = dict(data.execute("SELECT sha256, hash FROM fold_seals").fetchall())
    has_events = data.execute("SELECT 1 FROM events LIMIT 1").fetchone() is not None
    if told != sealed or (has_events and not told):
        return "which of its events the model files have is not what was written"
    return None


def find_changed_events(data: sqlite3.Connection, columns: str = COLUMNS) -> list[int]:
    """The numbers of events that are not what was written, or are gone from between others."""
    changed, before = [], START
    rows = data.execute(
        "SELECT event, hash FROM seals UNION SELECT id, NULL FROM events WHERE id NOT IN (SELECT event FROM seals)"
        " ORDER BY event"
    )
    for event, found in rows.fetchall():
        content = _content(data, event, columns)
        if found is None or content[0] is None or event_hash(before, *content) != found:
            changed.append(int(event))
        before = found or before
    return changed


def _content(data: sqlite3.Connection, event: int, columns: str) -> tuple[Any, list[Any]]:
    row = data.execute("SELECT id, at, kind, key, request, answer FROM events WHERE id = ?", (event,)).fetchone()
    documents = data.execute(
        f"SELECT {columns} FROM documents WHERE event = ? ORDER BY rowid",  # one of two constants
        (event,),
    ).fetchall()
    return row, documents


@dataclass(frozen=True)
class LastKnown:
    """What the small file says: the last event that was acknowledged, and up to which event model files go."""

    event: int
    folds: dict[str, int]


class LastFile:
    """The small file beside a record: lines are only ever added; one that is cut off is passed over.

    Lines are not flushed to the disk: an event is there before its line, so the file can only be behind, never ahead.
    """

    def __init__(self, record: Path) -> None:
        self.path = record.with_name(record.name + SUFFIX)

    def read(self) -> LastKnown:
        """What it says; of a file that is not there, nothing."""
        event, folds = 0, {}
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
                folds[words[2]] = int(words[1])
        return LastKnown(event, folds)

    def begin_anew(self) -> LastKnown:
        """What it says, and nothing from now on: the record that it speaks of was moved away."""
        known = self.read()
        self.path.unlink(missing_ok=True)
        return known

    def add_event(self, event: int, found: str) -> None:
        """Note that an event is on disk."""
        self._add("event", event, found[:16])

    def add_fold(self, sha256: str, event: int) -> None:
        """Note up to which event a model file goes."""
        self._add("fold", event, sha256)

    def _add(self, kind: str, event: int, what: str) -> None:
        line = f"{kind} {event} {what} {_check_word(kind, str(event), what)}\n"
        handle = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | PLAIN, 0o600)
        try:
            if os.fstat(handle).st_size > LONGEST:
                os.ftruncate(handle, 0)
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def _check_word(kind: str, event: str, what: str) -> str:
    return hashlib.blake2b(f"{kind} {event} {what}".encode(), digest_size=4).hexdigest()
