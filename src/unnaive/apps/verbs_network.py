"""What `unnaive inspect MODEL --network CLASS` shows: the network of a class, as lines, a figure or a file.

Of an OR gate the strongest arcs, of hierarchical models the tree, of TAN the parent of each term. A file or figure says
whether it is all that the model predicts with, or a part of it: one of several members, or the strongest arcs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.core.network import Network, mixture_network
from unnaive.errors import BadData, MissingExtra, choose
from unnaive.models.feature_trees import FeatureTrees
from unnaive.models.gate_view import LARGEST_GATE, Arc, gate_network, strongest_arcs
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_view import drawn_tree, tree_text

ALL = "all"
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class GateView:
    """The strongest arcs into one class; `parents` is how many the class has in all, `certain` of them at 1."""

    class_name: str
    terms: tuple[str, ...]
    arcs: tuple[Arc, ...]
    parents: int
    certain: int

    @property
    def networks(self) -> tuple[Network, ...]:
        """The gate over these arcs, at most LARGEST_GATE of them."""
        kept = [Arc(place, arc.weight) for place, arc in enumerate(self.arcs[:LARGEST_GATE])]
        return (gate_network(kept, self.class_name, self.terms),)

    @property
    def about(self) -> str:
        """Whether the file is all of the gate."""
        written = min(len(self.arcs), LARGEST_GATE)
        if written == self.parents:
            return f"the predictor of {self.class_name}: all {written} arcs"
        return f"a part of the predictor of {self.class_name}: the {written} strongest of its {self.parents:,} arcs"


@dataclass(frozen=True, eq=False)
class TreeView:
    """Trees of a class in a hierarchical model: one member, the mixture of all, or each of them by itself.

    `shown` is the tree to draw; `networks` are what files hold, one file each.
    """

    shown: Network
    networks: tuple[Network, ...]
    members: int
    about: str


@dataclass(frozen=True, eq=False)
class TanView:
    """The network of a class in tree-augmented naive Bayes: a term has the class as a parent, and one other term."""

    value: Network

    @property
    def networks(self) -> tuple[Network, ...]:
        """The network, the class first."""
        return (self.value,)

    @property
    def about(self) -> str:
        """The file is all of the model."""
        return f"the predictor: {len(self.value.nodes) - 1} terms and {self.value.nodes[0]}"

    def tree(self) -> Network:
        """The arcs to look at: of each term that from its other parent, or from the class where it has none."""
        parents = tuple(own[-1:] for own in self.value.parents)
        sizes = [len(states) for states in self.value.states]
        tables = (
            np.full((*(sizes[one] for one in own), size), 1 / size) for own, size in zip(parents, sizes, strict=True)
        )
        return Network(self.value.nodes, parents, tuple(tables), self.value.states)


View = GateView | TreeView | TanView


def network_view(classifier: Any, class_name: str, k: int = 20, members: str = "1") -> View:
    """The view of a trained TextClassifier whose model is a network; `k` arcs of an OR gate.

    `members` is the number of the member of a hierarchical model, the best being 1, or "all".
    """
    names = [str(name) for name in classifier.classes_]
    place = names.index(choose(names, class_name, "class"))
    scorer, terms = classifier.scorer_, classifier.vocabulary_.terms
    if not (isinstance(scorer, (HiddenNetworks, FeatureTrees)) or getattr(scorer, "link", None) == "noisy-or"):
        raise BadData("this model is no network; those trained with or-gate, hierarchical or tan have one to show")
    if isinstance(scorer, HiddenNetworks):
        return tree_view(scorer, place, terms, class_name, members)
    if members not in ("1", ALL):
        raise BadData(f"--members is {members}, but this model has one member; leave the option out")
    if isinstance(scorer, FeatureTrees):
        return TanView(scorer.network(place, terms, names))
    arcs = strongest_arcs(scorer, place, k)
    every = strongest_arcs(scorer, place, scorer.n_terms)
    certain = sum(arc.weight >= 1 - 2e-12 for arc in every)
    return GateView(class_name, tuple(terms[arc.term] for arc in arcs), tuple(arcs), len(every), certain)


def tree_view(scorer: HiddenNetworks, place: int, terms: Any, class_name: str, members: str) -> TreeView:
    """One member, or all: as a mixture where arcs point to the class, else each by itself.

    Where arcs point from the class, features would tell which member made them, and the posterior of a mixture would
    not be the mean that the model predicts with.
    """
    count = scorer.selected(place).network.members
    if members != ALL and not (members.isdecimal() and 1 <= int(members) <= count):
        raise BadData(f"--members is {members}; give a number from 1 to {count}, the best being 1, or all")
    if members != ALL:
        one = scorer.network(place, terms, class_name, int(members) - 1)
        whole = f"the predictor of {class_name}" if count == 1 else f"member {members} of {count} of {class_name}"
        rest = "" if count == 1 else "; the predictor is the mean of their posteriors, which --members all writes"
        return TreeView(one, (one,), count, whole + rest)
    every = tuple(scorer.network(place, terms, class_name, member) for member in range(count))
    if count == 1 or isinstance(scorer.selected(place).network, HiddenTree):
        about = f"the predictor of {class_name}: a mixture of {count} members, which the node 'member' chooses"
        mixture = every if count == 1 else (mixture_network(every),)
        return TreeView(every[0], mixture, count, f"the predictor of {class_name}" if count == 1 else about)
    return TreeView(
        every[0], every, count, f"the {count} members of {class_name}; the predictor is the mean of their posteriors"
    )


def network_lines(view: View) -> Iterator[str]:
    """The network for people: a tree, or a line for each arc; then what it is of the model."""
    if isinstance(view, TreeView):
        yield from tree_text(view.shown).splitlines()
        yield "arrows as the arcs point; a number is the share of documents where the node is true"
    elif isinstance(view, TanView):
        yield from tan_lines(view.value)
    else:
        yield from gate_lines(view)
    yield view.about


def network_json(view: View) -> dict[str, Any]:
    """The network as plain values: the arcs of an OR gate, the nodes and tables of the others."""
    if not isinstance(view, GateView):
        nodes = [one.to_dict() for one in view.networks]
        return {"about": view.about, "nodes": nodes[0], **({"members": nodes} if len(nodes) > 1 else {})}
    arcs = [{"term": term, "weight": arc.weight} for term, arc in zip(view.terms, view.arcs, strict=True)]
    return {
        "about": view.about,
        "class": view.class_name,
        "parents": view.parents,
        "certain": view.certain,
        "arcs": arcs,
    }


def tan_lines(network: Network) -> Iterator[str]:
    """One line for each term, with its parent among the terms if it has one."""
    yield f"{network.nodes[0]}: {len(network.nodes) - 1} terms, each ◂ the term that it depends on besides the class"
    for node, parents in enumerate(network.parents):
        if node:
            yield "  " + " ◂ ".join(network.nodes[one] for one in (node, *parents[1:]))


def gate_lines(view: GateView, width: int = 30) -> Iterator[str]:
    """One line for each arc: the term, the probability that it alone forces the class, a bar."""
    yield f"{view.class_name}: {view.parents:,} parents, {view.certain:,} of them certain; strongest {len(view.arcs)}:"
    longest = max((len(term) for term in view.terms), default=0)
    top = max((arc.weight for arc in view.arcs), default=1.0) or 1.0
    for term, arc in zip(view.terms, view.arcs, strict=True):
        yield f"  {term:<{longest}}  {arc.weight:<10.4g} {'━' * max(round(width * arc.weight / top), 1)}"


def write_network(view: View, path: Path) -> list[Path]:
    """The network to a .bif or .uai file, or its figure to .png, .svg or .pdf; the files that were written.

    Several networks go to as many files, numbered: billing.bif becomes billing-1.bif, billing-2.bif and so on.
    """
    ending = path.suffix.lower()
    if ending in PICTURES:
        network_figure(view).savefig(path)
        return [path]
    if ending not in (".bif", ".uai"):
        raise BadData(f"{path.name} ends in none of .bif, .uai, .png, .svg, .pdf; name the file by what it should be")
    several = len(view.networks) > 1
    written = []
    for number, network in enumerate(view.networks, 1):
        about = f"member {number} of {view.about}" if several else view.about
        text = network.to_bif(comment=about) if ending == ".bif" else network.to_uai()
        file = path.with_stem(f"{path.stem}-{number}") if several else path
        file.write_text(text, encoding="utf-8")
        written.append(file)
    return written


def network_figure(view: View) -> Any:
    """The network as a matplotlib figure, with a line that says what it is of the model."""
    if isinstance(view, TanView):
        figure = drawn_tree(view.tree(), root=0)
        note = f"{view.about}; every term also depends on {view.value.nodes[0]}"
    elif isinstance(view, TreeView):
        figure, note = drawn_tree(view.shown), view.about
    else:
        figure, note = gate_figure(view), view.about
    figure.suptitle(note, fontsize=7, color="#666666")
    return figure


def gate_figure(view: GateView) -> Any:
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
