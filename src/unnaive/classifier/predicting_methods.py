"""How TextClassifier predicts and explains: texts are encoded here, FittedModel does the rest.

Each method reads the fitted state once, so that it sees one version of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unnaive.base.sklearn_protocol import NO_PROBABILITIES, available_if
from unnaive.base.types import Floats, Label, Predictions
from unnaive.classifier.field_methods import FieldMethods
from unnaive.classifier.parameters import ModelParameters
from unnaive.learning.training_options import calibration_name
from unnaive.models.catalogue import find_model

if TYPE_CHECKING:
    from unnaive.learning.explanation import Explanation


class PredictingMethods(FieldMethods, ModelParameters):
    """The methods of TextClassifier that predict and explain."""

    calibrate: str | bool | None
    optimise: Any

    def predict(self, texts: Any, *, out_of_scope_rate: float | None = None) -> Predictions:
        """The label of each text: an array of classes or, for multilabel targets, a list of tuples or a 0/1 matrix.

        The labels of a tuple are sorted by score, the most probable first. With `out_of_scope_rate`, e.g. 0.05, texts
        unlike all classes get the label "undecided", and so do 5 % of the texts of the classes.
        """
        return self._fitted().predict(texts, out_of_scope_rate=out_of_scope_rate)

    def out_of_scope_score(self, texts: Any) -> Floats:
        """Novelty of each text (n_texts,): the share of held-out texts that are more like one of the classes.

        For texts like those of training, 5 % of the values are above 0.95; out-of-scope texts are mostly near 1. This
        needs three classes, and held-out scores, which `calibrate` or the model itself computes.
        """
        return self._fitted().out_of_scope_score(self._documents(texts))

    @available_if(lambda self: self._has_probabilities(), NO_PROBABILITIES)
    def predict_proba(self, texts: Any) -> Floats:
        """p of each class (n_texts, n_classes); rows sum to one unless the target is multilabel."""
        return self._fitted().predict_proba(self._documents(texts))

    @available_if(lambda self: self._has_probabilities(), NO_PROBABILITIES)
    def predict_log_proba(self, texts: Any) -> Floats:
        """log p of each class (n_texts, n_classes), exact also where p underflows."""
        return self._fitted().predict_log_proba(self._documents(texts))

    def predict_label_set(
        self, texts: Any, coverage: float = 0.9, *, by_class: bool = False, at_least_one: bool = False
    ) -> list[tuple[Label, ...]]:
        """For each text, a set of labels that contains the right one with this coverage, the most probable first.

        This needs held-out scores, which `calibrate` or the model itself computes. See `FittedModel.predict_label_set`.
        """
        return self._fitted().predict_label_set(
            self._documents(texts), coverage, by_class=by_class, at_least_one=at_least_one
        )

    @available_if(lambda self: self._has("probabilistic") and self._has("generative"))
    def predict_joint_log_proba(self, texts: Any) -> Floats:
        """log p(class, text), up to a constant per text (n_texts, n_classes)."""
        return self._fitted().predict_joint_log_proba(self._documents(texts))

    @available_if(lambda self: not self._has("generative"))
    def decision_function(self, texts: Any) -> Floats:
        """Scores (n_texts, n_classes).

        For two exclusive classes the log-odds of the second (n_texts,); of margins, their difference.
        """
        return self._fitted().decision_function(self._documents(texts))

    def scores(self, texts: Any) -> Floats:
        """Raw scores of every class (n_texts, n_classes), also for two classes; `scorer_.link` says what they mean."""
        return self._fitted().scores(self._documents(texts))

    def score(self, texts: Any, labels: Any, sample_weight: Any = None) -> float:
        """The share of texts whose labels are all right."""
        documents = self._documents(texts)
        return self._fitted().subset_accuracy(documents, labels, len(documents), sample_weight)

    def explain(
        self, text: str | Mapping[str, Any], label: Label | None = None, *, against: Label | None = None
    ) -> Explanation:
        """Evidence for and against a class by term, by default for the first label that `predict` returns.

        A model with fields explains a record, given as a dict.
        """
        return self._fitted().explain(text, label, against=against)

    def top_terms(self, label: Label, limit: int = 10) -> list[tuple[str, float]]:
        """The strongest terms of a class, with what one occurrence adds to its score."""
        return self._fitted().strongest_terms(label, limit)

    def _has(self, trait: str) -> bool:
        return bool(getattr(find_model(self.model).traits, trait))

    def _has_probabilities(self) -> bool:
        if self.__sklearn_is_fitted__():  # remake cannot calibrate models that keep counts
            return self.fitted_.probabilistic
        return self._has("probabilistic") or calibration_name(self.calibrate, self.optimise) is not None
