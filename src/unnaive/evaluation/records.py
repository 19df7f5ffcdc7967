"""Records: one figure of one experiment each, written as a line of JSON the moment it is made.

A run that was interrupted finds its lines again and repeats nothing; the half line that a killed process leaves
behind is cut off before the next is written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from unnaive.errors import BadData

Key = tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """What was measured, on what, with what.

    `data` names the data and its fingerprint, `protocol` the kind of split ("random", "5 folds", "fixed"), `split`
    counts from 0, `train_size` is a share in % (random splits), `terms` the number of selected terms (None for all),
    `seconds` covers fitting and scoring. A measure that is not a number, or that a model cannot have, is null.
    """

    data: str
    protocol: str
    split: int
    seed: int
    model: str
    parameters: dict[str, Any]
    measure: str
    value: float | None
    seconds: float
    train_size: float | None = None
    terms: int | None = None
    n_train: int = 0
    n_test: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def trial(self) -> Key:
        """What this record belongs to: all records of one fitted model share it."""
        settings = json.dumps(self.parameters, sort_keys=True)
        size = None if self.train_size is None else float(self.train_size)
        return tuple(
            map(str, (self.data, self.protocol, self.split, self.seed, self.model, settings, size, self.terms))
        )

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True, allow_nan=False)


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import unnaive

    found = [("unnaive", unnaive.__version__), ("python", platform.python_version())]
    for name in ("numpy", "scipy", "scikit-learn"):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # vendored or frozen: the figure is still worth keeping
            continue
    return tuple(found)


def versions() -> dict[str, str]:
    """Of this package, Python and what the numbers depend on."""
    return dict(_versions())


class RecordFile:
    """A JSONL file of records that only grows; safe against a kill at any moment.

    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "run.jsonl")
    >>> file.append([Record("toy", "random", 0, 0, "multinomial", {}, "accuracy", 0.5, 0.1)])
    >>> [record.value for record in file.read()]
    [0.5]
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def read(self) -> Iterator[Record]:
        """The records so far; a last line without its end is left out."""
        if not self.path.exists():
            return
        whole, _ = self._whole_lines()
        for number, line in enumerate(whole.split("\n"), 1):
            if line.strip():
                yield self._record(line, number)

    def append(self, records: Iterable[Record]) -> None:
        """Write records in one go: either all of them are there after a kill, or what is cut off by the next append."""
        lines = "".join(record.to_json() + "\n" for record in records).encode()
        if not lines:
            return
        self._cut_half_line()
        with self.path.open("ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def _whole_lines(self) -> tuple[str, int]:
        """The text up to the last line end, and its length in bytes."""
        raw = self.path.read_bytes()
        end = raw.rfind(b"\n") + 1
        return raw[:end].decode("utf-8", errors="replace"), end

    def _cut_half_line(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            return
        _, end = self._whole_lines()
        if end < self.path.stat().st_size:
            os.truncate(self.path, end)

    def _record(self, line: str, number: int) -> Record:
        known = {one.name for one in fields(Record)}
        try:
            values = json.loads(line)
            return Record(**{name: value for name, value in values.items() if name in known})
        except (ValueError, TypeError, AttributeError) as problem:
            raise BadData(
                f"line {number} of {self.path} is no record of an experiment ({problem}); give another file to write to"
            ) from problem
