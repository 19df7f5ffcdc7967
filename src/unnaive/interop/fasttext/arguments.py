"""The training arguments of a model by fastText's names: of its file, of its training, or fastText's defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any, Self

from unnaive.base.errors import BadModel
from unnaive.data.source_section import SourceSection
from unnaive.learning.fitted import FittedModel
from unnaive.models.fasttext.binary_file import KINDS, LARGEST_DIM, FastTextFile

SECTION = "fasttext"  # key of the arguments in the source section of a model that train_supervised trained


class loss_name(Enum):  # fastText's name
    """The losses of fastText."""

    hs = 1
    ns = 2
    softmax = 3
    ova = 4


class model_name(Enum):  # fastText's name
    """The kinds of models of fastText."""

    cbow = 1
    skipgram = 2
    supervised = 3


@dataclass(frozen=True)
class Arguments:
    """The arguments that fastText's models show as attributes, with the defaults of `train_supervised`."""

    lr: float = 0.1
    dim: int = 100
    ws: int = 5
    epoch: int = 5
    minCount: int = 1
    minCountLabel: int = 0
    minn: int = 0
    maxn: int = 0
    neg: int = 5
    wordNgrams: int = 1
    loss: loss_name = loss_name.softmax
    model: model_name = model_name.supervised
    bucket: int = 2_000_000
    thread: int = max(1, (os.cpu_count() or 1) - 1)
    lrUpdateRate: int = 100
    t: float = 1e-4
    label: str = "__label__"
    verbose: int = 2
    pretrainedVectors: str = ""

    @classmethod
    def given(cls, arguments: Mapping[str, Any]) -> Self:
        """The arguments of a call of `train_supervised`, which has more."""
        known = {name: arguments[name] for name in NAMES if arguments.get(name) is not None}
        known |= {"loss": loss_name[arguments["loss"]], "pretrainedVectors": str(known["pretrainedVectors"])}
        if known["wordNgrams"] <= 1 and known["maxn"] == 0:
            known["bucket"] = 0  # as fastText does, since no n-gram is hashed
        return cls(**known)

    @classmethod
    def of_file(cls, file: FastTextFile) -> Self:
        """The arguments in a file of fastText; those that it lacks, such as lr, have fastText's defaults."""
        settings: dict[str, Any] = {name: value for name, value in file.settings.items() if name in NAMES}
        settings |= {"loss": loss_name[file.loss], "model": model_name[KINDS[file.settings["model"]]]}
        return cls(**settings)

    @classmethod
    def of_model(cls, fitted: FittedModel) -> Self:
        """The arguments that a model of this package was trained with, as far as it has them."""
        stored = _stored(fitted)
        if stored is not None:
            return cls(**(stored | {"loss": loss_name[stored["loss"]]}))
        rule = fitted.token_rule
        grams = (0, 0) if rule is None or rule.analyzer == "word" else rule.char_ngrams
        return cls(
            dim=len(fitted.classes), minn=grams[0], maxn=grams[1], bucket=0,
            wordNgrams=1 if rule is None else rule.ngrams[1],
            loss=loss_name.ova if fitted.target_type != "single" else loss_name.softmax,
        )  # fmt: skip

    def to_section(self) -> SourceSection:
        """What a model file keeps of them."""
        plain = asdict(self) | {"loss": self.loss.name}
        del plain["model"]
        return SourceSection.of({SECTION: plain})


NAMES = tuple(field.name for field in fields(Arguments))


def _stored(fitted: FittedModel) -> dict[str, Any] | None:
    """What `to_section` wrote into a model; None if another entrance trained it, an error if it is damaged."""
    stored = None if fitted.source is None else fitted.source.content().get(SECTION)
    if stored is None:
        return None
    usual = asdict(Arguments()) | {"loss": ""}
    del usual["model"]
    sound = isinstance(stored, dict) and set(stored) == set(usual) and stored["loss"] in list(loss_name.__members__)
    sound = sound and all(_fits(stored[name], usual[name]) for name in usual)
    if not sound or not 1 <= stored["dim"] <= LARGEST_DIM:
        raise BadModel("the arguments of train_supervised in this model are damaged; train it again")
    return dict(stored)


def _fits(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) or (isinstance(usual, float) and type(value) is int)
