"""A served model: its current version, which each request reads once, and the only way to change it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.evaluations import Evaluations
from unnaive.apps.service.problems import LOAD, RECORD, WRITE, Problems
from unnaive.apps.service.requested_changes import (
    NOTHING,
    ChangesTogether,
    RequestedChange,
    compare_versions,
    count_copies,
    shown_answer,
)
from unnaive.apps.service.teaching import check_learnt, check_new_classes, select_documents
from unnaive.apps.service.version import ID_LENGTH, Version, load_served, make_version
from unnaive.base.errors import UnnaiveError
from unnaive.base.open_files import file_signature, hash_file
from unnaive.base.system import locked_for_replacing
from unnaive.base.types import Label
from unnaive.curation.teaching.change_model import change_model, resolve_labels
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.log_events import Event
from unnaive.curation.teaching.log_versions import PREVIOUS, PreviousFile
from unnaive.curation.teaching.rebase import REBASE, rebase
from unnaive.curation.teaching.saved_models import write_saved_model
from unnaive.curation.teaching.teaching_log import NotRecordedError, TeachingRecord
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

    def __init__(self, name: str, path: Path, *, teachable: bool, new_classes: bool = False) -> None:
        self.name, self.path = name, path
        self._changing = threading.RLock()
        self.record: TeachingRecord | None = None
        self._settings: dict[str, str] = {}
        self._new_classes = new_classes  # whether classes that a new model file lacks are added to it
        self.problems = Problems()
        self._signature = file_signature(path)
        self._written = 0
        fitted, sha256 = load_served(path, mapped=not teachable), hash_file(path)
        self._hash = "" if teachable else sha256  # "" until a file was taken over
        self.version = self._make_version(fitted, 0)
        if teachable:
            self.record = TeachingRecord(path)
        self.evaluations = Evaluations(self.record)
        if self.record is not None:
            try:
                self._take_over(fitted, sha256)
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
        self.version = self._make_version(fitted, record.last)

    def _rebase(self, fitted: FittedModel, sha256: str) -> None:
        record = self._teachable_record()
        rebased = rebase(fitted, record, new_classes=self._new_classes)
        self._keep_previous()
        number = record.add(REBASE, rebased.to_change(), rebased.to_answer() | {"base": record.versions().next_base})
        self._hash, self._written = sha256, number - 1
        self.version = self._make_version(rebased.fitted, number)
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
            except Exception as problem:  # whatever is wrong with a file, the model in use goes on
                # without the folder, since anybody can read /readyz
                reason = str(problem).replace(f"{self.path.parent}/", "")
                self.problems.note(LOAD, f"the new model file of {self.name} could not be loaded: {reason}")
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
            self.version = self._make_version(fitted, self.version.number + 1)
        self.problems.clear(LOAD)
        return not same

    @property
    def teachable(self) -> bool:
        """Whether the model can be taught."""
        return self.record is not None

    def change(self, kind: str, change: Change, **options: Any) -> dict[str, Any]:
        """Teach and forget documents; when this returns, the change is on disk. `options` are those of RequestedChange.

        The answer has predictions before and after.
        """
        (outcome,) = self.change_together([RequestedChange(kind, change, **options)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome or {}

    def change_together(self, requests: Sequence[RequestedChange]) -> list[dict[str, Any] | Exception | None]:
        """The answer or the problem of each request, after one refit for those that teach; None for those to be tried
        again after the others.

        The first always gets an answer. Another waits if it might get a different one after those before it: it
        forgets, or it would be refused, or it adds classes as one before it does, or has the same key or source.
        """
        with self._changing:
            outcomes: list[dict[str, Any] | Exception | None] = [None] * len(requests)
            together, positions = ChangesTogether(self.version.fitted.classes), []
            for position, request in enumerate(requests):
                if not together.may_add(request):
                    continue
                try:
                    outcomes[position] = self._repeated(request.key, request.request)
                    if outcomes[position] is None and together.add(self._prepare(request)):
                        positions.append(position)
                except (UnnaiveError, OSError) as problem:
                    if not positions:
                        outcomes[position] = problem
            for position, outcome in zip(positions, self._apply_all(together.requests), strict=True):
                outcomes[position] = outcome
            return outcomes

    def _apply_all(self, requests: Sequence[RequestedChange]) -> Sequence[dict[str, Any] | Exception]:
        """Apply prepared changes together, or one by one if the model refuses them together."""
        try:
            return self._apply(requests) if requests else []
        except NotRecordedError as problem:
            return [problem] * len(requests)
        except (UnnaiveError, OSError) as problem:
            return [problem] if len(requests) == 1 else [self._apply_all([request])[0] for request in requests]

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
            raise Refused(404, f"there is no event {event}; the last is {record.last}")
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
        identifier = self._teachable_record().seal(done[0])[:ID_LENGTH]
        return shown_answer(done[2], done[0], identifier, repeated=True)

    def _change(
        self, kind: str, change: Change, new_classes: bool | Collection[Label] | None, key: str | None, request: str,
        undoes: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        return self._apply([self._prepare(RequestedChange(kind, change, new_classes, key, request, undoes))])[0]

    def _prepare(self, request: RequestedChange) -> RequestedChange:
        """The request with labels of the model's type, and each document to forget linked to its teaching; refused if
        a label may not be taught.
        """
        record, old = self._teachable_record(), self.version.fitted
        learn = tuple(
            replace(document, labels=resolve_labels(old, document.labels)) for document in request.change.learn
        )
        check_new_classes(old, [label for document in learn for label in document.labels], request.new_classes)
        return replace(request, change=Change(learn, record.link(request.change.forget)))

    def _apply(self, requests: Sequence[RequestedChange]) -> list[dict[str, Any]]:
        """Refit once with all changes, write each as an event, and return their answers."""
        record, old = self._teachable_record(), self.version.fitted
        changes = [request.change for request in requests]
        together = Change(
            tuple(document for change in changes for document in change.learn),
            tuple(document for change in changes for document in change.forget),
        )
        new = change_model(old, together.net())
        known, lost = set(old.classes), lost_tuning(old, new)
        events: list[Event] = []
        for request, compared in zip(requests, compare_versions(old, new, changes), strict=True):
            labels = {label for document in request.change.learn for label in document.labels}
            answer: dict[str, Any] = {
                "taught": len(request.change.learn),
                "forgotten": len(request.change.forget),
                "changed": compared,
                "tuning_lost": lost and not events,
                "new_classes": [label for label in new.classes if label not in known and label in labels],
                "undoes": request.undoes,
                "copies": count_copies(old, request.change.learn, record),
            }
            events.append(Event(request.kind, request.change, answer, request.key, request.request))
        numbers = self._record_events(events)
        self.version = self._make_version(new, numbers[-1])
        return [
            shown_answer(event.answer, number, self.version.id, repeated=False) | {"version": numbers[-1]}
            for event, number in zip(events, numbers, strict=True)
        ]

    def _record_events(self, events: Sequence[Event]) -> list[int]:
        try:
            numbers = self._teachable_record().add_all(events)
        except NotRecordedError as problem:
            self.problems.note(RECORD, f"{self.name} cannot be taught: {problem}")
            raise
        self.problems.clear(RECORD)
        return numbers

    def _make_version(self, fitted: FittedModel, number: int) -> Version:
        """A version whose id is the hash of its file, or of the events that made it."""
        seal = self.record.seal(number) if self.record is not None and number else ""
        first = None if self.record is None else self.record.first_file
        return make_version(fitted, number, seal or first or self._hash)

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
                return shown_answer(NOTHING, self.version.number, self.version.id, repeated=True)
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

    def event_of_file(self, sha256: str) -> int | None:
        """The version that a model file with this hash is; None if it is not of this model."""
        if self.record is not None:
            return self.record.event_of_file(sha256)
        return 0 if sha256 == self._hash else None

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
            "new_classes": [], "undoes": None, "changed": compare_versions(old, new, [change])[0],
        }  # fmt: skip
        (event,) = self._record_events([Event(f"rollback to {number}", change, answer, key, request)])
        self.version = self._make_version(new, event)
        self.write_file()
        return shown_answer(answer, event, self.version.id, repeated=False)

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
                        path = self.path.resolve()  # a link stays a link
                        self._hash = write_saved_model(path, self.version.fitted, record, self.version.number)
                        self._written = self.version.number
                        self._signature = file_signature(self.path)
                        self.problems.clear(WRITE)
                        return True
            except BlockingIOError:
                return False
            except FileNotFoundError:
                self.problems.note(WRITE, f"the model file of {self.name} is missing; what was taught is in its record")
                return False
            except (UnnaiveError, OSError) as problem:
                reason = str(problem).replace(f"{self.path.parent}/", "")
                self.problems.note(WRITE, f"the model file of {self.name} could not be written: {reason}")
                return False
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
