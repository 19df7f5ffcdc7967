"""FilterRecord: which shards of a folder are done, and their results, so that a killed run can continue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from unnaive.base.damage import RecordKind
from unnaive.base.errors import UnnaiveError
from unnaive.base.journal import Journal
from unnaive.base.system import open_lock
from unnaive.scaleout.filter.filter_tally import FilterTally
from unnaive.scaleout.filter.shards import ShardJob

T = TypeVar("T")

RECORD_NAME = ".unnaive-filter.journal"
KIND = RecordKind("a record of filtered shards", "the input is as it was", "name another folder, or remove it")


class FilterRecord:
    """The record in an output folder. A shard is recorded once it is complete; others are filtered again."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        self._journal = Journal(folder / RECORD_NAME, KIND)
        self._shards: dict[str, dict[str, Any]] = {}
        before = None
        for row in self._write(self._journal.read):
            if "settings" in row:
                before = row["settings"]
            else:
                self._shards[row["shard"]] = row
        if not self._shards:  # so any settings may be used
            self._write(lambda: self._journal.append([{"settings": settings}]))
            return
        for name, value in json.loads(json.dumps(settings)).items():
            if before is None or before.get(name) != value:
                # a threshold is stored as log-odds or as a score, which the user has never seen
                stored = None if before is None else before.get(name)
                values = "" if name == "threshold" else f" (before: {_short(stored)}, now: {_short(value)})"
                raise UnnaiveError(
                    f"the shards in {folder} were filtered with another {name}{values}; name another folder, or remove "
                    "it"
                )

    def _write(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except OSError as problem:
            raise UnnaiveError(
                f"the record of the filtered shards cannot be written to {self.folder} ({problem.strerror}); make the "
                "folder writable and free some space, or name another"
            ) from problem

    def find(self, job: ShardJob) -> FilterTally | None:
        """The result of a finished shard; None if it is not finished, or its source or its target has changed."""
        row = self._shards.get(job.name)
        if row is None or row["source"] != describe_source(job) or row["size"] != _target_size(job):
            return None
        return FilterTally.from_dict(row["tally"])

    def note(self, job: ShardJob, source: str, tally: FilterTally) -> None:
        """Record a finished shard; `source` describes its source before it was read."""
        row = {"shard": job.name, "source": source, "size": _target_size(job), "tally": tally.to_dict()}
        self._write(lambda: self._journal.append([row]))
        self._shards[job.name] = row


@contextmanager
def open_filter_record(folder: Path, settings: dict[str, Any]) -> Iterator[FilterRecord]:
    """The record of a folder, created if needed; an error if another run is writing into it."""
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        yield FilterRecord(folder, settings)


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


def _target_size(job: ShardJob) -> int | None:
    """The size of the shard's output; None if it does not exist, -1 if it goes to stdout."""
    if job.target is None:
        return -1
    return job.target.stat().st_size if job.target.is_file() else None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "the default" if value is None else json.dumps(value)
    return text if len(text) <= 20 else text[:12] + "…"
