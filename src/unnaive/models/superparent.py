"""SuperParent TAN: dependences between features are added one at a time, as long as accuracy on unseen documents rises.

Keogh and Pazzani (1999), "Learning augmented Bayesian classifiers". tan.py finds a tree over all features by
conditional information at once; here a feature gets a parent only if that helps to classify, so most stay naive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.core.counts import Counts
from unnaive.core.labels import single_labels
from unnaive.core.selection import class_gain, information_gain, top_terms
from unnaive.errors import BadData, UnnaiveError, choose
from unnaive.models.feature_trees import FeatureTrees
from unnaive.models.paths import presence
from unnaive.types import Floats, Ids, Sparse


def superparent_tan(
    X: Sparse,
    Y: Sparse,
    *,
    features: int = 30,
    folds: int = 5,
    prior_cases: float = 5.0,
    scheme: str = "multiclass",
    seed: int = 0,
    sample_weight: NDArray[Any] | None = None,
) -> FeatureTrees:
    """Naive Bayes over presence, to which arcs between terms are added while cross-validated accuracy rises.

    features     terms used, by information gain: over all classes ("multiclass") or for each class ("one-vs-rest")
    folds        parts of the cross-validation that measures accuracy
    prior_cases  how many made-up cases pull P(feature | parent, class) towards P(feature)
    seed         of the folds

    A round makes every feature in turn the parent of all that have none (the super parent), keeps the one with which
    accuracy is highest, and of its children the one that helps most alone (the favourite). It ends where that helps
    nothing.

    >>> X = csr_array([[1, 1], [0, 0], [1, 0], [0, 1]] * 8)         # class 0 where both terms agree
    >>> Y = csr_array([[1, 0], [1, 0], [0, 1], [0, 1]] * 8)
    >>> superparent_tan(X, Y).scores(X[:4]).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    if features < 1 or prior_cases <= 0 or folds < 2:
        raise UnnaiveError(f"features={features}, prior_cases={prior_cases} must be above 0, and folds={folds} from 2")
    present, labels = presence(X), csr_array(Y)
    weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    counts = Counts.of(present, labels, sample_weight)
    by_term = csc_array(present)
    grown = []
    for states, terms in _problems(labels, counts, features, scheme):
        own = by_term[:, terms].toarray() > 0
        n_states = 2 if scheme == "one-vs-rest" else labels.shape[1]
        cases = Cases(own, states, weight, n_states, prior_cases)
        parents = add_arcs(cases, fold_numbers(states, folds, seed))
        estimates = cases.estimates()
        grown.append((terms, parents, estimates.tree_logs(parents), estimates.prior))
    terms_, parents_, logs, prior = (np.stack(part) for part in zip(*grown, strict=True))
    link = "log-odds" if scheme == "one-vs-rest" else "softmax"
    return FeatureTrees(terms_, parents_, logs, prior, int(present.shape[1]), link)


def _problems(labels: Sparse, counts: Counts, k: int, scheme: str) -> Iterator[tuple[Ids, Ids]]:
    """For each tree the state of its class in each document (n_docs,), and the terms it is over."""
    if scheme == "multiclass":
        targets = single_labels(labels)
        if targets is None:
            raise BadData("some documents have no label, or several; train with scheme='one-vs-rest'")
        yield targets, top_terms(information_gain(counts), k)
        return
    columns = csc_array(labels)
    for c in range(counts.n_classes):
        yield (columns[:, [c]].toarray()[:, 0] > 0).astype(np.int64), top_terms(class_gain(counts, c), k)


@dataclass(frozen=True, eq=False)
class Cases:
    """Documents of one problem: presence of features (n_docs, k), state of the class and weight of each (n_docs,)."""

    own: NDArray[np.bool_]
    states: Ids
    weight: Floats
    n_states: int
    prior_cases: float

    def at(self, rows: Any) -> Cases:
        """Some of the documents."""
        return Cases(self.own[rows], self.states[rows], self.weight[rows], self.n_states, self.prior_cases)

    def estimates(self) -> Estimates:
        """Log-probabilities of every feature given every other and the class."""
        inside = [self.states == state for state in range(self.n_states)]
        both = np.stack([(self.own[rows].T * self.weight[rows]) @ self.own[rows].astype(float) for rows in inside])
        totals = np.array([self.weight[rows].sum() for rows in inside])
        return Estimates.of(both, totals, self.prior_cases)


@dataclass(frozen=True, eq=False)
class Estimates:
    """What is known from some documents: given its parent, or without one, how likely each feature is.

    paired  log P(own | other, state): own, other, the other's value, own value  (states, k, k, 2, 2)
    alone   log P(own | state)                                                   (states, k, 2)
    prior   log P(state)                                                         (states,)
    """

    paired: Floats
    alone: Floats
    prior: Floats

    @classmethod
    def of(cls, both: Floats, totals: Floats, prior_cases: float) -> Estimates:
        """From the weight of documents with both features in each state (states, k, k) and of all (states,)."""
        single = np.diagonal(both, axis1=1, axis2=2)  # (states, k)
        share = np.clip((single.sum(axis=0) + 1) / (totals.sum() + 2), 1e-12, 1 - 1e-12)  # (k,)
        given = np.stack([totals[:, None] - single, single], axis=2)[:, None]  # other absent, present
        present = np.stack([single[:, :, None] - both, both], axis=3)
        p = (np.maximum(present, 0) + prior_cases * share[:, None, None]) / (given + prior_cases)
        q = (single + prior_cases * share) / (totals[:, None] + prior_cases)
        prior = np.log((totals + 1) / (totals.sum() + len(totals)))
        return cls(np.log(np.stack([1 - p, p], axis=4)), np.log(np.stack([1 - q, q], axis=2)), prior)

    def tree_logs(self, parents: Ids) -> Floats:
        """log P(own | parent, state) (states, k, 2, 2); a feature without a parent has the same in both rows."""
        k = np.arange(len(parents))
        free = np.repeat(self.alone[:, :, None, :], 2, axis=2)
        return np.where((parents < 0)[:, None, None], free, self.paired[:, k, parents])


class HeldOut:
    """One fold: estimates from the other documents, and the scores of its own under any set of arcs."""

    def __init__(self, train: Cases, test: Cases) -> None:
        self.estimates, self.cases = train.estimates(), test
        self.values = test.own.astype(np.int64)
        k = self.values.shape[1]
        self.without = np.stack([self._alone(i) for i in range(k)])  # (k, n, states)
        self.scores = self.estimates.prior + self.without.sum(axis=0)

    def _alone(self, i: int) -> Floats:
        logs: Floats = self.estimates.alone[:, i, self.values[:, i]].T
        return logs

    def with_parent(self, child: int, parent: int) -> Floats:
        """log P(child | parent, state) of every document less that without the parent (n, states)."""
        tables = self.estimates.paired[:, child, parent]
        added: Floats = tables[:, self.values[:, parent], self.values[:, child]].T - self.without[child]
        return added

    def correct(self, added: Floats) -> float:
        """Weight of the documents that are classified right when `added` (n, states) is added to the scores."""
        right = (self.scores + added).argmax(axis=1) == self.cases.states
        return float(self.cases.weight @ right)


def add_arcs(cases: Cases, folds: Ids) -> Ids:
    """The parent of each feature, −1 for none: arcs added while the documents of all folds are classified better."""
    held_out = [HeldOut(cases.at(folds != fold), cases.at(folds == fold)) for fold in range(int(folds.max()) + 1)]
    k = cases.own.shape[1]
    parents = np.full(k, -1, np.int64)
    best = sum(fold.correct(np.zeros_like(fold.scores)) for fold in held_out)
    while True:
        free = {sp: _possible_children(parents, sp) for sp in range(k)}
        candidates = [sp for sp in range(k) if free[sp]]
        if not candidates:
            return parents
        everything = [_correct(held_out, [(child, sp) for child in free[sp]]) for sp in candidates]
        super_parent = candidates[int(np.argmax(everything))]
        children = free[super_parent]
        alone = [_correct(held_out, [(child, super_parent)]) for child in children]
        if max(alone) <= best:
            return parents
        best, child = max(alone), children[int(np.argmax(alone))]
        parents[child] = super_parent
        for fold in held_out:
            fold.scores = fold.scores + fold.with_parent(child, super_parent)


def _correct(held_out: list[HeldOut], arcs: list[tuple[int, int]]) -> float:
    """Weight of the documents of all folds that are classified right with these arcs (child, parent) added."""
    return sum(fold.correct(np.sum([fold.with_parent(*arc) for arc in arcs], axis=0)) for fold in held_out)


def _possible_children(parents: Ids, super_parent: int) -> list[int]:
    """Features without a parent that may take this one: not itself, nor the root above it, which would be a circle."""
    root = super_parent
    while parents[root] >= 0:
        root = int(parents[root])
    return [i for i in range(len(parents)) if parents[i] < 0 and i not in (super_parent, root)]


def fold_numbers(states: Ids, folds: int, seed: int) -> Ids:
    """The fold of each document (n_docs,): documents of each state are dealt out in turn, in random order.

    >>> fold_numbers(np.array([0, 0, 1, 1]), 2, seed=0)
    array([0, 1, 0, 1])
    """
    order = np.random.default_rng(seed).permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    numbers = np.empty(len(states), np.int64)
    numbers[order] = np.arange(len(states)) % min(folds, max(len(states), 1))
    return numbers
