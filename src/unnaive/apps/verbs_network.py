"""What `unnaive inspect MODEL --network CLASS` shows: the network of a class, as lines, a figure or a file.

Of an OR gate the strongest arcs, of hierarchical models the tree, of TAN the term that each term leans on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unnaive.core.network import Network
from unnaive.errors import BadData, MissingExtra, choose
from unnaive.models.feature_trees import FeatureTrees
from unnaive.models.gate_view import LARGEST_GATE, Arc, gate_network, strongest_arcs
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks
from unnaive.models.hierarchical.tree_view import drawn_tree, tree_text

WRITERS = {".bif": "to_bif", ".uai": "to_uai"}


@dataclass(frozen=True)
class NetworkView:
    """The strongest arcs into one class; `parents` is how many the class has in all, `certain` of them at 1."""

    class_name: str
    terms: tuple[str, ...]
    arcs: tuple[Arc, ...]
    parents: int
    certain: int

    def network(self) -> Network:
        """The gate over these arcs, at most LARGEST_GATE of them."""
        kept = [Arc(place, arc.weight) for place, arc in enumerate(self.arcs[:LARGEST_GATE])]
        return gate_network(kept, self.class_name, self.terms)


@dataclass(frozen=True, eq=False)
class TreeView:
    """The tree of a class in a hierarchical model: the best of the `members` whose posteriors are averaged."""

    value: Network
    members: int

    def network(self) -> Network:
        """The best member."""
        return self.value


@dataclass(frozen=True, eq=False)
class LeaningView:
    """The network of a class in tree-augmented naive Bayes: every term leans on the class, and on one other term."""

    value: Network

    def network(self) -> Network:
        """The network, the class first."""
        return self.value


def network_view(classifier: Any, class_name: str, k: int = 20) -> NetworkView | TreeView | LeaningView:
    """The view of a trained TextClassifier whose model is a network; `k` arcs of an OR gate."""
    names = [str(name) for name in classifier.classes_]
    place = names.index(choose(names, class_name, "class"))
    scorer, terms = classifier.scorer_, classifier.vocabulary_.terms
    if not (isinstance(scorer, (HiddenNetworks, FeatureTrees)) or getattr(scorer, "link", None) == "noisy-or"):
        raise BadData("this model is no network; those trained with or-gate, hierarchical or tan have one to show")
    if isinstance(scorer, HiddenNetworks):
        return TreeView(scorer.network(place, terms, class_name), scorer.selected(place).network.members)
    if isinstance(scorer, FeatureTrees):
        return LeaningView(scorer.network(place, terms, names))
    arcs = strongest_arcs(scorer, place, k)
    every = strongest_arcs(scorer, place, scorer.n_terms)
    certain = sum(arc.weight >= 1 - 2e-12 for arc in every)
    return NetworkView(class_name, tuple(terms[arc.term] for arc in arcs), tuple(arcs), len(every), certain)


def network_lines(view: NetworkView | TreeView | LeaningView) -> Iterator[str]:
    """The network for people: a tree, or a line for each arc."""
    if isinstance(view, TreeView):
        yield from tree_text(view.value).splitlines()
        yield "arrows as the arcs point; a number is the share of documents where the node is true"
        if view.members > 1:
            yield f"the best of {view.members} sets of tables; the model averages their posteriors"
    elif isinstance(view, LeaningView):
        yield from leaning_lines(view.value)
    else:
        yield from gate_lines(view)


def network_json(view: NetworkView | TreeView | LeaningView) -> dict[str, Any]:
    """The network as plain values: the arcs of an OR gate, the nodes and tables of the others."""
    if not isinstance(view, NetworkView):
        return {"nodes": view.network().to_dict()}
    arcs = [{"term": term, "weight": arc.weight} for term, arc in zip(view.terms, view.arcs, strict=True)]
    return {"class": view.class_name, "parents": view.parents, "certain": view.certain, "arcs": arcs}


def leaning_lines(network: Network) -> Iterator[str]:
    """One line for each term that leans on another."""
    yield f"{network.nodes[0]}: {len(network.nodes) - 1} terms, each ◂ the one it leans on"
    for node, parents in enumerate(network.parents):
        if node:
            yield "  " + " ◂ ".join(network.nodes[one] for one in (node, *parents[1:]))


def gate_lines(view: NetworkView, width: int = 30) -> Iterator[str]:
    """One line for each arc: the term, the probability that it alone forces the class, a bar."""
    yield f"{view.class_name}: {view.parents:,} parents, {view.certain:,} of them certain; strongest {len(view.arcs)}:"
    longest = max((len(term) for term in view.terms), default=0)
    top = max((arc.weight for arc in view.arcs), default=1.0) or 1.0
    for term, arc in zip(view.terms, view.arcs, strict=True):
        yield f"  {term:<{longest}}  {arc.weight:<10.4g} {'━' * max(round(width * arc.weight / top), 1)}"


def write_network(view: NetworkView | TreeView | LeaningView, path: Path) -> Path:
    """The network to a .bif or .uai file, or its figure to .png, .svg or .pdf."""
    ending = path.suffix.lower()
    if ending in WRITERS:
        path.write_text(getattr(view.network(), WRITERS[ending])(), encoding="utf-8")
    elif ending in (".png", ".svg", ".pdf"):
        network_figure(view).savefig(path)
    else:
        raise BadData(f"{path.name} ends in none of .bif, .uai, .png, .svg, .pdf; name the file by what it should be")
    return path


def network_figure(view: NetworkView | TreeView | LeaningView) -> Any:
    """The network as a matplotlib figure."""
    if isinstance(view, LeaningView):
        raise BadData("there is no figure of tree-augmented naive Bayes; write its network to .bif or .uai")
    return drawn_tree(view.value) if isinstance(view, TreeView) else gate_figure(view)


def gate_figure(view: NetworkView) -> Any:
    """Terms on the left, the class on the right, arcs as wide as their weights."""
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtra("plots need matplotlib; install it with: pip install 'unnaive[plots]'") from problem
    figure = Figure(figsize=(6, 0.6 + 0.3 * len(view.arcs)), layout="constrained")
    axes = figure.add_subplot()
    axes.axis("off")
    middle = (len(view.arcs) - 1) / 2
    top = max((arc.weight for arc in view.arcs), default=1.0) or 1.0
    for place, (term, arc) in enumerate(zip(view.terms, view.arcs, strict=True)):
        axes.plot([0, 1], [-place, -middle], color="C0", lw=0.3 + 4 * arc.weight / top, alpha=0.6, zorder=1)
        axes.text(-0.02, -place, f"{term}  {arc.weight:.3g}", ha="right", va="center", fontsize=9)
    axes.text(1.02, -middle, view.class_name, ha="left", va="center", fontsize=11, weight="bold")
    axes.set_xlim(-0.6, 1.4)
    return figure
