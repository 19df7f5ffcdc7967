"""A version of a served model, with cached values that answers need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Label
from unnaive.classifier.model_file import load_model
from unnaive.learning.fitted import FittedModel

ID_LENGTH = 16  # hexadecimal digits of the id of a version


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted model.

    number  the last event that it includes, for display: 0 for the original model file
    id      identifies the version everywhere and for good: the beginning of the SHA-256 of its file or, if it was
            taught here, of the hash of its events
    """

    fitted: FittedModel
    number: int
    id: str = ""

    @lazy_property
    def json_pieces(self) -> JsonPieces:
        """The parts of answers that are the same for every text."""
        return JsonPieces.of(self.fitted.classes, self.fitted.value_name)


def load_served(path: Path, *, mapped: bool) -> FittedModel:
    """Load and fully check a model file before the first request."""
    fitted = load_model(path, mapped=mapped)
    if fitted.file is not None:
        fitted.file.check()
    if fitted.token_rule is None:
        raise UnnaiveError(f"{path} was trained on counts, not on texts, and cannot be served")
    return fitted


def make_version(fitted: FittedModel, number: int, digest: str) -> Version:
    """A version that uses half of the cores, leaving the others to the event loop."""
    return Version(replace(fitted, n_jobs=max(1, thread_count(None) // 2)), number, digest[:ID_LENGTH])


@dataclass(frozen=True)
class JsonPieces:
    """The constant JSON of each class, before a value.

    heads      the start of a result up to the value of its label, if the class is the label
    first      the start of the list of classes, with the class as the first
    following  the class as a later one in the list
    """

    heads: list[bytes]
    first: list[bytes]
    following: list[bytes]

    @classmethod
    def of(cls, classes: Sequence[Label], value_name: str) -> JsonPieces:
        """The parts for all classes of a model.

        >>> pieces = JsonPieces.of(["spam"], "probability")
        >>> pieces.heads[0] + b"0.5" + pieces.first[0] + b"0.5}]}"
        b'{"label":"spam","labels":["spam"],"probability":0.5,"classes":[{"label":"spam","probability":0.5}]}'
        """
        names = [orjson.dumps(name) for name in classes]
        value = value_name.encode()
        pairs = [b'{"label":%b,"%b":' % (name, value) for name in names]
        heads = [b'{"label":%b,"labels":[%b],"%b":' % (name, name, value) for name in names]
        return cls(heads, [b',"classes":[' + pair for pair in pairs], [b"}," + pair for pair in pairs])
