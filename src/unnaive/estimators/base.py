"""scikit-learn's face of the models: what every estimator shares; a family's file adds constructors.

`ScorerClassifier` predicts from a scorer. `CountsClassifier` learns with a rule, from Counts: it can be updated, merged
and made to forget. `DocumentsClassifier` learns with a learner, from all documents at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from unnaive.core.counts import Counts
from unnaive.core.labels import label_sets
from unnaive.core.links import accepted, lead, log_probabilities, probabilities
from unnaive.core.scorer import Scorer
from unnaive.errors import BadData
from unnaive.estimators.encoding import Encoded, encoded, refuse_mixed_labels
from unnaive.models.catalogue import find_model
from unnaive.types import Floats, Sparse

CHUNK_CELLS = 1 << 22  # scores held at a time while predicting: 32 MB of float64


class ScorerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The predicting side. A subclass sets `model`, the name of its function in the catalogue, and a constructor.

    X is (n_docs, n_terms), sparse or dense, of counts; y one label each, an indicator matrix, or label sets.

    classes_        the classes, sorted (n_classes,); 0, 1, … for an indicator matrix
    label_form_     the form in which labels came: "single", "sets", "indicator" or "sparse"; predictions leave in it
    scorer_         what was learned (see core/scorer.py)
    n_features_in_  terms
    """

    model: ClassVar[str]
    probabilistic: ClassVar[bool] = True

    classes_: NDArray[Any]
    label_form_: str
    scorer_: Scorer
    n_features_in_: int

    # Offered once fitted: scikit-learn's check that this agrees with predict_proba, which goes by what an unfitted
    # classifier has, feeds negative features whatever the tags say. tests/laws checks the agreement on counts.
    @available_if(lambda self: hasattr(self, "scorer_"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Scores (n_docs, n_classes); with two exclusive classes that of the second over the first (n_docs,)."""
        scores = self._collected(X, lambda scores: scores)
        return lead(self.scorer_.link, scores) if self._exclusive and len(self.classes_) == 2 else scores

    @available_if(lambda self: self.probabilistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n_docs, n_classes): of exclusive classes for single labels, else of each class by itself."""
        check_is_fitted(self)
        return self._collected(X, lambda s: probabilities(self.scorer_.link, s, exclusive=self._exclusive))

    @available_if(lambda self: self.probabilistic)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`, exact also where that is zero."""
        check_is_fitted(self)
        return self._collected(X, lambda s: log_probabilities(self.scorer_.link, s, exclusive=self._exclusive))

    def predict(self, X: Any) -> Any:
        """The best class of each document, or all that `accepted` of core/links.py takes, in the form labels came in.

        TextClassifier decides by the same default, and can tune thresholds besides.
        """
        check_is_fitted(self)
        if self._exclusive:
            best = [scores.argmax(axis=1) for scores in self._scores(X)]
            return self.classes_[np.concatenate(best)]
        members = csr_array(vstack([csr_array(accepted(self.scorer_.link, scores)) for scores in self._scores(X)]))
        if self.label_form_ == "sets":
            return label_sets(members, self.classes_.tolist())
        members = members.astype(np.int64)
        return members if self.label_form_ == "sparse" else members.toarray()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; where documents have several labels, the share whose labels are all right."""
        check_is_fitted(self)
        if self.label_form_ != "sets":
            return float(super().score(X, y, sample_weight))
        right = [set(labels) == set(given) for labels, given in zip(self.predict(X), y, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # scikit-learn tries measurements; these are models of counts
        return tags

    @property
    def _exclusive(self) -> bool:
        return self.label_form_ == "single"

    def _scores(self, X: Any) -> Iterator[Floats]:
        """Scores of a few rows at a time, so that many classes do not fill the memory."""
        documents = self._documents(X, reset=False)
        step = max(CHUNK_CELLS // len(self.classes_), 1)
        for start in range(0, documents.shape[0], step):
            yield self.scorer_.scores(documents[start : start + step])

    def _collected(self, X: Any, of_scores: Callable[[Floats], Floats]) -> Floats:
        return np.concatenate([of_scores(scores) for scores in self._scores(X)])

    def _documents(self, X: Any, *, reset: bool) -> Sparse:
        """X as a csr_array that names no term twice in a row, checked."""
        documents = csr_array(validate_data(self, X, accept_sparse="csr", reset=reset))
        if not documents.has_canonical_format:
            documents = documents.copy()
            documents.sum_duplicates()
        return documents

    def _labelled(self, X: Any, y: Any, *, reset: bool) -> tuple[Sparse, Encoded]:
        """X and y to learn from, checked."""
        if y is None:
            validate_data(self, X, y)  # says that y is required
        documents = self._documents(X, reset=reset)
        if documents.nnz and documents.data.min() < 0:
            raise BadData(
                f"Negative values in data passed to {type(self).__name__}, which learns from counts; shift or drop "
                "the features that fall below 0"
            )
        target = encoded(y)
        check_consistent_length(documents, target.Y)
        return documents, target

    def _trained(self, form: str, *statistic: Any, **more: Any) -> Scorer:
        """What the model's function makes of the statistic; `scheme` follows the form of labels unless chosen."""
        model = find_model(self.model)
        known = model.settings()
        settings = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        if "scheme" in known and settings.get("scheme") is None:
            settings["scheme"] = "multiclass" if form == "single" else "one-vs-rest"
        scorer: Scorer = model.function(*statistic, **(model.checked(settings) | more))
        return scorer


class CountsClassifier(ScorerClassifier):
    """Learns with a rule from sums over documents, `counts_`: exact in any order, and documents can be taken out."""

    counts_: Counts

    @classmethod
    def from_counts(cls, counts: Counts, classes: Any, /, *, multilabel: bool = False, **parameters: Any) -> Self:
        """The estimator that was fitted on the documents behind `counts`, whose classes are `classes`."""
        names = np.asarray(classes)
        if len(names) != counts.n_classes or len(np.unique(names)) != len(names):
            raise BadData(f"{counts.n_classes} classes were counted and {len(names)} names came; name each class once")
        order = np.argsort(names)
        fitted = cls(**parameters)
        fitted.n_features_in_ = counts.n_terms
        sums = _moved(counts, np.argsort(order), counts.n_classes)
        return fitted._learned(sums, names[order], "sets" if multilabel else "single")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X and labels y alone, whatever was learned before."""
        documents, target = self._labelled(X, y, reset=True)
        return self._learned(_summed(documents, target, target.classes, sample_weight), target.classes, target.form)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, grow: bool = False) -> Self:
        """Learn from more documents, as if they had come with those before.

        The first call needs `classes`, all that may come. With `grow` there may be new ones at any call, and X may have
        further columns; without it either is an error.
        """
        if hasattr(self, "counts_"):
            documents, target = self._labelled(X, y, reset=grow and self._is_wider(X))
            known, form = self.classes_, self.label_form_
        elif classes is None and not grow:
            raise BadData("classes must be passed on the first call to partial_fit, unless grow=True")
        else:
            documents, target = self._labelled(X, y, reset=True)
            known, form = np.unique(target.classes if classes is None else classes), target.form
        room = _room(known, form, target, classes, grow=grow)
        new = _summed(documents, target, room, sample_weight)
        counts = self._counts_over(room, documents.shape[1]) + new if hasattr(self, "counts_") else new
        return self._learned(counts, room, form)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take documents out again: the model is then the one that never saw them."""
        check_is_fitted(self)
        documents, target = self._labelled(X, y, reset=False)
        room = _room(self.classes_, self.label_form_, target)
        return self._learned(self.counts_ - _summed(documents, target, room, sample_weight), room, self.label_form_)

    def merge(self, other: CountsClassifier) -> Self:
        """Take over all that `other` has learned: the model is then the one trained on the documents of both."""
        check_is_fitted(self)
        check_is_fitted(other)
        self._refuse_stranger(other)
        both = np.union1d(self.classes_, other.classes_)
        mine, theirs = (one._counts_over(both, self.n_features_in_) for one in (self, other))
        return self._learned(mine + theirs, both, self.label_form_)

    def _is_wider(self, X: Any) -> bool:
        """Whether X has columns beyond those known, which must come first and in their order."""
        shape = X.shape if hasattr(X, "shape") else np.shape(X)
        known, columns = list(getattr(self, "feature_names_in_", [])), list(getattr(X, "columns", []))
        if known and columns and columns[: len(known)] != known:
            raise BadData("the columns of X do not begin with those learned before; put new terms after them")
        return len(shape) == 2 and shape[1] > self.n_features_in_

    def _counts_over(self, classes: NDArray[Any], n_terms: int) -> Counts:
        """The counts with a row for each of `classes`, which has all of classes_ in it, and n_terms columns."""
        places = np.searchsorted(classes, self.classes_)
        return _moved(self.counts_, places, len(classes)).grown(len(classes), n_terms)

    def _learned(self, counts: Counts, classes: NDArray[Any], form: str) -> Self:
        # the rule may refuse its settings: nothing changes before it has not
        self.scorer_ = self._trained(form, counts)
        self.counts_, self.classes_, self.label_form_ = counts, classes, form
        return self

    def _refuse_stranger(self, other: CountsClassifier) -> None:
        mine, theirs = (getattr(one, "feature_names_in_", None) for one in (self, other))
        same_terms = self.n_features_in_ == other.n_features_in_ and (
            mine is None or theirs is None or np.array_equal(mine, theirs)
        )
        if not same_terms or self._exclusive != other._exclusive:
            raise BadData(
                f"a model of {other.n_features_in_} terms and {other.label_form_} labels cannot be merged into one of "
                f"{self.n_features_in_} terms and {self.label_form_} labels; train both on the same columns and form"
            )
        refuse_mixed_labels(self.classes_, other.classes_)


class DocumentsClassifier(ScorerClassifier):
    """Learns with a learner, from all documents at once; `fit` starts anew each time."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from documents X and labels y."""
        return self._learned(*self._labelled(X, y, reset=True))

    def _learned(self, documents: Sparse, target: Encoded, **more: Any) -> Self:
        self.scorer_ = self._trained(target.form, documents, target.Y, **more)
        self.classes_, self.label_form_ = target.classes, target.form
        return self


class WeightedDocumentsClassifier(DocumentsClassifier):
    """A DocumentsClassifier whose learner takes a weight for each document."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X and labels y, each document as often as its weight says."""
        documents, target = self._labelled(X, y, reset=True)
        return self._learned(documents, target, sample_weight=_weights(sample_weight, documents))


def _room(known: NDArray[Any], form: str, target: Encoded, listed: Any = None, *, grow: bool = False) -> NDArray[Any]:
    """The known classes, and if they may grow also those that only `target` or the list of classes has."""
    if (target.form == "single") != (form == "single"):
        raise BadData(
            f"labels came in the form {target.form!r} and were {form!r} before; keep to one label, or to any number, "
            "for each document"
        )
    refuse_mixed_labels(known, target.classes)
    coming = target.classes if listed is None else np.union1d(target.classes, np.unique(listed))
    unknown = np.setdiff1d(coming, known)
    if len(unknown) and not grow:
        raise BadData(
            f"label {unknown.tolist()[0]!r} is none of the {len(known)} classes; list it in classes on the first "
            "call, or pass grow=True to partial_fit"
        )
    return np.union1d(known, unknown) if len(unknown) else known


def _summed(documents: Sparse, target: Encoded, classes: NDArray[Any], sample_weight: Any) -> Counts:
    return Counts.of(documents, target.over(classes), _weights(sample_weight, documents))


def _weights(sample_weight: Any, documents: Sparse) -> Floats | None:
    """One weight for each document, none below zero and not all zero; None stays None."""
    if sample_weight is None:
        return None
    weight: Floats = _check_sample_weight(sample_weight, documents, ensure_non_negative=True)
    if not weight.any():
        raise BadData("all sample weights are zero; give at least one document a weight above zero")
    return weight


def _moved(counts: Counts, places: NDArray[Any], n_classes: int) -> Counts:
    """The counts with class i at `places[i]` of n_classes."""
    if n_classes == counts.n_classes and np.array_equal(places, np.arange(n_classes)):
        return counts
    return counts.placed(places, np.arange(counts.n_terms), n_classes, counts.n_terms)
