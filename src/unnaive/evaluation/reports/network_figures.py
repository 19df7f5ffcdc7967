"""Figures of Bayesian networks: trees as in the thesis's figures 4.1 to 4.4, and the strongest arcs of an OR gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.base.palette import LIGHT, TINTS
from unnaive.evaluation.reports.plots import Figure, style
from unnaive.linear.network import Network
from unnaive.models.hierarchical.tree_view import TreeNode, root_tree

NOTE = {"fontsize": 7, "color": LIGHT["faint"]}


def tree_figure(network: Network, root: int | None = None, *, note: str = "") -> Figure:
    """The tree: features above, the class at the bottom, arrows along the arcs."""
    top = root_tree(network, root)
    places = {drawn.node: (drawn.across, float(drawn.depth)) for drawn in top.walk()}
    leaves, depth = 1 + max(x for x, _ in places.values()), 1 + max(y for _, y in places.values())
    with style() as library:
        drawing = library.Figure(figsize=(max(4.0, 0.42 * leaves), 1.3 * depth + 1), layout="constrained")
        axes = drawing.subplots()
        for parent, child in network.arcs():
            arrow = {"arrowstyle": "-|>", "color": LIGHT["faint"], "shrinkA": 9, "shrinkB": 9}
            axes.annotate("", xy=places[child], xytext=places[parent], arrowprops=arrow)
        for drawn in top.walk():
            axes.text(*places[drawn.node], network.nodes[drawn.node], **_label(drawn, top))
        axes.set(xlim=(-1, leaves), ylim=(-0.6, depth - 0.2))
        axes.axis("off")
        drawing.suptitle(note, **NOTE)
        return drawing


def _label(drawn: TreeNode, top: TreeNode) -> dict[str, Any]:
    """The text style: features are upright and plain; hidden variables and the class are in boxes."""
    if not drawn.children and drawn is not top:
        return {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 9}
    colour = TINTS["orange"] if drawn is top else TINTS["blue"]
    box = {"boxstyle": "round", "facecolor": colour, "edgecolor": LIGHT["faint"]}
    return {"ha": "center", "va": "center", "fontsize": 9, "bbox": box}


def gate_figure(class_name: str, arcs: Sequence[tuple[str, float, float]], *, note: str = "") -> Figure:
    """Terms on the left, the class on the right, arcs as wide as their weights.

    arcs  (term, weight, weight relative to the largest) of each, strongest first
    """
    with style() as library:
        drawing = library.Figure(figsize=(6, 0.6 + 0.3 * len(arcs)), layout="constrained")
        axes = drawing.add_subplot()
        axes.axis("off")
        middle = (len(arcs) - 1) / 2
        for row, (term, weight, share) in enumerate(arcs):
            axes.plot([0, 1], [-row, -middle], color="C0", lw=0.3 + 4 * share, alpha=0.6, zorder=1)
            axes.text(-0.02, -row, f"{term}  {weight:.3g}", ha="right", va="center", fontsize=9)
        axes.text(1.02, -middle, class_name, ha="left", va="center", fontsize=11, weight="bold")
        axes.set_xlim(-0.6, 1.4)
        drawing.suptitle(note, **NOTE)
        return drawing
