"""Decisions turn scores into label sets, for every classifier alike; they are stored with the model.

Scores come from a Scorer; label sets go to the measures and to the user as a sparse 0/1 matrix. Calibrated
probabilities are computed in calibration.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, choose, refuse_damaged
from unnaive.base.settings import EXPORTS, EXPORTS_BUT_SQL
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.data.arrays import is_number
from unnaive.data.products import matmul
from unnaive.linear.links import LINKS, relative


class Decision(Protocol):
    """A frozen value: scores (n_docs, n_classes) in, labels (n_docs, n_classes) out.

    exclusive  whether every document gets exactly one label
    per_batch  whether it decides about all documents together, so that they cannot be split into batches
    exports    the exports that make this decision; the others refuse it
    """

    kind: ClassVar[str]
    exports: ClassVar[tuple[str, ...]]
    exclusive: ClassVar[bool]
    per_batch: ClassVar[bool]

    @property
    def on_probabilities(self) -> bool:
        """Whether `decide` needs probabilities instead of scores."""

    def decide(self, scores: Floats) -> Sparse:
        """The label sets as a 0/1 csr_array (n_docs, n_classes)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `decision_from_dict` makes an equal value."""


class _Stored:
    """Base of most decisions, with to_dict for frozen dataclasses of plain values."""

    kind: ClassVar[str]
    exports: ClassVar[tuple[str, ...]] = ()
    exclusive: ClassVar[bool] = False
    per_batch: ClassVar[bool] = False

    @property
    def on_probabilities(self) -> bool:
        """Whether `decide` needs probabilities instead of scores."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `decision_from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Argmax(_Stored):
    """The class with the highest score only; ties go to the lowest class index.

    >>> Argmax().decide(np.array([[0.2, 0.7, 0.1]])).toarray()
    array([[0, 1, 0]])
    """

    kind: ClassVar[str] = "argmax"
    exports: ClassVar[tuple[str, ...]] = EXPORTS
    exclusive: ClassVar[bool] = True

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        return _labels(np.argmax(scores, axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class WeightedArgmax(_Stored):
    """The class with the highest weights[c] · p[d, c]; needs probabilities.

    Weights above 1 favour rare classes; optimise.py tunes them for macro F1.

    >>> WeightedArgmax((1.0, 3.0)).decide(np.array([[0.7, 0.3], [0.8, 0.2]])).toarray()
    array([[0, 1],
           [1, 0]])
    """

    kind: ClassVar[str] = "weighted-argmax"
    exports: ClassVar[tuple[str, ...]] = EXPORTS
    exclusive: ClassVar[bool] = True
    on_probabilities: ClassVar[bool] = True

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _finite(self.weights, "weight"))
        if min(self.weights, default=1.0) <= 0:
            raise BadData(f"a class weight is {min(self.weights)}; all class weights must be positive")

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        _check_width(scores, self.weights, "weights")
        return _labels(np.argmax(scores * np.asarray(self.weights), axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class LeastCost(_Stored):
    """The class with the lowest expected cost Σ_t p[d, t] · costs[t][c]; needs probabilities.

    costs  the cost of predicting each class for each true class (n_classes × n_classes); ties go to the lowest index

    >>> LeastCost(((0.0, 1.0), (5.0, 0.0))).decide(np.array([[0.8, 0.2], [0.9, 0.1]])).toarray()   # 1 against .8, .5
    array([[0, 1],
           [1, 0]])
    """

    kind: ClassVar[str] = "least-cost"
    exports: ClassVar[tuple[str, ...]] = EXPORTS_BUT_SQL
    exclusive: ClassVar[bool] = True
    on_probabilities: ClassVar[bool] = True

    costs: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(_finite(row, "cost") for row in self.costs)
        if any(len(row) != len(rows) for row in rows):
            raise BadData(
                "the rows of costs have different lengths; give a cost for each pair of a true and a predicted class"
            )
        object.__setattr__(self, "costs", rows)

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        _check_width(scores, self.costs, "rows of costs")
        return _labels(np.argmin(matmul(scores, np.array(self.costs)), axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class TopK(_Stored):
    """RCut: the `k` classes with the highest scores; ties go to the lowest class index.

    >>> TopK(2).decide(np.array([[0.2, 0.7, 0.1]])).toarray()
    array([[1, 1, 0]])
    """

    kind: ClassVar[str] = "top-k"
    exports: ClassVar[tuple[str, ...]] = EXPORTS

    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise BadData(f"k is {self.k!r}; give the number of classes for each document, an integer of at least 1")

    def decide(self, scores: Floats) -> Sparse:
        """min(k, n_classes) labels for each document."""
        return _labels(np.argsort(-scores, axis=1, kind="stable")[:, : self.k], scores.shape)


SCALES: dict[str, Callable[[Floats], Floats]] = {
    "scores": lambda scores: scores,
    "probabilities": lambda probabilities: probabilities,
    "relative": relative,
}


@dataclass(frozen=True)
class Thresholds(_Stored):
    """Every class whose score reaches its threshold: score[d, c] ≥ values[c].

    on             what the values are thresholds of: "scores"; "probabilities", and then `decide` needs
                   probabilities; or "relative", scores divided by the maximum of the document
    at_least_one   a document that reaches no threshold gets the class that is closest to its threshold

    >>> Thresholds((0.5, 0.1)).decide(np.array([[0.4, 0.3], [0.4, 0.0]])).toarray()
    array([[0, 1],
           [0, 0]])
    """

    kind: ClassVar[str] = "thresholds"
    exports: ClassVar[tuple[str, ...]] = EXPORTS

    values: tuple[float, ...]
    on: str = "scores"
    at_least_one: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _finite(self.values, "threshold"))
        choose(list(SCALES), self.on, "scale of thresholds")

    @property
    def on_probabilities(self) -> bool:
        """Whether the thresholds are probabilities."""
        return self.on == "probabilities"

    def decide(self, scores: Floats) -> Sparse:
        """Any number of labels for each document."""
        _check_width(scores, self.values, "thresholds")
        above = SCALES[self.on](scores) - np.asarray(self.values)
        chosen = above >= 0
        if self.at_least_one:
            chosen[np.arange(len(chosen)), np.argmax(above, axis=1)] = True
        return csr_array(chosen.astype(np.int64))


@dataclass(frozen=True)
class Proportional(_Stored):
    """PCut: class c goes to the round(rates[c] · n_docs) documents with its highest scores; ties to the first.

    It decides about a batch as a whole, so the labels of a document depend on the other documents: for reports on a
    test set, not for a stream.

    >>> Proportional((0.5, 0.0)).decide(np.array([[0.1, 0.9], [0.3, 0.2]])).toarray()
    array([[0, 0],
           [1, 0]])
    """

    kind: ClassVar[str] = "proportional"
    per_batch: ClassVar[bool] = True

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", _finite(self.rates, "rate"))
        if min(self.rates, default=0.0) < 0:
            raise BadData(f"a rate is {min(self.rates)}; rates are shares of documents and cannot be negative")

    def decide(self, scores: Floats) -> Sparse:
        """For each class, as many documents as its rate says."""
        _check_width(scores, self.rates, "rates")
        sizes = np.minimum(np.rint(np.asarray(self.rates) * len(scores)), len(scores)).astype(np.int64)
        columns = [np.argsort(-scores[:, c], kind="stable")[:size] for c, size in enumerate(sizes)]
        cells = (np.concatenate(columns), np.repeat(np.arange(len(sizes)), sizes))
        return csr_array((np.ones(sizes.sum(), np.int64), cells), shape=scores.shape)


DECISIONS: dict[str, Callable[..., Any]] = {
    kind.kind: kind for kind in (Argmax, WeightedArgmax, LeastCost, TopK, Thresholds, Proportional)
}


def decision_from_dict(stored: Any) -> Decision:
    """The decision that `to_dict` wrote; every value is checked, since models come from files.

    >>> decision_from_dict(TopK(3).to_dict())
    TopK(k=3)
    """
    with refuse_damaged("the decision in this model is"):
        settings = dict(stored)
        kind = choose(list(DECISIONS), settings.pop("kind"), "decision")
        _check_stored_kinds(settings)
        decision: Decision = DECISIONS[kind](**settings)
    return decision


def _check_stored_kinds(settings: dict[str, Any]) -> None:
    """Raise ValueError unless thresholds, rates, weights and costs are lists of numbers, and switches are booleans."""
    for name in ("values", "rates", "weights"):
        if name in settings and not _is_list_of_numbers(settings[name]):
            raise ValueError(f"its {name} are not a list of finite numbers")
    if not all(map(_is_list_of_numbers, settings.get("costs", ()))):
        raise ValueError("its costs are not lists of finite numbers")
    if not isinstance(settings.get("at_least_one", False), bool):
        raise ValueError("at_least_one is neither true nor false")


def _is_list_of_numbers(stored: Any) -> bool:
    return isinstance(stored, (list, tuple)) and all(map(is_number, stored))


def default_decision(target_type: str, link: str, n_classes: int) -> Decision:
    """The decision that needs no held-out scores: argmax, or thresholds for multilabel targets.

    A multilabel document gets every class with odds above even or, if scores are not odds, above 0. If the link has a
    `share`, it gets the classes within that share of the document's best score. A document without evidence gets no
    label from even odds.

    >>> default_decision("single", "softmax", 2), default_decision("sets", "noisy-or", 2)
    (Argmax(), Thresholds(values=(0.9, 0.9), on='relative', at_least_one=False))
    """
    if target_type == "single":
        return Argmax()
    share = LINKS[link].share
    if share is not None:
        return Thresholds((share,) * n_classes, "relative")
    if LINKS[link].exclusive:
        return Thresholds((np.nextafter(0.5, 1),) * n_classes, "probabilities")
    return Thresholds((np.finfo(np.float64).tiny,) * n_classes, "scores")


def _labels(columns: NDArray[np.int64], shape: tuple[int, ...]) -> Sparse:
    """csr_array with ones at `columns` (n_docs, k) of each row."""
    n_docs, k = columns.shape
    ones = np.ones(n_docs * k, np.int64)
    return csr_array((ones, np.sort(columns, axis=1).ravel(), np.arange(n_docs + 1) * k), shape=shape)


def _finite(values: Any, what: str) -> tuple[float, ...]:
    numbers = tuple(float(value) for value in values)
    if not np.all(np.isfinite(numbers)):
        raise BadData(f"a {what} is not a finite number; give one finite {what} for each class")
    return numbers


def _check_width(scores: Floats, values: tuple[Any, ...], what: str) -> None:
    if scores.shape[1] != len(values):
        raise BadData(
            f"there are scores of {scores.shape[1]} classes and {len(values)} {what}; give one for each class"
        )
