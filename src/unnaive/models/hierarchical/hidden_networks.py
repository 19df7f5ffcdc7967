"""HiddenNetworks is the scorer of hierarchical networks: one for each class, over terms of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from unnaive.core.network import Network
from unnaive.errors import BadModel, choose
from unnaive.models.hierarchical.cases import UNKNOWN, Rows
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.network_arrays import packed, unpacked
from unnaive.types import Floats, Sparse

DECIMALS = 9  # of a score: what differs by less is noise of the sums, and such ties are real


@dataclass(frozen=True, eq=False)
class Selected:
    """A network of one class and the terms that are its features, in order."""

    terms: NDArray[np.int64]
    network: HiddenTree | HiddenNaiveBayes


@dataclass(frozen=True, eq=False)
class HiddenNetworks:
    """A network for each class; the score is the log-odds of its posterior.

    link "log-odds": a network for each class. link "softmax": one network, of the second of two exclusive classes.
    """

    kind: ClassVar[str] = "hidden-networks"

    networks: tuple[Selected, ...]
    n_terms: int
    link: str = "log-odds"

    @property
    def n_classes(self) -> int:
        """One for each network; two for the only one of a softmax."""
        return 2 if self.link == "softmax" else len(self.networks)

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        return self._scores(csc_array(X), None)

    def scores_given(self, X: Sparse, unknown: Sparse) -> Floats:
        """The same where some terms of some documents are unknown, neither present nor absent: true in `unknown`."""
        return self._scores(csc_array(X), csc_array(unknown))

    def _scores(self, X: Sparse, unknown: Sparse | None) -> Floats:
        odds = [_log_odds(one.network.posterior(evidence(X, one.terms, unknown))) for one in self.networks]
        if self.link == "softmax":
            odds = [np.zeros(X.shape[0]), *odds]
        return np.stack(odds, axis=1) if odds else np.empty((X.shape[0], 0))

    def selected(self, class_index: int) -> Selected:
        """The network that tells of a class."""
        return self.networks[0 if self.link == "softmax" else class_index]

    def strongest(self, class_index: int, limit: int) -> list[tuple[int, float]]:
        """Terms that speak most for a class, with what each adds to its log-odds when nothing else is known."""
        one = self.selected(class_index)
        rows = np.full((len(one.terms) + 1, len(one.terms)), UNKNOWN, np.int8)
        np.fill_diagonal(rows[1:], 1)
        odds = _log_odds(one.network.posterior(rows))
        added = (odds[1:] - odds[0]) * (-1 if self.link == "softmax" and class_index == 0 else 1)
        best = np.argsort(-added, kind="stable")[:limit]
        return [(int(one.terms[at]), float(added[at])) for at in best if added[at] > 0]

    def network(self, class_index: int, terms: Any, class_name: str, member: int = 0) -> Network:
        """The network of a class as a value, for looking at and for export; `terms` names all columns of X."""
        one = self.selected(class_index)
        network = one.network.network([str(terms[term]) for term in one.terms], class_name, member)
        # the only network of two classes is the second's; the first is its negation
        return turned(network) if self.link == "softmax" and class_index == 0 else network

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays, direction = packed([(one.terms, one.network) for one in self.networks])
        return arrays, {"link": self.link, "n_terms": self.n_terms, "direction": direction}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> HiddenNetworks:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            link = choose(["log-odds", "softmax"], settings["link"], "link")
            n_terms = int(settings["n_terms"])
            networks = tuple(Selected(*one) for one in unpacked(arrays, settings["direction"], n_terms))
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise BadModel(f"the networks in this model are damaged ({problem}); train it again") from problem
        if link == "softmax" and len(networks) != 1:
            raise BadModel(f"this model has {len(networks)} networks for two classes, not one; train it again")
        return cls(networks, n_terms, link)


def turned(network: Network) -> Network:
    """The network with "no" and "yes" of its last node, the class, exchanged.

    >>> coin = Network(("heads",), ((),), (np.array([0.25, 0.75]),))
    >>> turned(coin).tables[0]
    array([0.75, 0.25])
    """
    last = len(network.nodes) - 1
    tables = []
    for node, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        axes = tuple(axis for axis, variable in enumerate((*parents, node)) if variable == last)
        tables.append(np.flip(table, axes))
    return replace(network, tables=tuple(tables))


def evidence(X: Sparse, terms: NDArray[np.int64], unknown: Sparse | None = None) -> Rows:
    """What documents X say of `terms`: 1 present, 0 absent, −1 unknown (n_docs, len(terms)).

    >>> evidence(csc_array([[2, 0, 0]]), np.array([1, 0, 2]), csc_array([[False, False, True]]))
    array([[ 0,  1, -1]], dtype=int8)
    """
    rows: Rows = (X[:, terms].toarray() > 0).astype(np.int8)
    if unknown is not None:
        rows[unknown[:, terms].toarray() != 0] = UNKNOWN
    return rows


def _log_odds(posterior: Floats) -> Floats:
    odds: Floats = np.round(np.log(posterior) - np.log1p(-posterior), DECIMALS)
    return odds
