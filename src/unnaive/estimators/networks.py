"""The network of a class as a method of the estimators that are Bayesian networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.core.network import Network
from unnaive.errors import BadData
from unnaive.models.feature_trees import FeatureTrees
from unnaive.models.gate_view import LARGEST_GATE, gate_network, strongest_arcs


class HasNetwork:
    """`network(label)` of an OR gate or of tree-augmented naive Bayes."""

    classes_: Any
    scorer_: Any
    n_features_in_: int

    def network(self, label: Any, terms: Any = None, *, arcs: int = LARGEST_GATE) -> Network:
        """The network of a class, for looking at and for export (`to_bif`, `to_uai`, `to_dict`).

        label  one of `classes_`
        terms  names of the columns of X; those that `fit` saw, or term0, term1, … by default
        arcs   of an OR gate only so many arcs, the strongest; its table doubles with each, so at most 16
        """
        check_is_fitted(self)
        places = np.flatnonzero(self.classes_ == label)
        if not len(places):
            raise BadData(f"{label!r} is none of the classes {', '.join(map(str, self.classes_))}; name one of them")
        names = terms if terms is not None else getattr(self, "feature_names_in_", None)
        names = [f"term{i}" for i in range(self.n_features_in_)] if names is None else names
        if isinstance(self.scorer_, FeatureTrees):
            return self.scorer_.network(int(places[0]), names, [str(name) for name in self.classes_])
        return gate_network(strongest_arcs(self.scorer_, int(places[0]), arcs), str(label), names)
