"""Higher-order smoothing and higher-order naive Bayes as scikit-learn estimators over models/higher_order.py."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from unnaive.core.scorer import Scorer
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData, UnnaiveError
from unnaive.estimators.base import DocumentsClassifier, _room
from unnaive.estimators.encoding import Encoded
from unnaive.models.higher_order import Mixture, path_documents, path_labels, smoothed
from unnaive.models.paths import FirstPass, SecondPass
from unnaive.types import Sparse


class HigherOrderNB(DocumentsClassifier):
    """Bernoulli naive Bayes that counts second-order paths among the documents of a class instead of documents.

    >>> X, y = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]], ["a", "a", "b", "b"]
    >>> HigherOrderNB().fit(X, y).predict([[1, 1, 0, 0]]).tolist()
    ['a']
    """

    model: ClassVar[str] = "honb"

    def __init__(self, *, scheme: str | None = None) -> None:
        self.scheme = scheme


class HigherOrderSmoothing(DocumentsClassifier):
    """Naive Bayes smoothed by second-order paths: a term that never occurred in a class borrows from those around it.

    beta            share of the first-order estimate: 0 is second order alone, 1 first order alone
    paths           "exact", or "paper" for the published algorithm to the letter
    weights         "binary", "log" or "tfidf": what a term brings into a path
    normaliser      "total" or "class": what paths are divided by
    events          "bernoulli" or "multinomial"
    keep_documents  keep the terms of the training documents, so that explanations can name the paths
    scheme          "multiclass" or "one-vs-rest"; None goes by the labels

    Learning is two passes over the documents, and each is a sum over them. So documents that do not fit in memory, or
    are on several machines, can be learned in shards; the result is the same to the last digit:

    >>> shards = [([[1, 1, 0]], ["a"]), ([[0, 1, 1], [0, 0, 1]], ["b", "b"])]
    >>> model = HigherOrderSmoothing()
    >>> for order in (1, 2):
    ...     for X, y in shards:
    ...         model = model.partial_fit(X, y, classes=["a", "b"], order=order)
    >>> whole = HigherOrderSmoothing().fit([[1, 1, 0], [0, 1, 1], [0, 0, 1]], ["a", "b", "b"])
    >>> bool((model.predict_proba([[1, 0, 1]]) == whole.predict_proba([[1, 0, 1]])).all())
    True
    """

    model: ClassVar[str] = "hos"

    first_pass_: FirstPass
    second_pass_: SecondPass | None

    def __init__(
        self,
        *,
        beta: float = 0.5,
        paths: str = "exact",
        weights: str = "binary",
        normaliser: str = "total",
        events: str = "bernoulli",
        keep_documents: bool = True,
        scheme: str | None = None,
    ) -> None:
        self.beta = beta
        self.paths = paths
        self.weights = weights
        self.normaliser = normaliser
        self.events = events
        self.keep_documents = keep_documents
        self.scheme = scheme

    @classmethod
    def from_passes(
        cls, one: FirstPass, two: SecondPass, classes: Any, *, multilabel: bool = False, **parameters: Any
    ) -> Self:
        """The estimator that was fitted on the documents behind both passes, whose classes are `classes`, sorted.

        The passes of shards are made with `FirstPass.of`, then `SecondPass.of` with the `first` of all of them, and
        added with `+`; `path_documents` and `path_labels` prepare what they take.
        """
        names = np.asarray(classes)
        if not np.array_equal(names, np.unique(names)):
            raise BadData(f"{len(names)} names of classes came that are not sorted, each once; sort them")
        fitted = cls(**parameters)
        fitted.n_features_in_ = len(one.first)
        fitted.classes_, fitted.label_form_ = names, "sets" if multilabel else "single"
        if not fitted._in_shards:
            raise UnnaiveError(
                "weights='tfidf' and paths='paper' need all documents at once; call fit, or take other settings"
            )
        return fitted._begun(one)._finished(two)

    @available_if(lambda self: self._in_shards)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, order: int = 1) -> Self:
        """Take some of the documents through the first pass (order=1) or, after all of them, the second (order=2).

        The first call needs `classes`, all that may come; after `fit`, which it does not go on from, they are known.
        The second pass must see the very documents that the first saw; with the last of them the model is there. A
        further call with order=1 adds documents, after which the second pass starts again. Paths are not kept for
        explanations. Weights "tfidf", which need document frequencies beforehand, and paths="paper" have no passes.
        """
        begun = hasattr(self, "first_pass_")
        if (order, begun) not in ((1, False), (1, True), (2, True)):
            raise BadData(f"order is {order!r}; take all documents through order=1 first, then through order=2")
        if classes is None and not hasattr(self, "classes_"):
            raise BadData("classes must be passed on the first call to partial_fit")
        documents, target = self._labelled(X, y, reset=not begun)
        if not begun:
            self.classes_ = self.classes_ if classes is None else np.unique(classes)
            self.label_form_ = target.form
        room = _room(self.classes_, self.label_form_, target, grow=False)
        Z, Y = path_documents(documents, self.weights), path_labels(target.over(room), self._scheme)
        if order == 1:
            return self._begun(FirstPass.of(Z, Y))
        more = SecondPass.of(Z, Y, self.first_pass_.first)
        return self._finished(more if self.second_pass_ is None else self.second_pass_ + more)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorer_")  # between the passes there is nothing to predict with

    def _learned(self, documents: Sparse, target: Encoded, **more: Any) -> Self:
        self.__dict__.pop("first_pass_", None)
        return super()._learned(documents, target, **more)

    def _begun(self, more: FirstPass) -> Self:
        self.first_pass_ = self.first_pass_ + more if hasattr(self, "first_pass_") else more
        self.second_pass_ = None
        self.__dict__.pop("scorer_", None)
        return self

    def _finished(self, two: SecondPass) -> Self:
        """With what the second pass has seen; the scorer once it has seen all."""
        if two.n_docs > self.first_pass_.n_docs:
            raise BadData(
                f"the second pass has {two.n_docs} documents and the first {self.first_pass_.n_docs}; take each "
                "document once through both"
            )
        self.second_pass_ = two
        if two.n_docs == self.first_pass_.n_docs:
            self.scorer_ = self._smoothed(two)
        return self

    def _smoothed(self, two: SecondPass) -> Scorer:
        mixture = Mixture(self.beta, self.normaliser, self.events)
        return smoothed(self.first_pass_, two, mixture, Weighting(self.weights), self._scheme)

    @property
    def _in_shards(self) -> bool:
        return self.weights != "tfidf" and self.paths == "exact"

    @property
    def _scheme(self) -> str:
        return self.scheme or ("multiclass" if self.label_form_ == "single" else "one-vs-rest")
