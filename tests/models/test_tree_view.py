"""Trees as text and as figures."""

import numpy as np
import pytest

from unnaive.base.errors import BadData
from unnaive.evaluation.reports.network_figures import tree_figure
from unnaive.linear.network import Network
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import Node
from unnaive.models.hierarchical.tree_view import root_tree, tree_text

TREE = (Node((1, 2), ()), Node((0,), (0,)))
NAMES = ["trade", "gatt", "yen"]


def networks():
    half = np.full((1, 1, 4), 0.5), np.full((1, 2, 2), 0.5)
    to_class = HiddenTree(TREE, np.array([0.1, 0.01, 0.05]), half)
    from_class = HiddenNaiveBayes(TREE, 0.05, np.full((1, 2, 1), 0.5), np.full((1, 2, 3), 0.5))
    return to_class.network(NAMES, "trade"), from_class.network(NAMES, "trade")


def test_text_shows_the_class_first_and_arrows_as_arcs_point():
    to_class, from_class = (tree_text(network).splitlines() for network in networks())
    assert to_class == ["class trade", "├─◂ trade 0.100", "└─◂ hidden1", "    ├─◂ gatt 0.010", "    └─◂ yen 0.050"]
    assert from_class == ["class trade 0.050", "├─▸ trade", "└─▸ hidden1", "    ├─▸ gatt", "    └─▸ yen"]


def test_leaves_stand_side_by_side():
    top = root_tree(networks()[0])
    leaves = [one.across for one in top.walk() if not one.children]
    assert leaves == [0.0, 1.0, 2.0]
    assert [one.depth for one in top.walk()] == [0, 1, 1, 2, 2]


def test_what_is_not_a_tree_is_refused():
    table = np.full((2, 2, 2), 0.5)
    loop = Network(("a", "b", "c"), ((), (0,), (0, 1)), (table[0, 0], table[0], table))
    with pytest.raises(BadData, match="not a tree"):
        tree_text(loop)


def test_figure_has_every_name_and_arc(tmp_path):
    pytest.importorskip("matplotlib")
    figure = tree_figure(networks()[0])
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} - {""} == {*NAMES, "hidden1", "class trade"}
    assert sum(text.get_text() == "" for text in axes.texts) == 4
    figure.savefig(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 1000
