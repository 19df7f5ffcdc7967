"""A served model: its current version, which each request reads once, and the only way to change it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unnaive.apps.common.web.refused import Refused, refuse_mistake
from unnaive.apps.service.measuring import HeldOut, measure_version
from unnaive.apps.service.teaching import check_learnt, check_new_classes, select_documents
from unnaive.apps.service.version import load_served, make_version
from unnaive.base.errors import UnnaiveError
from unnaive.base.open_files import file_signature, hash_file
from unnaive.base.system import locked_for_replacing
from unnaive.base.types import Label
from unnaive.curation.teaching.change_model import change_model, resolve_labels
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.log_versions import PREVIOUS, PreviousFile
from unnaive.curation.teaching.rebase import REBASE, rebase
from unnaive.curation.teaching.saved_models import write_saved_model
from unnaive.curation.teaching.teaching_log import TeachingRecord
from unnaive.learning.fitted import FittedModel
from unnaive.learning.tuned_models import lost_tuning

log = logging.getLogger("unnaive.service")

BARRIERS = {  # why versions before an event cannot be restored, by the kind of obstacle
    "loss": ": events before version {} were lost from the record; choose a later version",
    "tuning": " exactly: version {} dropped what was tuned on held-out documents; forget the documents taught since "
    "instead",
    "rebase": ": version {} loaded another model file, and the previous one is not kept; choose a later version",
}


class ServedModel:
    """One model file: any number of threads read `version`, and one at a time changes it.

    A change is first tried on a copy, so that a refused change leaves no trace; then it is written to the record; then
    the new version replaces the old one in a single assignment.
    """

    def __init__(self, name: str, path: Path, *, teachable: bool, grow: bool = False) -> None:
        self.name, self.path = name, path
        self._changing = threading.RLock()
        self.record: TeachingRecord | None = None
        self._settings: dict[str, str] = {}
        self._grow = grow  # whether classes that a new model file lacks are added to it
        self.measures: dict[str, Any] = {}  # output of `unnaive evaluate --json`, for the card
        self.held_out: HeldOut | None = None  # documents for evaluating each version
        self._measured: int | None = None  # the version evaluated last
        self._history: list[dict[str, Any]] = []  # if there is no record
        self.problem: str | None = None  # why the model file could not be read or written, for /readyz
        self._signature = file_signature(path)
        self._hash, self._written = "", 0
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
        """Serve the model of a file, with the events that it does not include.

        A file unknown to the record was retrained: what was taught is applied to it, as one event.
        """
        record = self._teachable_record()
        included = record.event_of_file(sha256)
        if included is None and record.empty:
            included = 0
            record.note_file(sha256, 0)
        if included is None:
            self._rebase(fitted, sha256)
            return
        versions = record.versions()
        base = versions.next_base if record.is_derived(sha256) else versions.base_at(included)
        if base != versions.base:
            self._keep_previous()
            back = record.left_out_since(included)  # an earlier file of this model includes them
            about = {"taught": len(back.learn), "forgotten": len(back.forget), "base": base}
            log.warning("%s: loaded another model file as version %d", self.name, record.add(REBASE, back, about))
        missing = record.change_since(included)
        fitted = change_model(fitted, missing) if missing else fitted
        self._hash, self._written = sha256, included
        self.version = make_version(fitted, record.last)

    def _rebase(self, fitted: FittedModel, sha256: str) -> None:
        record = self._teachable_record()
        rebased = rebase(fitted, record, grow=self._grow)
        self._keep_previous()
        number = record.add(REBASE, rebased.to_change(), rebased.to_answer() | {"base": record.versions().next_base})
        self._hash, self._written = sha256, number - 1
        self.version = make_version(rebased.fitted, number)
        log.warning("%s: loaded another model file as version %d: %s", self.name, number, rebased.describe())
        self.write_file()  # now the record knows the file

    def _keep_previous(self) -> None:
        """Keep the current model in a file beside it, so that a rollback can restore it."""
        if not self._hash:
            return  # at the start there is none
        record, version = self._teachable_record(), self.version
        try:
            sha256 = write_saved_model(record.previous_path, version.fitted, record, version.number)
        except OSError as problem:
            log.error("%s: the previous model file is not kept: %s", self.name, problem)
            record.previous_path.unlink(missing_ok=True)
            return
        previous = PreviousFile(sha256, record.versions().base_at(version.number), version.number)
        record.keep_setting(PREVIOUS, previous.to_json())

    def file_changed(self) -> tuple[int, ...] | None:
        """The new signature of the model file if it has changed, else None."""
        signature = file_signature(self.path)
        return None if signature in (None, self._signature) else signature

    def reload(self) -> bool:
        """Load the model file if it is not the one last read or written; return whether it was.

        If it cannot be read, /readyz reports it and the current model continues to answer.
        """
        with self._changing:
            signature = file_signature(self.path)
            if signature is None or signature == self._signature:
                return False
            self._signature = signature
            try:
                return self._reload(signature)
            except (UnnaiveError, OSError) as problem:
                # without the folder, since anybody can read /readyz
                reason = str(problem).replace(f"{self.path.parent}/", "")
                self.problem = f"the new model file of {self.name} could not be loaded: {reason}"
                log.error("%s", self.problem)
                return False

    def _reload(self, signature: tuple[int, ...]) -> bool:
        fitted, sha256 = load_served(self.path, mapped=self.record is None), hash_file(self.path)
        if file_signature(self.path) != signature:  # replaced while it was read: the next check loads it
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
        """Whether the model can be taught."""
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
        """Teach and forget documents; when this returns, the change is on disk. The answer has predictions before and
        after.

        `new_classes` is True to add unknown labels as classes, or lists those to add. A request with a `key` that was
        used before is not repeated: it gets the first answer.
        """
        with self._changing:
            return self._repeated(key, request) or self._change(kind, change, new_classes, key, request)

    def forget(
        self, documents: Sequence[Document], *, event: int | None = None, unchecked: bool = False,
        key: str | None = None, request: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Forget what was taught: an event, some of its documents, or documents by text and labels.

        Documents that were not taught here must be known to the model as learnt, unless `unchecked`.
        """
        with self._changing:
            done = self._repeated(key, request)
            if done is not None:
                return done
            record = self._teachable_record()
            resolved = [
                replace(document, labels=resolve_labels(self.version.fitted, document.labels)) for document in documents
            ]
            if event is None:
                wanted = record.link(resolved)
                if not unchecked:
                    check_learnt(
                        self.version.fitted,
                        [document for document in wanted if document.undoes is None],
                        record.count_taught,
                    )
            else:
                wanted = select_documents(self._undoing(event).forget, resolved, event)
            return self._change("forget", Change(forget=wanted), False, key, request, undoes=event)

    def undo(self, event: int, *, key: str | None = None, request: str = "") -> dict[str, Any]:
        """Undo an event of any kind: forget what it taught, and teach what it forgot."""
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
            raise Refused(409, f"event {event} loaded another model file; roll back to a version before it")
        change = record.undoing(event)
        if not change:
            raise Refused(409, f"event {event} has already been undone")
        return change

    def _repeated(self, key: str | None, request: str) -> dict[str, Any] | None:
        """The answer of an earlier request with this key; None for a new key."""
        done = None if key is None else self._teachable_record().answered(key)
        if done is None:
            return None
        if done[1] != request:
            raise Refused(409, f"the idempotency key {key!r} was used for another request; use a new one")
        return shown_answer(done[2], done[0], repeated=True)

    def _change(
        self, kind: str, change: Change, new_classes: bool | Collection[Label] | None, key: str | None, request: str,
        undoes: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        record, old = self._teachable_record(), self.version.fitted
        learn = tuple(replace(document, labels=resolve_labels(old, document.labels)) for document in change.learn)
        check_new_classes(old, [label for document in learn for label in document.labels], new_classes)
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
        """Teach the document that a source now stands for, and forget the one before; None only forgets."""
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
        """A value stored by name: in the record or, for a read-only model, in memory."""
        return self._settings.get(name) if self.record is None else self.record.setting(name)

    def keep_setting(self, name: str, value: str) -> None:
        """Store a value by name."""
        if self.record is None:
            self._settings[name] = value
        else:
            self.record.keep_setting(name, value)

    def measure(self) -> bool:
        """Evaluate the current version unless that was done; return whether it was done now."""
        version, held_out = self.version, self.held_out
        if held_out is None or self._measured == version.number:
            return False
        measures = measure_version(version.fitted, held_out)
        self._measured = version.number
        if self.record is None:
            self._history.insert(0, {"version": version.number, "at": None, "measures": measures})
        else:
            self.record.keep_measures(version.number, measures)
        return True

    def history(self, limit: int = 100) -> list[dict[str, Any]]:
        """The evaluated versions, newest first."""
        return self._history[:limit] if self.record is None else self.record.measured(limit)

    def roll_back(self, number: int, *, key: str | None = None, request: str = "") -> dict[str, Any]:
        """Restore the model after the event `number`, exactly; this is recorded as a further event."""
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
        """Restore a version of the previous model file, which swaps places with the current one."""
        record, old = self._teachable_record(), self.version.fitted
        previous = record.previous
        if previous is None or hash_file(record.previous_path) != previous.sha256:
            raise Refused(409, f"version {number} cannot be restored: {record.previous_path.name} was modified")
        change, since = record.undoing_since(number), record.change_since(previous.event)
        missing = Change((*since.learn, *change.learn), (*since.forget, *change.forget)).net()
        new = load_served(record.previous_path, mapped=False)
        new = change_model(new, missing) if missing else new
        self._keep_previous()
        answer: dict[str, Any] = {
            "taught": len(change.learn), "forgotten": len(change.forget), "base": previous.base, "tuning_lost": False,
            "new_classes": [], "undoes": None, "changed": compare_versions(old, new, change),
        }  # fmt: skip
        event = record.add(f"rollback to {number}", change, answer, key=key, request=request)
        self.version = make_version(new, event)
        self.write_file()
        return shown_answer(answer, event, repeated=False)

    def write_file(self) -> bool:
        """Rewrite the model file with all events; return whether there was anything to write.

        If a command is about to change the file, the write is postponed.
        """
        with self._changing:
            record = self.record
            if record is None or self.version.number == self._written:
                return False
            try:
                with locked_for_replacing(self.path, wait=False):
                    sha256 = hash_file(self.path)
                    if sha256 == self._hash:
                        self._hash = write_saved_model(self.path, self.version.fitted, record, self.version.number)
                        self._written, self.problem = self.version.number, None
                        self._signature = file_signature(self.path)
                        return True
            except BlockingIOError:
                return False
            except FileNotFoundError as problem:
                self.problem = f"the model file of {self.name} is missing; what was taught is in its record"
                raise UnnaiveError(self.problem) from problem
            self._signature = None
            self.reload()  # another process has written it
            return False

    def close(self) -> None:
        """Write the model file and close the record."""
        if self.record is not None:
            try:
                self.write_file()
            finally:
                self.record.close()

    def _teachable_record(self) -> TeachingRecord:
        if self.record is None:
            raise Refused(403, "this service is read-only; start it without --read-only and --workers to teach")
        return self.record


def shown_answer(answer: dict[str, Any], number: int, *, repeated: bool) -> dict[str, Any]:
    """The part of a recorded answer that a client gets."""
    shown = {name: value for name, value in answer.items() if name not in ("copies", "base")}
    return shown | {"version": number, "event": number, "repeated": repeated}


def count_copies(fitted: FittedModel, documents: Sequence[Document], record: TeachingRecord) -> dict[str, int]:
    """How often the model had learnt each text before it was taught here; texts it had not are left out.

    A rebase needs these numbers.
    """
    if fitted.text_hashes is None or not documents:
        return {}
    texts = [document.text for document in documents]
    n_learnt = {text: times for text, times in zip(texts, fitted.text_hashes.copies(texts), strict=True) if times}
    others = {text: times - record.count_taught(text) for text, times in n_learnt.items()}
    return {text: times for text, times in others.items() if times > 0}


def compare_versions(old: FittedModel, new: FittedModel, change: Change) -> list[dict[str, Any]]:
    """The prediction for each changed text before and after, as plain values."""
    texts = [document.text for document in (*change.learn, *change.forget)][:100]
    return [
        {"before": before, "after": after} for before, after in zip(_best(old, texts), _best(new, texts), strict=True)
    ]  # fmt: skip


def _best(fitted: FittedModel, texts: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        return []
    scores = fitted.scores(list(texts))
    values = fitted.probabilities(scores) if fitted.probabilistic else scores
    best = fitted.first_labels(scores)
    return [
        {"label": fitted.classes[index], fitted.value_name: float(row[index])}
        for index, row in zip(best, values, strict=True)
    ]


def check_label(fitted: FittedModel, label: Label) -> None:
    """Refuse with status 404 if the model has no such class."""
    try:
        fitted.class_index(label)
    except UnnaiveError as problem:
        raise refuse_mistake(404, problem) from problem
