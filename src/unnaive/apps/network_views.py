"""What `unnaive inspect MODEL --network CLASS` shows: the Bayesian network of a class, as lines, a figure or a file.

Of an OR gate the strongest arcs, of hierarchical models the tree, of tree-augmented naive Bayes (TAN) the terms that
depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unnaive.core.network import Network
from unnaive.errors import BadData, MissingExtra, choose

if TYPE_CHECKING:
    from unnaive.fitted import FittedModel
    from unnaive.models.or_gate import Arc

WRITERS = {".bif": Network.to_bif, ".uai": Network.to_uai}
FIGURES = (".png", ".svg", ".pdf")


class NetworkView(Protocol):
    """The network of one class, in every form that is shown."""

    def network(self) -> Network:
        """The network as a value."""

    def lines(self) -> Iterator[str]:
        """The network for people."""

    def to_dict(self) -> dict[str, Any]:
        """The network as plain values, for JSON."""

    def figure(self) -> Any:
        """The network as a matplotlib figure."""


@dataclass(frozen=True)
class GateView:
    """The strongest arcs into one class of an OR gate; it has `parents` in all, `certain` of them with weight 1."""

    class_name: str
    terms: tuple[str, ...]
    arcs: tuple[Arc, ...]
    parents: int
    certain: int

    def network(self) -> Network:
        """The gate over these arcs, at most as many as fit in a table."""
        from unnaive.models.or_gate import LARGEST_GATE, Arc, gate_network

        kept = [Arc(place, arc.weight) for place, arc in enumerate(self.arcs[:LARGEST_GATE])]
        return gate_network(kept, self.class_name, self.terms)

    def lines(self, width: int = 30) -> Iterator[str]:
        """One line for each arc: the term, the probability that it alone forces the class, a bar."""
        strongest = f"strongest {len(self.arcs)}"
        yield f"{self.class_name}: {self.parents:,} parents, {self.certain:,} of them certain; {strongest}:"
        longest = max((len(term) for term in self.terms), default=0)
        for term, arc, share in self._shares():
            yield f"  {term:<{longest}}  {arc.weight:<10.4g} {'━' * max(round(width * share), 1)}"

    def to_dict(self) -> dict[str, Any]:
        """The arcs, strongest first."""
        arcs = [{"term": term, "weight": arc.weight} for term, arc in zip(self.terms, self.arcs, strict=True)]
        return {"class": self.class_name, "parents": self.parents, "certain": self.certain, "arcs": arcs}

    def figure(self) -> Any:
        """Terms on the left, the class on the right, arcs as wide as their weights."""
        try:
            from matplotlib.figure import Figure
        except ImportError as problem:
            raise MissingExtra("plots need matplotlib; install it with: pip install matplotlib") from problem
        figure = Figure(figsize=(6, 0.6 + 0.3 * len(self.arcs)), layout="constrained")
        axes = figure.add_subplot()
        axes.axis("off")
        middle = (len(self.arcs) - 1) / 2
        for place, (term, arc, share) in enumerate(self._shares()):
            axes.plot([0, 1], [-place, -middle], color="C0", lw=0.3 + 4 * share, alpha=0.6, zorder=1)
            axes.text(-0.02, -place, f"{term}  {arc.weight:.3g}", ha="right", va="center", fontsize=9)
        axes.text(1.02, -middle, self.class_name, ha="left", va="center", fontsize=11, weight="bold")
        axes.set_xlim(-0.6, 1.4)
        return figure

    def _shares(self) -> Iterator[tuple[str, Arc, float]]:
        """Term, arc, and the arc's weight over the largest."""
        top = max((arc.weight for arc in self.arcs), default=1.0) or 1.0
        for term, arc in zip(self.terms, self.arcs, strict=True):
            yield term, arc, arc.weight / top


@dataclass(frozen=True, eq=False)
class TreeView:
    """The tree of a class in a hierarchical model: the best of the `members` whose posteriors are averaged."""

    value: Network
    members: int

    def network(self) -> Network:
        """The best member."""
        return self.value

    def lines(self) -> Iterator[str]:
        """The tree in characters."""
        from unnaive.models.hierarchical.tree_view import tree_text

        yield from tree_text(self.value).splitlines()
        yield "arrows as the arcs point; a number is the share of documents where the node is true"
        if self.members > 1:
            yield f"the best of {self.members} sets of tables; the model averages their posteriors"

    def to_dict(self) -> dict[str, Any]:
        """Nodes with their parents and tables."""
        return {"nodes": self.value.to_dict()}

    def figure(self) -> Any:
        """Features above, the class at the bottom, arrows along the arcs."""
        from unnaive.models.hierarchical import tree_view

        return tree_view.draw_tree(self.value)


@dataclass(frozen=True, eq=False)
class TanView:
    """The network of a class in tree-augmented naive Bayes: a term depends on the class and on one other term."""

    value: Network

    def network(self) -> Network:
        """The network, the class first."""
        return self.value

    def lines(self) -> Iterator[str]:
        """One line for each term that depends on another."""
        yield f"{self.value.nodes[0]}: {len(self.value.nodes) - 1} terms, each ◂ the one it depends on"
        for node, parents in enumerate(self.value.parents):
            if node:
                yield "  " + " ◂ ".join(self.value.nodes[one] for one in (node, *parents[1:]))

    def to_dict(self) -> dict[str, Any]:
        """Nodes with their parents and tables."""
        return {"nodes": self.value.to_dict()}

    def figure(self) -> Any:
        """There is none."""
        raise BadData("there is no figure of tree-augmented naive Bayes; write its network to .bif or .uai")


def gate_view(fitted: FittedModel, place: int, k: int) -> GateView:
    """The `k` strongest arcs of an OR gate into the class at `place`."""
    from unnaive.models.or_gate import strongest_arcs

    scorer: Any = fitted.scorer
    every = strongest_arcs(scorer, place, scorer.n_terms)
    certain = sum(arc.weight >= 1 - 2e-12 for arc in every)
    names = fitted.reader.term_names
    shown = every[:k]
    terms = tuple(names[arc.term] for arc in shown)
    return GateView(str(fitted.classes[place]), terms, tuple(shown), len(every), certain)


def tree_view(fitted: FittedModel, place: int, k: int) -> TreeView:
    """The tree of the class at `place` in a hierarchical model, whole whatever `k` is."""
    scorer: Any = fitted.scorer
    return TreeView(_scorer_network(fitted, place), scorer.class_network(place).network.members)


def tan_view(fitted: FittedModel, place: int, k: int) -> TanView:
    """The network of the class at `place` in tree-augmented naive Bayes, whole whatever `k` is."""
    return TanView(_scorer_network(fitted, place))


# by the kind of the scorer
VIEWS: dict[str, Callable[[FittedModel, int, int], NetworkView]] = {
    "noisy-or": gate_view,
    "hidden-networks": tree_view,
    "feature-trees": tan_view,
}


def network_view(fitted: FittedModel, class_name: str, k: int = 20) -> NetworkView:
    """The network of a class; `k` arcs of an OR gate. An error if the model is no network."""
    names = [str(label) for label in fitted.classes]
    place = names.index(choose(names, class_name, "class"))
    if fitted.scorer.kind not in VIEWS:
        _scorer_network(fitted, place)  # tells which models are networks
    return VIEWS[fitted.scorer.kind](fitted, place, k)


def _scorer_network(fitted: FittedModel, place: int) -> Network:
    return fitted.scorer.network(place, fitted.reader.term_names, [str(label) for label in fitted.classes])


def write_network(view: NetworkView, path: Path) -> Path:
    """The network to a .bif or .uai file, or its figure to .png, .svg or .pdf."""
    ending = path.suffix.lower()
    if ending in WRITERS:
        path.write_text(WRITERS[ending](view.network()), encoding="utf-8")
    elif ending in FIGURES:
        view.figure().savefig(path)
    else:
        raise BadData(f"{path.name} ends in none of .bif, .uai, .png, .svg, .pdf; name the file by what it should be")
    return path
