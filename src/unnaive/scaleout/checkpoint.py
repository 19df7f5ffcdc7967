"""A folder from which interrupted counting continues: the runs so far, and the number of rows in them.

Runs are written and flushed first, then a journal gets a line that names them. So at any moment, also after kill -9,
the folder represents the documents up to some batch. Everything in it has a checksum: damaged files are refused before
counting continues.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive import __version__
from unnaive.base.damage import RecordKind
from unnaive.base.errors import UnnaiveError
from unnaive.base.journal import Journal
from unnaive.base.system import flush_folder
from unnaive.data.accumulator import Accumulator
from unnaive.data.run_folders import open_run
from unnaive.io.datafiles import DataFile
from unnaive.text.tokens import TokenRule

STATE = "checkpoint.jsonl"
FORMAT = 3
KIND = RecordKind("a checkpoint", "the data are as they were", "remove the folder to start again")
EVERY = 256 << 20  # bytes of text between two checkpoints


@dataclass(frozen=True)
class Checkpoint:
    """The record of a counting run; `fingerprint` identifies the data and how it is read."""

    folder: Path
    fingerprint: dict[str, Any]
    every: int = EVERY

    def open(self, counter: Accumulator) -> int:
        """Let the counter continue from the folder, if there is a checkpoint; returns the number of counted rows."""
        self._check_folder()
        state = self._read()
        if state is None:
            counter.remove_stale_runs()
            return 0
        self._check_same(state)
        try:
            counter.restore(state["counter"])
            for name in counter.runs:
                open_run(self.folder / name)
            rows = int(state["rows"])
        except (LookupError, TypeError, ValueError) as problem:
            raise KIND.damage(self.folder, str(problem).partition("; ")[0]) from problem
        counter.remove_stale_runs()
        return rows

    def _read(self) -> dict[str, Any] | None:
        """The last checkpoint; None if there is none."""
        states = self._journal.read()
        return states[-1] if states else None

    @property
    def _journal(self) -> Journal:
        return Journal(self.folder / STATE, KIND)

    def save(self, counter: Accumulator, rows: int) -> None:
        """Record that `rows` rows are counted; the counter's sums in memory go to disk."""
        counter.write_run()
        state = {"format": FORMAT, "of": self.fingerprint, "rows": rows, "counter": counter.state()}
        self._journal.append([state])
        counter.remove_stale_runs()

    def remove(self, counter: Accumulator) -> None:
        """Remove the checkpoint: the work is done."""
        (self.folder / STATE).unlink(missing_ok=True)
        counter.runs = []
        counter.remove_stale_runs()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _check_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            strange = sorted(path.name for path in self.folder.iterdir() if not _is_ours(path.name))
        except OSError as problem:
            raise UnnaiveError(
                f"--set checkpoint={self.folder} cannot be used as a folder ({problem.strerror}); name another"
            ) from problem
        if strange:
            raise UnnaiveError(
                f"--set checkpoint={self.folder} has {strange[0]} in it, which is not part of a checkpoint; name "
                "an empty folder"
            )
        flush_folder(self.folder)

    def _check_same(self, state: dict[str, Any]) -> None:
        if state.get("format") != FORMAT:
            raise UnnaiveError(
                f"the checkpoint in {self.folder} was written by another version of unnaive; remove the folder "
                "to start again"
            )
        now = json.loads(json.dumps(self.fingerprint))
        other = next((name for name in now if state["of"].get(name) != now[name]), None)
        if other is not None:
            raise UnnaiveError(
                f"the checkpoint in {self.folder} was written by another run ({other} differ); remove the "
                "folder to start again, or name another one"
            )


def _is_ours(name: str) -> bool:
    return name == STATE or name.startswith("run-")


def fingerprint(source: DataFile, rule: TokenRule) -> dict[str, Any]:
    """Identifies whether a checkpoint or a cache belongs to the same data, read in the same way."""
    once = source.read_once()
    if once is not None:
        raise UnnaiveError(f"{once} cannot be read twice, so it cannot have a checkpoint or cache; name a file")
    states = [(file, file.stat()) for file in source.opened_files()]
    return {
        "files": [[str(file), state.st_size, state.st_mtime_ns, state.st_ino] for file, state in states],
        "columns or reading options": source.how_to_read(),
        "tokeniser options": rule.to_dict(),
        "versions of unnaive": __version__,
    }
