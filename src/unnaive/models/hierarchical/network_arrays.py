"""Hierarchical networks to flat arrays and back; hidden_networks.py stores models with it. Files are not trusted.

All networks of a model share one direction and one number of members. Lists of unequal length are kept end to end with
their lengths: `terms` and `n_features` by network, `own` and `n_own`, `hidden` and `n_hidden` by node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.errors import choose
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import Node, Tree
from unnaive.types import Arrays, Floats

AnyNetwork = HiddenTree | HiddenNaiveBayes
Entry = tuple[NDArray[np.int64], AnyNetwork]

WIDEST = 24  # a table of 2^24 cells is more than any training makes
MOST_MEMBERS = 1 << 16


def packed(networks: Sequence[Entry]) -> tuple[Arrays, str]:
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
        "values": np.concatenate([np.empty(0), *(part.ravel() for _, one in networks for part in _values(one))]),
    }
    return arrays, networks[0][1].direction if networks else HiddenTree.direction


def _end_to_end(lists: Sequence[Sequence[int] | NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(np.asarray(one, np.int64) for one in lists)])


def _values(network: AnyNetwork) -> tuple[Floats, ...]:
    if isinstance(network, HiddenTree):
        return (network.features, *network.tables)
    return (np.array([network.prior]), network.hidden, network.features)


def unpacked(arrays: Arrays, direction: str, n_terms: int) -> Iterator[Entry]:
    """The networks again; a ValueError, KeyError or IndexError where the arrays do not fit together."""
    choose(["to-class", "from-class"], direction, "direction")
    (members,) = _integers(arrays, "members", 1, MOST_MEMBERS)
    terms = _Taken(_integers(arrays, "terms", 0, n_terms - 1))
    own, hidden = _Taken(_integers(arrays, "own", 0)), _Taken(_integers(arrays, "hidden", 0))
    n_own, n_hidden = _Taken(_integers(arrays, "n_own", 0, WIDEST)), _Taken(_integers(arrays, "n_hidden", 0, WIDEST))
    values = _Taken(_probabilities(arrays))
    for n_features, n_nodes in zip(_integers(arrays, "n_features", 0), _integers(arrays, "n_nodes", 1), strict=True):
        nodes = zip(n_own.take(int(n_nodes)), n_hidden.take(int(n_nodes)), strict=True)
        tree = tuple(Node(own.numbers(features), hidden.numbers(children)) for features, children in nodes)
        _check_tree(tree, int(n_features))
        build = _hidden_tree if direction == "to-class" else _hidden_naive_bayes
        yield terms.take(int(n_features)), build(tree, int(n_features), int(members), values)
    if any(part.left for part in (terms, own, hidden, n_own, n_hidden, values)):
        raise ValueError("there is more in it than its networks need")


class _Taken:
    """An array that is taken from the front, never beyond its end."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values, self.place = values, 0

    @property
    def left(self) -> int:
        return len(self.values) - self.place

    def take(self, count: int) -> NDArray[Any]:
        if not 0 <= count <= self.left:
            raise ValueError("it ends too early")
        self.place += count
        return self.values[self.place - count : self.place]

    def numbers(self, count: int) -> tuple[int, ...]:
        return tuple(int(number) for number in self.take(int(count)))


def _integers(arrays: Arrays, name: str, least: int, most: int = 1 << 40) -> NDArray[np.int64]:
    values = arrays[name]
    if values.ndim != 1 or values.dtype.kind not in "iu" or np.any((values < least) | (values > most)):
        raise ValueError(f"{name} is out of range")
    return values.astype(np.int64)


def _probabilities(arrays: Arrays) -> Floats:
    values = arrays["values"]
    if values.ndim != 1 or values.dtype.kind != "f" or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("a table has a value that is no probability")
    return values.astype(np.float64)


def _check_tree(tree: Tree, n_features: int) -> None:
    """Every feature hangs somewhere once, every node on a later one, and tables are of a size that can be."""
    features = sorted(feature for node in tree for feature in node.features)
    hung = sorted(child for node in tree for child in node.hidden)
    late = any(child >= number for number, node in enumerate(tree) for child in node.hidden)
    wide = any(len(node.features) + len(node.hidden) > WIDEST for node in tree)
    if features != list(range(n_features)) or hung != list(range(len(tree) - 1)) or late or wide:
        raise ValueError("its nodes do not make a tree")


def _hidden_tree(tree: Tree, n_features: int, members: int, values: _Taken) -> HiddenTree:
    features = values.take(n_features)
    shapes = [(members, 1 << len(node.hidden), 1 << len(node.features)) for node in tree]
    return HiddenTree(tree, features, tuple(values.take(int(np.prod(shape))).reshape(shape) for shape in shapes))


def _hidden_naive_bayes(tree: Tree, n_features: int, members: int, values: _Taken) -> HiddenNaiveBayes:
    prior = float(values.take(1)[0])
    hidden, features = (
        values.take(members * 2 * size).reshape(members, 2, size) for size in (len(tree) - 1, n_features)
    )
    return HiddenNaiveBayes(tree, prior, hidden, features)
