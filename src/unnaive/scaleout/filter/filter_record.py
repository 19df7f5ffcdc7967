"""FilterRecord: which shards of a folder are done, and their results, so that a killed run can continue."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.sqlite_files import connect_durable, transaction
from unnaive.base.system import open_lock
from unnaive.scaleout.filter.shards import ShardJob
from unnaive.scaleout.filter.tally import FilterTally

RECORD_NAME = ".unnaive-filter.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shards (name TEXT PRIMARY KEY, source TEXT NOT NULL, tally TEXT NOT NULL);
"""


class FilterRecord:
    """The record in an output folder. A shard is recorded once it is complete; others are filtered again."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        try:
            self._data = connect_durable(folder / RECORD_NAME)
            self._data.executescript(SCHEMA)
            before = self._stored_settings()
            if before is None:
                with transaction(self._data):
                    self._data.execute("DELETE FROM settings")
                    self._data.execute("INSERT INTO settings VALUES (?)", (json.dumps(settings),))
                return
        except sqlite3.OperationalError as problem:
            raise UnnaiveError(
                f"the record of the filtered shards cannot be written to {folder} ({problem}); make the folder "
                "writable and free some space, or name another"
            ) from problem
        except (sqlite3.Error, ValueError) as problem:
            raise UnnaiveError(
                f"the record of the filtered shards in {folder} cannot be used ({problem}); name another "
                "folder, or remove it"
            ) from problem
        for name, value in settings.items():
            if before.get(name) != value:
                # a threshold is stored as log-odds or as a score, which the user has never seen
                values = "" if name == "threshold" else f" (before: {_short(before.get(name))}, now: {_short(value)})"
                raise UnnaiveError(
                    f"the shards in {folder} were filtered with another {name}{values}; name another folder, or remove "
                    "it"
                )

    def _stored_settings(self) -> dict[str, Any] | None:
        """The settings of the finished shards; None if no shard is finished, so that any settings may be used."""
        if self._data.execute("SELECT name FROM shards LIMIT 1").fetchone() is None:
            return None
        stored = self._data.execute("SELECT value FROM settings").fetchone()
        return None if stored is None else dict(json.loads(stored[0]))

    def find(self, job: ShardJob) -> FilterTally | None:
        """The result of a finished shard; None if it is not finished, or its source has changed."""
        row = self._data.execute("SELECT source, tally FROM shards WHERE name = ?", (job.name,)).fetchone()
        if row is None or row[0] != describe_source(job) or job.target is None or not job.target.is_file():
            return None
        return FilterTally.from_dict(json.loads(row[1]))

    def note(self, job: ShardJob, source: str, tally: FilterTally) -> None:
        """Record a finished shard; `source` describes its source before it was read."""
        with transaction(self._data):
            values = (job.name, source, json.dumps(tally.to_dict()))
            self._data.execute("INSERT OR REPLACE INTO shards VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Close the file."""
        self._data.close()


@contextmanager
def open_filter_record(folder: Path, settings: dict[str, Any]) -> Iterator[FilterRecord]:
    """The record of a folder, created if needed; an error if another run is writing into it."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        record = FilterRecord(folder, settings)
        try:
            yield record
        finally:
            record.close()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The lock of the record; on file systems without locks, two runs are not kept apart."""
    try:
        lock = open_lock(folder / RECORD_NAME, wait=False)
    except BlockingIOError:
        raise UnnaiveError(f"another run is writing into {folder}; wait for it, or name another folder") from None
    except OSError:
        yield
        return
    with lock:
        yield


def describe_source(job: ShardJob) -> str:
    """Size and modification time of a file, by which a change is detected."""
    about = Path(job.source).stat()
    return f"{about.st_size} {about.st_mtime_ns}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "the default" if value is None else json.dumps(value)
    return text if len(text) <= 20 else text[:12] + "…"
