"""Mixtures of diagnostic networks: the class depends on a few terms directly, and several such networks are averaged.

Kontkanen, Myllymäki and Tirri (2001), "Classifier learning with supervised marginal likelihood". In a diagnostic
network all arcs point to the class, as in the hierarchical networks, but nothing is hidden: P(class | parents) is one
table. As a table doubles with every parent, a network has few of them, and the mixture has networks over different
terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from unnaive.base.errors import BadModel, choose
from unnaive.base.progress import report_classes, rounds_of
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.array_rules import ABOVE_ZERO, ArrayRule, check_keys, check_rules, read_whole
from unnaive.learning.class_limits import ClassCost, DataSize
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
    "tables": ArrayRule("float", ("cells",), ABOVE_ZERO, 1 + 1e-9),
}


@dataclass(frozen=True, eq=False)
class DiagnosticNetwork:
    """One diagnostic network: the terms that are parents of the class, and P(state | parents) (2^parents, n_states)."""

    terms: Ids
    table: Floats


@dataclass(frozen=True, eq=False)
class DiagnosticNetworks(Scorer):
    """One mixture over all classes (link "softmax"), or one with two states for each class (link "log-odds")."""

    kind: ClassVar[str] = "diagnostic-networks"

    mixtures: tuple[tuple[DiagnosticNetwork, ...], ...]
    n_terms: int
    link: str

    @property
    def n_classes(self) -> int:
        """States of the one mixture, or as many as there are mixtures."""
        return int(self.mixtures[0][0].table.shape[1]) if self.link == "softmax" else len(self.mixtures)

    def scores(self, X: Sparse) -> Floats:
        """Log posteriors, or their log-odds, of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        columns = csc_array(X)
        posteriors = [self._posterior(columns, mixture) for mixture in self.mixtures]
        if self.link == "softmax":
            return np.log(posteriors[0])
        return np.stack([np.log(one[:, 1]) - np.log(one[:, 0]) for one in posteriors], axis=1)

    def _posterior(self, X: Sparse, mixture: tuple[DiagnosticNetwork, ...]) -> Floats:
        found = [one.table[codes_of(X[:, one.terms].toarray() > 0)] for one in mixture]
        return np.asarray(np.mean(found, axis=0))

    def members(self, chosen: int) -> tuple[DiagnosticNetwork, ...]:
        """The networks whose mean tells of a class."""
        return self.mixtures[0 if self.link == "softmax" else chosen]

    def member_count(self, chosen: int) -> int:
        """How many networks are averaged."""
        return len(self.members(chosen))

    def mixture_is_predictor(self, chosen: int) -> bool:
        """Whether members can be written as one network: they are over different terms."""
        return False

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """One member as a Network: its terms, each as likely as not, then the class; `terms` names all columns of X."""
        one = self.members(chosen)[member]
        names = tuple(str(terms[term]) for term in one.terms)
        states = tuple(classes) if self.link == "softmax" else ("no", "yes")
        own = classes[chosen]
        target = distinct_name("class" if self.link == "softmax" else own, names, f"class {own}")
        roots = tuple(np.array([0.5, 0.5]) for _ in names)
        table = one.table.reshape((*(2 for _ in names), len(states)))
        parents = (*(() for _ in names), tuple(range(len(names))))
        return Network((*names, target), parents, (*roots, table), (*(("no", "yes") for _ in names), states))

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer; lists end to end, with lengths."""
        every = [one for mixture in self.mixtures for one in mixture]
        arrays: dict[str, NDArray[Any]] = {
            "members": np.array([len(mixture) for mixture in self.mixtures], np.int64),
            "n_parents": np.array([len(one.terms) for one in every], np.int64),
            "terms": np.concatenate([np.empty(0, np.int64), *(one.terms for one in every)]).astype(np.int64),
            "tables": np.concatenate([one.table.ravel() for one in every]),
        }
        return arrays, {"link": self.link, "n_terms": self.n_terms, "n_states": int(every[0].table.shape[1])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> DiagnosticNetworks:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            link = choose(["log-odds", "softmax"], settings["link"], "link")
            check_keys(settings, "link", "n_terms", "n_states")
            n_terms, n_states = (read_whole(settings[name], name) for name in ("n_terms", "n_states"))
            networks = _unpack(arrays, n_terms, n_states)
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise BadModel(f"the networks in this model are damaged ({problem}); train it again") from problem
        if (link == "softmax" and len(networks) != 1) or (link == "log-odds" and n_states != 2):
            raise BadModel("the networks in this model have parts that do not fit together; train it again")
        return cls(networks, n_terms, link)


def _unpack(arrays: dict[str, NDArray[Any]], n_terms: int, n_states: int) -> tuple[tuple[DiagnosticNetwork, ...], ...]:
    """The mixtures of `to_arrays`; a ValueError where the arrays do not fit together."""
    check_rules(arrays, RULES, all_terms=n_terms)
    members, n_parents, terms = (arrays[name].astype(np.int64) for name in ("members", "n_parents", "terms"))
    if n_states < 1 or not len(members) or sum(members.tolist()) != len(n_parents):
        raise ValueError("its members are out of range")
    if sum(n_parents.tolist()) != len(terms):
        raise ValueError("its parents are out of range")
    sizes, tables = n_states * (1 << n_parents), arrays["tables"].astype(np.float64)
    if sum(sizes.tolist()) != len(tables):
        raise ValueError("its tables are larger or smaller than its parents make them")
    own_terms = np.split(terms, np.cumsum(n_parents)[:-1])
    own_tables = [one.reshape(-1, n_states) for one in np.split(tables, np.cumsum(sizes)[:-1])]
    every = [DiagnosticNetwork(*pair) for pair in zip(own_terms, own_tables, strict=True)]
    ends = np.cumsum(members)
    return tuple(tuple(every[end - count : end]) for end, count in zip(ends, members, strict=True))


class DiagnosticMixture(DocumentsModel, HasNetwork):
    """The mean posterior of diagnostic networks, whose parents are chosen by the mixture's leave-one-out likelihood.

    P(c | x) = (n_xc + α·P(c)) / (n_x + α)   of one network, x the presence of its few terms

    A member starts without parents and takes in the term with which Σ_d log P(c_d | x_d) of the whole mixture rises
    most, each document left out of its own estimate, until none helps; a member that does not help ends the search.
    For one-vs-rest every class has a mixture of its own.

    >>> X, y = [[1, 1], [0, 0], [1, 0], [0, 1]] * 8, ["both", "not", "not", "not"] * 8
    >>> DiagnosticMixture(members=1).fit(X, y).predict_proba([[1, 1], [0, 0]]).round(2)     # (8 + .26) / (8 + 1), …
    array([[0.92, 0.08],
           [0.03, 0.97]])
    """

    name = "diagnostic"
    title = "mixture of diagnostic networks"
    scorer_kinds = ("diagnostic-networks",)
    poor_score = True

    features: int = setting("Terms to choose parents from, the best by information gain.", default=30, at_least=1)
    members: int = setting("Networks in a mixture, at most.", default=10, at_least=1)
    parents: int = setting(
        "Parents of the class in one network, at most; a table doubles with each.",
        default=5,
        at_least=1,
        at_most=MOST_PARENTS,
    )
    alpha: float = setting("Made-up cases for each joint state of the parents.", default=1.0, above=0, below=np.inf)
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Tables of the members, and a try of every feature for each of their parents."""
        cells, tries = 2**self.parents, self.members * self.parents * self.features
        if self.scheme_for(exclusive) == "multiclass":
            return ClassCost(held=self.members * cells, steps=25 * tries * cells)
        return ClassCost(held=self.members * cells, steps=tries * (2e3 + 10 * size.documents))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> DiagnosticNetworks:  # fmt: skip
        """A mixture over all classes, or one for each class."""
        scheme, mixtures = self.scheme_for(exclusive), []
        problems = learning_problems(X, Y, self.features, scheme, sample_weight)
        n_problems = 1 if scheme == "multiclass" else Y.shape[1]
        report = rounds_of(progress if n_problems == 1 else None, self.name, self.members)
        for terms, cases in report_classes(problems, n_problems, progress, self.name):
            tables = ProbabilityTables(cases, self.alpha)
            chosen = choose_members(tables, self.members, self.parents, report)
            mixtures.append(tuple(DiagnosticNetwork(terms[list(own)], tables.table(own)) for own in chosen))
        return DiagnosticNetworks(tuple(mixtures), int(X.shape[1]), LINK_OF_SCHEME[scheme])


@dataclass(frozen=True, eq=False)
class ProbabilityTables:
    """P(state | parents) for any parents among the terms of the cases, with alpha made-up cases for each cell."""

    cases: DistinctCases
    alpha: float

    @property
    def prior(self) -> Floats:
        """P(state), one made-up case for each (n_states,)."""
        return state_prior(self.cases.totals)

    def codes(self, parents: tuple[int, ...]) -> Ids:
        """The joint state of these terms in each case, the first the highest bit (n_cases,)."""
        return codes_of(self.cases.rows[:, list(parents)])

    def table(self, parents: tuple[int, ...]) -> Floats:
        """P(state | parents) (2^parents, n_states)."""
        cells = self._cells(self.codes(parents), 1 << len(parents))
        table: Floats = (cells + self.alpha * self.prior) / (cells.sum(axis=1, keepdims=True) + self.alpha)
        return table

    def left_out(self, codes: Ids, size: int) -> Floats:
        """P(its state | its code) of each case, estimated without one document of it (n_cases,)."""
        cells, states = self._cells(codes, size), self.cases.states
        one = np.minimum(self.cases.weight, 1.0)
        own, others = cells[codes, states] - one, cells.sum(axis=1)[codes] - one
        chance: Floats = (np.maximum(own, 0) + self.alpha * self.prior[states]) / (np.maximum(others, 0) + self.alpha)
        return chance

    def _cells(self, codes: Ids, size: int) -> Floats:
        """Weight of the documents with each code, by state (size, n_states)."""
        n_states = self.cases.n_states
        cells = np.bincount(codes * n_states + self.cases.states, self.cases.weight, size * n_states)
        return cells.astype(np.float64).reshape(size, n_states)


def choose_members(
    tables: ProbabilityTables, members: int, parents: int, report: Callable[[int], None] = lambda number: None
) -> list[tuple[int, ...]]:
    """The parents of each network of the mixture; the first may have none, if no term helps."""
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
    """One more network: its parents, what it says of each document left out, and the mixture's likelihood with it."""
    rows, weight = tables.cases.rows, tables.cases.weight

    def likelihood(chance: Floats) -> float:
        """The mean over documents; rounded, because sums in another order must not break ties."""
        return round(float(weight @ np.log((together + chance) / (n_before + 1)) / weight.sum()), 12)

    own: tuple[int, ...] = ()
    codes = tables.codes(own)
    chance = tables.left_out(codes, 1)
    best = likelihood(chance)
    while len(own) < most:
        size = 2 << len(own)
        tries = [(i, tables.left_out(2 * codes + rows[:, i], size)) for i in range(rows.shape[1]) if i not in own]
        if not tries:
            break
        found = [likelihood(one) for _, one in tries]
        place = int(np.argmax(found))
        if found[place] <= best:
            break
        best, (term, chance) = found[place], tries[place]
        own, codes = (*own, term), 2 * codes + rows[:, term]
    return own, chance, best
