"""What a served model was taught and what it forgot: an SQLite file beside the model, written before anything is said.

The model file is a fold of the record: the model that `serve` was first started with, plus and minus the documents of
all events up to one. The table `folds` says up to which, by the hash of the model file; so a process that is killed at
any moment finds out at its next start which events the file has, and none is lost or applied twice. A record that was
damaged since is found out at the next start too (record_seals.py): events that were changed are refused, and the loss
of the last ones is told and counted.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from unnaive.apps.service.record_seals import TABLES as SEALS
from unnaive.apps.service.record_seals import (
    LastFile,
    LastKnown,
    find_record_problem,
    seal_event,
    seal_fold,
    seal_unsealed,
)
from unnaive.base.errors import UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.sqlite_files import connect_durable, transaction
from unnaive.base.system import open_lock
from unnaive.base.types import Label

SUFFIX = ".record"  # of the model's file name
REMEDY = "restore it from a copy, or move it away: the model file then serves as it is, and a new record begins"
TABLES = """
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, key TEXT UNIQUE, request TEXT, answer TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS documents (
    event INTEGER NOT NULL REFERENCES events, sign INTEGER NOT NULL, text TEXT NOT NULL, labels TEXT NOT NULL,
    source TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS documents_by_event ON documents (event);
CREATE INDEX IF NOT EXISTS documents_by_source ON documents (source) WHERE source IS NOT NULL;
CREATE TABLE IF NOT EXISTS folds (sha256 TEXT PRIMARY KEY, event INTEGER NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class Document:
    """A text with its labels; `source` names what it came from, such as an annotation of another tool."""

    text: str
    labels: tuple[Label, ...]
    source: str | None = None


@dataclass(frozen=True)
class Change:
    """Documents to learn and documents to forget."""

    learn: tuple[Document, ...] = ()
    forget: tuple[Document, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.learn or self.forget)

    def inverse(self) -> Change:
        """What undoes it."""
        return Change(self.forget, self.learn)


class TeachingRecord:
    """The events of one model, durable: an event is on disk when `add` returns."""

    def __init__(self, model: Path) -> None:
        self.path = model.with_name(model.name + SUFFIX)
        self._lock = _take_lock(self.path)
        self._last_file = LastFile(self.path)
        if not self.path.exists():
            self._tell_absence(self._last_file.begin_anew())
        try:
            self._data = connect_durable(self.path)
            self._data.executescript(TABLES + SEALS)
            self._check_sound()
        except sqlite3.DatabaseError as problem:
            self._lock.close()
            raise UnnaiveError(
                f"{self.path} is damaged, or no record of a served model ({problem}); {REMEDY}"
            ) from problem
        except UnnaiveError:
            self.close()
            raise

    def _check_sound(self) -> None:
        """An error if the file or an event in it is damaged; a warning if the last events are gone."""
        problem = self._data.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise UnnaiveError(f"{self.path} is damaged ({' '.join(str(problem).split())[:80]}); {REMEDY}")
        with transaction(self._data) as data:
            seal_unsealed(data)
        problem = find_record_problem(self._data)
        if problem is not None:
            raise UnnaiveError(f"{self.path} is damaged: {problem}; {REMEDY}")
        self._tell_loss(self._last_file.read())

    def _tell_absence(self, known: LastKnown) -> None:
        """Warn if there was a record with events."""
        if known.event:
            warnings.warn(
                f"{self.path} with its {count_noun(known.event, 'event')} is gone, so a new record begins; what was "
                "taught and is not in the model file is lost",
                UnnaiveWarning,
                stacklevel=4,
            )

    def _tell_loss(self, known: LastKnown) -> None:
        """Warn of acknowledged events that are gone, and go on after their numbers."""
        last = self.last
        lost = known.event - last
        if lost <= 0:
            return
        folded = max((event for event in known.folds.values() if event > last), default=last)
        inside = f"; those up to number {folded} are in the model file" if folded > last else ""
        warnings.warn(
            f"{self.path} lost its last {count_noun(lost, 'event')}, numbers {last + 1} to {known.event}: what they "
            f"taught was acknowledged and is gone{inside}; teach it again, or restore the record and its files -wal "
            f"and {self._last_file.path.suffix} from a copy",
            UnnaiveWarning,
            stacklevel=3,
        )
        with transaction(self._data) as data:
            for sha256, event in known.folds.items():
                if data.execute("INSERT OR IGNORE INTO folds VALUES (?, ?)", (sha256, event)).rowcount:
                    seal_fold(data, sha256, event)
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            data.execute(
                "INSERT INTO events (id, at, kind, answer) VALUES (?, ?, 'loss', ?)",
                (known.event + 1, at, json.dumps({"lost": lost})),
            )
            found = seal_event(data, known.event + 1)
        self._last_file.add_event(known.event + 1, found)

    @property
    def last(self) -> int:
        """The number of the last event; 0 before the first."""
        return int(self._data.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])

    def add(
        self, kind: str, change: Change, answer: dict[str, Any], *, key: str | None = None, request: str | None = None
    ) -> int:
        """Write an event and give its number; `key` and `request` are those of an idempotent request."""
        with transaction(self._data) as data:
            number = data.execute(
                "INSERT INTO events (at, kind, key, request, answer) VALUES (?, ?, ?, ?, ?)",
                (datetime.now(UTC).isoformat(timespec="milliseconds"), kind, key, request, json.dumps(answer)),
            ).lastrowid
            event = int(number or 0)
            rows = [(event, sign, one) for sign, part in ((1, change.learn), (-1, change.forget)) for one in part]
            data.executemany(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                [(number, sign, one.text, json.dumps(one.labels), one.source) for number, sign, one in rows],
            )
            found = seal_event(data, event)
        self._last_file.add_event(event, found)
        return event

    def answered(self, key: str) -> tuple[int, str, dict[str, Any]] | None:
        """The event, request and answer of an idempotency key; None where it was never used."""
        row = self._data.execute("SELECT id, request, answer FROM events WHERE key = ?", (key,)).fetchone()
        return None if row is None else (int(row[0]), str(row[1]), json.loads(row[2]))

    def change_since(self, event: int) -> Change:
        """The net of all events after `event`: what was learnt and forgotten again is in neither part."""
        rows = self._data.execute(
            "SELECT text, labels, sum(sign) FROM documents WHERE event > ? GROUP BY text, labels HAVING sum(sign) <> 0"
            " ORDER BY min(rowid)",
            (event,),
        )
        learn: list[Document] = []
        forget: list[Document] = []
        for text, labels, times in rows:
            (learn if times > 0 else forget).extend([_document(text, labels)] * abs(times))
        return Change(tuple(learn), tuple(forget))

    def first_loss_of_tuning(self, event: int) -> int | None:
        """The first event after `event` that ended what was tuned on held-out documents; None for none."""
        rows = self._data.execute("SELECT id, answer FROM events WHERE id > ? ORDER BY id", (event,))
        return next((int(number) for number, answer in rows if json.loads(answer).get("tuning_lost")), None)

    def current(self, source: str) -> Document | None:
        """The document that a source stands for now; None where it was never taught or was forgotten since."""
        row = self._data.execute(
            "SELECT text, labels, source FROM documents WHERE source = ? GROUP BY text, labels HAVING sum(sign) > 0"
            " ORDER BY max(rowid) DESC LIMIT 1",
            (source,),
        ).fetchone()
        return None if row is None else _document(*row)

    def first_loss(self, event: int) -> int | None:
        """The first number after `event` behind which events are missing from the record; None for none."""
        row = self._data.execute("SELECT min(id) FROM events WHERE kind = 'loss' AND id > ?", (event,)).fetchone()
        return None if row[0] is None else int(row[0])

    def events(self, limit: int, before: int | None = None, *, documents: bool = False) -> list[dict[str, Any]]:
        """Events as plain values, the newest first, those before the number `before`; with their documents if asked."""
        rows = self._data.execute(
            "SELECT id, at, kind, (SELECT count(*) FROM documents WHERE event = id) FROM events"
            " WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
            (before, before, limit),
        ).fetchall()
        found = [{"version": int(row[0]), "at": row[1], "kind": row[2], "documents": int(row[3])} for row in rows]
        for one in found if documents else ():
            one["changes"] = [
                {"sign": int(sign), "text": text, "labels": json.loads(labels)}
                for sign, text, labels in self._data.execute(
                    "SELECT sign, text, labels FROM documents WHERE event = ? ORDER BY rowid", (one["version"],)
                )
            ]
        return found

    def note_fold(self, sha256: str, event: int) -> None:
        """Write, before a model file takes its place, up to which event it goes."""
        with transaction(self._data) as data:
            data.execute("INSERT OR REPLACE INTO folds VALUES (?, ?)", (sha256, event))
            seal_fold(data, sha256, event)
        self._last_file.add_fold(sha256, event)

    def fold_of(self, sha256: str) -> int | None:
        """Up to which event a model file goes; None for a file that this record knows nothing of."""
        row = self._data.execute("SELECT event FROM folds WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else int(row[0])

    @property
    def empty(self) -> bool:
        """Whether it belongs to no model file yet."""
        return self._data.execute("SELECT 1 FROM folds LIMIT 1").fetchone() is None

    def close(self) -> None:
        """Leave the file to others."""
        self._data.close()
        self._lock.close()


def _document(text: str, labels: str, source: str | None = None) -> Document:
    values: Sequence[Label] = json.loads(labels)
    return Document(text, tuple(values), source)


def _take_lock(path: Path) -> BinaryIO:
    """A lock beside the record, held until the process ends: one service at a time may teach a model."""
    try:
        return open_lock(path, wait=False)
    except BlockingIOError as problem:
        raise UnnaiveError(
            f"another service teaches the model of {path.name}; stop that one, or start this one with --read-only"
        ) from problem
