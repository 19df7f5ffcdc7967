"""The interface of models that can be trained, and TrainingSpec: how to train one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.word_vectors import WordVectors
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.training_options import DOCUMENTS_LIMIT
from unnaive.learning.traits import Traits
from unnaive.linear.scorer import Scorer
from unnaive.text.token_rule import TokenRule


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

    def expected_work(self, size: DataSize, token_rule: TokenRule | None) -> tuple[float, float]:
        """Estimated seconds of sorting the documents, and of all training; 0 if unknown."""

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

    def check_recipe(self, recipe: dict[str, Any], n_classes: int) -> None:
        """Raise an error if the recipe of a model file (Provenance) cannot be one of this model."""


@dataclass(frozen=True, eq=False)
class TrainingSpec:
    """How to train a model: everything that is set before the data is seen.

    model         the model with its settings
    min_df        minimum number of documents that a term occurs in
    select        keep the best terms: a number, by information gain, or a pair (measure, number)
    decision      "argmax", "best", "scut", "rcut", "pcut", a Decision, or None for the default of the target type
    calibrate     "temperature" (or True), "platt", "isotonic": fitted on held-out scores; "none" (or False); None: a
                  temperature if `optimise` needs probabilities, else none
    class_weight  None, "balanced", or a dict from class to weight
    random_state  seed of the folds for tuning
    optimise      "accuracy" or None, "macro-f1", or costs: a dict by true class of dicts by predicted class
    documents_limit  maximum bytes of counted documents in the model file, for models that keep them; 0 for none
    vectors       word vectors, for models that use them; None for none
    vector_keys   the vector fields of the documents and their lengths, during training
    """

    model: Learner
    min_df: int = 1
    select: Any = None
    decision: Any = None
    calibrate: Any = None
    class_weight: Any = None
    random_state: int = 0
    optimise: Any = None
    documents_limit: int = DOCUMENTS_LIMIT
    vectors: WordVectors | None = None
    vector_keys: tuple[tuple[str, int], ...] = ()

    @property
    def calibration(self) -> str | None:
        """The name of the calibration to fit; None for none."""
        return calibration_name(self.calibrate, self.optimise)


def calibration_name(calibrate: Any, optimise: Any = None) -> str | None:
    """The calibration that the settings ask for; None for none.

    >>> calibration_name(True), calibration_name("none"), calibration_name(None, "macro-f1")
    ('temperature', None, 'temperature')
    """
    if calibrate is None:
        return None if optimise in (None, "accuracy") else "temperature"
    if isinstance(calibrate, str):
        return None if calibrate == "none" else calibrate
    return "temperature" if calibrate else None
