"""How an estimator predicts and explains: rows of counts are checked here, FittedModel does the rest.

Each method reads `fitted_` once, so that it uses one version of the model.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sklearn_protocol import NO_PROBABILITIES, Protocol, available_if
from unnaive.base.types import Floats, Predictions, Sparse
from unnaive.learning.fitted import FittedModel
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.models.input_checks import check_documents


class PredictingEstimator(Protocol):
    """The methods of an estimator that predict and explain; `Model` adds those that learn.

    X is (n_docs, n_terms), sparse or dense counts.
    """

    traits: ClassVar[Traits]

    def scores(self, X: Any) -> Floats:
        """Raw scores of every class (n_docs, n_classes), also for two classes; `scorer_.link` defines their meaning."""
        fitted = self._fitted()
        return fitted.scores(self._check_for_scores(X, fitted))

    def predict(self, X: Any, *, out_of_scope_rate: float | None = None) -> Predictions:
        """The labels of each document, in the format of the training labels.

        That is the best class or, for multilabel targets, every class that the default decision accepts
        (see `unnaive.learning.decisions.default_decision`). With `out_of_scope_rate`, documents unlike all classes get
        the label "undecided"; see `FittedModel.predict`.
        """
        fitted = self._fitted()
        documents = self._check_for_scores(X, fitted) if out_of_scope_rate is None else self._check_documents(X, fitted)
        return fitted.predict(documents, out_of_scope_rate=out_of_scope_rate)

    @available_if(lambda self: self.traits.probabilistic, NO_PROBABILITIES)
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n_docs, n_classes): they sum to 1 for single labels.

        For multilabel targets each class has its own.
        """
        fitted = self._fitted()
        return fitted.predict_proba(self._check_for_scores(X, fitted))

    @available_if(lambda self: self.traits.probabilistic, NO_PROBABILITIES)
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`, exact even where the probability underflows to zero."""
        fitted = self._fitted()
        return fitted.predict_log_proba(self._check_for_scores(X, fitted))

    def predict_label_set(
        self, X: Any, coverage: float = 0.9, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Any, ...]]:
        """For each document, a set of labels that contains the right one with this coverage.

        See `FittedModel.predict_label_set`.
        """
        fitted = self._fitted()
        documents = self._check_documents(X, fitted)
        return fitted.predict_label_set(documents, coverage, by_class=by_class, at_least_one=at_least_one)

    def out_of_scope_score(self, X: Any) -> Floats:
        """How unlike all classes each document is, from 0 to 1 (n_docs,); see `FittedModel.novelty`."""
        fitted = self._fitted()
        return fitted.out_of_scope_score(self._check_documents(X, fitted))

    @available_if(lambda self: self.traits.probabilistic and self.traits.generative)
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Logarithms of p(class, document), up to a constant for each document (n_docs, n_classes)."""
        fitted = self._fitted()
        return fitted.predict_joint_log_proba(self._check_documents(X, fitted))

    @available_if(lambda self: not self.traits.generative)
    def decision_function(self, X: Any) -> Floats:
        """Scores (n_docs, n_classes).

        For two exclusive classes, the log-odds of the second against the first (n_docs,); of margins, their difference.
        """
        fitted = self._fitted()
        return fitted.decision_function(self._check_for_scores(X, fitted))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; for multilabel targets, the share of documents with exactly the right labels."""
        fitted = self._fitted()
        documents = self._check_documents(X, fitted)
        return fitted.subset_accuracy(documents, y, documents.shape[0], sample_weight)

    def explain(self, document: Any, label: Any = None, *, against: Any = None) -> Any:
        """The contribution of each column of a document (1, n_terms) to the score of a class.

        See `TextClassifier.explain`.
        """
        return self._fitted().explain(document, label, against=against)

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return self._attribute("n_features_in_").scorer.n_terms

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns of X, if it had any."""
        names = self._attribute("feature_names_in_").feature_names
        if names is None:
            raise AttributeError(f"this {type(self).__name__} has no attribute 'feature_names_in_'")
        return np.array(names, dtype=object)

    def _check_documents(self, X: Any, fitted: FittedModel) -> Sparse:
        """Check X, whose columns must be those of `fitted`."""
        return check_documents(self, X, fitted)[0]

    def _check_for_scores(self, X: Any, fitted: FittedModel) -> Sparse:
        """The same; entries are sorted and duplicates summed only where the scores need it."""
        as_they_are = isinstance(fitted.scorer, Linear) and fitted.scorer.adds_up
        return check_documents(self, X, fitted, as_they_are=as_they_are)[0]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_label=True, poor_score=self.traits.poor_score),
            input_tags=InputTags(sparse=True, positive_only=True),
        )
