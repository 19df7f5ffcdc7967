"""A model that is served: its current version, which requests take once, and the one way in which it changes."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import orjson

from unnaive.apps.service.record import Change, Document, TeachingRecord
from unnaive.apps.service.refused import Refused
from unnaive.apps.service.teaching import check_learnt, check_new_classes, resolve_labels, select_documents
from unnaive.base.atomic_files import replacing
from unnaive.base.errors import UnnaiveError
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Label
from unnaive.classifier.model_file import load_model, write_arrays
from unnaive.classifier.packing import pack
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.io.sources import hash_file
from unnaive.learning.fitted import FittedModel
from unnaive.learning.tuned_models import lost_tuning
from unnaive.text.backend import thread_count

BARRIERS = {  # why versions from before an event cannot be restored, by its kind
    "loss": ": events before version {} were lost with a part of the record; choose a later version",
    "tuning": " exactly: version {} ended what was tuned on held-out documents; forget the documents taught since "
    "instead",
    "rebase": ": with version {} another model file took over; choose a later version",
}


@dataclass(frozen=True, eq=False)
class Version:
    """A fitted model and the number of the last event in it; 0 for the model file as it was found."""

    fitted: FittedModel
    number: int

    @lazy_property
    def json_pieces(self) -> JsonPieces:
        """What answers repeat for every text."""
        return JsonPieces.of(self.fitted.classes, "probability" if self.fitted.probabilistic else "score")


def make_version(fitted: FittedModel, number: int) -> Version:
    """A version that leaves half of the cores to the event loop, which reads and writes other requests meanwhile."""
    return Version(replace(fitted, n_jobs=max(1, thread_count(None) // 2)), number)


@dataclass(frozen=True)
class JsonPieces:
    """By class, the JSON that stands before a value: of the whole row, of its first class, and of one that follows."""

    heads: list[bytes]
    first: list[bytes]
    following: list[bytes]

    @classmethod
    def of(cls, classes: Sequence[Label], value_name: str) -> JsonPieces:
        """For all classes of a model.

        >>> pieces = JsonPieces.of(["spam"], "probability")
        >>> pieces.heads[0] + pieces.first[0] + b"0.5}]}"
        b'{"label":"spam","labels":["spam"],"classes":[{"label":"spam","probability":0.5}]}'
        """
        names = [orjson.dumps(one) for one in classes]
        first = [b'{"label":%b,"%b":' % (one, value_name.encode()) for one in names]
        heads = [b'{"label":%b,"labels":[%b],"classes":[' % (one, one) for one in names]
        return cls(heads, first, [b"}," + one for one in first])


class ServedModel:
    """One model file: any number of threads read `version`, one at a time changes it.

    A change is tried on a copy first, so that what cannot be learnt or forgotten is refused and leaves no trace; then
    it is written to the record; then the new version takes the place of the old one, in one assignment.
    """

    def __init__(self, name: str, path: Path, *, teachable: bool) -> None:
        self.name, self.path = name, path
        self._changing = threading.RLock()
        self.record: TeachingRecord | None = None
        self.measures: dict[str, Any] = {}  # what `unnaive evaluate --json` said of it, for its card
        self.problem: str | None = None  # why the model file could not be rewritten, for /readyz
        fitted = load_model(path, mapped=not teachable)
        if fitted.file is not None:
            fitted.file.check()  # before the first request
        self.version = make_version(fitted, 0)
        if self.version.fitted.token_rule is None:
            raise UnnaiveError(f"{path} was trained on counts, not on texts, and cannot be served")
        self._hash = ""
        self._folded = 0
        if teachable:
            self._open_record()

    def _open_record(self) -> None:
        """Find out which events the model file has, and apply the rest."""
        self.record = TeachingRecord(self.path)
        self._hash = hash_file(self.path)
        folded = self.record.fold_of(self._hash)
        if folded is None and not self.record.empty:
            raise UnnaiveError(
                f"{self.path} is not the model that {self.record.path} belongs to; move one of the two away"
            )
        if folded is None:
            self.record.note_fold(self._hash, 0)
        self._folded = folded or 0
        missing = self.record.change_since(self._folded)
        fitted = _changed(self.version.fitted, missing) if missing else self.version.fitted
        self.version = make_version(fitted, self.record.last)

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
        if not record.has_event(event):
            raise Refused(409, f"there is no event {event}; the last is {record.last}")
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
        return done[2] | {"version": done[0], "event": done[0], "repeated": True}

    def _change(
        self, kind: str, change: Change, new_classes: bool | Collection[Label] | None, key: str | None, request: str,
        undoes: int | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        record, old = self._teachable_record(), self.version.fitted
        learn = tuple(replace(one, labels=resolve_labels(old, one.labels)) for one in change.learn)
        check_new_classes(old, [label for one in learn for label in one.labels], new_classes)
        change = Change(learn, record.link(change.forget))
        new = _changed(old, change.net())
        answer: dict[str, Any] = {
            "taught": len(change.learn),
            "forgotten": len(change.forget),
            "changed": compare_versions(old, new, change),
            "tuning_lost": lost_tuning(old, new),
            "new_classes": [label for label in new.classes if label not in set(old.classes)],
            "undoes": undoes,
        }
        number = record.add(kind, change, answer, key=key, request=request)
        self.version = make_version(new, number)
        return answer | {"version": number, "event": number, "repeated": False}

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

    def roll_back(self, number: int, *, key: str | None = None, request: str = "") -> dict[str, Any]:
        """Make the model what it was after the event `number`, exactly, as one more event."""
        with self._changing:
            done = self._repeated(key, request)
            if done is not None:
                return done
            record = self._teachable_record()
            if not 0 <= number <= record.last:
                raise Refused(404, f"there is no version {number}; there are 0 to {record.last}")
            barrier = record.first_barrier(number)
            if barrier is not None:
                raise Refused(409, f"version {number} cannot be restored{BARRIERS[barrier[1]].format(barrier[0])}")
            return self._change(f"rollback to {number}", record.undoing_since(number), None, key, request)

    def fold(self) -> bool:
        """Rewrite the model file with all events in it; whether there was anything to write."""
        with self._changing:
            version, record = self.version, self.record
            if record is None or version.number == self._folded:
                return False
            if hash_file(self.path) != self._hash:
                self.problem = f"{self.path} was changed by somebody else; what was taught since is in {record.path}"
                raise UnnaiveError(self.problem)
            with replacing(self.path) as file:
                hashing = HashingFile(file)
                write_arrays(hashing, *pack(version.fitted, frozen=False))  # type: ignore[arg-type]  # it only writes
                record.note_fold(hashing.sha256, version.number)
            self._hash, self._folded, self.problem = hashing.sha256, version.number, None
            return True

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


class HashingFile:
    """A file that is written and hashed in one pass."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes, or the memory of an array."""
        self._hash.update(data)
        return self._file.write(data)

    @property
    def sha256(self) -> str:
        """The hash of what was written so far."""
        return self._hash.hexdigest()


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


def _changed(fitted: FittedModel, change: Change) -> FittedModel:
    """The model after a change; a request cannot wait for a search, so that `auto` trains what it has chosen before.

    Labels that it does not know become classes: whether they may was asked before.
    """
    classifier = TextClassifier.from_fitted(fitted)
    if change.learn:
        classifier.partial_fit(
            [one.text for one in change.learn], _labels(fitted, change.learn), grow=True, keep_choice=True
        )
    if change.forget:
        classifier.forget([one.text for one in change.forget], _labels(fitted, change.forget), keep_choice=True)
    return classifier.fitted_


def _labels(fitted: FittedModel, documents: Sequence[Document]) -> list[Any]:
    """The labels in the form in which the model takes them."""
    if fitted.multilabel:
        return [one.labels for one in documents]
    for one in documents:
        if len(one.labels) != 1:
            raise Refused(409, f"this model gives one label to each text, and a document came with {len(one.labels)}")
    return [one.labels[0] for one in documents]


def check_label(fitted: FittedModel, label: Label) -> None:
    """An error with status 404 if the model has no such class."""
    try:
        fitted.class_index(label)
    except UnnaiveError as problem:
        raise Refused(404, str(problem)) from problem
