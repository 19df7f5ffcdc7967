"""The shape of a hierarchical network: which features and hidden variables hang on which, before any table is known.

cases.py gives the data of one class, feature_clusters.py and dependence_clusters.py group its features; the tree that
grows here is compiled in stages.py and fitted by em.py. Karčiauskas (2002), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unnaive.errors import choose
from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.dependence_clusters import clusters_by_dependence
from unnaive.models.hierarchical.feature_clusters import Cluster, clusters_by_average, clusters_by_or

CLUSTERINGS: dict[str, Callable[[Cases, Sequence[int], int, float], list[Cluster]]] = {
    "avg": clusters_by_average,
    "or": clusters_by_or,
    "dep": clusters_by_dependence,
}


@dataclass(frozen=True)
class Node:
    """A hidden variable or the class, by what hangs on it: `features` by column, `hidden` by the number of the node."""

    features: tuple[int, ...]
    hidden: tuple[int, ...]


Tree = tuple[Node, ...]
"""Nodes, each after those that hang on it; the last is the class."""


def shaped(cases: Cases, *, clustering: str, branching: int, alpha: float) -> Tree:
    """The tree of one class: at most `branching` variables hang on every node (figures 3.3 and 3.4).

    clustering  "avg", "or" or "dep", the criterion by which features share a hidden variable
    alpha       penalty of cluster size ("avg", "or") or importance of mutual information ("dep")

    >>> import numpy as np
    >>> rows = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1]], np.int8)
    >>> cases = Cases.of(rows, np.array([True, False, True]))
    >>> shaped(cases, clustering="avg", branching=2, alpha=0.0)
    (Node(features=(0, 1), hidden=()), Node(features=(2,), hidden=(0,)))
    """
    cluster = CLUSTERINGS[choose(list(CLUSTERINGS), clustering, "feature clustering")]
    nodes: list[Node] = []

    def grown(features: Sequence[int]) -> int:
        """The number of the node that has these features below it."""
        if len(features) <= branching:
            return placed(tuple(features), ())
        clusters = cluster(cases, features, branching, alpha)
        single = tuple(members[0] for members in clusters if len(members) == 1)
        return placed(single, tuple(grown(members) for members in clusters if len(members) > 1))

    def placed(features: tuple[int, ...], hidden: tuple[int, ...]) -> int:
        nodes.append(Node(features, hidden))
        return len(nodes) - 1

    grown(range(cases.n_features))
    return tuple(nodes)


def features_below(tree: Tree) -> list[tuple[int, ...]]:
    """For each node all features in its subtree, its own first.

    >>> features_below((Node((0, 1), ()), Node((2,), (0,))))
    [(0, 1), (2, 0, 1)]
    """
    below: list[tuple[int, ...]] = []
    for node in tree:
        below.append(node.features + tuple(feature for child in node.hidden for feature in below[child]))
    return below


def inputs(node: Node, n_features: int) -> tuple[int, ...]:
    """What hangs on a node, hidden variables first, where node k is numbered after the features: n_features + k.

    >>> inputs(Node((2,), (0,)), 3)
    (3, 2)
    """
    return (*(n_features + child for child in node.hidden), *node.features)


def node_names(tree: Tree, features: Sequence[str], class_name: str) -> tuple[str, ...]:
    """Names of features, hidden variables and class, all distinct; hidden variables are numbered from the class on.

    >>> node_names((Node((0,), ()), Node((1,), (0,))), ["trade", "gatt"], "trade")
    ('trade', 'gatt', 'hidden1', 'class trade')
    """
    numbers = {node: number for number, node in enumerate(_from_class(tree, len(tree) - 1))}
    hidden = [f"hidden{numbers[node]}" for node in range(len(tree) - 1)]
    names = list(features)
    for name in hidden:
        names.append(distinct_name(name, names))
    return (*names, distinct_name(class_name, names, f"class {class_name}"))


def distinct_name(name: str, taken: Sequence[str], instead: str | None = None) -> str:
    """`name`, or where it is taken `instead`, with primes until it is not.

    >>> distinct_name("trade", ["trade"], "class trade"), distinct_name("hidden1", ["hidden1"])
    ('class trade', "hidden1'")
    """
    if name in taken and instead is not None:
        name = instead
    while name in taken:
        name = f"{name}'"
    return name


def _from_class(tree: Tree, node: int) -> Iterator[int]:
    """The node and all that hang on it, in the order in which a reader meets them."""
    yield node
    for child in tree[node].hidden:
        yield from _from_class(tree, child)
