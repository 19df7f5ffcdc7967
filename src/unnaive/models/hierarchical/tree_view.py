"""A tree-shaped network drawn from its class, and as text; evaluation/reports/network_figures.py draws it.

The input is a Network of hidden_networks.py; `unnaive inspect --network` displays the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unnaive.base.errors import BadData
from unnaive.linear.network import Network


@dataclass(frozen=True)
class TreeNode:
    """A node of a network for drawing.

    node      its number in the network
    depth     arcs between it and the class
    across    its horizontal position, in leaves
    children  the nodes drawn below it
    """

    node: int
    depth: int
    across: float
    children: tuple[TreeNode, ...]

    def walk(self) -> Iterator[TreeNode]:
        """This node and all its descendants, from the class outwards."""
        yield self
        for child in self.children:
            yield from child.walk()


def root_tree(network: Network, root: int | None = None) -> TreeNode:
    """The network rooted at its class (the last node by default), whichever way the arcs point."""
    neighbours: list[list[int]] = [[] for _ in network.nodes]
    for parent, child in network.arcs():
        neighbours[parent].append(child)
        neighbours[child].append(parent)
    if sum(map(len, neighbours)) != 2 * (len(network.nodes) - 1):
        raise BadData("this network is not a tree; only hierarchical models have trees")
    leaves = iter(range(len(network.nodes)))

    def seen_from(node: int, source: int | None, depth: int) -> TreeNode:
        others = sorted(
            (other for other in neighbours[node] if other != source), key=lambda other: len(neighbours[other]) > 1
        )
        children = tuple(seen_from(other, node, depth + 1) for other in others)
        across = float(np.mean([other.across for other in children])) if children else float(next(leaves))
        return TreeNode(node, depth, across, children)

    return seen_from(len(network.nodes) - 1 if root is None else root, None, 0)


def tree_text(network: Network) -> str:
    """The tree as text, the class first; arrows point like the arcs, numbers are P(yes) of roots.

    >>> table = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> wet = Network(("rain", "dew", "wet"), ((), (), (0, 1)), (np.array([0.8, 0.2]), np.array([0.5, 0.5]), table))
    >>> print(tree_text(wet))
    wet
    ├─◂ rain 0.200
    └─◂ dew 0.500
    """
    top = root_tree(network)
    return "\n".join([_node_text(network, top), *_branches(network, top, "")])


def _branches(network: Network, drawn: TreeNode, indent: str) -> Iterator[str]:
    for number, below in enumerate(drawn.children):
        last = number == len(drawn.children) - 1
        arrow = "◂" if below.node in network.parents[drawn.node] else "▸"
        yield f"{indent}{'└' if last else '├'}─{arrow} {_node_text(network, below)}"
        yield from _branches(network, below, indent + ("    " if last else "│   "))


def _node_text(network: Network, drawn: TreeNode) -> str:
    name, table = network.nodes[drawn.node], network.tables[drawn.node]
    return name if network.parents[drawn.node] else f"{name} {table[-1]:.3f}"
