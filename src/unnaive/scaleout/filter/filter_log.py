"""FilterRecord: which shards of a folder are done, and their results, so that a killed run can continue."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from unnaive.base.atomic_files import remove_leftovers
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

    def __init__(self, folder: Path, settings: dict[str, Any], jobs: Sequence[ShardJob]) -> None:
        self.folder = folder
        self._journal = Journal(folder / RECORD_NAME, KIND)
        self._shards, self._begun, before = _read_shards(self._write(self._journal.read))
        _check_targets(jobs, self._shards, self._begun)
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
        row = None if job.name in self._begun else self._shards.get(job.name)
        if row is None or row["source"] != describe_source(job) or row["size"] != _target_size(job):
            return None
        return FilterTally.from_dict(row["tally"])

    def begin(self, job: ShardJob) -> None:
        """Record that the shard's output is about to be written, so that a later run may replace it."""
        self._write(lambda: self._journal.append([{"begun": job.name}]))
        self._begun.add(job.name)

    def note(self, job: ShardJob, source: str, tally: FilterTally) -> None:
        """Record a finished shard; `source` describes its source before it was read."""
        row = {"shard": job.name, "source": source, "size": _target_size(job), "tally": tally.to_dict()}
        self._write(lambda: self._journal.append([row]))
        self._shards[job.name] = row
        self._begun.discard(job.name)

    def find_others(self, jobs: Sequence[ShardJob]) -> list[Path]:
        """Outputs of earlier runs whose shards are not in the input now."""
        others = self._shards.keys() - {job.name for job in jobs}
        return sorted(path for path in map(self.folder.joinpath, others) if path.is_file())


def _read_shards(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], set[str], dict[str, Any] | None]:
    """(finished shards, shards whose output was begun and not finished, the settings) of a journal."""
    finished: dict[str, dict[str, Any]] = {}
    begun: set[str] = set()
    settings = None
    for row in rows:
        if "settings" in row:
            settings = row["settings"]
        elif "begun" in row:
            begun.add(row["begun"])
        else:
            finished[row["shard"]] = row
            begun.discard(row["shard"])
    return finished, begun, settings


def _check_targets(jobs: Sequence[ShardJob], finished: Mapping[str, dict[str, Any]], begun: Collection[str]) -> None:
    """Raise an error if a file that no filter has written, or that was changed since, would be overwritten."""
    for job in jobs:
        size = _target_size(job)
        if size is None or job.name in begun:
            continue
        if job.name not in finished:
            raise UnnaiveError(
                f"{job.target} exists and was not written by a filter; name another folder, or remove the file"
            )
        if finished[job.name]["size"] != size:
            raise UnnaiveError(
                f"{job.target} was changed after it was filtered; remove it to filter it again, or name another folder"
            )


@contextmanager
def open_filter_record(folder: Path, settings: dict[str, Any], jobs: Sequence[ShardJob]) -> Iterator[FilterRecord]:
    """The record of a folder, created if needed; an error if another run is writing into it."""
    if not (folder / RECORD_NAME).exists():  # before the lock and the record are made
        _check_targets(jobs, {}, ())
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        record = FilterRecord(folder, settings, jobs)
        remove_leftovers(*(job.target for job in jobs if job.target is not None))
        yield record


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
