"""The OR gate, alone and blended with Rocchio, as scikit-learn estimators over models/or_gate.py and blend.py."""

from __future__ import annotations

from typing import ClassVar

from unnaive.estimators.base import CountsClassifier, WeightedDocumentsClassifier
from unnaive.estimators.networks import HasNetwork


class OrGate(HasNetwork, CountsClassifier):
    """A noisy-OR Bayesian network: arcs from terms to classes; each term may force a class by itself.

    weights          "ml" (eq. 11), "laplace" (12), "independent" (15), "relaxed" (17)
    counts           count occurrences (eq. 10), or presence only (eq. 9)
    totals           N_•k over the "corpus" or summed over the "classes"
    terms_per_class  keep only this many terms of each class, by information gain; None for all

    Fractions in X are taken as masses; negative values are refused.
    Of several labels a document gets those whose score is within a tenth of its best: scores grow with its length, so
    that probabilities are not comparable between documents.

    >>> OrGate().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "or-gate"

    def __init__(
        self,
        *,
        weights: str = "relaxed",
        counts: bool = True,
        totals: str = "corpus",
        terms_per_class: int | None = None,
    ) -> None:
        self.weights = weights
        self.counts = counts
        self.totals = totals
        self.terms_per_class = terms_per_class


class OrBlend(WeightedDocumentsClassifier):
    """OR gate and Rocchio, each over the document's maximum: `share` of the first, the rest of the second.

    >>> OrBlend().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "or-blend"
    probabilistic: ClassVar[bool] = False

    def __init__(self, *, share: float = 0.3, weights: str = "relaxed", tf: str = "log") -> None:
        self.share = share
        self.weights = weights
        self.tf = tf
