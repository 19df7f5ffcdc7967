"""The record of what a served model was taught and has forgotten: an SQLite file beside the model.

An event is written to the record before it is acknowledged. The model file is a fold of the record: the model that
`serve` was first started with, plus and minus the documents of all events up to some event. The table `folds` maps the
hash of a model file to that event; so after a crash the next start knows which events the file includes, and none is
lost or applied twice. Damage to a record is also detected at the next start (record_seals.py): modified events are an
error, and lost final events are reported and counted.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from unnaive.base.damage import RecordKind, find_sqlite_damage
from unnaive.base.errors import UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.sqlite_files import connect_durable, snapshot, transaction
from unnaive.base.system import open_lock
from unnaive.base.types import Label
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.log_events import (
    Event,
    describe_events,
    describe_measures,
    insert_event,
    state_sql,
)
from unnaive.curation.teaching.log_format import prepare_tables
from unnaive.curation.teaching.log_seals import (
    LastFile,
    LastKnown,
    find_record_problem,
    seal_event,
    seal_file,
)
from unnaive.curation.teaching.log_versions import (
    PREVIOUS,
    PreviousFile,
    VersionMap,
    read_previous,
    read_version_map,
)
from unnaive.curation.teaching.noting import SUFFIX

KIND = RecordKind(
    "the record of a served model",
    "the model file is as it was",
    "restore the record from a backup, or move it away: the model file is then served as it is, with a new record",
)
DERIVED = "derived "  # prefix of a setting's name, followed by the hash of a model file


class NotRecordedError(UnnaiveError):
    """The record could not be written; nothing was changed."""


class TeachingRecord:
    """The durable events of one model: an event is on disk when `add` returns."""

    def __init__(self, model: Path, path: Path | None = None, *, alone: bool = True) -> None:
        """Open the record of a model, or the record at `path`; with alone=False a service may use it too."""
        self.path = path or model.with_name(model.name + SUFFIX)
        self.previous_path = self.path.with_name(self.path.name.removesuffix(SUFFIX) + ".previous")
        self._lock = _take_lock(self.path) if alone else self.path.open("rb")
        self._last_file = LastFile(self.path)
        if not self.path.exists():
            self._tell_absence(self._last_file.begin_anew())
        self._reading = threading.Lock()
        try:
            self._data = connect_durable(self.path)
            self._reader = connect_durable(self.path)
            self._check_sound()
        except sqlite3.DatabaseError as problem:
            self._lock.close()
            raise KIND.damage(self.path, problem) from problem
        except UnnaiveError:
            self.close()
            raise

    def _check_sound(self) -> None:
        """Raise an error if the file or an event is damaged; warn if the last events are missing."""
        problem = find_sqlite_damage(self._data)
        if problem is None:
            prepare_tables(self._data, str(self.path))
            with snapshot(self._data) as data:  # another process may note a model file meanwhile
                problem = find_record_problem(data)
        if problem is not None:
            raise KIND.damage(self.path, problem)
        self._tell_loss(self._last_file.read())

    def _tell_absence(self, last_known: LastKnown) -> None:
        """Warn if there was a record with events."""
        if last_known.event:
            warnings.warn(
                f"{self.path} with its {count_noun(last_known.event, 'event')} is missing, so a new record begins; "
                "what was taught and is not in the model file is lost",
                UnnaiveWarning,
                stacklevel=4,
            )

    def _tell_loss(self, last_known: LastKnown) -> None:
        """Warn about lost acknowledged events, and continue after their numbers."""
        last = self.last
        lost = last_known.event - last
        if lost <= 0:
            return
        included = max((event for event in last_known.files.values() if event > last), default=last)
        inside = f"; those up to number {included} are in the model file" if included > last else ""
        warnings.warn(
            f"{self.path} lost its last {count_noun(lost, 'event')}, numbers {last + 1} to {last_known.event}: what "
            f"they taught was acknowledged but is lost{inside}; teach it again, or restore the record and its files "
            f"-wal and {self._last_file.path.suffix} from a backup",
            UnnaiveWarning,
            stacklevel=3,
        )
        with transaction(self._data) as data:
            for sha256, event in last_known.files.items():
                if data.execute("INSERT OR IGNORE INTO folds VALUES (?, ?)", (sha256, event)).rowcount:
                    seal_file(data, sha256, event)
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            data.execute(
                "INSERT INTO events (id, at, kind, answer) VALUES (?, ?, 'loss', ?)",
                (last_known.event + 1, at, json.dumps({"lost": lost})),
            )
            seal = seal_event(data, last_known.event + 1)
        self._last_file.add_event(last_known.event + 1, seal)

    @property
    def last(self) -> int:
        """The number of the last event; 0 if there is none."""
        return int(self._data.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])

    def add(
        self, kind: str, change: Change, answer: dict[str, Any], *, key: str | None = None, request: str | None = None
    ) -> int:
        """Write an event and return its number; `key` and `request` identify an idempotent request."""
        return self.add_all([Event(kind, change, answer, key, request)])[0]

    def add_all(self, events: Sequence[Event]) -> list[int]:
        """Write events in one transaction, all or none, and return their numbers."""
        numbers, seal = [], ""
        with self._writing() as data:
            for event in events:
                numbers.append(insert_event(data, event))
                seal = seal_event(data, numbers[-1])
        if numbers:
            self._last_file.add_event(numbers[-1], seal)
        return numbers

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; a sentence if it cannot be written, and then nothing of it is."""
        try:
            with transaction(self._data) as data:
                yield data
        except sqlite3.Error as problem:
            raise NotRecordedError(
                f"{self.path.name} could not be written ({problem}), so nothing was changed; make room on its disk, or "
                "end the program that keeps it locked, and try again"
            ) from problem

    @contextmanager
    def _view(self) -> Iterator[sqlite3.Connection]:
        """A state of the record for threads other than the one that changes the model."""
        with self._reading, snapshot(self._reader) as data:
            yield data

    def seal(self, event: int) -> str:
        """The hash of an event and all before it."""
        row = self._data.execute("SELECT hash FROM seals WHERE event = ?", (event,)).fetchone()
        return str(row[0]) if row else ""

    @property
    def first_file(self) -> str | None:
        """The hash of the model file that the record began with."""
        row = self._data.execute("SELECT sha256 FROM folds WHERE event = 0 ORDER BY rowid LIMIT 1").fetchone()
        return None if row is None else str(row[0])

    def answered(self, key: str) -> tuple[int, str, dict[str, Any]] | None:
        """The event, request and answer of an idempotency key; None if it is new."""
        row = self._data.execute("SELECT id, request, answer FROM events WHERE key = ?", (key,)).fetchone()
        return None if row is None else (int(row[0]), str(row[1]), json.loads(row[2]))

    def change_since(self, event: int) -> Change:
        """The net change of all events after `event`: a document learnt and forgotten again is in neither part."""
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

    def undoing(self, event: int) -> Change:
        """The change that undoes an event; documents that later events changed are left out."""
        rows = self._data.execute(
            "SELECT coalesce(one.undoes, one.id) AS root, one.sign, one.text, one.labels, "
            f"{state_sql('coalesce(one.undoes, one.id)')} = {state_sql('coalesce(one.undoes, one.id)', 'one.id')}"
            " FROM documents AS one WHERE one.event = ? ORDER BY one.id",
            (event,),
        )
        return _inverse((root, sign, text, labels) for root, sign, text, labels, as_left in rows if as_left)

    def undoing_since(self, event: int) -> Change:
        """The change that undoes all events after `event`."""
        return _inverse(
            self._data.execute(
                "SELECT coalesce(undoes, id) AS root, sum(sign), min(text), min(labels) FROM documents WHERE event > ?"
                " GROUP BY root HAVING sum(sign) <> 0 ORDER BY root",
                (event,),
            )
        )

    def standing(self) -> Change:
        """The net effect of all events: documents taught, and training documents forgotten, each with its number."""
        rows = self._data.execute(
            "SELECT coalesce(undoes, id) AS root, sum(sign), min(text), min(labels) FROM documents"
            " GROUP BY root HAVING sum(sign) <> 0 ORDER BY root"
        )
        return _inverse((root, -sign, text, labels) for root, sign, text, labels in rows)

    def left_out_since(self, event: int) -> Change:
        """The change that restores documents which a rebase after `event` left out."""
        rows = self._data.execute("SELECT id FROM events WHERE kind = 'rebase' AND id > ?", (event,)).fetchall()
        changes = [self.undoing(number) for (number,) in rows]
        return Change(
            tuple(document for change in changes for document in change.learn),
            tuple(document for change in changes for document in change.forget),
        )

    def new_classes(self) -> set[Label]:
        """The classes that teaching has added."""
        rows = self._data.execute("SELECT json_extract(answer, '$.new_classes') FROM events").fetchall()
        return {label for (labels,) in rows if labels for label in json.loads(labels)}

    def copies_before(self) -> dict[str, int]:
        """How often the model had learnt each text before it was taught."""
        before: dict[str, int] = {}
        for (copies,) in self._data.execute("SELECT json_extract(answer, '$.copies') FROM events ORDER BY id DESC"):
            before |= json.loads(copies) if copies else {}
        return before

    def link(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """Link each document to forget to the teaching that it reverses, if there is one."""
        taken: set[int] = set()
        linked = []
        for document in documents:
            root = document.undoes or next((root for root in self._standing(document) if root not in taken), None)
            taken |= set() if root is None else {root}
            linked.append(replace(document, undoes=root))
        return tuple(linked)

    def _standing(self, document: Document) -> list[int]:
        """The numbers of taught documents with this text and labels that were not reversed, newest first."""
        rows = self._data.execute(
            "SELECT id, labels FROM documents AS one WHERE substr(text, 1, 32) = substr(?1, 1, 32) AND text = ?1"
            f" AND undoes IS NULL AND sign > 0 AND {state_sql('one.id')} > 0 ORDER BY id DESC",
            (document.text,),
        )
        wanted = set(document.labels)
        return [int(number) for number, labels in rows.fetchall() if set(json.loads(labels)) == wanted]

    def count_taught(self, text: str) -> int:
        """How often a text is currently taught, with any labels."""
        row = self._data.execute(
            "SELECT coalesce(sum(sign), 0) FROM documents WHERE substr(text, 1, 32) = substr(?1, 1, 32) AND text = ?1",
            (text,),
        ).fetchone()
        return max(0, int(row[0]))

    def kind_of(self, event: int) -> str | None:
        """The kind of an event; None if it does not exist."""
        row = self._data.execute("SELECT kind FROM events WHERE id = ?", (event,)).fetchone()
        return None if row is None else str(row[0])

    def versions(self) -> VersionMap:
        """The bases and losses of all events, for rollbacks."""
        return read_version_map(self._data)

    @property
    def previous(self) -> PreviousFile | None:
        """The file of the previous base, if it is kept."""
        return self._previous_in(self._data)

    def _previous_in(self, data: sqlite3.Connection) -> PreviousFile | None:
        previous = read_previous(_setting(data, PREVIOUS))
        return previous if self.previous_path.exists() else None

    def current(self, source: str) -> Document | None:
        """The document that a source currently stands for; None if it was never taught or has been forgotten."""
        row = self._data.execute(
            "SELECT text, labels, source, id FROM documents AS one WHERE source = ? AND undoes IS NULL AND sign > 0"
            f" AND {state_sql('one.id')} > 0 ORDER BY id DESC LIMIT 1",
            (source,),
        ).fetchone()
        return None if row is None else _document(*row)

    def events(self, limit: int, before: int | None = None, *, documents: bool = False) -> list[dict[str, Any]]:
        """Events before number `before` as plain values, newest first; with their documents if requested."""
        with self._view() as data:
            return describe_events(data, limit, before, self._previous_in(data), documents=documents)

    def keep_measures(self, event: int, measures: dict[str, Any]) -> None:
        """Store the evaluation of the version after an event."""
        with self._writing() as data:
            data.execute("INSERT OR REPLACE INTO measures VALUES (?, ?)", (event, json.dumps(measures)))

    def measured(self, limit: int) -> list[dict[str, Any]]:
        """The evaluated versions, newest first: number, time and measures."""
        with self._view() as data:
            return describe_measures(data, limit)

    def setting(self, name: str) -> str | None:
        """A value stored by name beside the events, such as the Label Studio configuration."""
        with self._view() as data:
            return _setting(data, name)

    def keep_setting(self, name: str, value: str) -> None:
        """Store a value by name."""
        with self._writing() as data:
            data.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def note_file(self, sha256: str, event: int) -> None:
        """Record the last event of a model file before the file is put in place."""
        with self._writing() as data:
            data.execute("INSERT OR REPLACE INTO folds VALUES (?, ?)", (sha256, event))
            seal_file(data, sha256, event)
        self._last_file.add_file(sha256, event)

    def note_derived(self, before: str, after: str) -> None:
        """Record that a command derived a model file from another, so that it includes the same events."""
        event = self.event_of_file(before)
        if event is not None:
            self.keep_setting(DERIVED + after, before)
            self.note_file(after, event)

    def is_derived(self, sha256: str) -> bool:
        """Whether a command derived this model file from one that the service wrote."""
        return self.setting(DERIVED + sha256) is not None

    def event_of_file(self, sha256: str) -> int | None:
        """The last event of a model file; None for a file unknown to the record."""
        row = self._data.execute("SELECT event FROM folds WHERE sha256 = ?", (sha256,)).fetchone()
        return None if row is None else int(row[0])

    @property
    def empty(self) -> bool:
        """Whether the record belongs to no model file yet."""
        return self._data.execute("SELECT 1 FROM folds LIMIT 1").fetchone() is None

    def close(self) -> None:
        """Close the file and release the lock."""
        for connection in ("_data", "_reader"):
            if hasattr(self, connection):
                getattr(self, connection).close()
        self._lock.close()


def _setting(data: sqlite3.Connection, name: str) -> str | None:
    row = data.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _document(text: str, labels: str, source: str | None = None, undoes: int | None = None) -> Document:
    values: Sequence[Label] = json.loads(labels)
    return Document(text, tuple(values), source, undoes)


def _inverse(rows: Iterable[tuple[int, int, str, str]]) -> Change:
    """The documents of (root, sign, text, labels) with the opposite sign."""
    learn: list[Document] = []
    forget: list[Document] = []
    for root, sign, text, labels in rows:
        (forget if sign > 0 else learn).append(_document(text, labels, None, int(root)))
    return Change(tuple(learn), tuple(forget))


def _take_lock(path: Path) -> BinaryIO:
    """A lock beside the record, held until the process ends: only one service at a time may teach a model."""
    try:
        return open_lock(path, wait=False)
    except BlockingIOError as problem:
        raise UnnaiveError(
            f"another service is teaching the model of {path.name}; stop it, or start this one with --read-only"
        ) from problem
