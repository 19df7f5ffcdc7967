"""Mixtures of diagnostic networks: the class depends on a few terms directly, and several such networks are averaged.

Kontkanen, Myllymäki and Tirri (2001), "Classifier learning with supervised marginal likelihood". In a diagnostic
network all arcs point to the class, as in the hierarchical networks, but there are no hidden variables: P(class |
parents) is one table. The table doubles with every parent, so a network has few parents, and the mixture combines
networks over different terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from unnaive.base.elementary import log
from unnaive.base.errors import BadModel, choose, refuse_damaged
from unnaive.base.progress import report_classes, rounds_of
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.array_rules import ArrayRule, check_keys, check_rules, read_whole
from unnaive.data.products import dot
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.network import Network
from unnaive.linear.scorer import Scorer
from unnaive.models.distinct_cases import DistinctCases, learning_problems
from unnaive.models.estimator import DocumentsModel, class_weight_setting, scheme_setting
from unnaive.models.hierarchical.cases import codes_of
from unnaive.models.hierarchical.tree_shape import distinct_name
from unnaive.models.mixins import HasNetwork
from unnaive.models.naive_bayes import LINK_OF_SCHEME
from unnaive.models.state_prior import state_prior

MOST_PARENTS = 12  # a table has 2^parents rows


RULES = {
    "members": ArrayRule("whole", ("mixtures",), 1, 1 << 16),
    "n_parents": ArrayRule("whole", ("members",), 0, MOST_PARENTS),
    "terms": ArrayRule("whole", ("parents",), 0, below="all_terms"),
    "tables": ArrayRule("float", ("cells",), 0, 1 + 1e-9),
}


@dataclass(frozen=True, eq=False)
class DiagnosticNetwork:
    """One diagnostic network: the terms that are parents of the class, and P(state | parents) (2^parents, n_states)."""

    terms: Ids
    table: Floats


@dataclass(frozen=True, eq=False)
class DiagnosticNetworks(Scorer):
    """One mixture over all classes (link "softmax"), or one two-state mixture for each class (link "log-odds")."""

    kind: ClassVar[str] = "diagnostic-networks"

    mixtures: tuple[tuple[DiagnosticNetwork, ...], ...]
    n_terms: int
    link: str

    @property
    def n_classes(self) -> int:
        """The number of states of the single mixture, or the number of mixtures."""
        return int(self.mixtures[0][0].table.shape[1]) if self.link == "softmax" else len(self.mixtures)

    def scores(self, X: Sparse) -> Floats:
        """Log posteriors, or their log-odds, of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        columns = csc_array(X)
        posteriors = [self._posterior(columns, mixture) for mixture in self.mixtures]
        with np.errstate(divide="ignore"):  # a class without documents has probability 0
            if self.link == "softmax":
                return log(posteriors[0])
            return np.stack([log(posterior[:, 1]) - log(posterior[:, 0]) for posterior in posteriors], axis=1)

    def _posterior(self, X: Sparse, mixture: tuple[DiagnosticNetwork, ...]) -> Floats:
        tables = [network.table[codes_of(X[:, network.terms].toarray() > 0)] for network in mixture]
        return np.asarray(np.mean(tables, axis=0))

    def members(self, chosen: int) -> tuple[DiagnosticNetwork, ...]:
        """The networks that are averaged for a class."""
        return self.mixtures[0 if self.link == "softmax" else chosen]

    def member_count(self, chosen: int) -> int:
        """The number of networks that are averaged."""
        return len(self.members(chosen))

    def mixture_is_predictor(self, chosen: int) -> bool:
        """Whether the members can be written as one network; False, since they have different terms."""
        return False

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """One member as a Network: its terms, each with probability 1/2, then the class.

        `terms` names all columns of X.
        """
        network = self.members(chosen)[member]
        names = tuple(str(terms[term]) for term in network.terms)
        states = tuple(classes) if self.link == "softmax" else ("no", "yes")
        class_name = classes[chosen]
        target = distinct_name("class" if self.link == "softmax" else class_name, names, f"class {class_name}")
        roots = tuple(np.array([0.5, 0.5]) for _ in names)
        table = network.table.reshape((*(2 for _ in names), len(states)))
        parents = (*(() for _ in names), tuple(range(len(names))))
        return Network((*names, target), parents, (*roots, table), (*(("no", "yes") for _ in names), states))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`; lists are concatenated, with their lengths."""
        every = [network for mixture in self.mixtures for network in mixture]
        arrays: dict[str, NDArray[Any]] = {
            "members": np.array([len(mixture) for mixture in self.mixtures], np.int64),
            "n_parents": np.array([len(network.terms) for network in every], np.int64),
            "terms": np.concatenate([np.empty(0, np.int64), *(network.terms for network in every)]).astype(np.int64),
            "tables": np.concatenate([network.table.ravel() for network in every]),
        }
        return arrays, {"link": self.link, "n_terms": self.n_terms, "n_states": int(every[0].table.shape[1])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> DiagnosticNetworks:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the networks in this model are"):
            link = choose(["log-odds", "softmax"], settings["link"], "link")
            check_keys(settings, "link", "n_terms", "n_states")
            n_terms, n_states = (read_whole(settings[name], name) for name in ("n_terms", "n_states"))
            networks = _unpack(arrays, n_terms, n_states)
            rest = [network.table[:, 0] for mixture in networks for network in mixture if link == "log-odds"]
            if any(not bool(p.all()) for p in rest):
                raise ValueError("the probability of another class is 0")
        if (link == "softmax" and len(networks) != 1) or (link == "log-odds" and n_states != 2):
            raise BadModel("the networks in this model have parts that do not match; train it again")
        return cls(networks, n_terms, link)


def _unpack(arrays: dict[str, NDArray[Any]], n_terms: int, n_states: int) -> tuple[tuple[DiagnosticNetwork, ...], ...]:
    """Rebuild the mixtures from arrays; raise ValueError if the arrays do not match."""
    check_rules(arrays, RULES, all_terms=n_terms)
    members, n_parents, terms = (arrays[name].astype(np.int64) for name in ("members", "n_parents", "terms"))
    if n_states < 1 or not len(members) or sum(members.tolist()) != len(n_parents):
        raise ValueError("its members are out of range")
    if sum(n_parents.tolist()) != len(terms):
        raise ValueError("its parents are out of range")
    sizes, tables = n_states * (1 << n_parents), arrays["tables"].astype(np.float64)
    if sum(sizes.tolist()) != len(tables):
        raise ValueError("the sizes of its tables do not match its parents")
    own_terms = np.split(terms, np.cumsum(n_parents)[:-1])
    own_tables = [table.reshape(-1, n_states) for table in np.split(tables, np.cumsum(sizes)[:-1])]
    every = [DiagnosticNetwork(*pair) for pair in zip(own_terms, own_tables, strict=True)]
    ends = np.cumsum(members)
    return tuple(tuple(every[end - count : end]) for end, count in zip(ends, members, strict=True))


class DiagnosticMixture(DocumentsModel, HasNetwork):
    """The mean posterior of diagnostic networks, whose parents are selected by the mixture's leave-one-out likelihood.

    P(c | x) = (n_xc + α·P(c)) / (n_x + α)   of one network, x the presence of its few terms

    A member starts without parents and repeatedly adds the term that raises Σ_d log P(c_d | x_d) of the whole mixture
    most, each document being left out of its own estimate, until no term helps; the search ends with a member that does
    not help. For one-vs-rest every class has its own mixture.

    >>> X, y = [[1, 1], [0, 0], [1, 0], [0, 1]] * 8, ["both", "not", "not", "not"] * 8
    >>> DiagnosticMixture(members=1).fit(X, y).predict_proba([[1, 1], [0, 0]]).round(2)     # (8 + .26) / (8 + 1), …
    array([[0.92, 0.08],
           [0.03, 0.97]])
    """

    traits = Traits(
        "diagnostic",
        "mixture of diagnostic networks",
        "documents",
        scorer_kinds=("diagnostic-networks",),
        poor_score=True,
    )

    features: int = setting("Candidate parents: this many terms of highest information gain.", default=30, at_least=1)
    members: int = setting("Maximum number of networks in a mixture.", default=10, at_least=1)
    parents: int = setting(
        "Maximum number of parents in one network; the table doubles with each.",
        default=5,
        at_least=1,
        at_most=MOST_PARENTS,
    )
    alpha: float = setting("Pseudo-counts for each joint state of the parents.", default=1.0, above=0, below=np.inf)
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory of the members' tables, and one trial of every feature for each of their parents."""
        cells, tries = 2**self.parents, self.members * self.parents * self.features
        if self.scheme_for(exclusive) == "multiclass":
            return ClassCost(held=self.members * cells, steps=25 * tries * cells)
        return ClassCost(held=self.members * cells, steps=tries * (2e3 + 10 * size.documents))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """A mixture over all classes, or one for each class."""
        scheme, mixtures = self.scheme_for(exclusive), []
        problems = learning_problems(X, Y, self.features, scheme, sample_weight)
        n_problems = 1 if scheme == "multiclass" else Y.shape[1]
        report = rounds_of(progress if n_problems == 1 else None, self.traits.name, self.members)
        for terms, cases in report_classes(problems, n_problems, progress, self.traits.name):
            tables = ProbabilityTables(cases, self.alpha, scheme == "multiclass")
            chosen = choose_members(tables, self.members, self.parents, report)
            mixtures.append(tuple(DiagnosticNetwork(terms[list(members)], tables.table(members)) for members in chosen))
        return Learnt(DiagnosticNetworks(tuple(mixtures), int(X.shape[1]), LINK_OF_SCHEME[scheme]))


@dataclass(frozen=True, eq=False)
class ProbabilityTables:
    """P(state | parents) for any parents among the terms, with alpha pseudo-counts for each cell."""

    cases: DistinctCases
    alpha: float
    exclusive: bool = True  # whether the states are the classes, not the rest and one class

    @property
    def prior(self) -> Floats:
        """P(state) with one pseudo-count each (n_states,)."""
        return state_prior(self.cases.totals, exclusive=self.exclusive)

    def codes(self, parents: tuple[int, ...]) -> Ids:
        """The joint state of these terms in each case, the first the highest bit (n_cases,)."""
        return codes_of(self.cases.rows[:, list(parents)])

    def table(self, parents: tuple[int, ...]) -> Floats:
        """P(state | parents) (2^parents, n_states)."""
        cells = self._cells(self.codes(parents), 1 << len(parents))
        table: Floats = (cells + self.alpha * self.prior) / (cells.sum(axis=1, keepdims=True) + self.alpha)
        return table

    def left_out(self, codes: Ids, size: int) -> Floats:
        """P(state of the case | its code), each estimated without one of its documents (n_cases,)."""
        cells, states = self._cells(codes, size), self.cases.states
        single = np.minimum(self.cases.weight, 1.0)
        same_state, others = cells[codes, states] - single, cells.sum(axis=1)[codes] - single
        chance: Floats = (np.maximum(same_state, 0) + self.alpha * self.prior[states]) / (
            np.maximum(others, 0) + self.alpha
        )
        return chance

    def _cells(self, codes: Ids, size: int) -> Floats:
        """Total weight of the documents with each code, by state (size, n_states)."""
        n_states = self.cases.n_states
        cells = np.bincount(codes * n_states + self.cases.states, self.cases.weight, size * n_states)
        return cells.astype(np.float64).reshape(size, n_states)


def choose_members(
    tables: ProbabilityTables, members: int, parents: int, report: Callable[[int], None] = lambda number: None
) -> list[tuple[int, ...]]:
    """Select the parents of each network; the first network may have none if no term helps."""
    chosen: list[tuple[int, ...]] = []
    together, best = np.zeros(len(tables.cases.states)), -np.inf
    while len(chosen) < members:
        report(len(chosen))
        grown, chance, likelihood = _grow_member(tables, together, len(chosen), parents)
        if chosen and likelihood <= best + 1e-9 * abs(best):
            break
        chosen.append(grown)
        together, best = together + chance, likelihood
    return chosen


def _grow_member(
    tables: ProbabilityTables, together: Floats, n_before: int, most: int
) -> tuple[tuple[int, ...], Floats, float]:
    """Grow one more network: its parents, its leave-one-out predictions, and the likelihood of the mixture with it."""
    rows, weight = tables.cases.rows, tables.cases.weight

    def likelihood(chance: Floats) -> float:
        """The mean over documents, rounded so that the order of summation cannot break ties."""
        return round(dot(weight, log((together + chance) / (n_before + 1))) / float(weight.sum()), 12)

    parents: tuple[int, ...] = ()
    codes = tables.codes(parents)
    chance = tables.left_out(codes, 1)
    best = likelihood(chance)
    while len(parents) < most:
        size = 2 << len(parents)
        tries = [(i, tables.left_out(2 * codes + rows[:, i], size)) for i in range(rows.shape[1]) if i not in parents]
        if not tries:
            break
        gains = [likelihood(chance) for _, chance in tries]
        chosen = int(np.argmax(gains))
        if gains[chosen] <= best:
            break
        best, (term, chance) = gains[chosen], tries[chosen]
        parents, codes = (*parents, term), 2 * codes + rows[:, term]
    return parents, chance, best
