"""A network that is a tree, looked at: as text, and drawn as in the thesis's figures 4.1 to 4.4.

Takes the Network value of hidden_networks.py; `unnaive inspect --network` shows what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, MissingExtra
from unnaive.linear.network import Network


@dataclass(frozen=True)
class TreeNode:
    """A node of a network as it is drawn.

    node      its number in the network
    depth     arcs between it and the class
    across    its horizontal place, in leaves
    children  the nodes drawn below it
    """

    node: int
    depth: int
    across: float
    children: tuple[TreeNode, ...]

    def walk(self) -> Iterator[TreeNode]:
        """This node and all below it, from the class outwards."""
        yield self
        for one in self.children:
            yield from one.walk()


def root_tree(network: Network, root: int | None = None) -> TreeNode:
    """The network seen from its class (the last node by default), whichever way the arcs point."""
    neighbours: list[list[int]] = [[] for _ in network.nodes]
    for parent, child in network.arcs():
        neighbours[parent].append(child)
        neighbours[child].append(parent)
    if sum(map(len, neighbours)) != 2 * (len(network.nodes) - 1):
        raise BadData("this network is not a tree; only the hierarchical models have trees to show")
    leaves = iter(range(len(network.nodes)))

    def seen_from(node: int, source: int | None, depth: int) -> TreeNode:
        others = sorted((one for one in neighbours[node] if one != source), key=lambda one: len(neighbours[one]) > 1)
        children = tuple(seen_from(one, node, depth + 1) for one in others)
        across = float(np.mean([one.across for one in children])) if children else float(next(leaves))
        return TreeNode(node, depth, across, children)

    return seen_from(len(network.nodes) - 1 if root is None else root, None, 0)


def tree_text(network: Network) -> str:
    """The tree in characters, the class first; arrows point as arcs do, figures are P(yes) of roots.

    >>> table = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> wet = Network(("rain", "dew", "wet"), ((), (), (0, 1)), (np.array([0.8, 0.2]), np.array([0.5, 0.5]), table))
    >>> print(tree_text(wet))
    wet
    ├─◂ rain 0.200
    └─◂ dew 0.500
    """
    top = root_tree(network)
    return "\n".join([_node_text(network, top), *_branches(network, top, "")])


def _branches(network: Network, one: TreeNode, indent: str) -> Iterator[str]:
    for number, below in enumerate(one.children):
        last = number == len(one.children) - 1
        arrow = "◂" if below.node in network.parents[one.node] else "▸"
        yield f"{indent}{'└' if last else '├'}─{arrow} {_node_text(network, below)}"
        yield from _branches(network, below, indent + ("    " if last else "│   "))


def _node_text(network: Network, one: TreeNode) -> str:
    name, table = network.nodes[one.node], network.tables[one.node]
    return name if network.parents[one.node] else f"{name} {table[-1]:.3f}"


def draw_tree(network: Network, root: int | None = None) -> Any:
    """A matplotlib figure of the tree: features above, the class at the bottom, arrows along the arcs."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtra("drawing needs matplotlib; install it with: pip install matplotlib") from problem
    top = root_tree(network, root)
    places = {one.node: (one.across, float(one.depth)) for one in top.walk()}
    leaves, depth = 1 + max(x for x, _ in places.values()), 1 + max(y for _, y in places.values())
    figure = Figure(figsize=(max(4.0, 0.42 * leaves), 1.3 * depth + 1), layout="constrained")
    axes = figure.subplots()
    for parent, child in network.arcs():
        arrow = {"arrowstyle": "-|>", "color": "#888888", "shrinkA": 9, "shrinkB": 9}
        axes.annotate("", xy=places[child], xytext=places[parent], arrowprops=arrow)
    for one in top.walk():
        axes.text(*places[one.node], network.nodes[one.node], **_label(one, top))
    axes.set(xlim=(-1, leaves), ylim=(-0.6, depth - 0.2))
    axes.axis("off")
    return figure


def _label(one: TreeNode, top: TreeNode) -> dict[str, Any]:
    """Features stand upright and plain; hidden variables and the class are in boxes."""
    if not one.children and one is not top:
        return {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 9}
    colour = "#ffd9a8" if one is top else "#dce9f7"
    box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "#666666"}
    return {"ha": "center", "va": "center", "fontsize": 9, "bbox": box}
