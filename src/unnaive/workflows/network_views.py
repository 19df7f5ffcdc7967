"""The Bayesian network of a class for `unnaive inspect MODEL --network CLASS`: as lines, a figure or a file.

For an OR gate these are the strongest arcs, for hierarchical models and diagnostic mixtures the tree, for
tree-augmented naive Bayes (TAN) the terms that depend on each other. A file or figure says whether it is the whole
predictor or a part of it: one of several members, or the strongest arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unnaive.base.errors import BadData, choose, count_noun
from unnaive.io.endings import FIGURES, NETWORKS, choose_ending
from unnaive.io.writing.output_files import open_output
from unnaive.linear.network import Network, mixture_network

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel
    from unnaive.models.or_gate import Arc

ALL = "all"


class NetworkView(Protocol):
    """The network of one class, in every form of output."""

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks to write, one file each."""

    @property
    def about(self) -> str:
        """Whether this is the whole predictor, in a line."""

    def lines(self) -> Iterator[str]:
        """The network for people."""

    def to_dict(self) -> dict[str, Any]:
        """The network as plain values, for JSON."""

    def figure(self) -> Any:
        """The network as a matplotlib figure."""


@dataclass(frozen=True)
class GateView:
    """The strongest arcs into one class of an OR gate; it has `parents` in total, `certain` of them with weight 1."""

    class_name: str
    terms: tuple[str, ...]
    arcs: tuple[Arc, ...]
    parents: int
    certain: int

    @property
    def networks(self) -> tuple[Network, ...]:
        """The gate over these arcs, at most as many as fit in a table."""
        from unnaive.models.or_gate import LARGEST_GATE, Arc, gate_network

        arcs = [Arc(index, arc.weight) for index, arc in enumerate(self.arcs[:LARGEST_GATE])]
        return (gate_network(arcs, self.class_name, self.terms),)

    @property
    def about(self) -> str:
        """Whether a file contains the whole gate."""
        from unnaive.models.or_gate import LARGEST_GATE

        written = min(len(self.arcs), LARGEST_GATE)
        if written == self.parents:
            return f"the predictor of {self.class_name}: all {written} arcs"
        return f"a part of the predictor of {self.class_name}: the {written} strongest of its {self.parents:,} arcs"

    def lines(self, width: int = 30) -> Iterator[str]:
        """One line for each arc: the term, the probability that it alone forces the class, a bar."""
        strongest = f"strongest {len(self.arcs)}"
        yield f"{self.class_name}: {self.parents:,} parents, {self.certain:,} of them certain; {strongest}:"
        longest = max((len(term) for term in self.terms), default=0)
        for term, arc, share in self._shares():
            yield f"  {term:<{longest}}  {arc.weight:<10.4g} {'━' * max(round(width * share), 1)}"
        yield self.about

    def to_dict(self) -> dict[str, Any]:
        """The arcs, strongest first."""
        arcs = [{"term": term, "weight": arc.weight} for term, arc in zip(self.terms, self.arcs, strict=True)]
        about = {"about": self.about, "class": self.class_name}
        return {**about, "parents": self.parents, "certain": self.certain, "arcs": arcs}

    def figure(self) -> Any:
        """Terms on the left, the class on the right, arcs as wide as their weights."""
        from unnaive.evaluation.reports.network_figures import gate_figure

        arcs = [(term, arc.weight, share) for term, arc, share in self._shares()]
        return gate_figure(self.class_name, arcs, note=self.about)

    def _shares(self) -> Iterator[tuple[str, Arc, float]]:
        """Term, arc, and the arc's weight over the largest."""
        top = max((arc.weight for arc in self.arcs), default=1.0) or 1.0
        for term, arc in zip(self.terms, self.arcs, strict=True):
            yield term, arc, arc.weight / top


@dataclass(frozen=True, eq=False)
class TreeView:
    """Trees of a class in a model that averages: one member, the mixture of all, or each separately.

    `shown` is the tree to draw; `networks` are written, one file each.
    """

    shown: Network
    networks: tuple[Network, ...]
    about: str

    def lines(self) -> Iterator[str]:
        """The tree in characters."""
        from unnaive.models.hierarchical.tree_view import tree_text

        yield from tree_text(self.shown).splitlines()
        yield "arrows point as the arcs do; the number is the share of documents in which the node is true"
        yield self.about

    def to_dict(self) -> dict[str, Any]:
        """Nodes with their parents and tables, of all networks."""
        nodes = [network.to_dict() for network in self.networks]
        return {"about": self.about, "nodes": nodes[0], **({"members": nodes} if len(nodes) > 1 else {})}

    def figure(self) -> Any:
        """Features above, the class at the bottom, arrows along the arcs."""
        from unnaive.evaluation.reports.network_figures import tree_figure

        return tree_figure(self.shown, note=self.about)


@dataclass(frozen=True, eq=False)
class TanView:
    """The network of a class in tree-augmented naive Bayes: a term depends on the class and on one other term."""

    value: Network

    @property
    def networks(self) -> tuple[Network, ...]:
        """The network, the class first."""
        return (self.value,)

    @property
    def about(self) -> str:
        """A file contains the whole model."""
        return f"the predictor: {count_noun(len(self.value.nodes) - 1, 'term')} and {self.value.nodes[0]}"

    def lines(self) -> Iterator[str]:
        """One line for each term, with the other term it depends on, if any."""
        yield (
            f"{self.value.nodes[0]}: {count_noun(len(self.value.nodes) - 1, 'term')}, each ◂ the term that it depends "
            "on besides the class"
        )
        for node, parents in enumerate(self.value.parents):
            if node:
                yield "  " + " ◂ ".join(self.value.nodes[index] for index in (node, *parents[1:]))
        yield self.about

    def to_dict(self) -> dict[str, Any]:
        """Nodes with their parents and tables."""
        return {"about": self.about, "nodes": self.value.to_dict()}

    def figure(self) -> Any:
        """The tree of terms; terms that depend on no other are children of the class."""
        from unnaive.evaluation.reports.network_figures import tree_figure

        note = f"{self.about}; every term also depends on {self.value.nodes[0]}"
        return tree_figure(self._tree(), root=0, note=note)

    def _tree(self) -> Network:
        """The arcs to show: for each term the arc from its other parent, or from the class if it has none."""
        parents = tuple(node_parents[-1:] for node_parents in self.value.parents)
        sizes = [len(states) for states in self.value.states]
        tables = (
            np.full((*(sizes[parent] for parent in node_parents), size), 1 / size)
            for node_parents, size in zip(parents, sizes, strict=True)
        )
        return Network(self.value.nodes, parents, tuple(tables), self.value.states)


def gate_view(fitted: FittedModel, class_index: int, k: int, members: str) -> GateView:
    """The `k` strongest arcs of an OR gate into the class at index `class_index`."""
    from unnaive.models.or_gate import strongest_arcs

    _refuse_members(members)
    scorer: Any = fitted.scorer
    every = strongest_arcs(scorer, class_index, scorer.n_terms)
    certain = sum(arc.weight >= 1 - 2e-12 for arc in every)
    names = fitted.reader.term_names
    shown = every[:k]
    terms = tuple(names[arc.term] for arc in shown)
    return GateView(str(fitted.classes[class_index]), terms, tuple(shown), len(every), certain)


def tan_view(fitted: FittedModel, class_index: int, k: int, members: str) -> TanView:
    """The network of the class at index `class_index` in tree-augmented naive Bayes; `k` is ignored."""
    _refuse_members(members)
    return TanView(_scorer_network(fitted, class_index))


def _refuse_members(members: str) -> None:
    if members not in ("1", ALL):
        raise BadData(f"--members is {members}, but this model has one member; leave the option out")


def tree_view(fitted: FittedModel, class_index: int, k: int, members: str) -> TreeView:
    """One member, or all: as a mixture if that is the predictor, else each separately; `k` is ignored.

    If arcs point from the class, features would reveal which member made them, and the posterior of a mixture would not
    be the mean that the model predicts with. Members over different terms cannot be mixed either.
    """
    scorer: Any = fitted.scorer
    name, count = str(fitted.classes[class_index]), scorer.member_count(class_index)
    if members != ALL and not (members.isdecimal() and 1 <= int(members) <= count):
        raise BadData(f"--members is {members}; give a number from 1 to {count}, the best being 1, or all")
    mean = "the predictor is the mean of their posteriors"
    if members != ALL:
        network = _scorer_network(fitted, class_index, int(members) - 1)
        part = f"member {members} of {count} of {name}; {mean}, which --members all writes"
        return TreeView(network, (network,), f"the predictor of {name}" if count == 1 else part)
    every = tuple(_scorer_network(fitted, class_index, member) for member in range(count))
    if count == 1:
        return TreeView(every[0], every, f"the predictor of {name}")
    if scorer.mixture_is_predictor(class_index):
        about = f"the predictor of {name}: a mixture of {count} members, which the node 'member' chooses"
        return TreeView(every[0], (mixture_network(every),), about)
    return TreeView(every[0], every, f"the {count} members of {name}; {mean}")


# kind of scorer → the function that makes its view
VIEWS: dict[str, Callable[[FittedModel, int, int, str], NetworkView]] = {
    "noisy-or": gate_view,
    "hidden-networks": tree_view,
    "diagnostic-networks": tree_view,
    "feature-trees": tan_view,
}


def network_view(fitted: FittedModel, class_name: str, k: int = 20, members: str = "1") -> NetworkView:
    """The network of a class, with `k` arcs of an OR gate; an error if the model is not a network.

    `members` is the number of one of the networks that a model averages, the best being 1, or "all".
    """
    names = [str(label) for label in fitted.classes]
    index = names.index(choose(names, class_name, "class"))
    if fitted.scorer.kind not in VIEWS:
        _scorer_network(fitted, index)  # raises the error for models that are not networks
    return VIEWS[fitted.scorer.kind](fitted, index, k, members)


def _scorer_network(fitted: FittedModel, index: int, member: int = 0) -> Network:
    return fitted.scorer.network(index, fitted.reader.term_names, [str(label) for label in fitted.classes], member)


def write_network(view: NetworkView, path: Path) -> list[Path]:
    """Write the network to a .bif or .uai file, or its figure to .png, .svg or .pdf; returns the written files.

    Several networks go to as many files, numbered: billing.bif becomes billing-1.bif, billing-2.bif and so on.
    """
    ending = choose_ending(path, (*NETWORKS, *FIGURES), "a network")
    if ending in FIGURES:
        from unnaive.evaluation.reports.plots import save_figure

        return [save_figure(view.figure(), path)]
    several = len(view.networks) > 1
    written = []
    for number, network in enumerate(view.networks, 1):
        about = f"member {number} of {view.about}" if several else view.about
        text = network.to_bif(comment=about) if ending == ".bif" else network.to_uai()
        written.append(path.with_stem(f"{path.stem}-{number}") if several else path)
        with open_output(written[-1]) as file:
            file.write(text)
    return written
