"""Models that learn from counts take documents in, take them out and join, exactly: a FittedModel in, another out."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

from unnaive.core.learner import TrainingSpec
from unnaive.core.named_counts import NamedCounts
from unnaive.core.register import Register
from unnaive.core.settings import same_value
from unnaive.core.targets import check_known_classes, class_codes, sorted_classes
from unnaive.errors import BadData, UnnaiveError, UnnaiveWarning
from unnaive.fitted import FittedModel
from unnaive.training import train_from_counts

READING = ("token_rule", "feature_names", "columns", "n_jobs")  # fields of FittedModel that say how documents are read


def learn_more(fitted: FittedModel, new: NamedCounts, *, grow: bool = False, **changes: Any) -> FittedModel:
    """The model that saw the documents behind `new` too; an unseen class is an error unless `grow`.

    `changes` are fields of FittedModel that take the place of those of `fitted`. A model with a register needs
    `register`, the one with the new documents in it.
    """
    old = kept_counts(fitted, "be updated")
    _refuse_stale_register(fitted, changes)
    if not grow:
        check_known_classes(new.classes, old.classes)
    refuse_mixed_labels(old.classes, new.classes)
    return _relearn(fitted, old + new, **changes)


def forget_documents(fitted: FittedModel, gone: NamedCounts, **changes: Any) -> FittedModel:
    """The model that never saw the documents behind `gone`; `changes` as in `learn_more`."""
    _refuse_stale_register(fitted, changes)
    left = kept_counts(fitted, "forget") - gone
    if not left.counts.n_docs and left.vocabulary is not None:
        raise BadData("no document would be left in the model; delete it instead")
    return _relearn(fitted, left, **changes)


def merge_models(fitted: FittedModel, *others: FittedModel) -> FittedModel:
    """The model that saw the documents of all of them, with the settings of the first."""
    total, register = kept_counts(fitted, "be merged"), fitted.register
    for other in others:
        more = kept_counts(other, "be merged")
        _refuse_other_reading(fitted, other)
        _warn_about_other_settings(fitted.spec, other.spec)
        refuse_mixed_labels(total.classes, more.classes)
        total, register = total + more, _joined_register(register, other.register)
    return _relearn(fitted, total, register=register)


def remake_model(fitted: FittedModel, spec: TrainingSpec) -> FittedModel:
    """The weights made anew from the counts with another model or other settings; tuned decisions are not kept."""
    counts = kept_counts(fitted, "be made anew")
    return train_from_counts(spec, counts, fitted.target_type, register=fitted.register, **_reading(fitted))


def kept_counts(fitted: FittedModel, purpose: str) -> NamedCounts:
    """The counts of the model, or an error that says why it cannot do what was asked."""
    refuse_documents_model(fitted.spec)
    if fitted.counts is None:
        raise UnnaiveError(f"this model cannot {purpose}: it was saved frozen, without its counts")
    return fitted.counts


def refuse_documents_model(spec: TrainingSpec) -> None:
    """An error if the model learns from documents, and so can only be trained on all of them."""
    if spec.model.statistic != "counts":
        raise UnnaiveError(f"{spec.model.title} learns from all documents at once; train it with all of them instead")


def refuse_mixed_labels(classes: Any, others: Any) -> None:
    """An error if one list of classes has text where the other has numbers.

    >>> refuse_mixed_labels(["ham", "spam"], [1])
    Traceback (most recent call last):
    unnaive.errors.BadData: labels mix int and str; make them all one kind, for instance with str
    """
    if classes and others:
        sorted_classes((classes[0], others[0]))


def over_known_classes(new: NamedCounts, classes: Any) -> NamedCounts:
    """The counts with a row for each of `classes`, which must be distinct and have all of theirs among them.

    >>> over_known_classes(NamedCounts.empty(), [0, 1, 1])
    Traceback (most recent call last):
    unnaive.errors.BadData: classes name 1 twice; name each class once
    """
    twice = [label for label, times in Counter(classes).items() if times > 1]
    if twice:
        raise BadData(f"classes name {twice[0]!r} twice; name each class once")
    class_codes(new.classes, sorted_classes(classes))
    return NamedCounts.empty(classes, None if new.vocabulary is not None else new.counts.n_terms) + new


def _relearn(fitted: FittedModel, counts: NamedCounts, **changes: Any) -> FittedModel:
    reading = {**_reading(fitted), **changes}
    return train_from_counts(fitted.spec, counts, fitted.target_type, before=fitted, **reading)


def _refuse_stale_register(fitted: FittedModel, changes: dict[str, Any]) -> None:
    if fitted.register is not None and changes.get("register") is None:
        raise UnnaiveError(
            "this model has a register of its documents; change it with texts and labels, and no weights"
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
        raise UnnaiveError("a single-label model and a multilabel one cannot be merged; train both in one form")
    if fitted.token_rule is None or other.token_rule is None:
        _refuse_other_columns(fitted, other)
        return
    mine, theirs = fitted.token_rule.to_dict(), other.token_rule.to_dict()
    name = next((name for name in mine if mine[name] != theirs[name]), None)
    if name is not None:
        raise UnnaiveError(
            f"models that read texts differently cannot be merged: {name} is {mine[name]!r} and {theirs[name]!r}"
        )


def _refuse_other_columns(fitted: FittedModel, other: FittedModel) -> None:
    same_names = None in (fitted.feature_names, other.feature_names) or fitted.feature_names == other.feature_names
    if fitted.scorer.n_terms != other.scorer.n_terms or not same_names:
        raise BadData(
            f"a model of {other.scorer.n_terms} terms cannot be merged into one of {fitted.scorer.n_terms}, or their "
            "columns have other names; train both on the same columns"
        )


def _warn_about_other_settings(mine: TrainingSpec, theirs: TrainingSpec) -> None:
    one, two = (
        {"model": spec.model.name, "min_df": spec.min_df, "select": spec.select} | spec.model.changed_settings()
        for spec in (mine, theirs)
    )
    names = [name for name in {**one, **two} if not same_value(one.get(name), two.get(name))]
    if names:
        warnings.warn(
            f"the models differ in {', '.join(names)}; the merged one keeps the settings of the first",
            UnnaiveWarning,
            stacklevel=4,
        )
