"""Check what may be taught and forgotten: labels must be classes of the model, and documents must be known to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from unnaive.apps.common.web.refused import Refused
from unnaive.base.types import Label
from unnaive.curation.teaching.change_model import resolve_labels
from unnaive.curation.teaching.changes import Document
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.label_spelling import plain_spelling
from unnaive.data.packed_documents import PackedDocuments
from unnaive.data.targets import shorten_classes
from unnaive.learning.fitted import FittedModel


def check_new_classes(
    fitted: FittedModel, labels: Sequence[Label], new_classes: bool | Collection[Label] | None
) -> None:
    """Refuse labels that the model does not know, unless they may become classes.

    `new_classes` True allows labels that do not resemble an existing class, a list those that it contains, None all.
    """
    classes = set(fitted.classes)
    new = [label for label in dict.fromkeys(labels) if label not in classes]
    if not new or new_classes is None:
        return
    if any(isinstance(label, str) and not label.strip() for label in new):
        raise Refused(409, "a label is empty; give the name of a class")
    named = set() if isinstance(new_classes, bool) else set(resolve_labels(fitted, list(new_classes)))
    similar = find_similar(fitted.classes, [label for label in new if label not in named])
    if similar:
        label, other = next(iter(similar.items()))
        raise Refused(
            409,
            f"the label {label!r} resembles the class {other!r}; use that, or list it in new_classes, as in "
            f'"new_classes": ["{label}"], if it should be a class of its own',
            similar={str(label): other for label, other in similar.items()},
        )
    unknown = [] if new_classes is True else [label for label in new if label not in named]
    if unknown:
        raise Refused(
            409,
            f"the label {unknown[0]!r} is not among the {len(classes)} classes of the model "
            f"({shorten_classes(fitted.classes)}); use new_classes to add it",
            unknown=[str(label) for label in unknown],
        )


def find_similar(classes: Sequence[Label], labels: Sequence[Label]) -> dict[Label, Label]:
    """Labels that are another spelling of a class, or of another label; numbers are never similar.

    >>> find_similar(["billing", "how to"], ["Billing", "how-to", "bill", "poetry", "Poetry"])
    {'Billing': 'billing', 'how-to': 'how to', 'Poetry': 'poetry'}
    >>> find_similar(["C", "1"], ["C++", "-1"])
    {}
    """
    seen = {_spelling(name): name for name in classes}
    similar = {}
    for label in labels:
        other = seen.setdefault(_spelling(label), label)
        if other != label:
            similar[label] = other
    return similar


def _spelling(label: Label) -> str:
    return plain_spelling(label) if isinstance(label, str) else repr(label)


def check_learnt(fitted: FittedModel, documents: Sequence[Document], count_taught: Callable[[str], int]) -> None:
    """Refuse to forget documents that were not taught here and that the model does not know as learnt.

    A register and kept documents are checked when the model forgets. With hashes, the texts are checked here: a text
    must have been learnt more often than it is currently taught, with any labels.
    """
    if not documents or fitted.register is not None or isinstance(fitted.statistic, KeptDocuments | PackedDocuments):
        return
    hashes = fitted.text_hashes
    texts = {document.text for document in documents}
    left = {} if hashes is None else {text: hashes.copies([text])[0] - count_taught(text) for text in texts}
    unknown = []
    for document in documents:
        left[document.text] = left.get(document.text, 0) - 1
        unknown += [document] if left[document.text] < 0 else []
    if unknown:
        labels = ", ".join(map(str, unknown[0].labels))
        raise Refused(
            409,
            f"{_start(unknown[0].text)!r} with the label {labels} was never taught here, or has been forgotten, and "
            'the model cannot tell whether it has learnt it otherwise; if it has, send "unchecked": true',
        )


def _start(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def select_documents(standing: Sequence[Document], wanted: Sequence[Document], event: int) -> tuple[Document, ...]:
    """The requested documents of an event, or all; refused if the event has no such document."""
    if not wanted:
        if not standing:
            raise Refused(409, f"event {event} taught nothing that can be forgotten")
        return tuple(standing)
    left = Counter(document.same for document in wanted)
    selected = []
    for document in standing:
        if left[document.same]:
            left[document.same] -= 1
            selected.append(document)
    if left.total():
        raise Refused(409, f"event {event} did not teach that document, or it has been forgotten")
    return tuple(selected)
