"""A model that is served: its current version, which requests take once, and the one way in which it changes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unnaive.apps.service.changes import Change, Document
from unnaive.apps.service.folds import write_fold
from unnaive.apps.service.measuring import HeldOut, measure_version
from unnaive.apps.service.rebase import REBASE, rebase
from unnaive.apps.service.record import TeachingRecord
from unnaive.apps.service.record_versions import PREVIOUS, PreviousFile
from unnaive.apps.service.refused import Refused, refuse_mistake
from unnaive.apps.service.teaching import (
    change_model,
    check_learnt,
    check_new_classes,
    resolve_labels,
    select_documents,
)
from unnaive.apps.service.version import file_signature, load_served, make_version
from unnaive.base.errors import UnnaiveError
from unnaive.base.system import locked_for_replacing
from unnaive.base.types import Label
from unnaive.io.sources import hash_file
from unnaive.learning.fitted import FittedModel
from unnaive.learning.tuned_models import lost_tuning

log = logging.getLogger("unnaive.service")

BARRIERS = {  # why versions from before an event cannot be restored, by its kind
    "loss": ": events before version {} were lost with a part of the record; choose a later version",
    "tuning": " exactly: version {} ended what was tuned on held-out documents; forget the documents taught since "
    "instead",
    "rebase": ": with version {} another model file took over, and its own is not kept; choose a later version",
}


class ServedModel:
    """One model file: any number of threads read `version`, one at a time changes it.

    A change is tried on a copy first, so that what cannot be learnt or forgotten is refused and leaves no trace; then
    it is written to the record; then the new version takes the place of the old one, in one assignment.
    """

    def __init__(self, name: str, path: Path, *, teachable: bool, grow: bool = False) -> None:
        self.name, self.path = name, path
        self._changing = threading.RLock()
        self.record: TeachingRecord | None = None
        self._settings: dict[str, str] = {}
        self._grow = grow  # whether classes that another model does not have are carried over to it
        self.measures: dict[str, Any] = {}  # what `unnaive evaluate --json` said of it, for its card
        self.held_out: HeldOut | None = None  # what each version is measured on
        self._measured: int | None = None  # the version that was measured last
        self._history: list[dict[str, Any]] = []  # where there is no record
        self.problem: str | None = None  # why the model file could not be read or rewritten, for /readyz
        self._signature = file_signature(path)
        self._hash, self._folded = "", 0
        fitted = load_served(path, mapped=not teachable)
        self.version = make_version(fitted, 0)
        if teachable:
            self.record = TeachingRecord(path)
            try:
                self._take_over(fitted, hash_file(path))
            except BaseException:
                self.record.close()
                raise

    def _take_over(self, fitted: FittedModel, sha256: str) -> None:
        """Serve the model of the file, with the events that it does not have.

        A file that the record knows nothing of was trained anew: what was taught is carried over to it, as one event.
        """
        record = self._teachable_record()
        folded = record.fold_of(sha256)
        if folded is None and record.empty:
            folded = 0
            record.note_fold(sha256, 0)
        if folded is None:
            self._rebase(fitted, sha256)
            return
        versions = record.versions()
        base = versions.next_base if record.is_derived(sha256) else versions.base_at(folded)
        if base != versions.base:
            self._keep_previous()
            back = record.left_out_since(folded)  # which an earlier file of this model has
            about = {"taught": len(back.learn), "forgotten": len(back.forget), "base": base}
            log.warning("%s: another model file took over as version %d", self.name, record.add(REBASE, back, about))
        missing = record.change_since(folded)
        fitted = change_model(fitted, missing) if missing else fitted
        self._hash, self._folded = sha256, folded
        self.version = make_version(fitted, record.last)

    def _rebase(self, fitted: FittedModel, sha256: str) -> None:
        record = self._teachable_record()
        rebased = rebase(fitted, record, grow=self._grow)
        self._keep_previous()
        number = record.add(REBASE, rebased.to_change(), rebased.to_answer() | {"base": record.versions().next_base})
        self._hash, self._folded = sha256, number - 1
        self.version = make_version(rebased.fitted, number)
        log.warning("%s: another model file took over as version %d: %s", self.name, number, rebased.describe())
        self.fold()  # from here on the record knows the file

    def _keep_previous(self) -> None:
        """Keep the model that is served in a file beside it, so that a rollback can go back to it."""
        if not self._hash:
            return  # at a start there is none
        record, version = self._teachable_record(), self.version
        try:
            sha256 = write_fold(record.previous_path, version.fitted, record, version.number)
        except OSError as problem:
            log.error("%s: the model file before is not kept: %s", self.name, problem)
            record.previous_path.unlink(missing_ok=True)
            return
        kept = PreviousFile(sha256, record.versions().base_at(version.number), version.number)
        record.keep_setting(PREVIOUS, kept.to_json())

    def file_changed(self) -> tuple[int, ...] | None:
        """What is to be seen of the model file from outside, if that has changed; None where it has not."""
        found = file_signature(self.path)
        return None if found in (None, self._signature) else found

    def reload(self) -> bool:
        """Take over the model file if it is another one than was read or written last; whether it was.

        One that cannot be read is told by /readyz, and the model of before goes on answering.
        """
        with self._changing:
            signature = file_signature(self.path)
            if signature is None or signature == self._signature:
                return False
            self._signature = signature
            try:
                return self._reload(signature)
            except (UnnaiveError, OSError) as problem:
                self.problem = f"the new model file of {self.name} could not be taken over: {problem}"
                log.error("%s", self.problem)
                return False

    def _reload(self, signature: tuple[int, ...]) -> bool:
        fitted, sha256 = load_served(self.path, mapped=self.record is None), hash_file(self.path)
        if file_signature(self.path) != signature:  # replaced while it was read: the next look takes it over
            self._signature = None
            return False
        same = sha256 == self._hash
        if not same and self.record is not None:
            self._take_over(fitted, sha256)
        elif not same:
            self._hash = sha256
            self.version = make_version(fitted, self.version.number + 1)
        self.problem = None
        return not same

    @property
    def teachable(self) -> bool:
        """Whether it can be taught."""
        return self.record is not None

    def change(
        self,
        kind: str,
        change: Change,
        *,
        new_classes: bool | Collection[Label] = False,
        key: str | None = None,
        request: str = "",
    ) -> dict[str, Any]:
        """Teach and forget documents: what the model did before and does now, when both are on disk.

        `new_classes` says whether labels that the model does not know become classes, or which of them. A request with
        a `key` that was seen before is not done again: it gets the answer of the first time.
        """
        with self._changing:
            return self._repeated(key, request) or self._change(kind, change, new_classes, key, request)

    def forget(
        self, documents: Sequence[Document], *, event: int | None = None, unchecked: bool = False,
        key: str | None = None, request: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Forget what was taught: an event, some documents of it, or documents by their text and labels.

        Of documents that were not taught here, the model itself must know that it learnt them, unless `unchecked`.
        """
        with self._changing:
            done = self._repeated(key, request)
            if done is not None:
                return done
            record = self._teachable_record()
            given = [replace(one, labels=resolve_labels(self.version.fitted, one.labels)) for one in documents]
            if event is None:
                wanted = record.link(given)
                if not unchecked:
                    check_learnt(self.version.fitted, [one for one in wanted if one.undoes is None])
            else:
                wanted = select_documents(self._undoing(event).forget, given, event)
            return self._change("forget", Change(forget=wanted), False, key, request, undoes=event)

    def undo(self, event: int, *, key: str | None = None, request: str = "") -> dict[str, Any]:
        """Take an event back, of whatever kind: forget what it taught, and teach what it forgot."""
        with self._changing:
            done = self._repeated(key, request)
            return done or self._change("undo", self._undoing(event), None, key, request, undoes=event)

    def _undoing(self, event: int) -> Change:
        record = self._teachable_record()
        kind = record.kind_of(event)
        if kind is None:
            raise Refused(409, f"there is no event {event}; the last is {record.last}")
        versions = record.versions()
        if kind == REBASE or versions.base_at(event) != versions.base_at(event - 1):
            raise Refused(409, f"with event {event} another model file took over; roll back to a version before it")
        change = record.undoing(event)
        if not change:
            raise Refused(409, f"nothing is left of event {event} to take back: it was taken back before")
        return change

    def _repeated(self, key: str | None, request: str) -> dict[str, Any] | None:
        """The answer of a request whose key was seen before; None for a new one."""
        done = None if key is None else self._teachable_record().answered(key)
        if done is None:
            return None
        if done[1] != request:
            raise Refused(409, f"the idempotency key {key!r} was used for another request; take a new one")
        return shown_answer(done[2], done[0], repeated=True)

    def _change(
        self, kind: str, change: Change, new_classes: bool | Collection[Label] | None, key: str | None, request: str,
        undoes: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        record, old = self._teachable_record(), self.version.fitted
        learn = tuple(replace(one, labels=resolve_labels(old, one.labels)) for one in change.learn)
        check_new_classes(old, [label for one in learn for label in one.labels], new_classes)
        change = Change(learn, record.link(change.forget))
        new = change_model(old, change.net())
        answer: dict[str, Any] = {
            "taught": len(change.learn),
            "forgotten": len(change.forget),
            "changed": compare_versions(old, new, change),
            "tuning_lost": lost_tuning(old, new),
            "new_classes": [label for label in new.classes if label not in set(old.classes)],
            "undoes": undoes,
            "copies": count_copies(old, learn, record),
        }
        number = record.add(kind, change, answer, key=key, request=request)
        self.version = make_version(new, number)
        return shown_answer(answer, number, repeated=False)

    def replace_source(
        self, source: str, document: Document | None, *, new_classes: bool = False, key: str | None = None
    ) -> dict[str, Any]:
        """Teach what a source stands for now, and forget what it stood for before; None forgets only."""
        with self._changing:
            old = self._teachable_record().current(source)
            learn = () if document is None else (document,)
            same = old is not None and document is not None and old.text == document.text
            if same and old is not None and document is not None:
                same = old.labels == resolve_labels(self.version.fitted, document.labels)
            if same or (old is None and document is None):
                number = self.version.number
                return {
                    "taught": 0, "forgotten": 0, "changed": [], "tuning_lost": False, "new_classes": [],
                    "undoes": None, "version": number, "event": number, "repeated": True,
                }  # fmt: skip
            return self._change("annotation", Change(learn, () if old is None else (old,)), new_classes, key, "")

    def setting(self, name: str) -> str | None:
        """What was kept under a name beside the model: in its record, or, of a model that is only read, in memory."""
        return self._settings.get(name) if self.record is None else self.record.setting(name)

    def keep_setting(self, name: str, value: str) -> None:
        """Keep a value under a name."""
        if self.record is None:
            self._settings[name] = value
        else:
            self.record.keep_setting(name, value)

    def measure(self) -> bool:
        """Measure the current version if that was not done; whether it was done now."""
        version, held_out = self.version, self.held_out
        if held_out is None or self._measured == version.number:
            return False
        found = measure_version(version.fitted, held_out)
        self._measured = version.number
        if self.record is None:
            self._history.insert(0, {"version": version.number, "at": None, "measures": found})
        else:
            self.record.keep_measures(version.number, found)
        return True

    def history(self, limit: int = 100) -> list[dict[str, Any]]:
        """The versions that were measured, the newest first."""
        return self._history[:limit] if self.record is None else self.record.measured(limit)

    def roll_back(self, number: int, *, key: str | None = None, request: str = "") -> dict[str, Any]:
        """Make the model what it was after the event `number`, exactly, as one more event."""
        with self._changing:
            done = self._repeated(key, request)
            if done is not None:
                return done
            record = self._teachable_record()
            if not 0 <= number <= record.last:
                raise Refused(404, f"there is no version {number}; there are 0 to {record.last}")
            versions = record.versions()
            barrier = versions.barrier(number, record.previous)
            if barrier is not None:
                raise Refused(409, f"version {number} cannot be restored{BARRIERS[barrier[1]].format(barrier[0])}")
            if versions.base_at(number) != versions.base:
                return self._restore_previous(number, key, request)
            return self._change(f"rollback to {number}", record.undoing_since(number), None, key, request)

    def _restore_previous(self, number: int, key: str | None, request: str) -> dict[str, Any]:
        """Go back to a version of the model file before, which changes places with the one that is served."""
        record, old = self._teachable_record(), self.version.fitted
        kept = record.previous
        if kept is None or hash_file(record.previous_path) != kept.sha256:
            raise Refused(409, f"version {number} cannot be restored: {record.previous_path.name} was changed")
        change, since = record.undoing_since(number), record.change_since(kept.event)
        missing = Change((*since.learn, *change.learn), (*since.forget, *change.forget)).net()
        new = load_served(record.previous_path, mapped=False)
        new = change_model(new, missing) if missing else new
        self._keep_previous()
        answer: dict[str, Any] = {
            "taught": len(change.learn), "forgotten": len(change.forget), "base": kept.base, "tuning_lost": False,
            "new_classes": [], "undoes": None, "changed": compare_versions(old, new, change),
        }  # fmt: skip
        event = record.add(f"rollback to {number}", change, answer, key=key, request=request)
        self.version = make_version(new, event)
        self.fold()
        return shown_answer(answer, event, repeated=False)

    def fold(self) -> bool:
        """Rewrite the model file with all events in it; whether there was anything to write.

        A command that is about to change the file is not disturbed: what is not written now is written later.
        """
        with self._changing:
            record = self.record
            if record is None or self.version.number == self._folded:
                return False
            try:
                with locked_for_replacing(self.path, wait=False):
                    sha256 = hash_file(self.path)
                    if sha256 == self._hash:
                        self._hash = write_fold(self.path, self.version.fitted, record, self.version.number)
                        self._folded, self.problem = self.version.number, None
                        self._signature = file_signature(self.path)
                        return True
            except BlockingIOError:
                return False
            except FileNotFoundError as problem:
                self.problem = f"the model file of {self.name} is gone; what was taught is in its record"
                raise UnnaiveError(self.problem) from problem
            self._signature = None
            self.reload()  # somebody else has written it
            return False

    def close(self) -> None:
        """Fold, and leave the record."""
        if self.record is not None:
            try:
                self.fold()
            finally:
                self.record.close()

    def _teachable_record(self) -> TeachingRecord:
        if self.record is None:
            raise Refused(
                403, "this service only reads its models; start it without --read-only and --workers to teach"
            )
        return self.record


def shown_answer(answer: dict[str, Any], number: int, *, repeated: bool) -> dict[str, Any]:
    """What a client gets of the answer that the record keeps."""
    shown = {name: value for name, value in answer.items() if name not in ("copies", "base")}
    return shown | {"version": number, "event": number, "repeated": repeated}


def count_copies(fitted: FittedModel, documents: Sequence[Document], record: TeachingRecord) -> dict[str, int]:
    """How often the model learnt the texts without being taught them here, of those that it did: for a rebase."""
    if fitted.text_hashes is None or not documents:
        return {}
    texts = [one.text for one in documents]
    known = {text: times for text, times in zip(texts, fitted.text_hashes.copies(texts), strict=True) if times}
    others = {text: times - record.count_taught(text) for text, times in known.items()}
    return {text: times for text, times in others.items() if times > 0}


def compare_versions(old: FittedModel, new: FittedModel, change: Change) -> list[dict[str, Any]]:
    """The prediction of each changed text before and after, as plain values."""
    texts = [one.text for one in (*change.learn, *change.forget)][:100]
    return [
        {"before": one, "after": two} for one, two in zip(_best(old, texts), _best(new, texts), strict=True)
    ]  # fmt: skip


def _best(fitted: FittedModel, texts: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        return []
    scores = fitted.scores(list(texts))
    values = fitted.probabilities(scores) if fitted.probabilistic else scores
    best = fitted.first_labels(scores)
    name = "probability" if fitted.probabilistic else "score"
    return [{"label": fitted.classes[one], name: float(row[one])} for one, row in zip(best, values, strict=True)]


def check_label(fitted: FittedModel, label: Label) -> None:
    """An error with status 404 if the model has no such class."""
    try:
        fitted.class_index(label)
    except UnnaiveError as problem:
        raise refuse_mistake(404, problem) from problem
