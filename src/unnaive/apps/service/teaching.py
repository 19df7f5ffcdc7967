"""What may be taught and forgotten: the labels of a request as classes of the model, and documents that it has."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from unnaive.apps.cli.output import class_spellings
from unnaive.apps.service.changes import Change, Document
from unnaive.apps.service.refused import Refused
from unnaive.base.types import Label
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.targets import shorten_classes
from unnaive.learning.fitted import FittedModel


def resolve_labels(fitted: FittedModel, labels: Sequence[Label]) -> tuple[Label, ...]:
    """The labels as values of the type that the model's classes have: pages and other tools send strings."""
    spellings = class_spellings(fitted)
    whole = type(fitted.classes[0]) is int

    def resolve(label: Label) -> Label:
        if not isinstance(label, str):
            return label
        if label in spellings:
            found: Label = spellings[label]
            return found
        return int(label) if whole and label.removeprefix("-").isdecimal() else label

    return tuple(resolve(one) for one in labels)


def check_new_classes(
    fitted: FittedModel, labels: Sequence[Label], new_classes: bool | Collection[Label] | None
) -> None:
    """Refuse labels that the model does not know, unless they may become classes.

    True allows all that do not look like a class that there is, a list those that it names, None all.
    """
    known = set(fitted.classes)
    new = [one for one in dict.fromkeys(labels) if one not in known]
    if not new or new_classes is None:
        return
    if any(isinstance(one, str) and not one.strip() for one in new):
        raise Refused(409, "a label is empty; give the name of a class")
    named = set() if isinstance(new_classes, bool) else set(resolve_labels(fitted, list(new_classes)))
    similar = find_similar(fitted.classes, [one for one in new if one not in named])
    if similar:
        label, other = next(iter(similar.items()))
        raise Refused(
            409,
            f"the label {label!r} looks like the class {other!r}; write it so, or name it in new_classes, as in "
            f'"new_classes": ["{label}"], if it should be a class of its own',
            similar={str(label): other for label, other in similar.items()},
        )
    unknown = [] if new_classes is True else [one for one in new if one not in named]
    if unknown:
        raise Refused(
            409,
            f"the label {unknown[0]!r} is none of the {len(known)} classes that the model has "
            f"({shorten_classes(fitted.classes)}); allow it with new_classes if it should be one",
            unknown=[str(one) for one in unknown],
        )


def find_similar(classes: Sequence[Label], labels: Sequence[Label]) -> dict[Label, Label]:
    """Labels that differ from a class, or from another label, only in case, spaces or the form of their letters.

    >>> find_similar(["billing", "how to"], ["Billing", "how-to", "bill", "poetry", "Poetry"])
    {'Billing': 'billing', 'how-to': 'how to', 'Poetry': 'poetry'}
    """
    seen = {plain_form(one): one for one in classes}
    found = {}
    for label in labels:
        other = seen.setdefault(plain_form(label), label)
        if other != label:
            found[label] = other
    return found


def plain_form(label: Label) -> str:
    """What is left of a label without case, spaces and the like; numbers are what they are."""
    if not isinstance(label, str):
        return repr(label)
    folded = unicodedata.normalize("NFKC", label).casefold()
    return "".join(one for one in folded if not one.isspace() and one not in "-_") or folded


def check_learnt(fitted: FittedModel, documents: Sequence[Document]) -> None:
    """Refuse to forget documents that were not taught here, and that the model does not know to have learnt.

    A register and kept documents are compared when the model forgets; of hashes, the texts are looked for here.
    """
    if not documents or fitted.register is not None or isinstance(fitted.statistic, KeptDocuments | PackedDocuments):
        return
    hashes = fitted.text_hashes
    unknown = [one for one in documents if hashes is None or not hashes.count_learnt([one.text])]
    if unknown:
        labels = ", ".join(map(str, unknown[0].labels))
        raise Refused(
            409,
            f"{_start(unknown[0].text)!r} with the label {labels} was never taught here, or was forgotten before, and "
            'the model cannot tell whether it learnt it otherwise; if it was trained with it, say "unchecked": true',
        )


def _start(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def select_documents(standing: Sequence[Document], wanted: Sequence[Document], event: int) -> tuple[Document, ...]:
    """The documents of an event that are wanted, all where none are named; refused where it has no such document."""
    if not wanted:
        if not standing:
            raise Refused(409, f"event {event} taught nothing that could be forgotten")
        return tuple(standing)
    left = Counter(one.same for one in wanted)
    found = []
    for one in standing:
        if left[one.same]:
            left[one.same] -= 1
            found.append(one)
    if left.total():
        raise Refused(409, f"event {event} did not teach that document, or it was forgotten before")
    return tuple(found)


def change_model(fitted: FittedModel, change: Change) -> FittedModel:
    """The model after a change; a request cannot wait for a search, so that `auto` trains what it has chosen before.

    Labels that it does not know become classes: whether they may was asked before.
    """
    classifier = TextClassifier.from_fitted(fitted)
    if change.learn:
        classifier.partial_fit(
            [one.text for one in change.learn], _labels_for(fitted, change.learn), grow=True, keep_choice=True
        )
    if change.forget:
        classifier.forget([one.text for one in change.forget], _labels_for(fitted, change.forget), keep_choice=True)
    return classifier.fitted_


def _labels_for(fitted: FittedModel, documents: Sequence[Document]) -> list[Any]:
    """The labels in the form in which the model takes them."""
    if fitted.multilabel:
        return [one.labels for one in documents]
    for one in documents:
        if len(one.labels) != 1:
            raise Refused(409, f"this model gives one label to each text, and a document came with {len(one.labels)}")
    return [one.labels[0] for one in documents]
