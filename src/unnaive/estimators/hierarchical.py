"""Hierarchical networks and their neighbours as scikit-learn estimators; the arithmetic is in models/."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from sklearn.utils.validation import check_is_fitted

from unnaive.core.links import probabilities
from unnaive.core.network import Network
from unnaive.errors import BadData
from unnaive.estimators.base import WeightedDocumentsClassifier
from unnaive.estimators.networks import HasNetwork
from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.hidden_networks import HiddenNetworks, evidence
from unnaive.models.hierarchical.network_scores import NETWORK_SCORES


class HierarchicalBN(WeightedDocumentsClassifier):
    """A Bayesian network for each class: its best terms, hidden variables between them and the class, tables by EM.

    Parameters as in its learner: `clustering` "or", "avg" or "dep" shapes the tree, `direction` "to-class"
    is HBN and "from-class" HNB, `average` of `restarts` runs of EM are kept.

    >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
    >>> HierarchicalBN(restarts=8, average=2).fit(X, y).predict(X).tolist()
    ['trade', 'trade', 'ship', 'ship']
    """

    model: ClassVar[str] = "hierarchical"
    scorer_: HiddenNetworks

    def __init__(
        self,
        *,
        clustering: str = "or",
        branching: int | None = None,
        alpha: float | None = None,
        features: int = 30,
        direction: str = "to-class",
        restarts: int = 64,
        average: int = 8,
        tolerance: float = 1e-4,
        stopping: str = "per-case",
        iterations: int = 1000,
        scheme: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Any = None,
    ) -> None:
        self.clustering = clustering
        self.branching = branching
        self.alpha = alpha
        self.features = features
        self.direction = direction
        self.restarts = restarts
        self.average = average
        self.tolerance = tolerance
        self.stopping = stopping
        self.iterations = iterations
        self.scheme = scheme
        self.threads = threads
        self.seed = seed
        self.progress = progress

    def predict_proba_given(self, X: Any, unknown: Any) -> NDArray[np.float64]:
        """`predict_proba` where some terms of some documents are unknown, neither present nor absent.

        `unknown` (n_docs, n_terms), sparse or dense, is true there; what X has in those places is not looked at.
        """
        check_is_fitted(self)
        documents, mask = self._documents(X, reset=False), csr_array(unknown)
        if mask.shape != documents.shape:
            raise BadData(f"unknown has shape {mask.shape} and X {documents.shape}; give one cell for each cell of X")
        scores = self.scorer_.scores_given(documents, mask)
        return probabilities(self.scorer_.link, scores, exclusive=self._exclusive)

    def network_scores(self, label: Any, X: Any, y: Any) -> dict[str, float]:
        """How well the network of a class fits documents: "LL", "CLL", "MDL" and "CMDL" of its best member.

        Log-likelihood of features and class, and of the class given the features, in nats over all documents; both as
        description lengths, with the price of parameters. See models/hierarchical/network_scores.py.

        >>> X, y = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], ["trade", "trade", "ship", "ship"]
        >>> found = HierarchicalBN(restarts=8).fit(X, y).network_scores("trade", X, y)
        >>> list(found), round(found["CLL"], 3)
        (['LL', 'CLL', 'MDL', 'CMDL'], -0.0)
        """
        check_is_fitted(self)
        documents, target = self._labelled(X, y, reset=False)
        place = self._place(label)
        one = self.scorer_.selected(place)
        own = target.over(self.classes_)[:, [place]].toarray()[:, 0] > 0
        # the only network of two classes is the second's
        inside = ~own if self.scorer_.link == "softmax" and place == 0 else own
        cases = Cases.of(evidence(csc_array(documents), one.terms), inside)
        return {name: score(one.network, cases) for name, score in NETWORK_SCORES.items()}

    def network(self, label: Any, terms: Any = None, member: int = 0) -> Network:
        """The network of a class, for looking at and for export to BIF; `terms` names the columns of X."""
        check_is_fitted(self)
        place = self._place(label)
        names = terms if terms is not None else getattr(self, "feature_names_in_", None)
        names = [f"term{i}" for i in range(self.n_features_in_)] if names is None else names
        return self.scorer_.network(place, names, str(label), member)

    def _place(self, label: Any) -> int:
        places = np.flatnonzero(self.classes_ == label)
        if not len(places):
            raise BadData(f"{label!r} is none of the classes {', '.join(map(str, self.classes_))}; name one of them")
        return int(places[0])


class TreeAugmentedNB(HasNetwork, WeightedDocumentsClassifier):
    """Tree-augmented naive Bayes (TAN): every term may lean on one other besides the class.

    Parameters as in models/tan.py.

    >>> TreeAugmentedNB().fit([[1, 1, 0], [0, 0, 1]], ["trade", "ship"]).predict([[1, 0, 0]]).tolist()
    ['trade']
    """

    model: ClassVar[str] = "tan"

    def __init__(self, *, features: int = 200, prior_cases: float = 5.0, scheme: str | None = None) -> None:
        self.features = features
        self.prior_cases = prior_cases
        self.scheme = scheme


class SelectiveNB(WeightedDocumentsClassifier):
    """Selective naive Bayes: terms join one at a time, as long as training documents are told apart no worse.

    Parameters as in models/selective.py.

    >>> SelectiveNB().fit([[1, 1, 0], [0, 0, 1]], ["trade", "ship"]).predict([[1, 0, 0]]).tolist()
    ['trade']
    """

    model: ClassVar[str] = "selective"

    def __init__(
        self, *, candidates: int = 100, features: int = 50, alpha: float = 1.0, scheme: str | None = None
    ) -> None:
        self.candidates = candidates
        self.features = features
        self.alpha = alpha
        self.scheme = scheme
