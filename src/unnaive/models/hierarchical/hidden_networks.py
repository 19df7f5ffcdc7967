"""HiddenNetworks, the scorer of hierarchical networks: one network for each class, over its own terms.

This file also has the goodness of fit of a network (NETWORK_SCORES), and the storage of networks as flat arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from unnaive.base.elementary import log, log1p
from unnaive.base.errors import BadModel, choose, refuse_damaged
from unnaive.base.types import Arrays, Floats, Sparse
from unnaive.data.array_rules import ArrayRule, check_keys, check_rules, read_whole
from unnaive.data.products import dot
from unnaive.linear.network import Network
from unnaive.linear.scorer import Scorer
from unnaive.models.hierarchical.cases import UNKNOWN, Cases, FeatureRows
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import Node, Tree

AnyNetwork = HiddenTree | HiddenNaiveBayes

DECIMALS = 9  # decimals of a score: smaller differences are rounding noise, and such scores are tied


@dataclass(frozen=True, eq=False)
class ClassNetwork:
    """A network of one class and its terms, in order."""

    terms: NDArray[np.int64]
    network: AnyNetwork


@dataclass(frozen=True, eq=False)
class HiddenNetworks(Scorer):
    """A network for each class; the score is the log-odds of its posterior.

    link "log-odds": a network for each class. link "softmax": one network, for the second of two exclusive classes.
    """

    kind: ClassVar[str] = "hidden-networks"

    networks: tuple[ClassNetwork, ...]
    n_terms: int
    link: str = "log-odds"

    @property
    def n_classes(self) -> int:
        """One for each network; two for the single network of a softmax."""
        return 2 if self.link == "softmax" else len(self.networks)

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        return self._scores(csc_array(X), None)

    def scores_given(self, X: Sparse, unknown: Sparse) -> Floats:
        """The same if some terms of some documents are unknown, neither present nor absent: true in `unknown`."""
        return self._scores(csc_array(X), csc_array(unknown))

    def _scores(self, X: Sparse, unknown: Sparse | None) -> Floats:
        odds = [_log_odds(entry.network.posterior(evidence(X, entry.terms, unknown))) for entry in self.networks]
        if self.link == "softmax":
            odds = [np.zeros(X.shape[0]), *odds]
        return np.stack(odds, axis=1) if odds else np.empty((X.shape[0], 0))

    def class_network(self, class_index: int) -> ClassNetwork:
        """The network of a class and its terms."""
        return self.networks[0 if self.link == "softmax" else class_index]

    def strongest_terms(self, chosen: int, frequency: Floats | None, limit: int) -> list[tuple[int, float]]:
        """Terms by their contribution to the log-odds of the class if nothing else is known."""
        entry = self.class_network(chosen)
        rows = np.full((len(entry.terms) + 1, len(entry.terms)), UNKNOWN, np.int8)
        np.fill_diagonal(rows[1:], 1)
        odds = _log_odds(entry.network.posterior(rows))
        added = (odds[1:] - odds[0]) * (-1 if self.link == "softmax" and chosen == 0 else 1)
        best = np.argsort(-added, kind="stable")[:limit]
        return [(int(entry.terms[at]), float(added[at])) for at in best if added[at] > 0]

    def member_count(self, chosen: int) -> int:
        """The number of averaged sets of tables."""
        return self.class_network(chosen).network.members

    def mixture_is_predictor(self, chosen: int) -> bool:
        """Whether the mixture of the members has the posterior of the model: True if arcs point to the class."""
        return isinstance(self.class_network(chosen).network, HiddenTree)

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """The network of a class, to display or export; `member` selects one of those averaged."""
        entry = self.class_network(chosen)
        network = entry.network.network([str(terms[term]) for term in entry.terms], classes[chosen], member)
        # the single network of two classes is that of the second; the first is its negation
        return swap_class_states(network) if self.link == "softmax" and chosen == 0 else network

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`."""
        arrays, direction = pack_networks([(entry.terms, entry.network) for entry in self.networks])
        return arrays, {"link": self.link, "n_terms": self.n_terms, "direction": direction}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> HiddenNetworks:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the networks in this model are"):
            link = choose(["log-odds", "softmax"], settings["link"], "link")
            check_keys(settings, "link", "n_terms", "direction")
            n_terms = read_whole(settings["n_terms"], "n_terms")
            networks = tuple(ClassNetwork(*entry) for entry in unpack_networks(arrays, settings["direction"], n_terms))
        if link == "softmax" and len(networks) != 1:
            raise BadModel(f"this model has {len(networks)} networks for two classes, not one; train it again")
        return cls(networks, n_terms, link)


def swap_class_states(network: Network) -> Network:
    """The network with "no" and "yes" of its last node, the class, exchanged.

    >>> coin = Network(("heads",), ((),), (np.array([0.25, 0.75]),))
    >>> swap_class_states(coin).tables[0]
    array([0.75, 0.25])
    """
    last = len(network.nodes) - 1
    tables = []
    for node, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        axes = tuple(axis for axis, variable in enumerate((*parents, node)) if variable == last)
        tables.append(np.flip(table, axes))
    return replace(network, tables=tuple(tables))


def evidence(X: Sparse, terms: NDArray[np.int64], unknown: Sparse | None = None) -> FeatureRows:
    """The presence of `terms` in documents X: 1 present, 0 absent, −1 unknown (n_docs, len(terms)).

    >>> evidence(csc_array([[2, 0, 0]]), np.array([1, 0, 2]), csc_array([[False, False, True]]))
    array([[ 0,  1, -1]], dtype=int8)
    """
    rows: FeatureRows = (X[:, terms].toarray() > 0).astype(np.int8)
    if unknown is not None:
        rows[unknown[:, terms].toarray() != 0] = UNKNOWN
    return rows


def _log_odds(posterior: Floats) -> Floats:
    odds: Floats = np.round(log(posterior) - log1p(-posterior), DECIMALS)
    return odds


def log_likelihood(network: AnyNetwork, cases: Cases) -> float:
    """LL = Σ_i log P(f_i, c_i)."""
    log_features = network.log_features(cases.rows)
    return conditional_log_likelihood(network, cases) + dot(cases.positive + cases.negative, log_features)


def conditional_log_likelihood(network: AnyNetwork, cases: Cases) -> float:
    """CLL = Σ_i log P(c_i | f_i)."""
    inside: Floats = network.member_posteriors(cases.rows)[0]
    return dot(cases.positive, log(inside)) + dot(cases.negative, log1p(-inside))


def description_length(network: AnyNetwork, cases: Cases) -> float:
    """MDL = log N / 2 · parameters − LL; the smaller, the better."""
    return _price(network, cases) - log_likelihood(network, cases)


def conditional_description_length(network: AnyNetwork, cases: Cases) -> float:
    """CMDL = log N / 2 · parameters − CLL, CLL being a sum over cases.

    The thesis prints N · CLL; with CLL as it defines it, a sum, that would weigh every case N times.
    """
    return _price(network, cases) - conditional_log_likelihood(network, cases)


def _price(network: AnyNetwork, cases: Cases) -> float:
    return float(log(max(cases.total, 1)) / 2 * network.n_parameters)


NETWORK_SCORES: dict[str, Callable[[AnyNetwork, Cases], float]] = {
    "LL": log_likelihood,
    "CLL": conditional_log_likelihood,
    "MDL": description_length,
    "CMDL": conditional_description_length,
}


Entry = tuple[NDArray[np.int64], AnyNetwork]

WIDEST = 24  # a table of 2^24 cells is larger than any that training makes
MOST_MEMBERS = 1 << 16


RULES = {
    "members": ArrayRule("whole", (1,), 1, MOST_MEMBERS),
    "n_features": ArrayRule("whole", ("networks",), 0, 1 << 40),
    "n_nodes": ArrayRule("whole", ("networks",), 1, 1 << 40),
    "terms": ArrayRule("whole", ("features",), 0, below="all_terms"),
    "own": ArrayRule("whole", ("features",), 0, below="features"),
    "n_own": ArrayRule("whole", ("nodes",), 0, WIDEST),
    "n_hidden": ArrayRule("whole", ("nodes",), 0, WIDEST),
    "hidden": ArrayRule("whole", ("arcs",), 0, below="nodes"),
    "values": ArrayRule("float", ("cells",), 0, 1),
}


def pack_networks(networks: Sequence[Entry]) -> tuple[Arrays, str]:
    """The arrays of all networks, and their direction."""
    nodes = [node for _, network in networks for node in network.tree]
    members = {network.members for _, network in networks} or {1}
    arrays: Arrays = {
        "members": np.array(sorted(members), np.int64),
        "terms": _end_to_end([terms for terms, _ in networks]),
        "n_features": np.array([len(terms) for terms, _ in networks], np.int64),
        "n_nodes": np.array([len(network.tree) for _, network in networks], np.int64),
        "own": _end_to_end([node.features for node in nodes]),
        "n_own": np.array([len(node.features) for node in nodes], np.int64),
        "hidden": _end_to_end([node.hidden for node in nodes]),
        "n_hidden": np.array([len(node.hidden) for node in nodes], np.int64),
        "values": np.concatenate(
            [np.empty(0), *(part.ravel() for _, network in networks for part in _values(network))]
        ),
    }
    return arrays, networks[0][1].direction if networks else HiddenTree.direction


def _end_to_end(lists: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(np.asarray(values, np.int64) for values in lists)])


def _values(network: AnyNetwork) -> tuple[Floats, ...]:
    if isinstance(network, HiddenTree):
        return (network.features, *network.tables)
    return (np.array([network.prior]), network.hidden, network.features)


def unpack_networks(arrays: Arrays, direction: str, n_terms: int) -> Iterator[Entry]:
    """Rebuild the networks; raise ValueError, KeyError or IndexError if the arrays do not match."""
    choose(["to-class", "from-class"], direction, "direction")
    check_rules(arrays, RULES, all_terms=n_terms)
    whole = {name: arrays[name].astype(np.int64) for name in arrays if name != "values"}
    (members,) = whole["members"]
    terms, own_terms, hidden, n_own, n_hidden = (
        _ArrayReader(whole[name]) for name in ("terms", "own", "hidden", "n_own", "n_hidden")
    )
    values = _ArrayReader(arrays["values"].astype(np.float64))
    sizes = whole["n_features"], whole["n_nodes"]
    _check_sizes(*sizes, terms.left, n_own.left)
    for n_features, n_nodes in zip(*sizes, strict=True):
        nodes = zip(n_own.take(int(n_nodes)), n_hidden.take(int(n_nodes)), strict=True)
        tree = tuple(Node(own_terms.numbers(features), hidden.numbers(children)) for features, children in nodes)
        _check_tree(tree, int(n_features))
        build = _hidden_tree if direction == "to-class" else _hidden_naive_bayes
        yield terms.take(int(n_features)), build(tree, int(n_features), int(members), values)
    if any(part.left for part in (terms, own_terms, hidden, n_own, n_hidden, values)):
        raise ValueError("it has more data than its networks need")


def _check_sizes(n_features: NDArray[Any], n_nodes: NDArray[Any], n_terms: int, n_counts: int) -> None:
    """Raise an error unless the sizes match the arrays: a number in a file must not decide how much is allocated."""
    if sum(n_features.tolist()) != n_terms or sum(n_nodes.tolist()) != n_counts:
        raise ValueError("the sizes of its networks do not match its arrays")


class _ArrayReader:
    """Read an array from the front, never beyond its end."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self.position = values, 0

    @property
    def left(self) -> int:
        return len(self.values) - self.position

    def take(self, count: int) -> NDArray[Any]:
        if not 0 <= count <= self.left:
            raise ValueError("it is incomplete")
        self.position += count
        return self.values[self.position - count : self.position]

    def numbers(self, count: int) -> tuple[int, ...]:
        return tuple(int(number) for number in self.take(int(count)))


def _check_tree(tree: Tree, n_features: int) -> None:
    """Raise an error unless each feature has one node, each node is below a later one, and no table is too large."""
    features = sorted(feature for node in tree for feature in node.features)
    hung = sorted(child for node in tree for child in node.hidden)
    late = any(child >= number for number, node in enumerate(tree) for child in node.hidden)
    wide = any(len(node.features) + len(node.hidden) > WIDEST for node in tree)
    if (
        len(features) != n_features
        or features != list(range(n_features))
        or hung != list(range(len(tree) - 1))
        or late
        or wide
    ):
        raise ValueError("its nodes do not form a tree")


def _hidden_tree(tree: Tree, n_features: int, members: int, values: _ArrayReader) -> HiddenTree:
    features = values.take(n_features)
    shapes = [(members, 1 << len(node.hidden), 1 << len(node.features)) for node in tree]
    return HiddenTree(tree, features, tuple(values.take(math.prod(shape)).reshape(shape) for shape in shapes))


def _hidden_naive_bayes(tree: Tree, n_features: int, members: int, values: _ArrayReader) -> HiddenNaiveBayes:
    prior = float(values.take(1)[0])
    hidden, features = (
        values.take(members * 2 * size).reshape(members, 2, size) for size in (len(tree) - 1, n_features)
    )
    return HiddenNaiveBayes(tree, prior, hidden, features)
