"""Naive Bayes as scikit-learn estimators; the arithmetic is in models/naive_bayes.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, cast

from sklearn.utils.validation import check_is_fitted

from unnaive.core.linear import Linear
from unnaive.core.weighting import Weighting
from unnaive.estimators.base import CountsClassifier
from unnaive.models.bridge import to_maxent


class MultinomialNB(CountsClassifier):
    """Multinomial naive Bayes: every word of a document is a draw from its class.

    scheme     "multiclass", "one-vs-rest", or None: the first for single labels, the second for several
    smoothing  "laplace" (with alpha), "jelinek-mercer" (beta), "absolute" (discount; "auto" estimates it)
    prior      "data", "uniform", or a probability for each class

    >>> MultinomialNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "multinomial"

    def __init__(
        self,
        *,
        scheme: str | None = None,
        smoothing: str = "laplace",
        alpha: float = 1.0,
        beta: float = 0.7,
        discount: float | str = "auto",
        prior: str | Sequence[float] = "data",
    ) -> None:
        self.scheme = scheme
        self.smoothing = smoothing
        self.alpha = alpha
        self.beta = beta
        self.discount = discount
        self.prior = prior

    def to_maxent(self) -> Linear:
        """The maximum-entropy model with the same posteriors on documents of unit length: weights() = λ, no bias.

        λ_ct = log p(c) + log p(t|c); exclusive classes only, see models/bridge.py.

        >>> MultinomialNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).to_maxent().weights().round(2)
        array([[-1.79, -1.1 ],
               [-0.98, -2.08]])
        """
        check_is_fitted(self)
        return to_maxent(replace(cast(Linear, self.scorer_), weighting=Weighting(norm="l1")))


class BernoulliNB(CountsClassifier):
    """Bernoulli naive Bayes: every term of the vocabulary is present or absent, and both count.

    Parameters as in MultinomialNB.

    >>> BernoulliNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict_proba([[1, 0]])
    array([[0.2, 0.8]])
    """

    model: ClassVar[str] = "bernoulli"

    def __init__(
        self,
        *,
        scheme: str | None = None,
        smoothing: str = "laplace",
        alpha: float = 1.0,
        beta: float = 0.1,
        discount: float | str = "auto",
        prior: str | Sequence[float] = "data",
    ) -> None:
        self.scheme = scheme
        self.smoothing = smoothing
        self.alpha = alpha
        self.beta = beta
        self.discount = discount
        self.prior = prior


class ComplementNB(CountsClassifier):
    """Complement naive Bayes: the class whose rest explains the document worst.

    alpha  added to every count
    norm   divide each class's weights by their sum
    scheme, prior  as in MultinomialNB

    >>> ComplementNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "complement"

    def __init__(
        self,
        *,
        scheme: str | None = None,
        alpha: float = 1.0,
        norm: bool = False,
        prior: str | Sequence[float] = "uniform",
    ) -> None:
        self.scheme = scheme
        self.alpha = alpha
        self.norm = norm
        self.prior = prior
