"""Which versions a rollback can go to: the model file that each belongs to, and what cannot be taken back.

Every event belongs to a base, the model file that documents were taught to: 0 at first, a new number each time that
another file takes over. A version of the base that is served is restored by taking documents back, one of the base
before by its file, which the service keeps.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

PREVIOUS = "previous"  # the setting that says what the file of the base before is


@dataclass(frozen=True)
class PreviousFile:
    """The file of the base before: its hash, its base, and up to which event it goes."""

    sha256: str
    base: int
    event: int

    def to_json(self) -> str:
        """For the record."""
        return json.dumps([self.sha256, self.base, self.event])


def read_previous(words: str | None) -> PreviousFile | None:
    """The inverse of `to_json`; None for None."""
    return None if words is None else PreviousFile(*json.loads(words))


def base_at(data: sqlite3.Connection, event: int) -> int:
    """The base that the version after an event belongs to."""
    row = data.execute(
        "SELECT json_extract(answer, '$.base') FROM events WHERE id <= ? AND json_extract(answer, '$.base') NOT NULL"
        " ORDER BY id DESC LIMIT 1",
        (event,),
    ).fetchone()
    return 0 if row is None else int(row[0])


def next_base(data: sqlite3.Connection) -> int:
    """The number of a base that there was not before."""
    row = data.execute("SELECT coalesce(max(json_extract(answer, '$.base')), 0) FROM events").fetchone()
    return int(row[0]) + 1


def find_barrier(data: sqlite3.Connection, event: int, previous: PreviousFile | None) -> tuple[int, str] | None:
    """The event that keeps a rollback from going back to the version after `event`, and why; None for none.

    loss    events are missing from the record
    rebase  another model file took over, and the one of before is not kept
    tuning  what was tuned on held-out documents ended
    """
    lost = data.execute("SELECT min(id) FROM events WHERE kind = 'loss' AND id > ?", (event,)).fetchone()[0]
    if lost is not None:
        return int(lost), "loss"
    base, now = base_at(data, event), base_at(data, _last(data))
    kept = previous is not None and previous.base == base and previous.event >= event
    if base != now and not kept:
        other = "SELECT min(id) FROM events WHERE id > ? AND json_extract(answer, '$.base') NOT NULL"
        return int(data.execute(other, (event,)).fetchone()[0]), "rebase"
    until = previous.event if base != now and previous is not None else _last(data)
    rows: list[Any] = data.execute(
        "SELECT id FROM events WHERE id > ? AND id <= ? AND json_extract(answer, '$.tuning_lost') ORDER BY id",
        (event, until),
    ).fetchall()
    return next(((int(number), "tuning") for (number,) in rows if base_at(data, number) == base), None)


def _last(data: sqlite3.Connection) -> int:
    return int(data.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])
