"""Which versions a rollback can restore: the model file that each belongs to, and what cannot be undone.

Every event belongs to a base, the model file that was taught: 0 at first, and a new number whenever another file is
loaded. A version of the current base is restored by undoing events; a version of the previous base is restored from its
file, which the service keeps.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

PREVIOUS = "previous"  # the setting that describes the file of the previous base


@dataclass(frozen=True)
class PreviousFile:
    """The file of the previous base: its hash, its base, and its last event."""

    sha256: str
    base: int
    event: int

    def to_json(self) -> str:
        """Serialise for the record."""
        return json.dumps([self.sha256, self.base, self.event])


def read_previous(words: str | None) -> PreviousFile | None:
    """Parse the result of `to_json`; None for None."""
    return None if words is None else PreviousFile(*json.loads(words))


@dataclass(frozen=True)
class VersionMap:
    """The events as rollbacks need them: where bases begin, and which events lost something."""

    last: int
    bases: tuple[tuple[int, int], ...]  # (event, base) in the order of events
    losses: tuple[int, ...]
    tunings: tuple[int, ...]

    def base_at(self, event: int) -> int:
        """The base of the version after an event.

        >>> versions = VersionMap(9, ((3, 1), (7, 0)), (), ())
        >>> [versions.base_at(event) for event in (2, 3, 6, 7)]
        [0, 1, 1, 0]
        """
        return next((base for begin, base in reversed(self.bases) if begin <= event), 0)

    @property
    def base(self) -> int:
        """The current base."""
        return self.base_at(self.last)

    @property
    def next_base(self) -> int:
        """The next unused base number."""
        return max((base for _, base in self.bases), default=0) + 1

    def barrier(self, event: int, previous: PreviousFile | None) -> tuple[int, str] | None:
        """The event that prevents a rollback to the version after `event`, and why; None if there is none.

        loss    events are missing from the record
        rebase  another model file was loaded, and the previous one is not kept
        tuning  a calibration or decision tuned on held-out documents was dropped
        """
        lost = next((number for number in self.losses if number > event), None)
        if lost is not None:
            return lost, "loss"
        base, until = self.base_at(event), self.last
        if base != self.base:
            if previous is None or previous.base != base or previous.event < event:
                return next(begin for begin, _ in self.bases if begin > event), "rebase"
            until = previous.event
        ended = [number for number in self.tunings if event < number <= until and self.base_at(number) == base]
        return (ended[0], "tuning") if ended else None


def read_version_map(data: sqlite3.Connection) -> VersionMap:
    """Read the map of all events of a record."""
    rows = data.execute(
        "SELECT id, kind = 'loss', json_extract(answer, '$.base'), json_extract(answer, '$.tuning_lost') FROM events"
        " ORDER BY id"
    ).fetchall()
    return VersionMap(
        rows[-1][0] if rows else 0,
        tuple((number, base) for number, _, base, _ in rows if base is not None),
        tuple(number for number, lost, _, _ in rows if lost),
        tuple(number for number, _, _, ended in rows if ended),
    )
