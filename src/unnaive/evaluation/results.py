"""Records: one measured value of an experiment each, written to a journal immediately.

An interrupted run finds its records again and repeats nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.damage import RecordKind
from unnaive.base.journal import Journal

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

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, by name."""
        return dict(sorted(asdict(self).items()))


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


KIND = RecordKind(
    "a record of experiments",
    "experiments in other files are as they were",
    "restore the file from a copy, or name a new one",
)


class RecordFile:
    """The journal of an experiment; several runs may share it, and a kill at any moment loses no complete record.

    >>> import tempfile
    >>> file = RecordFile(Path(tempfile.mkdtemp()) / "run.jsonl")
    >>> file.append([Record("toy", "random", 0, 0, "multinomial", {}, "accuracy", 0.5, 0.1)])
    >>> [record.value for record in file.read()]
    [0.5]
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._journal = Journal(self.path, KIND)

    def read(self) -> Iterator[Record]:
        """The records so far."""
        names = {field_.name for field_ in fields(Record)}
        for number, values in enumerate(self._journal.read(), 1):
            try:
                yield Record(**{name: value for name, value in values.items() if name in names})
            except TypeError as problem:
                raise KIND.damage(self.path, f"line {number} has other values") from problem

    def append(self, records: Iterable[Record]) -> None:
        """Write records, which are on disk when this returns."""
        self._journal.append(record.to_dict() for record in records)
