"""Records: one measured value of an experiment each, written as a line of JSON immediately.

An interrupted run finds its records again and repeats nothing; an incomplete line of a killed process is removed before
the next is written. Several runs may share a file: their writes are serialised.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.system import lock_file

RecordKey = tuple[str, ...]


@dataclass(frozen=True)
class Record:
    """One measured value: the data and split, the model with its settings, the measure and its value.

    `data` is the name and fingerprint of the data, `protocol` the kind of split ("random", "5 folds", "fixed"), `split`
    counts from 0, `train_size` is a share in % (random splits), `terms` the number of selected terms (None for all),
    `min_df` the minimum number of training documents of a term, `n_terms` the number of terms used, `seconds` the time
    of fitting and scoring. `train_seconds` are processor seconds of counting the training texts and fitting, `n_bytes`
    the size of the model's file without the data for updates; both are 0 if they were not measured. A measure that is
    NaN or not available is null. `right` has a bit for each test document with all labels right, as hexadecimal digits;
    empty without decisions.
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
    min_df: int = 1
    n_train: int = 0
    n_test: int = 0
    n_terms: int = 0
    train_seconds: float = 0.0
    n_bytes: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    right: str = ""

    def right_documents(self) -> NDArray[np.bool_]:
        """Which test documents have all labels right, in the order of the split (n_test,)."""
        return np.unpackbits(np.frombuffer(bytes.fromhex(self.right), np.uint8), count=self.n_test).astype(np.bool_)

    @property
    def contender(self) -> str:
        """The model with its settings, as named in results."""
        return contender_name(self.model, self.parameters)

    @property
    def trial(self) -> RecordKey:
        """Data, split, model and sizes: the key shared by all records of one fitted model."""
        settings = json.dumps(self.parameters, sort_keys=True)
        size = None if self.train_size is None else float(self.train_size)
        key = (self.data, self.protocol, self.split, self.seed, self.model, settings, size, self.terms, self.min_df)
        return tuple(map(str, key))

    def to_json(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True, allow_nan=False)


def contender_name(model: str, settings: Mapping[str, Any]) -> str:
    """The model and its settings, on one line.

    >>> contender_name("multinomial", {"alpha": 0.1})
    'multinomial alpha=0.1'
    """
    return " ".join([model, *(f"{key}={value}" for key, value in sorted(settings.items()))])


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import unnaive

    packages = [("unnaive", unnaive.__version__), ("python", platform.python_version())]
    for name in ("numpy", "scipy", "scikit-learn"):
        try:
            packages.append((name, version(name)))
        except PackageNotFoundError:  # vendored or frozen packages have no metadata
            continue
    return tuple(packages)


def versions() -> dict[str, str]:
    """The versions of this package, of Python and of the packages that affect results."""
    return dict(_versions())


def _cut_half_line(file: BinaryIO) -> None:
    """Truncate the file after its last line end."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(size - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


class RecordFile:
    """An append-only JSONL file of records; safe against a kill at any moment.

    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "run.jsonl")
    >>> file.append([Record("toy", "random", 0, 0, "multinomial", {}, "accuracy", 0.5, 0.1)])
    >>> [record.value for record in file.read()]
    [0.5]
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def read(self) -> Iterator[Record]:
        """The records so far; an incomplete last line is ignored."""
        if not self.path.exists():
            return
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1].decode("utf-8", errors="replace")
        for number, line in enumerate(whole.split("\n"), 1):
            if line.strip():
                yield self._record(line, number)

    def append(self, records: Iterable[Record]) -> None:
        """Write records at once; after a kill either all are there, or the next append removes the incomplete part."""
        lines = "".join(record.to_json() + "\n" for record in records).encode()
        if not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("a+b") as file:
                lock_file(file.fileno())  # closing the file releases it
                _cut_half_line(file)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:  # such as a full disk, of which the system does not say which file it was
            raise OSError(problem.errno, problem.strerror, str(self.path)) from problem

    def _record(self, line: str, number: int) -> Record:
        names = {field_.name for field_ in fields(Record)}
        try:
            values = json.loads(line)
            return Record(**{name: value for name, value in values.items() if name in names})
        except (ValueError, TypeError, AttributeError) as problem:
            raise BadData(
                f"line {number} of {self.path} is not a record of an experiment ({problem}); name a file made by"
                " unnaive compare, or a new one"
            ) from problem
