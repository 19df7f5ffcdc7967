"""A journal: a file to which lines are only appended, each a JSON object with a checksum.

It records unfinished work, so that an interrupted command continues. An incomplete last line was being written when a
process was stopped: it is left out with a warning, and the next line replaces it. Any other line that is not what was
written is an error that names file and line; what was read before it is never taken for the whole.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from unnaive.base.damage import RecordKind
from unnaive.base.errors import UnnaiveWarning
from unnaive.base.sealed_json import read_sealed, seal_json
from unnaive.base.system import flush_folder, lock_file


class Journal:
    """A journal of one kind of record; several processes may append to it.

    >>> import tempfile
    >>> kind = RecordKind("a record of steps", "its results are as they were", "remove it to start again")
    >>> journal = Journal(Path(tempfile.mkdtemp()) / "steps.jsonl", kind)
    >>> journal.append([{"step": 1}])
    >>> journal.append([{"step": 2}])
    >>> journal.read()
    [{'step': 1}, {'step': 2}]
    """

    def __init__(self, path: Path, kind: RecordKind) -> None:
        self.path, self.kind = path, kind

    def read(self) -> list[dict[str, Any]]:
        """The content of all lines; empty if there is no file."""
        try:
            with self.path.open("rb") as file:
                with suppress(OSError):  # a file system without locks
                    lock_file(file.fileno())  # so that no line is half written
                raw = file.read()
        except FileNotFoundError:
            return []
        lines, rest = split_lines(raw)
        if rest:
            warnings.warn(
                f"the last line of {self.path} is incomplete and left out; a process was stopped while it was written",
                UnnaiveWarning,
                stacklevel=3,
            )
        return [self._parse(line, number) for number, line in enumerate(lines, 1)]

    def append(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows that are on disk when this returns; after a kill, complete ones are kept."""
        lines = b"".join(seal_json(row) + b"\n" for row in rows)
        if not lines:
            return
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("a+b") as file:
                lock_file(file.fileno())  # closing the file releases it
                file.write(_end_last_line(file) + lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:  # such as a full disk, of which the system does not say which file it was
            raise OSError(problem.errno, problem.strerror, str(self.path)) from problem
        if is_new:
            flush_folder(self.path.parent)

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            return read_sealed(line)
        except (ValueError, RecursionError):
            raise self.kind.damage(self.path, f"line {number} is not what was written") from None


def split_lines(raw: bytes) -> tuple[list[bytes], bytes]:
    """(complete lines, the incomplete last line, which may be empty).

    A last line whose checksum is right is complete, even if only its line end is missing.
    """
    *lines, rest = raw.split(b"\n")
    if rest and _is_sealed(rest):
        return [*lines, rest], b""
    return lines, rest


def _is_sealed(line: bytes) -> bool:
    try:
        read_sealed(line)
    except (ValueError, RecursionError):
        return False
    return True


def _end_last_line(file: BinaryIO) -> bytes:
    """Cut an incomplete last line; returns the line end that a complete one lacks."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return b""
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return b""
    file.seek(0)
    raw = file.read()
    _, rest = split_lines(raw)
    if not rest:
        return b"\n"
    file.truncate(len(raw) - len(rest))
    return b""
