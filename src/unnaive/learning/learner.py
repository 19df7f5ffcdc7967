"""The interface of models that can be trained, and TrainingSpec: how to train one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from unnaive.base.settings import same_value
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.training_options import TRAINING_OPTIONS, TrainingOptions, calibration_name
from unnaive.learning.traits import Traits
from unnaive.linear.scorer import Scorer

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


class Learner(Protocol):
    """A model with its settings; its traits say whether it learns from counts or from documents."""

    traits: ClassVar[Traits]

    def check_settings(self) -> None:
        """Raise an error if a setting has the wrong type or is out of range."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""

    def changed_settings(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """The cost of training per class, beyond what is stored; see learning/class_limits.py."""

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Scorer:
        """For models that learn from counts: compute the scorer from sums over documents."""

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """For models that learn from documents: fit the scorer to X (n_docs, n_terms) and Y (n_docs, n_classes)."""

    def relearn(
        self, before: Learnt, places: NDArray[np.int64], X: Sparse, Y: Sparse, *, chosen_on: int | None = None,
        **same: Any,
    ) -> Learnt:  # fmt: skip
        """Retrain on these documents the models that were selected for `before` on `chosen_on` documents.

        Class i of `before` is column places[i] of Y, −1 if it is gone.
        """

    def adjust(
        self, before: Learnt, X: Sparse, Y: Sparse, *, sample_weight: Floats | None = None, gone: bool = False
    ) -> Learnt:
        """What it is after approximately learning or forgetting documents X with labels Y; an error for most models."""

    def shrink(
        self, fitted: FittedModel, limit: int, size: Callable[[FittedModel], int], bits: Sequence[int]
    ) -> tuple[FittedModel, int] | None:
        """A model of at most `limit` bytes by `size`, and the bits of its weights, for scorers of the model's own kind.

        bits  the widths to try before weights are left out; None: the scorer is linear, or cannot be made smaller
        """

    def shrink_alike(self, scorer: Scorer, small: Scorer, *, drop_terms: bool) -> tuple[Scorer, Ids] | None:
        """Another scorer of this kind made as small as `small`, and the ids of its terms; None as in `shrink`."""

    def check_recipe(self, recipe: dict[str, Any], n_classes: int) -> None:
        """Raise an error if the recipe of a model file (Provenance) cannot be one of this model."""


@dataclass(frozen=True, eq=False)
class TrainingSpec(TrainingOptions):
    """How to train a model: the model with its settings and the declared options, as set before the data is seen.

    `optimise` has costs as a dict of dicts, and `vectors` are WordVectors, where TextClassifier also takes paths.
    """

    model: Learner
    vector_keys: tuple[tuple[str, int], ...] = field(default=(), kw_only=True)  # vector fields, during training

    @classmethod
    def from_dict(cls, model: Learner, stored: Mapping[str, Any], **others: Any) -> Self:
        """The inverse of `to_dict`; options that the file does not have get their defaults."""
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
        return cls(model, **cast("dict[str, Any]", values), **others)

    def to_dict(self) -> dict[str, Any]:
        """The options that a model file stores among others; decision and vectors have a place of their own."""
        return {name: getattr(self, name) for name, declared in TRAINING_OPTIONS.items() if declared.stored != "no"}

    def parameters(self) -> dict[str, Any]:
        """The options by name, as TextClassifier takes them."""
        return {name: getattr(self, name) for name in TRAINING_OPTIONS}

    def changed_options(self) -> dict[str, Any]:
        """The stored options that differ from their defaults."""
        return {
            name: value
            for name, value in self.to_dict().items()
            if not same_value(value, TRAINING_OPTIONS[name].default)
        }

    @property
    def calibration(self) -> str | None:
        """The name of the calibration to fit; None for none."""
        return calibration_name(self.calibrate, self.optimise)
