"""The base classes of all models: they declare settings, learn, and are scikit-learn estimators on counts.

`CountsModel` learns with a rule from sums over documents; `DocumentsModel` learns from all documents and keeps them.
Both can be updated, merged and made to forget. scikit-learn is imported when an estimator is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, BadModel, UnknownName, UnnaiveError
from unnaive.base.settings import Settings, own_arrays, setting, unknown_setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.named_counts import NamedCounts
from unnaive.data.sample_weights import check_sample_weight
from unnaive.data.targets import Targets
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.learnt import Learnt
from unnaive.linear.scorer import Scorer
from unnaive.models.input_checks import (
    check_labelled,
    check_model_classes,
    check_target_type,
    has_more_columns,
    read_classes,
)
from unnaive.models.predicting_estimator import PredictingEstimator

if TYPE_CHECKING:
    from unnaive.data.training_data import TrainingData

SCHEMES = ("multiclass", "one-vs-rest")


def scheme_setting() -> Any:
    """The shared setting `scheme`: one model for all classes, or one for each class."""
    return setting(
        "One model of exclusive classes, or one model for each class against the rest.",
        default=None,
        choices=SCHEMES,
        more="None: the first for single-label targets, the second for multilabel ones.",
    )


def class_weight_setting() -> Any:
    """The shared setting `class_weight`."""
    return setting('Weight of each class: None, "balanced", or a dict from class to weight.', default=None)


class Model(Settings, PredictingEstimator):
    """A model with its settings. X is (n_docs, n_terms), sparse or dense counts; y has labels, label sets, or 0/1.

    Attributes
    ----------
    fitted_         the fitted state, one immutable value; it is replaced as a whole, so any number of threads may
                    predict while one updates
    classes_        the classes, sorted (n_classes,); 0, 1, … for an indicator matrix
    target_type_    the format of the labels, and of predictions: "single", "sets", "indicator" or "sparse"
    scorer_         maps documents to scores
    n_features_in_  the number of terms
    """

    @classmethod
    def token_rule_for(cls, settings: dict[str, Any], n_chars: float = 0) -> dict[str, Any]:
        """The defaults of TextClassifier's token rule for the model with these settings.

        n_chars  the amount of text, for models that read large amounts less thoroughly
        """
        return dict(cls.traits.token_rule_changes)

    # the interface that training uses; see learning/learner.py

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Scorer:
        """The scorer from sums over documents, for models that learn from counts."""
        raise NotImplementedError

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """The scorer from documents X and labels Y, for models that learn from documents."""
        raise NotImplementedError

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """The cost of training per class, beyond what is stored; zero unless a model overrides it."""
        return ClassCost()

    def relearn(
        self, before: Learnt, places: NDArray[np.int64], X: Sparse, Y: Sparse, *, chosen_on: int | None = None,
        **same: Any,
    ) -> Learnt:  # fmt: skip
        """Retrain on these documents the models that were selected for `before` on `chosen_on` documents.

        Class i of `before` is now column places[i] of Y, or −1 if it no longer exists. Only models with `keeps_choice`
        select; the others learn from the documents as usual.
        """
        return self.learn(X, Y, **same)

    def adjust(
        self, before: Learnt, X: Sparse, Y: Sparse, *, sample_weight: Floats | None = None, gone: bool = False
    ) -> Learnt:
        """Change a scorer approximately by documents that were learnt or forgotten; only some models can."""
        raise UnnaiveError(
            f"{self.traits.title} cannot be updated approximately; leave search='adjust' out to update it exactly"
        )

    @classmethod
    def settings_owner(cls) -> str:
        """The model's name, for error messages about its settings."""
        return cls.traits.name

    def check_recipe(self, recipe: dict[str, Any], n_classes: int) -> None:
        """Raise an error if the recipe of a model file cannot be one of this model; most models select nothing."""
        if recipe:
            raise BadModel(f"the model in this file is {self.traits.title}, which has no recipe; train it again")

    def shrink(
        self, fitted: FittedModel, limit: int, size: Callable[[FittedModel], int], bits: Sequence[int]
    ) -> tuple[FittedModel, int] | None:
        """None: `compress` makes linear scorers smaller, and refuses others."""
        return None

    def shrink_alike(self, scorer: Scorer, small: Scorer, *, drop_terms: bool) -> tuple[Scorer, Ids] | None:
        """None, as in `shrink`."""
        return None

    def scheme_for(self, exclusive: bool) -> str:
        """The scheme that was set, else the one that fits the labels."""
        chosen: str | None = self.get_params().get("scheme")
        return chosen or SCHEMES[0 if exclusive else 1]

    # scikit-learn's protocol.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in self._declared}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; an unknown one is an error."""
        for name, value in parameters.items():
            if name not in self._declared:
                raise UnknownName(f"Invalid parameter: {unknown_setting(name, list(self._declared))}")
            setattr(self, name, value)
        return self

    def _changed(self) -> dict[str, Any]:
        return self.changed_settings()

    def _takes_sample_weight(self, method: str) -> bool:
        return self.traits.takes_sample_weight or method == "score"

    # updating, forgetting and merging are exact, in any order; see learning/update.py

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, new_classes: bool = False,
        search: str = "again",
    ) -> Self:  # fmt: skip
        """Learn from more documents; the result equals training on all documents together.

        The first call needs `classes`, a list of all classes. With `new_classes`, any call may bring new classes, and X
        may have more columns; without it, both are errors. With `search="keep"`, a model that selects among candidates
        keeps its selection; other models ignore it. With `search="adjust"`, `Auto` only adjusts its weights.
        """
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.train import train
        from unnaive.learning.update import learn_more, over_known_classes, refuse_mixed_labels

        before, spec = self.__dict__.get("fitted_"), self._spec()
        if before is None and classes is None and not new_classes:
            raise BadData("classes must be passed on the first call to partial_fit, unless new_classes=True")
        known = None if classes is None else read_classes(classes)
        wider = new_classes and before is not None and has_more_columns(X, before)
        documents, targets, names = self._check_labelled(X, y, None if wider else before)
        weight = check_sample_weight(sample_weight, documents.shape[0])
        new = TrainingData.of_rows(documents, targets, weight=weight).statistic(spec.model.traits.statistic)
        if before is None:
            refuse_mixed_labels(new.classes, known or [])
            new = new if known is None else over_known_classes(new, known)
            return self._learn(train, TrainingData.of_kept(new, targets.target_type, feature_names=names), spec)
        check_target_type(targets, before)
        if known is not None:
            if not new_classes:
                check_model_classes(known, before)
            new = over_known_classes(new, {*known, *new.classes})
        before = replace(before, spec=spec)
        return self._learn(learn_more, before, new, new_classes=new_classes, search=search, feature_names=names)

    def forget(self, X: Any, y: Any, sample_weight: Any = None, search: str = "again") -> Self:
        """Forget documents: the model becomes the one that never saw them; the options are as in partial_fit."""
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.update import forget_documents

        before, spec = self._fitted(), self._spec()
        documents, targets, _ = self._check_labelled(X, y, before)
        check_target_type(targets, before)
        weight = check_sample_weight(sample_weight, documents.shape[0])
        gone = TrainingData.of_rows(documents, targets, weight=weight).statistic(spec.model.traits.statistic)
        before = replace(before, spec=spec)
        return self._learn(forget_documents, before, gone, search=search)

    def merge(self, other: Model, search: str = "again") -> Self:
        """Merge with `other`: the model becomes the one trained on the documents of both."""
        from unnaive.learning.update import merge_models

        before = replace(self._fitted(), spec=self._spec())
        return self._learn(merge_models, before, other._fitted(), search=search)

    def _learn(self, train: Callable[..., FittedModel], *about: Any, **more: Any) -> Self:
        """Replace the fitted state by the result of `train`."""
        self.fitted_ = train(*about, **more)
        return self

    def _spec(self) -> TrainingSpec:
        """The training specification with a copy of the current settings.

        Later changes do not affect the fitted state, also of an array.
        """
        settings = own_arrays(self.get_params())
        return TrainingSpec(type(self)(**settings), class_weight=settings.get("class_weight"))

    def _check_labelled(
        self, X: Any, y: Any, fitted: FittedModel | None = None, *, multilabel: bool | None = None
    ) -> tuple[Sparse, Targets, tuple[str, ...] | None]:
        """Check X and y for training; also return the column names of X."""
        return check_labelled(self, X, y, fitted, multilabel=multilabel)


class CountsModel(Model):
    """A model that learns with a rule from sums over documents: exact in any order, and documents can be subtracted."""

    @classmethod
    def from_counts(cls, counts: Counts, classes: Any, /, *, multilabel: bool = False, **parameters: Any) -> Self:
        """An estimator fitted on the documents behind `counts`, whose classes are `classes`."""
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.train import train

        names = [label.item() if isinstance(label, np.generic) else label for label in classes]
        if len(names) != counts.n_classes or len(set(names)) != len(names):
            raise BadData(f"{counts.n_classes} classes were counted, but {len(names)} names came; name each class once")
        order = sorted(range(len(names)), key=names.__getitem__)
        places = np.argsort(np.array(order, np.int64))
        sums = counts.placed(places, np.arange(counts.n_terms), counts.n_classes, counts.n_terms)
        named = NamedCounts(tuple(names[index] for index in order), None, sums)
        model = cls(**parameters)
        model.fitted_ = train(TrainingData.of_kept(named, "sets" if multilabel else "single"), model._spec())
        return model

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from documents X and labels y, discarding any earlier state."""
        from unnaive.data.training_data import TrainingData
        from unnaive.learning.train import train

        documents, targets, names = self._check_labelled(X, y)
        weight = check_sample_weight(sample_weight, documents.shape[0])
        self.fitted_ = train(TrainingData.of_rows(documents, targets, weight=weight, feature_names=names), self._spec())
        return self

    @property
    def counts_(self) -> Counts:
        """The sums that the model learnt from."""
        named = self._attribute("counts_").counts
        if named is None:
            raise AttributeError(f"this {type(self).__name__} has no counts, because it was frozen; fit it again")
        return named.counts

    @property
    def class_count_(self) -> Floats:
        """Documents of each class (n_classes,), as in scikit-learn."""
        return np.asarray(self.counts_.class_docs, np.float64)

    @property
    def feature_count_(self) -> Floats:
        """Occurrences of each term in each class (n_classes, n_terms), dense, as in scikit-learn."""
        return np.asarray(self.counts_.class_terms.toarray(), np.float64)


class DocumentsModel(Model):
    """A model that learns from all documents and keeps them: it is retrained after every change."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: ProgressCallback | None = None) -> Self:
        """Learn from documents X and labels y, each document with its weight."""
        return self._fit(X, y, sample_weight, progress)

    def _fit(self, X: Any, y: Any, sample_weight: Any, progress: ProgressCallback | None) -> Self:
        from unnaive.data.training_data import TrainingData

        documents, targets, names = self._check_labelled(X, y)
        weight = check_sample_weight(sample_weight, documents.shape[0])
        data = TrainingData.of_rows(documents, targets, weight=weight, feature_names=names)
        return self._learn(self._train, data, progress=progress)

    def _train(self, data: TrainingData, progress: ProgressCallback | None) -> FittedModel:
        from unnaive.learning.train import train

        return train(data, self._spec(), progress=progress)


class IteratedModel(DocumentsModel):
    """A DocumentsModel that reports its iterations.

    history_  one dict for every iteration, as reported by the learner
    n_iter_   number of iterations of the selected model
    """

    def _learn(
        self, train: Callable[..., FittedModel], *about: Any, progress: ProgressCallback | None = None, **more: Any
    ) -> Self:
        history: list[dict[str, Any]] = []

        def note(name: str, line: dict[str, Any]) -> None:
            history.append(line)
            if progress is not None:
                progress(name, line)

        super()._learn(train, *about, progress=note, **more)
        self.history_ = history
        self.n_iter_ = int(history[-1]["iteration"]) if history else 1
        return self


class UnweightedDocumentsModel(DocumentsModel):
    """A DocumentsModel whose learner does not support sample weights."""

    def fit(self, X: Any, y: Any, *, progress: ProgressCallback | None = None) -> Self:  # type: ignore[override]
        """Learn from documents X and labels y."""
        return self._fit(X, y, None, progress)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, new_classes: bool = False) -> Self:  # type: ignore[override]
        """Learn from more documents; the result equals training on all documents together.

        The first call needs `classes`, a list of all classes. With `new_classes`, any call may bring new classes, and X
        may have more columns; without it, both are errors.
        """
        return super().partial_fit(X, y, classes, new_classes=new_classes)

    def forget(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Forget documents: the model becomes the one that never saw them."""
        return super().forget(X, y)
