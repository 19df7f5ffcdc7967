"""SuperParent TAN: dependences between features are added one at a time while cross-validated accuracy rises.

Keogh and Pazzani (1999), "Learning augmented Bayesian classifiers". tan.py finds a tree over all features at once by
conditional information; here a feature gets a parent only if that improves classification, so most have none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from unnaive.base.elementary import log
from unnaive.base.progress import report_classes, rounds_of
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import ROUNDING
from unnaive.data.products import dot, matmul
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.models.distinct_cases import DistinctCases, learning_problems
from unnaive.models.naive_bayes import LINK_OF_SCHEME
from unnaive.models.state_prior import log_state_prior
from unnaive.models.tan import FeatureTrees, TreeAugmentedNB


class SuperParentTAN(TreeAugmentedNB):
    """Naive Bayes over presence, to which arcs between terms are added while cross-validated accuracy rises.

    Each round makes every term in turn the parent of all terms that have none (the super parent), keeps the one with
    the highest accuracy, and of its children the one that helps most by itself (the favourite). It ends when nothing
    helps. Scores are those of TreeAugmentedNB.

    >>> X, y = [[1, 1], [0, 0], [1, 0], [0, 1]] * 8, ["alike", "alike", "apart", "apart"] * 8
    >>> SuperParentTAN().fit(X, y).predict([[1, 1], [1, 0]]).tolist()
    ['alike', 'apart']
    """

    traits = Traits(
        "superparent",
        "SuperParent tree-augmented naive Bayes",
        "documents",
        scorer_kinds=("feature-trees",),
        poor_score=True,
    )

    features: int = setting("Terms used, the best by information gain.", default=30, at_least=1)
    folds: int = setting("Number of cross-validation folds for measuring accuracy.", default=5, at_least=2)

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for estimates of all feature pairs in each fold, and one trial of every pair in each round."""
        features = min(self.features, size.terms)
        n_cells = self.folds * 5 * features**2 + features * size.documents
        return ClassCost(n_cells, steps=features**2 * (1e4 + 10 * size.documents))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """A forest over the best terms, or one for each class."""
        scheme, grown = self.scheme_for(exclusive), []
        problems = learning_problems(X, Y, self.features, scheme, sample_weight)
        n_problems = 1 if scheme == "multiclass" else Y.shape[1]
        report = rounds_of(progress if n_problems == 1 else None, self.traits.name, self.features)
        for terms, cases in report_classes(problems, n_problems, progress, self.traits.name):
            estimates = Estimates.of(cases, self.prior_cases, exclusive=scheme == "multiclass")
            folds = [
                SuperParentFold(cases, weight, self.prior_cases, exclusive=scheme == "multiclass")
                for weight in fold_weights(cases, self.folds)
                if weight.any()
            ]
            parents = add_arcs(folds, report)
            grown.append((terms, parents, estimates.tree_logs(parents), estimates.prior))
        terms, parents, logs, priors = (np.stack(part) for part in zip(*grown, strict=True))
        return Learnt(FeatureTrees(terms, parents, logs, priors, int(X.shape[1]), LINK_OF_SCHEME[scheme]))


@dataclass(frozen=True, eq=False)
class Estimates:
    """The probability of each feature with and without a parent, estimated from some documents.

    paired  log P(own | other, state): own, other, the other's value, own value  (states, k, k, 2, 2)
    alone   log P(own | state)                                                   (states, k, 2)
    prior   log P(state) by `log_state_prior`, with −∞ for a class without documents (states,)
    """

    paired: Floats
    alone: Floats
    prior: Floats

    @classmethod
    def of(cls, cases: DistinctCases, prior_cases: float, *, exclusive: bool) -> Estimates:
        """Relative frequencies among the cases.

        `prior_cases` pseudo-counts shrink P(feature | …) towards P(feature). With `exclusive`, the states are classes.
        """
        inside = [cases.states == state for state in range(cases.n_states)]
        values = cases.rows.astype(np.float64)
        both = np.stack(
            [matmul(values[rows].T * cases.weight[rows], values[rows]) for rows in inside]
        )  # (states, k, k)
        totals, single = cases.totals, np.diagonal(both, axis1=1, axis2=2)
        share = np.clip((single.sum(axis=0) + 1) / (totals.sum() + 2), 1e-12, 1 - 1e-12)  # (k,)
        parent_totals = np.stack([totals[:, None] - single, single], axis=2)[:, None]  # other absent, present
        present = np.stack([single[:, :, None] - both, both], axis=3)
        p = (np.maximum(present, 0) + prior_cases * share[:, None, None]) / (np.maximum(parent_totals, 0) + prior_cases)
        q = (single + prior_cases * share) / (totals[:, None] + prior_cases)
        prior = log_state_prior(totals, exclusive=exclusive)
        return cls(log(np.stack([1 - p, p], axis=4)), log(np.stack([1 - q, q], axis=2)), prior)

    def tree_logs(self, parents: Ids) -> Floats:
        """log P(own | parent, state) (states, k, 2, 2); a feature without a parent has the same values in both rows."""
        k = np.arange(len(parents))
        free = np.repeat(self.alone[:, :, None, :], 2, axis=2)
        return np.where((parents < 0)[:, None, None], free, self.paired[:, k, parents])


class SuperParentFold:
    """One fold: estimates from the other documents, and the scores of its own documents for any set of arcs."""

    def __init__(self, cases: DistinctCases, weight: Floats, prior_cases: float, *, exclusive: bool) -> None:
        others = cases.weight - weight
        others[others <= ROUNDING * cases.weight.sum()] = 0.0  # a rounding error would be a class with documents
        self.estimates = Estimates.of(replace(cases, weight=others), prior_cases, exclusive=exclusive)
        used = weight > 0
        self.weight, self.states = weight[used], cases.states[used]
        self.values = cases.rows[used].astype(np.int64)
        k = self.values.shape[1]
        self.without = np.stack([self.estimates.alone[:, i, self.values[:, i]].T for i in range(k)])  # (k, n, states)
        self.scores = self.estimates.prior + self.without.sum(axis=0)

    def with_parent(self, child: int, parent: int) -> Floats:
        """log P(child | parent, state) − log P(child | state) of every case (n, states)."""
        tables = self.estimates.paired[:, child, parent]
        added: Floats = tables[:, self.values[:, parent], self.values[:, child]].T - self.without[child]
        return added

    def correct(self, added: Floats) -> float:
        """Total weight of correctly classified documents after adding `added` (n, states) to the scores."""
        right = (self.scores + added).argmax(axis=1) == self.states
        return dot(self.weight, right)


def add_arcs(held_out: list[SuperParentFold], report: Callable[[int], None] = lambda number: None) -> Ids:
    """The parent of each feature, −1 for none; arcs are added while cross-validated accuracy rises.

    `report` is called with the number of arcs.
    """
    k = held_out[0].values.shape[1]
    parents = np.full(k, -1, np.int64)
    best = sum(fold.correct(np.zeros_like(fold.scores)) for fold in held_out)
    while True:
        report(int((parents >= 0).sum()))
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


def _correct(held_out: list[SuperParentFold], arcs: list[tuple[int, int]]) -> float:
    """Total weight of correctly classified documents of all folds with these arcs (child, parent) added."""
    return sum(fold.correct(np.sum([fold.with_parent(*arc) for arc in arcs], axis=0)) for fold in held_out)


def _possible_children(parents: Ids, super_parent: int) -> list[int]:
    """Features without a parent that may get this one: not itself, nor the root above it, which would close a cycle."""
    root = super_parent
    while parents[root] >= 0:
        root = int(parents[root])
    return [i for i in range(len(parents)) if parents[i] < 0 and i not in (super_parent, root)]


def fold_weights(cases: DistinctCases, folds: int) -> Floats:
    """The weight of each case in each fold (folds, n_cases): the documents of each state are assigned in turn.

    The documents of a case are assigned one after the other, so that copies are equivalent to a weight.

    >>> cases = DistinctCases(np.array([[0], [1]], np.int8), np.array([0, 0]), np.array([3.0, 1.0]), 1)
    >>> fold_weights(cases, 2)      # the first to folds 0, 1 and 0, the second to fold 1
    array([[2., 0.],
           [1., 1.]])
    """
    ends = np.cumsum(cases.weight)
    starts = ends - cases.weight
    before = starts[np.searchsorted(cases.states, cases.states)]  # each state starts with fold 0
    return np.maximum(_dealt(ends - before, folds) - _dealt(starts - before, folds), 0.0)


def _dealt(amounts: Floats, folds: int) -> Floats:
    """The weight in each fold after assigning these amounts, one unit at a time (folds, n)."""
    rounds, rest = np.divmod(amounts, folds)
    dealt: Floats = rounds + np.clip(rest - np.arange(folds)[:, None], 0.0, 1.0)
    return dealt
