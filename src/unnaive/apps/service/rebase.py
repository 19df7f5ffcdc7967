"""Taught documents onto another model: what of a record is carried over when a model was trained anew.

A document that the new model has learnt already is not taught again, and one whose class is gone is left out; so is one
that was forgotten, where the new model cannot tell whether it learnt it again. What is left out is told, with reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unnaive.apps.service.changes import Change, Document
from unnaive.apps.service.record import TeachingRecord
from unnaive.apps.service.teaching import change_model, resolve_labels
from unnaive.base.errors import UnnaiveError, count_noun
from unnaive.base.types import Label
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_documents import PackedDocuments
from unnaive.learning.fitted import FittedModel
from unnaive.learning.tuned_models import lost_tuning

REBASE = "rebase"  # the kind of such an event
UNTOLD = "the model cannot tell whether it learnt this document, which was forgotten before"
FROZEN = "the model keeps neither counts nor documents, and cannot be taught"


@dataclass(frozen=True)
class LeftOut:
    """A document that could not be carried over; `sign` is 1 if it had been taught, −1 if it had been forgotten."""

    document: Document
    sign: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        kind = "taught" if self.sign > 0 else "forgotten"
        return {"text": self.document.text, "labels": list(self.document.labels), "was": kind, "reason": self.reason}


@dataclass(frozen=True, eq=False)
class Rebased:
    """The model with what was carried over; `present` documents it had learnt already, or never learnt."""

    fitted: FittedModel
    carried: Change
    present: int
    left: tuple[LeftOut, ...]
    tuning_lost: bool = False

    def describe(self) -> str:
        """What was carried over, and what was not, in words."""
        said = [f"{count_noun(len(self.carried.learn) + len(self.carried.forget), 'document')} carried over"]
        if self.present:
            said.append(f"{self.present:,} needed nothing")
        for reason, times in Counter(one.reason for one in self.left).items():
            said.append(f"{times:,} left out ({reason})")
        return ", ".join(said)

    def to_answer(self) -> dict[str, Any]:
        """What the record keeps of it; the documents that were left out are those of the event."""
        return {
            "taught": len(self.carried.learn), "forgotten": len(self.carried.forget), "present": self.present,
            "left": dict(Counter(one.reason for one in self.left)), "tuning_lost": self.tuning_lost,
        }  # fmt: skip

    def to_change(self) -> Change:
        """The change of the record: what was left out is taken back in it."""
        taken = tuple(one.document for one in self.left if one.sign > 0)
        return Change(tuple(one.document for one in self.left if one.sign < 0), taken)


def rebase(fitted: FittedModel, record: TeachingRecord, *, grow: bool = False) -> Rebased:
    """The model with all that stands as taught or forgotten in the record.

    Classes that teaching had made are made again; other classes that the model does not have, only where it may `grow`.
    """
    standing = record.standing()
    if fitted.statistic is None:
        left = [LeftOut(one, 1, FROZEN) for one in standing.learn] + [
            LeftOut(one, -1, FROZEN) for one in standing.forget
        ]
        return Rebased(fitted, Change(), 0, tuple(left))
    made = record.new_classes()
    left, taught = [], []
    for one in (replace(one, labels=resolve_labels(fitted, one.labels)) for one in standing.learn):
        reason = None if grow else find_missing(fitted, one.labels, made)
        if reason is None and not fitted.multilabel and len(one.labels) != 1:
            reason = "the model gives one label to each text"
        if reason is None:
            taught.append(one)
        else:
            left.append(LeftOut(one, 1, reason))
    forgotten = [replace(one, labels=resolve_labels(fitted, one.labels)) for one in standing.forget]
    has_taught = find_learnt(fitted, taught, record.copies_before())
    has_forgotten = find_learnt(fitted, forgotten, {}, trusting=False)
    left += [LeftOut(one, -1, UNTOLD) for one, has in zip(forgotten, has_forgotten, strict=True) if has is None]
    change = Change(
        tuple(one for one, has in zip(taught, has_taught, strict=True) if not has),
        tuple(one for one, has in zip(forgotten, has_forgotten, strict=True) if has),
    )
    present = sum(map(bool, has_taught)) + sum(has is False for has in has_forgotten)
    return _apply(fitted, change, present, left)


def _apply(fitted: FittedModel, change: Change, present: int, left: list[LeftOut]) -> Rebased:
    """Teach and forget; where the model refuses, all of it is left out, with its reason."""
    try:
        changed = change_model(fitted, change) if change else fitted
    except UnnaiveError as problem:
        refused = [LeftOut(one, 1, str(problem)) for one in change.learn]
        refused += [LeftOut(one, -1, str(problem)) for one in change.forget]
        return Rebased(fitted, Change(), present, (*left, *refused))
    return Rebased(changed, change, present, tuple(left), lost_tuning(fitted, changed))


def find_missing(fitted: FittedModel, labels: Sequence[Label], made: set[Label]) -> str | None:
    """Why labels cannot be taught: a class that the model does not have, and that teaching had not made."""
    missing = [one for one in labels if one not in set(fitted.classes) and one not in made]
    return f"the model has no class {missing[0]!r}" if missing else None


def find_learnt(
    fitted: FittedModel, documents: Sequence[Document], before: dict[str, int], *, trusting: bool = True
) -> list[bool | None]:
    """Whether the model has learnt each document; None where it keeps nothing that tells.

    A register and kept documents know it. Hashes know texts and no labels: a text counts as learnt, if `trusting`, as
    often as it is there beyond the copies that the model `before` any teaching had.
    """
    hashes, statistic = fitted.text_hashes, fitted.statistic
    copies = [None] * len(documents) if hashes is None else hashes.copies([one.text for one in documents])
    if fitted.register is not None or isinstance(statistic, KeptDocuments | PackedDocuments):
        found = iter(_find_exactly(fitted, [one for one, times in zip(documents, copies, strict=True) if times != 0]))
        return [False if times == 0 else next(found) for times in copies]
    left = {
        one.text: times - before.get(one.text, 0)
        for one, times in zip(documents, copies, strict=True)
        if times is not None
    }
    answers: list[bool | None] = []
    for one, times in zip(documents, copies, strict=True):
        if times is None or (times and not trusting):
            answers.append(None)
            continue
        answers.append(left[one.text] > 0)
        left[one.text] -= 1
    return answers


def _find_exactly(fitted: FittedModel, documents: Sequence[Document]) -> list[bool | None]:
    """The same by the register or the kept documents; what is found is taken out before the next is looked for."""
    register, statistic = fitted.register, fitted.statistic
    kept: Any = statistic.documents if isinstance(statistic, PackedDocuments) else statistic
    classifier = TextClassifier.from_fitted(fitted)
    found: list[bool | None] = []
    for one in documents:
        labels = [one.labels if fitted.multilabel else one.labels[0]]
        try:
            if register is not None:
                register = register.without([one.text], [one.labels])
            else:
                kept -= classifier.count_labelled([one.text], labels)
        except UnnaiveError:
            found.append(False)
        else:
            found.append(True)
    return found
