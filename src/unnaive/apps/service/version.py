"""A version of a served model: what was loaded or taught, with what answers need of it, made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Label
from unnaive.classifier.model_file import load_model
from unnaive.learning.fitted import FittedModel
from unnaive.text.backend import thread_count


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted model and the number of the last event in it; 0 for the model file as it was found."""

    fitted: FittedModel
    number: int

    @lazy_property
    def json_pieces(self) -> JsonPieces:
        """What answers repeat for every text."""
        return JsonPieces.of(self.fitted.classes, "probability" if self.fitted.probabilistic else "score")


def load_served(path: Path, *, mapped: bool) -> FittedModel:
    """The model of a file, looked at from end to end before the first request."""
    fitted = load_model(path, mapped=mapped)
    if fitted.file is not None:
        fitted.file.check()
    if fitted.token_rule is None:
        raise UnnaiveError(f"{path} was trained on counts, not on texts, and cannot be served")
    return fitted


def file_signature(path: Path) -> tuple[int, ...] | None:
    """What tells one state of a file from another without reading it; None where it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def make_version(fitted: FittedModel, number: int) -> Version:
    """A version that leaves half of the cores to the event loop, which reads and writes other requests meanwhile."""
    return Version(replace(fitted, n_jobs=max(1, thread_count(None) // 2)), number)


@dataclass(frozen=True)
class JsonPieces:
    """By class, the JSON that stands before a value: of the whole row, of its first class, and of one that follows."""

    heads: list[bytes]
    first: list[bytes]
    following: list[bytes]

    @classmethod
    def of(cls, classes: Sequence[Label], value_name: str) -> JsonPieces:
        """For all classes of a model.

        >>> pieces = JsonPieces.of(["spam"], "probability")
        >>> pieces.heads[0] + pieces.first[0] + b"0.5}]}"
        b'{"label":"spam","labels":["spam"],"classes":[{"label":"spam","probability":0.5}]}'
        """
        names = [orjson.dumps(one) for one in classes]
        first = [b'{"label":%b,"%b":' % (one, value_name.encode()) for one in names]
        heads = [b'{"label":%b,"labels":[%b],"classes":[' % (one, one) for one in names]
        return cls(heads, first, [b"}," + one for one in first])
