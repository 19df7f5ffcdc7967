"""Rows of docs/statistics.md on the accuracy that `evaluate` estimates without labels, where new documents differ.

As in statistics_rows.py, `simulate(collection, seed)` is one draw. The truth is the accuracy on the very documents that
the estimate is of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from statistics_model_rows import fit
from statistics_rows import COLLECTIONS, KEPT, Collection, Row, two_sides

from unnaive.base.types import Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency
from unnaive.evaluation.estimated_accuracy import EstimatedAccuracy, estimate_accuracy
from unnaive.models.auto.learner import Auto
from unnaive.models.svm.nbsvm import NBSVM
from unnaive.papers.collections import load

SAME, SHARES, PERIOD, HALF, FIFTH = "same", "shares", "period", "half", "fifth"
GROUPS, UNKNOWN = "groups", "unknown"
KEPT_TOKENS = {HALF: 0.5, FIFTH: 0.2}  # share of the tokens of new documents that stay
N_OLD, N_NEW = 600, 500
PERIODS = ("20 Newsgroups", "Reuters R8")  # collections whose test part is of a later time
HIDDEN = 5  # one class in so many is unknown to the model, or one group of newsgroups in so many is new
MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "nbsvm": (NBSVM, {}),
    "auto": (Auto, {"calibrate": None, "budget": "fast"}),
}
Drawn = tuple[Sparse, Ids, Sparse, Ids]  # training documents and their classes, new documents and theirs


@cache
def is_training_part(name: str) -> np.ndarray:
    """Whether each document of a collection is in its training part."""
    archive, view = COLLECTIONS[name] or ("", None)
    return np.array(load(archive, view=view).split) == "train"


def draw(data: Collection, seed: int, shift: str) -> Drawn | None:
    """Training and new documents that differ by a shift; None if the collection does not have it."""
    rng = np.random.default_rng([seed, 29])
    order = rng.permutation(len(data.codes))
    if shift == PERIOD:
        if data.name not in PERIODS:
            return None
        earlier = is_training_part(data.name)[order]
        old, new = order[earlier][:N_OLD], order[~earlier][:N_NEW]
        return data.X[old], data.codes[old], data.X[new], data.codes[new]
    if shift == GROUPS:
        return _new_groups(data, order, rng) if data.name == "20 Newsgroups" else None
    if shift == UNKNOWN:
        hidden = rng.permutation(len(data.classes))[: max(1, len(data.classes) // HIDDEN)]
        old = order[~np.isin(data.codes[order], hidden)][: min(N_OLD, len(order) // 2)]
        new = rng.permutation(np.setdiff1d(order, old))[:N_NEW]
        return data.X[old], data.codes[old], data.X[new], data.codes[new]
    sides = two_sides(data, seed, N_OLD, N_NEW, shares="drawn" if shift == SHARES else "same")
    new_rows = sides.new
    if shift in KEPT_TOKENS:
        new_rows = csr_array(new_rows).copy()
        new_rows.data = rng.binomial(new_rows.data.astype(np.int64), KEPT_TOKENS[shift])
        new_rows.eliminate_zeros()
    return sides.old, sides.codes, new_rows, sides.truth


def _new_groups(data: Collection, order: Ids, rng: np.random.Generator) -> Drawn:
    """Classes are the first words of names (comp, rec, sci, talk); a third of the groups of each is only new."""
    names = {"alt": "talk", "soc": "talk"}
    first = [name.split(".")[0] for name in data.classes]
    classes, of_group = np.unique([names.get(word, word) for word in first], return_inverse=True)
    several = np.flatnonzero(np.bincount(of_group, minlength=len(classes)) > 1)
    only_new = [rng.permutation(np.flatnonzero(of_group == c)) for c in several]
    is_new = np.isin(data.codes[order], np.concatenate([groups[: max(1, len(groups) // 3)] for groups in only_new]))
    known = np.isin(of_group[data.codes[order]], several)
    old, new = order[known & ~is_new][:N_OLD], order[known & is_new][:N_NEW]
    return data.X[old], of_group[data.codes[old]], data.X[new], of_group[data.codes[new]]


@lru_cache(maxsize=KEPT)
def estimated(data: Collection, seed: int, shift: str, model: str) -> tuple[EstimatedAccuracy, float] | None:
    """The estimate and the accuracy of a draw."""
    drawn = draw(data, seed, shift)
    if drawn is None:
        return None
    X, codes, new, truth = drawn
    learnt = np.flatnonzero(document_frequency(X))
    X, new = take_columns(X, learnt), take_columns(new, learnt)
    kind, settings = MODELS[model]
    made = fit(kind, X, codes, **settings)
    right = made.class_array[made.scores(new).argmax(axis=1)] == truth
    return estimate_accuracy(made, new), float(right.mean())


def holds(shift: str, model: str) -> Callable[[Collection, int], float | None]:
    """Whether the interval contains the accuracy."""

    def simulate(data: Collection, seed: int) -> float | None:
        found = estimated(data, seed, shift, model)
        return None if found is None else float(found[0].low <= found[1] <= found[0].high)

    return simulate


def error(shift: str, model: str) -> Callable[[Collection, int], float | None]:
    """The distance of the estimate from the accuracy."""

    def simulate(data: Collection, seed: int) -> float | None:
        found = estimated(data, seed, shift, model)
        return None if found is None else abs(found[0].accuracy - found[1])

    return simulate


def doubted(shift: str, model: str) -> Callable[[Collection, int], float | None]:
    """Whether `evaluate` says not to believe the estimate."""

    def simulate(data: Collection, seed: int) -> float | None:
        found = estimated(data, seed, shift, model)
        return None if found is None else float(bool(found[0].doubts))

    return simulate


INTERVAL = "evaluate without labels: the 95 % interval contains the accuracy on these documents"
UNPROMISED = "evaluate without labels: how often the 95 % interval contains the accuracy of documents of another kind"
ERROR = "evaluate without labels: the mean distance of the estimate from the accuracy, in points"
DOUBT = "evaluate without labels: how often it says not to believe the estimate"
WORDS = {
    SAME: "new documents of the same source",
    SHARES: "other class shares",
    PERIOD: "new documents of a later time",
    HALF: "half of the words of new documents",
    FIFTH: "a fifth of the words of new documents",
    GROUPS: "classes of several newsgroups, some of which are only new",
    UNKNOWN: "a fifth of the classes is unknown to the model",
}


def rows_of(key: str, promise: str, kind: str, bound: float, shifts: tuple[str, ...], make: Callable) -> list[Row]:  # type: ignore[type-arg]
    """A row for each shift and model."""
    return [
        Row(f"estimate-{key}-{shift}-{model}", promise, f"{model}, {WORDS[shift]}", kind, bound, make(shift, model),
            most=60 if model == "nbsvm" else 30)
        for model in MODELS
        for shift in shifts
    ]  # fmt: skip


SHIFT_ROWS = (
    *rows_of("interval", INTERVAL, "at least", 0.95, (SAME, SHARES), holds),
    *rows_of("interval", UNPROMISED, "power", 0, (PERIOD, HALF, FIFTH, GROUPS, UNKNOWN), holds),
    *rows_of("error", ERROR, "power", 0, tuple(WORDS), error),
    *rows_of("doubt", DOUBT, "power", 0, (SAME, FIFTH, GROUPS, UNKNOWN), doubted),
)
