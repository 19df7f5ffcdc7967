"""Decisions turn scores into label sets, for every classifier alike; they are stored with the model.

Scores come from a Scorer, label sets go to the measures and to the user as a sparse 0/1 matrix. Calibrated
probabilities, which are another matter, are made in calibration.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.core.arrays import is_number
from unnaive.core.links import LINKS, relative
from unnaive.errors import BadData, BadModel, choose, count_noun
from unnaive.sparse import csc_array, csr_array
from unnaive.types import Floats, Sparse


class Decision(Protocol):
    """A frozen value: scores (n_docs, n_classes) in, labels (n_docs, n_classes) out.

    exclusive  whether every document gets exactly one label
    per_batch  whether it decides about all documents together, so that they cannot be taken in parts
    """

    kind: ClassVar[str]
    exclusive: ClassVar[bool]
    per_batch: ClassVar[bool]

    @property
    def on_probabilities(self) -> bool:
        """Whether `decide` must be handed probabilities in the place of scores."""

    def decide(self, scores: Floats) -> Sparse:
        """The label sets as a 0/1 csr_array (n_docs, n_classes)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `decision_from_dict` makes an equal value."""


class _Stored:
    """What most decisions share, and to_dict for frozen dataclasses of plain values."""

    kind: ClassVar[str]
    exclusive: ClassVar[bool] = False
    per_batch: ClassVar[bool] = False

    @property
    def on_probabilities(self) -> bool:
        """Whether `decide` must be handed probabilities in the place of scores."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON from which `decision_from_dict` makes an equal value."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Argmax(_Stored):
    """The class with the highest score, and no other; ties go to the lowest class index.

    >>> Argmax().decide(np.array([[0.2, 0.7, 0.1]])).toarray()
    array([[0, 1, 0]])
    """

    kind: ClassVar[str] = "argmax"
    exclusive: ClassVar[bool] = True

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        return _labels(np.argmax(scores, axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class WeightedArgmax(_Stored):
    """The class with the highest weights[c] · p[d, c], and no other; it must be handed probabilities.

    Weights above 1 give rare classes their due; optimise.py tunes them for macro F1.

    >>> WeightedArgmax((1.0, 3.0)).decide(np.array([[0.7, 0.3], [0.8, 0.2]])).toarray()
    array([[0, 1],
           [1, 0]])
    """

    kind: ClassVar[str] = "weighted-argmax"
    exclusive: ClassVar[bool] = True
    on_probabilities: ClassVar[bool] = True

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _finite(self.weights, "weight"))
        if min(self.weights, default=1.0) <= 0:
            raise BadData(f"a weight of a class is {min(self.weights)}; give positive ones")

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        _check_width(scores, self.weights, "weights")
        return _labels(np.argmax(scores * np.asarray(self.weights), axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class LeastCost(_Stored):
    """The class with the least expected cost Σ_t p[d, t] · costs[t][c], and no other; it must be handed probabilities.

    costs  for each true class the cost of giving each class (n_classes × n_classes), lowest index on ties

    >>> LeastCost(((0.0, 1.0), (5.0, 0.0))).decide(np.array([[0.8, 0.2], [0.9, 0.1]])).toarray()   # 1 against .8, .5
    array([[0, 1],
           [1, 0]])
    """

    kind: ClassVar[str] = "least-cost"
    exclusive: ClassVar[bool] = True
    on_probabilities: ClassVar[bool] = True

    costs: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(_finite(row, "cost") for row in self.costs)
        if any(len(row) != len(rows) for row in rows):
            raise BadData("the costs have rows of different lengths; give one for each true and each given class")
        object.__setattr__(self, "costs", rows)

    def decide(self, scores: Floats) -> Sparse:
        """One label for each document."""
        _check_width(scores, self.costs, "rows of costs")
        return _labels(np.argmin(scores @ np.array(self.costs), axis=1)[:, None], scores.shape)


@dataclass(frozen=True)
class TopK(_Stored):
    """RCut: the `k` classes with the highest scores; ties go to the lowest class index.

    >>> TopK(2).decide(np.array([[0.2, 0.7, 0.1]])).toarray()
    array([[1, 1, 0]])
    """

    kind: ClassVar[str] = "top-k"

    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise BadData(f"k is {self.k!r}; give the whole number of classes for each document, at least 1")

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

    on             what the values are thresholds of: "scores"; "probabilities", and then `decide` must be handed
                   probabilities; or "relative", scores over the document's maximum, which `decide` computes
    at_least_one   a document that reaches no threshold gets the class that misses its own by least

    >>> Thresholds((0.5, 0.1)).decide(np.array([[0.4, 0.3], [0.4, 0.0]])).toarray()
    array([[0, 1],
           [0, 0]])
    """

    kind: ClassVar[str] = "thresholds"

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

    It decides about a batch as a whole, so a document's labels depend on those decided with it: for reports on a
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
            raise BadData(f"a rate is {min(self.rates)}; a share of the documents cannot be negative")

    def decide(self, scores: Floats) -> Sparse:
        """As many labels in all as the rates ask for."""
        _check_width(scores, self.rates, "rates")
        sizes = np.minimum(np.rint(np.asarray(self.rates) * len(scores)), len(scores)).astype(np.int64)
        columns = [np.argsort(-scores[:, c], kind="stable")[:size] for c, size in enumerate(sizes)]
        cells = (np.concatenate(columns), np.repeat(np.arange(len(sizes)), sizes))
        return csr_array((np.ones(sizes.sum(), np.int64), cells), shape=scores.shape)


DECISIONS: dict[str, Callable[..., Any]] = {
    kind.kind: kind for kind in (Argmax, WeightedArgmax, LeastCost, TopK, Thresholds, Proportional)
}


def decision_from_dict(stored: Any) -> Decision:
    """The decision that `to_dict` wrote; trusts nothing, since models come from files.

    >>> decision_from_dict(TopK(3).to_dict())
    TopK(k=3)
    """
    try:
        settings = dict(stored)
        kind = choose(list(DECISIONS), settings.pop("kind"), "decision")
        _check_stored_kinds(settings)
        decision: Decision = DECISIONS[kind](**settings)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise BadModel(f"the decision in this model is damaged ({problem}); train it again") from problem
    return decision


def _check_stored_kinds(settings: dict[str, Any]) -> None:
    """An error unless thresholds, rates, weights and costs are lists of numbers, and switches are true or false."""
    for name in ("values", "rates", "weights"):
        if name in settings and not _is_list_of_numbers(settings[name]):
            raise ValueError(f"its {name} are no list of finite numbers")
    if not all(map(_is_list_of_numbers, settings.get("costs", ()))):
        raise ValueError("its costs are no lists of finite numbers")
    if not isinstance(settings.get("at_least_one", False), bool):
        raise ValueError("at_least_one is neither true nor false")


def _is_list_of_numbers(stored: Any) -> bool:
    return isinstance(stored, (list, tuple)) and all(map(is_number, stored))


def scut(scores: Floats, Y: Any, *, on: str = "scores", at_least_one: bool = False) -> Thresholds:
    """Thresholds for the best F1 of each class on held-out scores, shrunk toward the one best for all.

    t = (n·t_c + 5·t_g) / (n + 5), n the class's documents, t_c its own best cut, t_g the cut with the best
    micro-averaged F1. A class with n < 3, or that reaches no F1 of .3 even at its own cut, takes t_g: without that
    fallback one bad class floods the micro average. Scores must come from documents that the model has not seen
    (`out_of_fold`), and be probabilities if `on` says so.

    Yang (2001), A study of thresholding strategies for text categorization.

    >>> scut(np.array([[9.0], [8.0], [4.0], [1.0]]), np.array([[1], [1], [1], [0]])).values
    (2.5,)
    """
    scale = SCALES[choose(list(SCALES), on, "scale of thresholds")]
    values, truth = scale(scores), csc_array(Y)
    everywhere, _ = best_cut(values.ravel(), truth.toarray().ravel())
    thresholds = np.full(values.shape[1], everywhere)
    sizes = np.diff(truth.indptr)
    for c in np.flatnonzero(sizes >= 3):
        own, f1 = best_cut(values[:, c], truth[:, [c]].toarray().ravel())
        if f1 >= 0.3:
            thresholds[c] = (sizes[c] * own + 5 * everywhere) / (sizes[c] + 5)
    return Thresholds(tuple(thresholds.tolist()), on, at_least_one)


def best_cut(scores: Floats, truth: NDArray[Any]) -> tuple[float, float]:
    """The threshold with the best F1, halfway to the next lower score, and that F1; of equals the highest.

    scores, truth: (n,). Without any positive no cut is good, and the threshold is the highest score.

    >>> best_cut(np.array([0.9, 0.6, 0.2]), np.array([1, 1, 0]))
    (0.4, 1.0)
    """
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order] != 0)
    f1 = 2 * hits / (np.arange(1, len(hits) + 1) + hits[-1])
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold parts equal scores
    last = int(np.argmax(f1))
    lower = ranked[last + 1] if last + 1 < len(ranked) else -np.inf
    middle = lower + (ranked[last] - lower) / 2 if np.isfinite(lower) else ranked[last]
    return float(middle if middle > lower else ranked[last]), float(f1[last])


def rcut(scores: Floats, Y: Any) -> TopK:
    """The k with the best micro-averaged F1 on held-out scores; of equals the smallest.

    >>> rcut(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), np.array([[1, 1, 0], [0, 1, 1]]))
    TopK(k=2)
    """
    truth = csr_array(Y)
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    found = np.bincount(ranks[rows, truth.indices][truth.data != 0], minlength=scores.shape[1]).cumsum()
    assigned = len(scores) * np.arange(1, scores.shape[1] + 1)
    return TopK(int(np.argmax(2 * found / (assigned + found[-1]))) + 1)


def pcut(Y: Any, *, factor: float = 1.0) -> Proportional:
    """The share of training documents in each class, times `factor`: below 1 for precision, above for recall.

    >>> pcut(np.array([[1, 0], [1, 1]])).rates
    (1.0, 0.5)
    """
    truth = csr_array(Y)
    shares = factor * (truth != 0).sum(axis=0) / max(truth.shape[0], 1)
    return Proportional(tuple(np.asarray(shares, np.float64).tolist()))


def scut_or_rcut(scores: Floats, Y: Any, link: str) -> Decision:
    """The better of the two on held-out scores, by the mean of micro- and macro-averaged F1; of equals scut.

    Each is judged on parts of the documents that it was not tuned on, then tuned on all. Thresholds win where scores
    can be compared across documents (margins, relative scores), the same number of labels for every document where they
    grow with its length, as those of the multinomial model do.

    >>> scores = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 8.0], [8.0, 9.0]] * 3)   # long documents have high scores
    >>> scut_or_rcut(scores, np.array([[1, 0], [0, 1]] * 6), "log-odds")
    TopK(k=1)
    """
    truth = csr_array(Y)
    fold = folds(truth, min(5, truth.shape[0]))

    def mean_f1(name: str) -> float:
        given = np.zeros(truth.shape, np.bool_)
        for tuned_on, judged in _splits(fold, int(fold.max()) + 1):
            given[judged] = TUNINGS[name](scores[tuned_on], truth[tuned_on], link).decide(scores[judged]).toarray() != 0
        right, sizes = (given & (truth.toarray() != 0)).sum(axis=0), given.sum(axis=0) + (truth != 0).sum(axis=0)
        return float(2 * right.sum() / max(sizes.sum(), 1) + (2 * right / np.maximum(sizes, 1)).mean()) / 2

    return TUNINGS["rcut" if mean_f1("rcut") > mean_f1("scut") else "scut"](scores, Y, link)


TUNINGS: dict[str, Callable[[Floats, Any, str], Decision]] = {
    "best": scut_or_rcut,
    # where scores cannot be compared across documents, thresholds are relative to the best of each
    "scut": lambda scores, Y, link: scut(scores, Y, on="scores" if LINKS[link].share is None else "relative"),
    "rcut": lambda scores, Y, link: rcut(scores, Y),
    "pcut": lambda scores, Y, link: pcut(Y),
}


def default_decision(target_type: str, link: str, n_classes: int) -> Decision:
    """The decision that needs no held-out scores: the best class, or for multilabel targets thresholds.

    A multilabel document gets every class above even odds or, where scores have no odds, above 0. Where the link has a
    `share`, it gets those that come so close to the document's best score. Even odds are not enough, so that a document
    which says nothing does not get every label.

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


def folds(Y: Any, n_folds: int, *, seed: int = 0, blocked: bool = False) -> NDArray[np.int64]:
    """A fold for each document (n_docs,): shuffled, the documents of every label set spread evenly.

    Documents are dealt out in the order of their rarest class, so that rare classes are not all in one fold. `blocked`
    leaves them in the order in which they came, so that a fold is a run of the documents of each class: what stands
    together, a thread or a day, is often alike, and a model that has learnt the one is surer of the other than it will
    be of new documents.

    >>> np.bincount(folds(np.ones((10, 1)), 5))
    array([2, 2, 2, 2, 2])
    """
    truth = csr_array(Y)
    if not 2 <= n_folds <= truth.shape[0]:
        raise BadData(
            f"{count_noun(truth.shape[0], 'document')} cannot make {n_folds} folds; choose from 2 up to the documents"
        )
    by_size = np.argsort(np.argsort((truth != 0).sum(axis=0), kind="stable"))
    rarest = np.full(truth.shape[0], truth.shape[1])  # unlabelled documents last
    np.minimum.at(rarest, np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)), by_size[truth.indices])
    if blocked:
        return _blocks(rarest, n_folds)
    shuffled = np.random.default_rng(seed).permutation(truth.shape[0])
    dealt = np.empty(truth.shape[0], np.int64)
    dealt[shuffled[np.argsort(rarest[shuffled], kind="stable")]] = np.arange(truth.shape[0]) % n_folds
    return dealt


def _blocks(group: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each document: each group is cut into runs of equal length, small groups begin at different folds."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    start = np.searchsorted(ordered, ordered)
    size = np.searchsorted(ordered, ordered, side="right") - start
    fold = np.empty(len(group), np.int64)
    fold[order] = ((np.arange(len(group)) - start) * n_folds // size + ordered) % n_folds
    return fold


def out_of_fold(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats],
    Y: Any,
    *,
    n_folds: int = 5,
    seed: int = 0,
    blocked: bool = False,
) -> Floats:
    """Scores (n_docs, n_classes) of every document by a model that has not seen it.

    `score(train, held_out)` is handed two arrays of row numbers, and returns the scores of the held-out rows by a model
    of the training rows; what a model and a document are is its affair.

    >>> out_of_fold(lambda train, held_out: np.ones((len(held_out), 1)) * len(train), np.ones((4, 1)), n_folds=2)[:2]
    array([[2.],
           [2.]])
    """
    truth = csr_array(Y)
    scores = np.empty(truth.shape)
    for train, held_out in _splits(folds(truth, n_folds, seed=seed, blocked=blocked), n_folds):
        scores[held_out] = score(train, held_out)
    return scores


def _splits(fold: NDArray[np.int64], n_folds: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for number in range(n_folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


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
        raise BadData(f"scores of {scores.shape[1]} classes met {len(values)} {what}; give one for each class")
