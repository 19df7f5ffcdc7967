"""Tree-augmented naive Bayes (TAN): every feature may depend on one other besides the class, by a Chow–Liu tree.

Friedman, Geiger and Goldszmidt (1997), "Bayesian network classifiers", section 4. Unlike the hierarchical networks it
has no hidden variables: everything is counted, without iteration. TreeAugmentedNB learns, FeatureTrees scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.elementary import exp, log
from unnaive.base.errors import BadModel, choose, refuse_damaged
from unnaive.base.log_functions import xlogy
from unnaive.base.progress import report_classes
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.array_rules import ArrayRule, check_keys, check_rules, read_whole
from unnaive.data.counts import Counts
from unnaive.data.weighting import presence
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.network import Network
from unnaive.linear.scorer import Scorer
from unnaive.linear.term_selection import class_gain, information_gain, top_k
from unnaive.models.estimator import DocumentsModel, class_weight_setting, scheme_setting
from unnaive.models.hierarchical.tree_shape import distinct_name
from unnaive.models.mixins import HasNetwork
from unnaive.models.naive_bayes import LINK_OF_SCHEME
from unnaive.models.state_prior import log_state_prior

RULES = {
    "terms": ArrayRule("whole", ("trees", "k"), 0, below="all_terms"),
    "parents": ArrayRule("whole", ("trees", "k"), -1, below="k"),
    "prior": ArrayRule("float", ("trees", "states"), most=1e-9, or_minus_infinity=True),
    "logs": ArrayRule("float", ("trees", "states", "k", 2, 2), most=1e-9),
}


@dataclass(frozen=True, eq=False)
class FeatureTrees(Scorer):
    """One tree over all classes (link "softmax"), or one tree with two states for each class (link "log-odds").

    terms    the features of each tree                                          (n_trees, k)
    parents  for each feature the index of its parent, or −1                    (n_trees, k)
    logs     log P(own | parent, state): parent's state, then own state         (n_trees, states, k, 2, 2)
    prior    log P(state)                                                       (n_trees, states)
    """

    kind: ClassVar[str] = "feature-trees"

    terms: Ids
    parents: Ids
    logs: Floats
    prior: Floats
    n_terms: int
    link: str

    @property
    def n_classes(self) -> int:
        """The number of states of the single tree, or the number of trees."""
        return int(self.prior.shape[1] if self.link == "softmax" else len(self.terms))

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        X = csr_array(X)
        joint = [self._log_joint(X, tree) for tree in range(len(self.terms))]
        if self.link == "softmax":
            return joint[0]
        return np.stack([log_joint[:, 1] - log_joint[:, 0] for log_joint in joint], axis=1)

    def _log_joint(self, X: Sparse, tree: int) -> Floats:
        """log P(features, state) (n_docs, states).

        log P(a | b) = l00 + a(l01 − l00) + b(l10 − l00) + ab(l11 − l10 − l01 + l00): a sparse product for each part.
        """
        present = presence(X[:, self.terms[tree]])
        parents = self.parents[tree]
        dependent = parents >= 0
        table = self.logs[tree]
        neither, child_only, parent_only = table[:, :, 0, 0], table[:, :, 0, 1], table[:, :, 1, 0]
        weight = child_only - neither
        np.add.at(weight.T, parents[dependent], (parent_only - neither)[:, dependent].T)
        pairs = (table[:, :, 1, 1] - parent_only - child_only + neither)[:, dependent]
        both = present[:, np.flatnonzero(dependent)].multiply(present[:, parents[dependent]])
        joint: Floats = present @ weight.T + csr_array(both) @ pairs.T + (self.prior[tree] + neither.sum(axis=1))
        return joint

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """The tree of a class as a Network: the class first, then its features; `terms` names all columns of X."""
        tree = 0 if self.link == "softmax" else chosen
        states = tuple(classes) if self.link == "softmax" else ("no", "yes")
        features = tuple(str(terms[term]) for term in self.terms[tree])
        class_name = classes[chosen]
        top = distinct_name("class" if self.link == "softmax" else class_name, features, f"class {class_name}")
        prior, tables = exp(self.prior[tree]), exp(self.logs[tree])
        parents = [(0,) if parent < 0 else (0, int(parent) + 1) for parent in self.parents[tree]]
        shown = [tables[:, i, 0] if parent < 0 else tables[:, i] for i, parent in enumerate(self.parents[tree])]
        names_of_states = (states, *(("no", "yes") for _ in features))
        return Network((top, *features), ((), *parents), (prior / prior.sum(), *shown), names_of_states)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`."""
        arrays: dict[str, NDArray[Any]] = {
            "terms": self.terms, "parents": self.parents, "logs": self.logs, "prior": self.prior,
        }  # fmt: skip
        return arrays, {"n_terms": self.n_terms, "link": self.link}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> FeatureTrees:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the trees in this model are"):
            link = choose(["softmax", "log-odds"], settings["link"], "link")
            check_keys(settings, "link", "n_terms")
            n_terms = read_whole(settings["n_terms"], "n_terms")
            trees = cls(*_read_tables(arrays, n_terms), n_terms, link)
        if not _is_sound(trees):
            raise BadModel("the trees in this model have parts that do not match; train it again")
        return trees


def _read_tables(arrays: dict[str, NDArray[Any]], n_terms: int) -> tuple[Ids, Ids, Floats, Floats]:
    """Read terms, parents, logs and prior from a file; raise ValueError if they are invalid."""
    check_rules(arrays, RULES, all_terms=n_terms)
    terms, parents = (arrays[name].astype(np.int64) for name in ("terms", "parents"))
    return terms, parents, arrays["logs"], arrays["prior"]


def _is_sound(trees: FeatureTrees) -> bool:
    """Whether the numbers of trees and states match the link, and no feature is its own ancestor."""
    n_trees, states = trees.prior.shape
    fits = n_trees == 1 if trees.link == "softmax" else n_trees >= 1 and states == 2
    fits = fits and (trees.link == "softmax" or bool(np.isfinite(trees.prior[:, 0]).all()))
    return fits and not any(_has_cycle(parents) for parents in trees.parents)


def _has_cycle(parents: Ids) -> bool:
    """Whether following the parents never ends; the j-th round takes 2^j steps at once.

    >>> _has_cycle(np.array([-1, 0, 1])), _has_cycle(np.array([1, 0]))
    (False, True)
    """
    above = np.append(parents, -1)  # the last entry, to which −1 points, means above the root
    for _ in range(len(above).bit_length()):
        above = above[above]
    return bool(np.any(above >= 0))


class TreeAugmentedNB(DocumentsModel, HasNetwork):
    """Tree-augmented naive Bayes (TAN): every term may depend on one other besides the class.

    score = log P(c) + Σ_i log P(x_i | x_parent(i), c), where x_i is the presence of term i; for one-vs-rest, the
    log-odds of each class with its own tree.

    >>> TreeAugmentedNB().fit([[1, 1, 0], [0, 0, 1]], ["trade", "ship"]).predict([[1, 0, 0]]).tolist()
    ['trade']
    """

    traits = Traits("tan", "tree-augmented naive Bayes", "documents", scorer_kinds=("feature-trees",), poor_score=True)

    features: int = setting("Terms used, the best by information gain.", default=200, at_least=1)
    prior_cases: float = setting(
        "N⁰, the weight of P(feature) in the estimate of P(feature | parent, class), in documents; 5 in the paper.",
        default=5.0,
        above=0,
        below=np.inf,
    )
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for class membership, and counts of all pairs of features."""
        pairs = min(self.features, size.terms) ** 2
        return ClassCost(held=4 * pairs + size.documents / 8, steps=2e6 + 100 * pairs + 5 * size.documents)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """A Chow–Liu tree over the best terms, or one for each class."""
        scheme = self.scheme_for(exclusive)
        present = presence(X)
        counts = Counts.of(present, csr_array(Y), sample_weight)
        weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        by_term = csc_array(present)
        problems = _training_problems(csc_array(Y), counts, self.features, scheme)
        n_problems = 1 if scheme == "multiclass" else counts.n_classes
        grown = [
            (best, *grow_tree(csr_array(by_term[:, best]), members, weight, self.prior_cases, scheme == "multiclass"))
            for members, best in report_classes(problems, n_problems, progress, self.traits.name)
        ]
        terms, parents, logs, prior = (np.stack(part) for part in zip(*grown, strict=True))
        return Learnt(FeatureTrees(terms, parents, logs, prior, int(present.shape[1]), LINK_OF_SCHEME[scheme]))


Members = list[NDArray[np.bool_]]


def _training_problems(labels: Sparse, counts: Counts, k: int, scheme: str) -> Iterator[tuple[Members, Ids]]:
    """For each tree, the documents of each state of its class, and its terms."""
    inside = (labels[:, [c]].toarray()[:, 0] > 0 for c in range(counts.n_classes))
    if scheme == "multiclass":
        yield list(inside), top_k(information_gain(counts), k)
        return
    for c, members in enumerate(inside):
        yield [~members, members], top_k(class_gain(counts, c), k)


def grow_tree(
    presence: Sparse, members: Members, weight: Floats, prior_cases: float, exclusive: bool
) -> tuple[Ids, Floats, Floats]:
    """The tree over the presence of features `presence` (n_docs, k), given the documents of each state of the class.

    The states are `exclusive` classes, or the rest and one class. Returns parents (k,), log P(own | parent, state)
    (states, k, 2, 2) and log P(state) (states,).
    """
    both = np.stack([_co_occurrence(presence[inside], weight[inside]) for inside in members])  # (states, k, k)
    totals = np.array([weight[inside].sum() for inside in members])
    parents = spanning_tree(conditional_information(both, totals))
    logs = log(_conditionals(both, totals, parents, prior_cases))
    return parents, logs, log_state_prior(totals, exclusive=exclusive)


def _co_occurrence(present: Sparse, weight: Floats) -> Floats:
    """Total weight of documents with both of two features, for all pairs (k, k)."""
    weighted = csr_array(
        (present.data * np.repeat(weight, np.diff(present.indptr)), present.indices, present.indptr), present.shape
    )
    together: Floats = (present.T @ weighted).toarray()
    return together


def conditional_information(both: Floats, totals: Floats) -> Floats:
    """I(F_i; F_j | C) = Σ_abc P(a, b, c) log P(a, b | c) / (P(a|c) P(b|c)), in nats (k, k).

    `both` (states, k, k): weight of documents with both features in each state, with a single feature on the diagonal;
    `totals` (states,): weight of all documents.
    """
    information = np.zeros(both.shape[1:])
    for with_both, total in zip(both, totals, strict=True):
        if total > 0:
            alone = np.diagonal(with_both)
            for is_present, feature_counts in ((True, alone), (False, total - alone)):
                for other_present, other_counts in ((True, alone), (False, total - alone)):
                    cell = _cell(with_both, alone, total, is_present, other_present)
                    expected = np.outer(feature_counts, other_counts) / total
                    information += xlogy(cell, np.divide(cell, expected, out=np.ones_like(cell), where=expected > 0))
    return information / max(float(totals.sum()), 1e-300)


def _cell(both: Floats, alone: Floats, total: float, present: bool, other_present: bool) -> Floats:
    """Weight of documents with given presence of feature i and of feature j (k, k)."""
    if present:
        cell = both if other_present else alone[:, None] - both
    else:
        cell = alone[None, :] - both if other_present else total - alone[:, None] - alone[None, :] + both
    return np.maximum(cell, 0)  # rounding of fractional weights may give small negative numbers


def spanning_tree(strength: Floats) -> Ids:
    """The maximum spanning tree, as the parent of each node; node 0 is the root, with −1 (Prim).

    >>> spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]], float))
    array([-1,  0,  1])
    """
    n = len(strength)
    parent = np.full(n, -1, np.int64)
    best, source = strength[0].copy(), np.zeros(n, np.int64)
    best[0] = -np.inf
    for _ in range(n - 1):
        new = int(np.argmax(best))
        parent[new] = source[new]
        closer = (strength[new] > best) & np.isfinite(best)
        best[closer], source[closer] = strength[new][closer], new
        best[new] = -np.inf
    return parent


def _conditionals(both: Floats, totals: Floats, parents: Ids, prior_cases: float) -> Floats:
    """P(own = a | parent = b, state) (states, k, b, a), shrunk towards P(own = a) by `prior_cases`.

    The root has a virtual parent that is always absent.
    """
    k = np.arange(len(parents))
    alone = np.diagonal(both, axis1=1, axis2=2)  # (states, k)
    root = parents < 0
    over = np.where(root, 0.0, alone[:, parents])
    with_both = np.where(root, 0.0, both[:, k, parents])
    present = np.stack([alone - with_both, with_both], axis=2)  # own present, by state of the parent
    parent_counts = np.stack([totals[:, None] - over, over], axis=2)
    share = np.clip((alone.sum(axis=0) + 1) / (totals.sum() + 2), 1e-12, 1 - 1e-12)
    p = (present + prior_cases * share[:, None]) / (parent_counts + prior_cases)
    return np.stack([1 - p, p], axis=3)
