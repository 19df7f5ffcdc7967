"""Mixtures of diagnostic networks: the class depends on a few terms directly, and several such networks are averaged.

Kontkanen, Myllymäki and Tirri (2001), "Classifier learning with supervised marginal likelihood". In a diagnostic
network all arcs point to the class, as in the hierarchical networks, but nothing is hidden: P(class | parents) is one
table. As a table doubles with every parent, a network has few of them, and the mixture has networks over different
terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.core.counts import Counts
from unnaive.core.labels import single_labels
from unnaive.core.network import Network
from unnaive.core.selection import class_gain, information_gain, top_terms
from unnaive.errors import BadData, BadModel, UnnaiveError, choose
from unnaive.models.hierarchical.tree_shape import distinct_name
from unnaive.models.paths import presence
from unnaive.types import Floats, Ids, Sparse

MOST_PARENTS = 12  # a table has 2^parents rows


def diagnostic_mixture(
    X: Sparse,
    Y: Sparse,
    *,
    features: int = 30,
    members: int = 10,
    parents: int = 5,
    alpha: float = 1.0,
    scheme: str = "multiclass",
    sample_weight: NDArray[Any] | None = None,
) -> DiagnosticMixture:
    """The mean posterior of diagnostic networks, whose parents are chosen by the mixture's leave-one-out likelihood.

    features  terms to choose parents from, by information gain: of all classes, or ("one-vs-rest") of each class
    members   networks in a mixture, at most
    parents   parents of the class in one network, at most
    alpha     made-up cases for each cell: P(c | x) = (n_xc + α·P(c)) / (n_x + α)

    A member starts without parents and takes in the term with which Σ_d log P(c_d | x_d) of the whole mixture rises
    most, each document left out of its own estimate, until none helps; a member that does not help ends the search.

    >>> X = csr_array([[1, 1], [0, 0], [1, 0], [0, 1]] * 8)           # class 1 where both terms are there
    >>> Y = csr_array([[0, 1], [1, 0], [1, 0], [1, 0]] * 8)
    >>> np.exp(diagnostic_mixture(X, Y, members=1).scores(X[:2])).round(2)   # (0 + .74) / (8 + 1), (8 + .74) / (8 + 1)
    array([[0.08, 0.92],
           [0.97, 0.03]])
    """
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    if features < 1 or members < 1 or not 1 <= parents <= MOST_PARENTS or alpha <= 0:
        raise UnnaiveError(
            f"features={features}, members={members}, alpha={alpha} must be above 0, parents={parents} from 1 to "
            f"{MOST_PARENTS}"
        )
    present, labels = presence(X), csr_array(Y)
    weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    counts, by_term = Counts.of(present, labels, sample_weight), csc_array(present)
    n_states = 2 if scheme == "one-vs-rest" else labels.shape[1]
    networks = []
    for states, terms in _problems(labels, counts, features, scheme):
        own = by_term[:, terms].toarray() > 0
        cases = Cases(own, states, weight, n_states, alpha)
        chosen = choose_members(cases, members, parents)
        networks.append(tuple(Member(terms[list(own_terms)], cases.table(own_terms)) for own_terms in chosen))
    return DiagnosticMixture(
        tuple(networks), int(present.shape[1]), "log-odds" if scheme == "one-vs-rest" else "softmax"
    )


def _problems(labels: Sparse, counts: Counts, k: int, scheme: str) -> Iterator[tuple[Ids, Ids]]:
    """For each mixture the state of its class in each document (n_docs,), and the terms to choose from."""
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
    """Documents of one problem: presence of the terms (n_docs, k), state of the class and weight of each (n_docs,)."""

    own: NDArray[np.bool_]
    states: Ids
    weight: Floats
    n_states: int
    alpha: float

    @property
    def prior(self) -> Floats:
        """P(state), one made-up case for each (n_states,)."""
        totals = np.bincount(self.states, self.weight, self.n_states)
        prior: Floats = (totals + 1) / (totals.sum() + self.n_states)
        return prior

    def codes(self, parents: tuple[int, ...]) -> Ids:
        """The joint state of these terms in each document, the first the highest bit (n_docs,)."""
        return joint_states(self.own[:, list(parents)])

    def table(self, parents: tuple[int, ...]) -> Floats:
        """P(state | parents) (2^parents, n_states)."""
        cells = _cells(self.codes(parents), self.states, self.weight, 1 << len(parents), self.n_states)
        table: Floats = (cells + self.alpha * self.prior) / (cells.sum(axis=1, keepdims=True) + self.alpha)
        return table

    def left_out(self, codes: Ids, size: int) -> Floats:
        """P(its state | its code) of each document, estimated without the document itself (n_docs,)."""
        cells = _cells(codes, self.states, self.weight, size, self.n_states)
        own = cells[codes, self.states] - self.weight
        others = cells.sum(axis=1)[codes] - self.weight
        chance: Floats = (np.maximum(own, 0) + self.alpha * self.prior[self.states]) / (
            np.maximum(others, 0) + self.alpha
        )
        return chance


def _cells(codes: Ids, states: Ids, weight: Floats, size: int, n_states: int) -> Floats:
    cells: Floats = np.bincount(codes * n_states + states, weight, size * n_states).astype(np.float64)
    return cells.reshape(size, n_states)


def joint_states(values: NDArray[np.bool_]) -> Ids:
    """Rows of 0 and 1 as numbers, the first column the highest bit.

    >>> joint_states(np.array([[True, False], [False, False]]))
    array([2, 0])
    """
    bits = 1 << np.arange(values.shape[1])[::-1]
    return np.asarray(values @ bits, np.int64) if values.shape[1] else np.zeros(len(values), np.int64)


def choose_members(cases: Cases, members: int, parents: int) -> list[tuple[int, ...]]:
    """The parents of each network of the mixture; the first may have none, if no term helps."""
    chosen: list[tuple[int, ...]] = []
    together, best = np.zeros(len(cases.states)), -np.inf
    while len(chosen) < members:
        grown, chance, likelihood = _grow_member(cases, together, len(chosen), parents)
        if chosen and likelihood <= best + 1e-9 * abs(best):
            break
        chosen.append(grown)
        together, best = together + chance, likelihood
    return chosen


def _grow_member(cases: Cases, together: Floats, n_before: int, most: int) -> tuple[tuple[int, ...], Floats, float]:
    """One more network: its parents, what it says of each document left out, and the mixture's likelihood with it."""

    def likelihood(chance: Floats) -> float:
        return float(cases.weight @ np.log((together + chance) / (n_before + 1)))

    own: tuple[int, ...] = ()
    codes = cases.codes(own)
    chance = cases.left_out(codes, 1)
    best = likelihood(chance)
    while len(own) < most:
        size = 2 << len(own)
        tries = [
            (i, cases.left_out(2 * codes + cases.own[:, i], size)) for i in range(cases.own.shape[1]) if i not in own
        ]
        if not tries:
            break
        found = [likelihood(one) for _, one in tries]
        place = int(np.argmax(found))
        if found[place] <= best:
            break
        best, (term, chance) = found[place], tries[place]
        own, codes = (*own, term), 2 * codes + cases.own[:, term]
    return own, chance, best


@dataclass(frozen=True, eq=False)
class Member:
    """One diagnostic network: the terms that are parents of the class, and P(state | parents) (2^parents, n_states)."""

    terms: Ids
    table: Floats


@dataclass(frozen=True, eq=False)
class DiagnosticMixture:
    """One mixture over all classes (link "softmax"), or one with two states for each class (link "log-odds")."""

    kind: ClassVar[str] = "diagnostic-mixture"

    mixtures: tuple[tuple[Member, ...], ...]
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

    def _posterior(self, X: Sparse, mixture: tuple[Member, ...]) -> Floats:
        found = [one.table[joint_states(X[:, one.terms].toarray() > 0)] for one in mixture]
        return np.asarray(np.mean(found, axis=0))

    def members(self, class_index: int) -> tuple[Member, ...]:
        """The networks whose mean tells of a class."""
        return self.mixtures[0 if self.link == "softmax" else class_index]

    def network(self, class_index: int, names: Any, class_names: list[str], member: int = 0) -> Network:
        """One member as a Network: its terms, each as likely as not, then the class; `names` names all columns of X."""
        one = self.members(class_index)[member]
        terms = tuple(str(names[term]) for term in one.terms)
        states = tuple(class_names) if self.link == "softmax" else ("no", "yes")
        own = class_names[class_index]
        target = distinct_name("class" if self.link == "softmax" else own, terms, f"class {own}")
        roots = tuple(np.array([0.5, 0.5]) for _ in terms)
        table = one.table.reshape((*(2 for _ in terms), len(states)))
        parents = (*(() for _ in terms), tuple(range(len(terms))))
        return Network((*terms, target), parents, (*roots, table), (*(("no", "yes") for _ in terms), states))

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
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> DiagnosticMixture:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            link = choose(["log-odds", "softmax"], settings["link"], "link")
            n_terms, n_states = int(settings["n_terms"]), int(settings["n_states"])
            networks = _unpack(arrays, n_terms, n_states)
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise BadModel(f"the networks in this model are damaged ({problem}); train it again") from problem
        if (link == "softmax" and len(networks) != 1) or (link == "log-odds" and n_states != 2):
            raise BadModel("the networks in this model have parts that do not fit together; train it again")
        return cls(networks, n_terms, link)


def _unpack(arrays: dict[str, NDArray[Any]], n_terms: int, n_states: int) -> tuple[tuple[Member, ...], ...]:
    """The mixtures of `to_arrays`; a ValueError where the arrays do not fit together."""
    members, n_parents, terms = (np.asarray(arrays[name]) for name in ("members", "n_parents", "terms"))
    tables = np.asarray(arrays["tables"], np.float64)
    whole = all(part.ndim == 1 and part.dtype.kind in "iu" for part in (members, n_parents, terms))
    if not whole or n_states < 1 or not len(members) or np.any(members < 1) or int(members.sum()) != len(n_parents):
        raise ValueError("its members are out of range")
    if np.any((n_parents < 0) | (n_parents > MOST_PARENTS)) or int(n_parents.sum()) != len(terms):
        raise ValueError("its parents are out of range")
    sizes = n_states * (1 << n_parents.astype(np.int64))
    if tables.ndim != 1 or int(sizes.sum()) != len(tables) or not np.all((tables > 0) & (tables <= 1)):
        raise ValueError("a table has a value that is no probability")
    if np.any((terms < 0) | (terms >= n_terms)):
        raise ValueError("a term is out of range")
    own_terms = np.split(terms.astype(np.int64), np.cumsum(n_parents)[:-1])
    own_tables = [one.reshape(-1, n_states) for one in np.split(tables, np.cumsum(sizes)[:-1])]
    every = [Member(*pair) for pair in zip(own_terms, own_tables, strict=True)]
    ends = np.cumsum(members)
    return tuple(tuple(every[end - count : end]) for end, count in zip(ends, members, strict=True))
