"""Teach a model documents and let it forget documents, in one step, with labels as pages and other tools send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Label
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.curation.teaching.changes import Change, Document
from unnaive.learning.class_spellings import class_spellings
from unnaive.learning.fitted import FittedModel


def resolve_labels(fitted: FittedModel, labels: Sequence[Label]) -> tuple[Label, ...]:
    """Convert labels to the type of the model's classes; pages and other tools send strings."""
    spellings = class_spellings(fitted)
    whole = type(fitted.classes[0]) is int

    def resolve(label: Label) -> Label:
        if not isinstance(label, str):
            return label
        if label in spellings:
            resolved: Label = spellings[label]
            return resolved
        return int(label) if whole and label.removeprefix("-").isdecimal() else label

    return tuple(resolve(label) for label in labels)


def change_model(fitted: FittedModel, change: Change) -> FittedModel:
    """The model after a change; `auto` retrains its chosen members, since a request cannot wait for a new search.

    Unknown labels become classes; whether that is allowed was checked before.
    """
    classifier = TextClassifier.from_fitted(fitted)
    if change.learn:
        classifier.partial_fit(
            [document.text for document in change.learn],
            _labels_for(fitted, change.learn),
            new_classes=True,
            search="keep",
        )
    if change.forget:
        classifier.forget(
            [document.text for document in change.forget], _labels_for(fitted, change.forget), search="keep"
        )
    return classifier.fitted_


def _labels_for(fitted: FittedModel, documents: Sequence[Document]) -> list[Any]:
    """The labels in the format that the model takes."""
    if fitted.multilabel:
        return [document.labels for document in documents]
    for document in documents:
        if len(document.labels) != 1:
            raise UnnaiveError(
                f"this model assigns one label to each text, but a document came with {len(document.labels)}"
            )
    return [document.labels[0] for document in documents]
