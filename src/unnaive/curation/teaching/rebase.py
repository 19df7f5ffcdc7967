"""Apply the documents of a teaching record to a retrained model.

A document that the new model has already learnt is not taught again. Left out are documents whose class no longer
exists, records with a field that the new model reads as another kind, and documents to forget if the new model cannot
tell whether it has learnt them. Documents left out are reported with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.base.types import Label
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.curation.teaching.change_model import change_model, resolve_labels
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.teaching_log import TeachingRecord
from unnaive.data.fields.record_fields import find_other_fields
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments
from unnaive.learning.fitted import FittedModel
from unnaive.learning.tuned_models import lost_tuning
from unnaive.text.field import Fields

REBASE = "rebase"  # the kind of such an event
UNTOLD = "it was forgotten before, and the model cannot tell whether it has learnt it again"
FROZEN = "the model keeps neither counts nor documents, and cannot be taught"


@dataclass(frozen=True)
class LeftOut:
    """A document that could not be applied; `sign` is 1 if it had been taught, −1 if it had been forgotten."""

    document: Document
    sign: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values."""
        kind = "taught" if self.sign > 0 else "forgotten"
        return {"text": self.document.text, "labels": list(self.document.labels), "was": kind, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Rebased:
    """The model with the applied documents; `present` counts documents that needed no change."""

    fitted: FittedModel
    carried: Change
    present: int
    left: tuple[LeftOut, ...]
    tuning_lost: bool = False

    def describe(self) -> str:
        """A sentence about what was applied and what was left out."""
        parts = [f"{count_noun(len(self.carried.learn) + len(self.carried.forget), 'document')} carried over"]
        if self.present:
            parts.append(f"{self.present:,} needed nothing")
        for reason, times in Counter(document.reason for document in self.left).items():
            parts.append(f"{times:,} left out ({reason})")
        return ", ".join(parts)

    def to_answer(self) -> dict[str, Any]:
        """The answer stored in the record; the documents left out are those of the event."""
        return {
            "taught": len(self.carried.learn), "forgotten": len(self.carried.forget), "present": self.present,
            "left": dict(Counter(document.reason for document in self.left)), "tuning_lost": self.tuning_lost,
        }  # fmt: skip

    def to_change(self) -> Change:
        """The change for the record, which reverses the documents left out."""
        taken = tuple(item.document for item in self.left if item.sign > 0)
        return Change(tuple(item.document for item in self.left if item.sign < 0), taken)


def rebase(fitted: FittedModel, record: TeachingRecord, *, new_classes: bool = False) -> Rebased:
    """Apply everything that the record holds as taught or forgotten to the model.

    Classes that teaching had added are added again; others that the model lacks are added only with `new_classes`.
    """
    standing = record.standing()
    if fitted.statistic is None:
        left = [LeftOut(document, 1, FROZEN) for document in standing.learn] + [
            LeftOut(document, -1, FROZEN) for document in standing.forget
        ]
        return Rebased(fitted, Change(), 0, tuple(left))
    added = record.new_classes()
    left, taught = [], []
    for document in (replace(document, labels=resolve_labels(fitted, document.labels)) for document in standing.learn):
        reason = find_other_fields(document.text, _fields(fitted))
        reason = reason or (None if new_classes else find_missing(fitted, document.labels, added))
        if reason is None and not fitted.multilabel and len(document.labels) != 1:
            reason = "the model gives one label to each text"
        if reason is None:
            taught.append(document)
        else:
            left.append(LeftOut(document, 1, reason))
    forgotten = []
    for document in (replace(document, labels=resolve_labels(fitted, document.labels)) for document in standing.forget):
        reason = find_other_fields(document.text, _fields(fitted))
        if reason is None:
            forgotten.append(document)
        else:
            left.append(LeftOut(document, -1, reason))
    has_taught = find_learnt(fitted, taught, record.copies_before())
    has_forgotten = find_learnt(fitted, forgotten, {}, trusting=False)
    left += [
        LeftOut(document, -1, UNTOLD) for document, has in zip(forgotten, has_forgotten, strict=True) if has is None
    ]
    change = Change(
        tuple(document for document, has in zip(taught, has_taught, strict=True) if not has),
        tuple(document for document, has in zip(forgotten, has_forgotten, strict=True) if has),
    )
    present = sum(map(bool, has_taught)) + sum(has is False for has in has_forgotten)
    return _apply(fitted, change, present, left)


def _fields(fitted: FittedModel) -> Fields | None:
    return None if fitted.token_rule is None else fitted.token_rule.fields


def _apply(fitted: FittedModel, change: Change, present: int, left: list[LeftOut]) -> Rebased:
    """Teach and forget; if the model refuses, everything is left out with its reason."""
    try:
        changed = change_model(fitted, change) if change else fitted
    except UnnaiveError as problem:
        refused = [LeftOut(document, 1, str(problem)) for document in change.learn]
        refused += [LeftOut(document, -1, str(problem)) for document in change.forget]
        return Rebased(fitted, Change(), present, (*left, *refused))
    return Rebased(changed, change, present, tuple(left), lost_tuning(fitted, changed))


def find_missing(fitted: FittedModel, labels: Sequence[Label], new_classes: set[Label]) -> str | None:
    """Why labels cannot be taught: the model lacks a class that teaching had not added."""
    missing = [label for label in labels if label not in set(fitted.classes) and label not in new_classes]
    return f"the model has no class {missing[0]!r}" if missing else None


def find_learnt(
    fitted: FittedModel, documents: Sequence[Document], before: dict[str, int], *, trusting: bool = True
) -> list[bool | None]:
    """Whether the model has learnt each document; None if that is unknown.

    A register or kept documents give an exact answer. Text hashes do not cover labels: if `trusting`, a text counts as
    learnt as many times as its hash occurs, minus the copies that the model had `before` any teaching.
    """
    hashes, statistic = fitted.text_hashes, fitted.statistic
    copies = [None] * len(documents) if hashes is None else hashes.copies([document.text for document in documents])
    if fitted.register is not None or isinstance(statistic, KeptDocuments | PackedDocuments):
        answers_in_order = iter(
            _find_exactly(fitted, [document for document, times in zip(documents, copies, strict=True) if times != 0])
        )
        return [False if times == 0 else next(answers_in_order) for times in copies]
    left = {
        document.text: times - before.get(document.text, 0)
        for document, times in zip(documents, copies, strict=True)
        if times is not None
    }
    answers: list[bool | None] = []
    for document, times in zip(documents, copies, strict=True):
        if times is None or (times and not trusting):
            answers.append(None)
            continue
        answers.append(left[document.text] > 0)
        left[document.text] -= 1
    return answers


def _find_exactly(fitted: FittedModel, documents: Sequence[Document]) -> list[bool | None]:
    """Whether the register or the kept documents have each document; a match is removed before the next search."""
    register, statistic = fitted.register, fitted.statistic
    remaining: Any = statistic.documents if isinstance(statistic, PackedDocuments) else statistic
    classifier = TextClassifier.from_fitted(fitted)
    answers: list[bool | None] = []
    for document in documents:
        labels = [document.labels if fitted.multilabel else document.labels[0]]
        try:
            if register is not None:
                register = register.without([document.text], [document.labels])
            else:
                remaining -= classifier.count_labelled([document.text], labels)
        except UnnaiveError:
            answers.append(False)
        else:
            answers.append(True)
    return answers
