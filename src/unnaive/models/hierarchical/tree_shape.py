"""The shape of a hierarchical network, before its tables are known, and its compilation over rows of features.

shape_tree arranges features and hidden variables, using the clusters of feature_clusters.py; compile_stages
lists for every node the distinct rows of its subtree, for EM and inference. Karčiauskas (2002), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from unnaive.base.errors import choose
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Ids
from unnaive.models.hierarchical.cases import Cases, FeatureRows, codes_of, distinct_rows
from unnaive.models.hierarchical.feature_clusters import (
    Cluster,
    clusters_by_average,
    clusters_by_dependence,
    clusters_by_or,
)

CLUSTERINGS: dict[str, Callable[[Cases, Sequence[int], int, float], list[Cluster]]] = {
    "avg": clusters_by_average,
    "or": clusters_by_or,
    "dep": clusters_by_dependence,
    "dep-unconditional": partial(clusters_by_dependence, conditional=False),
}


@dataclass(frozen=True)
class Node:
    """A hidden variable or the class, with its children: `features` by column, `hidden` by node number."""

    features: tuple[int, ...]
    hidden: tuple[int, ...]


Tree = tuple[Node, ...]
"""Nodes in post-order: each comes after its descendants; the last is the class."""


def shape_tree(cases: Cases, *, clustering: str, branching: int, alpha: float) -> Tree:
    """The tree of one class: every node has at most `branching` children (figures 3.3 and 3.4).

    clustering  one of CLUSTERINGS, the criterion by which features share a hidden variable
    alpha       penalty on cluster size ("avg", "or") or weight of mutual information

    >>> import numpy as np
    >>> rows = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1]], np.int8)
    >>> cases = Cases.of(rows, np.array([True, False, True]))
    >>> shape_tree(cases, clustering="avg", branching=2, alpha=0.0)
    (Node(features=(0, 1), hidden=()), Node(features=(2,), hidden=(0,)))
    """
    cluster = CLUSTERINGS[choose(list(CLUSTERINGS), clustering, "feature clustering")]
    nodes: list[Node] = []

    def add_subtree(features: Sequence[int]) -> int:
        """Add a node for these features; return its number."""
        if len(features) <= branching:
            return add_node(tuple(features), ())
        clusters = cluster(cases, features, branching, alpha)
        single = tuple(members[0] for members in clusters if len(members) == 1)
        return add_node(single, tuple(add_subtree(members) for members in clusters if len(members) > 1))

    def add_node(features: tuple[int, ...], hidden: tuple[int, ...]) -> int:
        nodes.append(Node(features, hidden))
        return len(nodes) - 1

    add_subtree(range(cases.n_features))
    return tuple(nodes)


def features_below(tree: Tree) -> list[tuple[int, ...]]:
    """All features in the subtree of each node, its own first.

    >>> features_below((Node((0, 1), ()), Node((2,), (0,))))
    [(0, 1), (2, 0, 1)]
    """
    below: list[tuple[int, ...]] = []
    for node in tree:
        below.append(node.features + tuple(feature for child in node.hidden for feature in below[child]))
    return below


def inputs(node: Node, n_features: int) -> tuple[int, ...]:
    """The children of a node, hidden variables first; node k has the number n_features + k, after the features.

    >>> inputs(Node((2,), (0,)), 3)
    (3, 2)
    """
    return (*(n_features + child for child in node.hidden), *node.features)


def node_names(tree: Tree, features: Sequence[str], class_name: str) -> tuple[str, ...]:
    """Distinct names of features, hidden variables and class; hidden variables are numbered from the class on.

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
    """`name`, or `instead` if it is taken, with primes appended until it is unique.

    >>> distinct_name("trade", ["trade"], "class trade"), distinct_name("hidden1", ["hidden1"])
    ('class trade', "hidden1'")
    """
    if name in taken and instead is not None:
        name = instead
    while name in taken:
        name = f"{name}'"
    return name


def _from_class(tree: Tree, node: int) -> Iterator[int]:
    """The node and its descendants, top down."""
    yield node
    for child in tree[node].hidden:
        yield from _from_class(tree, child)


@dataclass(frozen=True, eq=False)
class RowLink:
    """Maps rows of a node to rows of one of its hidden variables: `row[s]`, and the reverse for sums."""

    node: int
    row: Ids
    order: Ids
    starts: Ids

    def expand(self, values: Floats) -> Floats:
        """Values by the hidden variable's rows (…, rows there) → values by the node's rows (…, rows)."""
        return np.take(values, self.row, axis=-1)

    def sum_rows(self, values: Floats) -> Floats:
        """The reverse: sums over the node's rows that share a row of the hidden variable."""
        return np.add.reduceat(np.take(values, self.order, axis=-1), self.starts, axis=-1)


@dataclass(frozen=True, eq=False)
class Stage:
    """One node with the distinct rows of its subtree, sorted by `codes`, the configurations of its own features."""

    codes: Ids
    starts: Ids
    n_rows: int
    links: tuple[RowLink, ...]

    @lazy_property
    def sizes(self) -> Ids:
        """Rows of each configuration (n_codes,)."""
        return np.diff(self.starts, append=self.n_rows)

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Each configuration with its rows."""
        for code, (start, size) in enumerate(zip(self.starts, self.sizes, strict=True)):
            yield code, slice(int(start), int(start + size))


def compile_stages(tree: Tree, rows: FeatureRows) -> tuple[list[Stage], Ids]:
    """The stages of a tree over `rows` (n, n_features), and for each of `rows` its row at the class."""
    below = features_below(tree)
    stages: list[Stage | None] = [None] * len(tree)
    top, order = distinct_rows(rows[:, list(below[-1])])
    waiting = {len(tree) - 1: top}
    while waiting:
        node, rows_ = waiting.popitem()
        links, column = [], len(tree[node].features)
        for child in tree[node].hidden:
            width = len(below[child])
            waiting[child], row = distinct_rows(rows_[:, column : column + width])
            links.append(_link(child, row))
            column += width
        codes, starts = np.unique(codes_of(rows_[:, : len(tree[node].features)]), return_index=True)
        stages[node] = Stage(codes, starts, len(rows_), tuple(links))
    return [stage for stage in stages if stage is not None], order


def _link(node: int, row: Ids) -> RowLink:
    order = np.argsort(row, kind="stable")
    return RowLink(node, row, order, np.flatnonzero(np.diff(row[order], prepend=-1)))
