"""Exact changes of models: add documents, remove documents, merge; a FittedModel in, another one out.

Models that learn from counts add and subtract sums. Models that learn from documents, or are tuned on held-out ones,
keep their documents (data/kept_documents.py) and are trained again on the changed set. Either way the result equals a
model trained on these documents, bit for bit: weights, selection, calibration, decision and held-out scores.

Two values of `search` approximate instead: "keep" trains a model that selects among candidates without a new selection,
and "adjust" changes its weights only for the documents that were added or removed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, choose
from unnaive.base.settings import same_value
from unnaive.base.types import ProgressCallback
from unnaive.data.count_tables import move_columns
from unnaive.data.document_register import Register
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.named_counts import NamedCounts
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.products import take_columns
from unnaive.data.targets import check_known_classes, class_codes, place_columns, sorted_classes
from unnaive.data.training_data import TrainingData
from unnaive.learning.fitted import FittedModel
from unnaive.learning.followed import Followed
from unnaive.learning.learner import TrainingSpec
from unnaive.learning.train import train
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.learning.tuned_models import warn_about_loss, was_tuned, with_tuning_of
from unnaive.learning.tuning import TUNINGS

# fields of FittedModel about reading documents
READING = ("token_rule", "feature_names", "source", "followed", "n_jobs")


Statistic = NamedCounts | KeptDocuments  # what a model is computed from: values that add, subtract, and have classes

# what a change does to the selection of a model such as auto
SEARCHES = AGAIN, KEEP, ADJUST = "again", "keep", "adjust"


def check_search(search: str) -> str:
    """The value; an error if it is none of SEARCHES."""
    return choose(list(SEARCHES), search, "value of search")


def learn_more(
    fitted: FittedModel, new: Statistic, *, new_classes: bool = False, search: str = AGAIN, **changes: Any
) -> FittedModel:
    """The model with the documents of `new` added; an unseen class is an error unless `new_classes`.

    A model that selects among candidates searches "again", or with "keep" it keeps its selection. With "adjust", the
    documents are kept exactly, but the weights are adjusted for the new documents only. Other `changes` are fields of
    FittedModel that replace those of `fitted`. A model with a register needs `register`, which includes the
    new documents.
    """
    old = kept_statistic(fitted, "be updated")
    _refuse_stale_register(fitted, changes)
    if not new_classes:
        check_known_classes(new.classes, old.classes)
    refuse_mixed_labels(old.classes, new.classes)
    if check_search(search) == ADJUST:
        return _adjust(fitted, _added(old, new, fitted), new, gone=False, **changes)
    return _relearn(fitted, _added(old, new, fitted), keep_choice=search == KEEP, **changes)


def forget_documents(fitted: FittedModel, gone: Statistic, *, search: str = AGAIN, **changes: Any) -> FittedModel:
    """The model without the documents of `gone`; the options are those of `learn_more`."""
    _refuse_stale_register(fitted, changes)
    left = kept_statistic(fitted, "forget") - gone  # type: ignore[operator]  # both are of the model's own kind
    if not left.n_docs and (left.vocabulary is not None or isinstance(left, KeptDocuments)):
        raise BadData("no document would be left in the model; delete the model instead")
    if check_search(search) == ADJUST:
        return _adjust(fitted, left, gone, gone=True, **changes)
    return _relearn(fitted, left, keep_choice=search == KEEP, **changes)


def merge_models(fitted: FittedModel, *others: FittedModel, search: str = AGAIN, **changes: Any) -> FittedModel:
    """The model of the documents of all models, with the settings of the first; `changes` as in `learn_more`."""
    total, register, followed = kept_statistic(fitted, "be merged"), fitted.register, fitted.followed
    for other in others:
        _refuse_other_reading(fitted, other)
        _warn_about_other_settings(fitted.spec, other.spec)
        if fitted.spec.word_vectors != other.spec.word_vectors:
            raise UnnaiveError("models with different word vectors cannot be merged; train both with the same vectors")
        more = kept_statistic(other, "be merged")
        refuse_mixed_labels(total.classes, more.classes)
        total = _added(total, more, fitted)
        register = _joined_register(register, other.register)
        followed = other.followed if followed is None else followed.joined(other.followed or Followed())
    keep_choice = _check_exact_search(search) == KEEP
    return _relearn(replace(fitted, followed=followed), total, register=register, keep_choice=keep_choice, **changes)


def _check_exact_search(search: str) -> str:
    if check_search(search) == ADJUST:
        raise UnnaiveError("models are merged exactly, so search='adjust' does not apply; give 'again' or 'keep'")
    return search


def _added(first: Statistic, second: Statistic, fitted: FittedModel) -> Statistic:
    """The documents of both; if one has only sums, the sums of both, or an error if the model needs documents."""
    if isinstance(first, KeptDocuments) != isinstance(second, KeptDocuments):
        if fitted.spec.model.traits.statistic == "documents":
            raise UnnaiveError(
                "one of these models keeps documents and the other only counts; merge models that keep the same"
            )
        first, second = (
            part.counts(fitted.target_type) if isinstance(part, KeptDocuments) else part for part in (first, second)
        )
    return first + second  # type: ignore[operator]  # both are of one kind


def remake_model(fitted: FittedModel, spec: TrainingSpec) -> FittedModel:
    """Compute the model again with another model or other settings, from what was kept.

    Selection, calibration and decision are tuned on the kept documents. With counts alone, no documents can be held
    out: a model with the same settings keeps what was tuned, which is still valid, and other requests are refused.
    """
    statistic = kept_statistic(fitted, "be changed to other settings")
    data = TrainingData.of_kept(statistic, fitted.target_type, register=fitted.register, **_reading(fitted))
    if isinstance(statistic, KeptDocuments):
        return train(data, spec)
    if spec.model.traits.statistic == "documents":
        raise UnnaiveError(
            f"{spec.model.traits.title} learns from documents, and this model keeps only counts; train it again"
        )
    if _same_training(spec, fitted.spec):
        return with_tuning_of(fitted, train(data, spec))
    _refuse_tuning(spec)
    if was_tuned(fitted.spec, fitted):
        warnings.warn(
            "the tuned decision is lost, because the model keeps only counts and tuning needs documents; "
            "train the model again to tune it",
            UnnaiveWarning,
            stacklevel=4,
        )
    return train(data, spec)


def _same_model(spec: TrainingSpec, other: TrainingSpec) -> bool:
    ours, theirs = (
        {"": model.traits.name, **model.get_params(), "n_jobs": None} for model in (spec.model, other.model)
    )
    return ours.keys() == theirs.keys() and all(same_value(ours[name], theirs[name]) for name in ours)


# options that leave the weights and the decision as they are, and `calibrate`, which has several names for one thing
NOT_COMPARED = ("calibrate", "multilabel", "word_vectors", "n_jobs", "documents_limit")


def _same_training(spec: TrainingSpec, other: TrainingSpec) -> bool:
    names = ["calibration", *(name for name in TRAINING_OPTIONS if name not in NOT_COMPARED)]
    return _same_model(spec, other) and all(same_value(getattr(spec, name), getattr(other, name)) for name in names)


def _refuse_tuning(spec: TrainingSpec) -> None:
    """Raise an error if a calibration or decision is requested that needs held-out documents."""
    requests = {
        "calibrate='none'": spec.calibrate is not None and spec.calibration is not None,
        "optimise='accuracy'": spec.optimise not in (None, "accuracy"),
        "decision=None": isinstance(spec.decision, str) and spec.decision in TUNINGS,
    }
    if any(requests.values()):
        instead = " and ".join(name for name, is_asked in requests.items() if is_asked)
        raise UnnaiveError(
            f"this model keeps only counts, and calibration and tuning need documents; train it again, or use {instead}"
        )


def kept_statistic(fitted: FittedModel, purpose: str) -> Statistic:
    """The counts or documents of the model, or an error that says why it cannot do what was requested."""
    statistic = fitted.statistic
    if statistic is None and fitted.spec.model.traits.imported:
        raise UnnaiveError(
            f"this {fitted.spec.model.traits.title} cannot {purpose}: its file has only weights, without counts "
            "or documents; train a model on the documents with `unnaive train`"
        )
    if statistic is None:
        counts = fitted.spec.model.traits.statistic == "counts"
        why = "frozen, without its counts" if counts else "without its documents, frozen or over their limit"
        if fitted.spec.model.traits.in_passes:
            why += ", or trained from files larger than memory"
        raise UnnaiveError(f"this model cannot {purpose}: it was saved {why}; train it again and keep them")
    return statistic.documents if isinstance(statistic, PackedDocuments) else statistic


def refuse_mixed_labels(classes: Any, others: Any) -> None:
    """Raise an error if one list of classes has text and the other numbers.

    >>> refuse_mixed_labels(["ham", "spam"], [1])
    Traceback (most recent call last):
    unnaive.base.errors.BadData: labels mix int and str; convert them to one type, for instance with str
    """
    if classes and others:
        sorted_classes((classes[0], others[0]))


def over_known_classes(new: Statistic, classes: Any) -> Statistic:
    """The counts or documents over all of `classes`, which must be distinct and include its present classes.

    >>> over_known_classes(NamedCounts.empty(), [0, 1, 1])
    Traceback (most recent call last):
    unnaive.base.errors.BadData: classes name 1 twice; name each class once
    """
    twice = [label for label, times in Counter(classes).items() if times > 1]
    if twice:
        raise BadData(f"classes name {twice[0]!r} twice; name each class once")
    class_codes(new.classes, sorted_classes(classes))
    n_terms = None if new.vocabulary is not None else new.n_terms
    return type(new).empty(classes, n_terms) + new  # type: ignore[operator]


def _relearn(
    fitted: FittedModel,
    statistic: Statistic,
    *,
    keep_choice: bool = False,
    progress: ProgressCallback | None = None,
    **changes: Any,
) -> FittedModel:
    """The model of other documents; with sums alone, what was tuned on held-out documents is dropped with a warning."""
    data = TrainingData.of_kept(statistic, fitted.target_type, **_reading(fitted) | changes)
    updated = train(data, fitted.spec, before=fitted if keep_choice else None, progress=progress)
    if isinstance(statistic, NamedCounts):
        warn_about_loss(fitted, updated)
    return updated


def _adjust(
    fitted: FittedModel,
    statistic: Statistic,
    changed: Statistic,
    *,
    gone: bool,
    progress: ProgressCallback | None = None,
    **changes: Any,
) -> FittedModel:
    """The model with weights adjusted for the documents `changed`; it keeps the documents of `statistic`.

    What was tuned on held-out documents stays, and so does the vocabulary.
    """
    model = fitted.spec.model
    if not isinstance(statistic, KeptDocuments) or not isinstance(changed, KeptDocuments):
        raise UnnaiveError(
            f"{model.traits.title} keeps counts, so its updates are exact and fast; leave search='adjust' out"
        )
    if fitted.spec.class_weight is not None:
        raise UnnaiveError("a model with class weights is updated exactly; leave search='adjust' out")
    if statistic.classes != fitted.classes:
        raise UnnaiveError("an approximate change cannot add or remove classes; leave search='adjust' out")
    terms, X = changed.joined()
    n_terms = fitted.scorer.n_terms
    if terms is not None and fitted.vocabulary is not None:
        places = fitted.vocabulary.ids(terms)
        columns = np.flatnonzero(places >= 0)
        X = move_columns(take_columns(X, columns), places[columns], n_terms)
    elif X.shape[1] > n_terms:
        raise UnnaiveError("an approximate change cannot add columns; leave search='adjust' out")
    else:
        X = move_columns(X, None, n_terms)
    Y = place_columns(changed.Y, class_codes(changed.classes, fitted.classes), len(fitted.classes))
    learnt = model.adjust(fitted.learnt, X, Y, sample_weight=changed.weight, gone=gone)
    return replace(fitted, scorer=learnt.scorer, provenance=learnt.provenance, documents=statistic, **changes)


def _refuse_stale_register(fitted: FittedModel, changes: dict[str, Any]) -> None:
    if fitted.register is not None and changes.get("register") is None:
        raise UnnaiveError(
            "this model has a register of its documents; update it with texts and labels, without weights"
        )


def _joined_register(mine: Register | None, theirs: Register | None) -> Register | None:
    if mine is not None and theirs is not None:
        return mine.joined(theirs)
    if mine is not None or theirs is not None:
        warnings.warn(
            "not all of these models have a register, so the merged one has none", UnnaiveWarning, stacklevel=4
        )
    return None


def _reading(fitted: FittedModel) -> dict[str, Any]:
    return {name: getattr(fitted, name) for name in READING}


def _refuse_other_reading(fitted: FittedModel, other: FittedModel) -> None:
    if fitted.multilabel != other.multilabel:
        raise UnnaiveError(
            "a single-label model and a multilabel model cannot be merged; train both as single-label or "
            "both as multilabel"
        )
    if fitted.token_rule is None or other.token_rule is None:
        _refuse_other_columns(fitted, other)
        return
    mine, theirs = fitted.token_rule.to_dict(), other.token_rule.to_dict()
    name = next((name for name in mine | theirs if mine.get(name) != theirs.get(name)), None)
    if name is not None:
        raise UnnaiveError(
            f"models that read texts differently cannot be merged: {name} is {mine.get(name)!r} and "
            f"{theirs.get(name)!r}; train both with the same options"
        )


def _refuse_other_columns(fitted: FittedModel, other: FittedModel) -> None:
    same_names = None in (fitted.feature_names, other.feature_names) or fitted.feature_names == other.feature_names
    if fitted.scorer.n_terms != other.scorer.n_terms or not same_names:
        raise BadData(
            f"the columns of the models differ ({fitted.scorer.n_terms} and {other.scorer.n_terms} terms, "
            "or other names); train both on the same columns"
        )


def _warn_about_other_settings(mine: TrainingSpec, theirs: TrainingSpec) -> None:
    own_settings, other_settings = (
        {
            "model": spec.model.traits.name,
            "min_df": spec.min_df,
            "select": spec.select,
            "class_weight": spec.class_weight,
        }
        | spec.model.changed_settings()
        for spec in (mine, theirs)
    )
    names = [
        name
        for name in {**own_settings, **other_settings}
        if not same_value(own_settings.get(name), other_settings.get(name))
    ]
    if names:
        warnings.warn(
            f"the models differ in {', '.join(names)}; the merged one keeps the settings of the first",
            UnnaiveWarning,
            stacklevel=4,
        )
