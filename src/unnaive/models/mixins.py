"""Attributes of some estimators: `coef_` and `intercept_` of linear ones, `network` of Bayesian networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.base.types import Floats
from unnaive.learning.fitted import FittedModel
from unnaive.linear.network import Network


class LinearAttributes:
    """coef_ and intercept_ as in scikit-learn, for models whose scorer is a Linear over weighted features.

    They apply to the features that the model computes from counts (`scorer_.weighting`); two exclusive classes have
    one row, for the second class.
    """

    fitted_: FittedModel

    @property
    def coef_(self) -> Floats:
        """Weights (n_classes, n_terms); one row for two exclusive classes."""
        return self._one_row(self.scorer_.weights())  # type: ignore[attr-defined]

    @property
    def intercept_(self) -> Floats:
        """Biases (n_classes,); one for two exclusive classes."""
        return self._one_row(np.asarray(self.scorer_.bias))  # type: ignore[attr-defined]

    def _one_row(self, values: Floats) -> Floats:
        exclusive_pair = len(values) == 2 and not self.fitted_.multilabel
        return values[1:] - values[:1] if exclusive_pair else values


class HasNetwork:
    """`network(label)` for models that are Bayesian networks."""

    def network(self, label: Any, terms: Any = None, member: int = 0) -> Network:
        """The network of a class, to display or export (`to_bif`, `to_uai`, `to_dict`).

        label   one of `classes_`
        terms   names of the columns of X; default: those seen by `fit`, or x0, x1, …
        member  which of the averaged networks; 0 is the best
        """
        fitted = self._fitted()  # type: ignore[attr-defined]
        names = fitted.reader.term_names if terms is None else terms
        network: Network = fitted.scorer.network(
            fitted.class_index(label), names, [str(name) for name in fitted.classes], member
        )
        return network
