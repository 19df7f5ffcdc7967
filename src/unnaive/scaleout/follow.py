"""`unnaive update MODEL --follow`: a model that learns lines of JSON as they arrive, each of them exactly once.

A journal beside the model says how far it came. It is written before the model is replaced, with the hashes of the
model before and after: whichever of the two is there after a crash tells whether the batch was learnt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from typing import Any

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.classifier.model_file import load_model, update_model_file
from unnaive.classifier.receipts import model_hash
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.io.json_tables import get_key
from unnaive.io.labels import parse_labels
from unnaive.io.sources import STDIN, check_exists, hash_file
from unnaive.learning.fitted import FittedModel

BLOCK = 1 << 20  # bytes that are read at a time
PAUSE = 0.2  # seconds between two looks at a file that has not grown
MOST_LINES = 10_000  # that wait to be learnt
MOST_IDS = 100_000  # of batches that the journal remembers, the latest ones


@dataclass(frozen=True)
class FollowOptions:
    """How records are read, and how often they are learnt.

    text, label  keys of the records
    batch        the key of the id of a record's batch, if they have one: a batch is learnt once, and whole
    separator    what stands between the labels of a document where they come as one string
    every        seconds between two writes of the model
    grow         learn classes that the model does not have
    """

    text: str = "text"
    label: str = "label"
    batch: str | None = None
    separator: str | None = None
    every: float = 5.0
    grow: bool = False


@dataclass
class Journal:
    """How far a model came: `offset` in the file, ids of batches, hashes of the model before and after the last one."""

    path: Path
    source: str = ""
    offset: int = 0
    ids: list[str] = field(default_factory=list)
    before: str = ""
    after: str = ""
    start: int = 0  # the offset before the last batch
    last: list[str] = field(default_factory=list)  # the ids of the last batch

    @classmethod
    def open(cls, model: Path, source: str) -> Journal:
        """The journal beside the model, with the last batch taken back if the model was not replaced any more."""
        journal = cls(model.with_name(f"{model.name}.follow"), source)
        if not journal.path.exists():
            return journal
        try:
            stored = json.loads(journal.path.read_text(encoding="utf-8"))
            for name in ("offset", "ids", "before", "after", "start", "last"):
                setattr(journal, name, stored[name])
            known = stored["source"]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise UnnaiveError(f"{journal.path} is damaged ({problem}); remove it to start anew") from problem
        now = hash_file(model)
        if now == journal.before:
            journal.offset, journal.ids = journal.start, [one for one in journal.ids if one not in journal.last]
        elif now != journal.after:
            warnings.warn(
                f"{model} was changed by another command since it last followed {known}; it goes on where it was",
                UnnaiveWarning,
                stacklevel=3,
            )
        if known != source:
            journal.offset = 0  # another file: its lines are new, ids of batches still count
        return journal

    def record(self, model: Path, changed: FittedModel, offset: int, ids: list[str]) -> None:
        """Write down what the model is about to become."""
        self.start, self.offset, self.last = self.offset, offset, ids
        self.ids = [*self.ids, *ids][-MOST_IDS:]
        self.before, self.after = hash_file(model), model_hash(changed)
        about = {name: value for name, value in self.__dict__.items() if name != "path"}
        with replacing(self.path) as file:
            file.write(json.dumps(about).encode())


@dataclass
class WaitingDocuments:
    """Documents that came and are not learnt yet; up to which byte they reach, and their batches' ids."""

    texts: list[str] = field(default_factory=list)
    labels: list[tuple[Any, ...]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    offset: int = 0


def follow(
    model: Path, source: str, options: FollowOptions, tell: Callable[[str], None] = lambda line: None
) -> dict[str, int]:
    """Learn records from a growing file until Ctrl-C, or from stdin until it ends; how many, and in how many writes.

    Records wait for `options.every` seconds, then the model is written, whole. Lines that cannot be read and documents
    of unknown classes are left out with a warning, since there is nobody to ask.
    """
    path = STDIN if source == STDIN else str(check_exists(source))
    journal = Journal.open(model, path)
    reader = _Records(load_model(model), options, set(journal.ids))
    waiting, learnt, writes = WaitingDocuments(offset=journal.offset), 0, 0
    deadline = time.monotonic() + options.every

    def learn() -> None:
        nonlocal waiting, learnt, writes, deadline
        with _undisturbed():
            if waiting.texts:
                _learn(model, waiting, journal, options)
                learnt, writes = learnt + len(waiting.texts), writes + 1
                tell(f"learnt {count_noun(learnt, 'document')} in {count_noun(writes, 'write')}")
            waiting, deadline = WaitingDocuments(offset=waiting.offset), time.monotonic() + options.every

    try:
        for line, offset in _lines(path, journal.offset):
            if line is not None:
                reader.read(line, waiting)
                waiting.offset = offset
            full = len(waiting.texts) >= MOST_LINES or time.monotonic() >= deadline
            # documents of one batch are learnt together
            if full and not reader.in_batch:
                learn()
    except KeyboardInterrupt:
        tell("stopping; what came is being learnt")
        if reader.in_batch:
            reader.drop_open_batch(waiting)
    learn()
    return {"documents": learnt, "writes": writes, "left_out": reader.left_out, "again": reader.again}


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits until the block is done: documents that are being learnt are not learnt again."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Records:
    """Lines of JSON to documents; bad ones are left out."""

    def __init__(self, fitted: FittedModel, options: FollowOptions, done: set[str]) -> None:
        self.options, self.done, self.left_out, self.again = options, done, 0, 0
        self._spelling = {str(label): label for label in fitted.classes}
        self._open: str | None = None  # the id of the batch that is coming in
        self._began = 0  # where it began among those that wait

    @property
    def in_batch(self) -> bool:
        """Whether the last record belongs to a batch that may go on; a batch ends where another begins."""
        return self._open is not None

    def read(self, line: bytes, waiting: WaitingDocuments) -> None:
        """Add what a line says to what waits."""
        if not line.strip():
            return
        try:
            record = json.loads(line)
            text, labels = self._document(record)
        except (ValueError, RecursionError) as problem:
            self._leave_out(f"a line cannot be learnt ({problem})")
            return
        if self.options.batch is not None:
            batch = str(get_key(record, self.options.batch))
            if batch in self.done and batch != self._open:
                self.again += 1
                return
            if batch != self._open:
                self._open, self._began = batch, len(waiting.texts)
                self.done.add(batch)
                waiting.ids.append(batch)
        waiting.texts.append(text)
        waiting.labels.append(labels)

    def drop_open_batch(self, waiting: WaitingDocuments) -> None:
        """Leave out the batch that did not come to its end, so that it is learnt whole when it comes again."""
        del waiting.texts[self._began :], waiting.labels[self._began :]
        waiting.ids.remove(self._open)  # type: ignore[arg-type]
        self._open = None

    def _document(self, record: Any) -> tuple[str, tuple[Any, ...]]:
        text = get_key(record, self.options.text)
        if not isinstance(text, str):
            raise BadData(f"it has no text under {self.options.text!r}")
        value = get_key(record, self.options.label)
        names = parse_labels(
            value if isinstance(value, (str, int, float, list, bool)) else None, self.options.separator
        )
        unknown = [name for name in names if name not in self._spelling]
        if not names or (unknown and not self.options.grow):
            raise BadData(f"its class {unknown[0]!r} is none of the model's" if unknown else "it has no label")
        return text, tuple(self._spelling.get(name, name) for name in names)

    def _leave_out(self, reason: str) -> None:
        if not self.left_out:
            warnings.warn(f"{reason}; such lines are left out", UnnaiveWarning, stacklevel=4)
        self.left_out += 1


def _learn(model: Path, waiting: WaitingDocuments, journal: Journal, options: FollowOptions) -> None:
    def change(fitted: FittedModel) -> FittedModel:
        classifier = TextClassifier.from_fitted(fitted)
        labels = waiting.labels if fitted.multilabel else [names[0] for names in waiting.labels]
        changed = classifier.partial_fit(waiting.texts, labels, grow=options.grow, keep_choice=True).fitted_
        journal.record(model, changed, waiting.offset, waiting.ids)
        return changed

    update_model_file(model, change)


def _lines(path: str, offset: int) -> Iterator[tuple[bytes | None, int]]:
    """(a whole line, where it ends) as lines come; (None, 0) when nothing came for a moment."""
    rest = b""
    handle = sys.stdin.fileno() if path == STDIN else os.open(path, os.O_RDONLY)
    try:
        if path != STDIN:
            os.lseek(handle, offset, os.SEEK_SET)
        while True:
            if path == STDIN and not select([handle], [], [], PAUSE)[0]:
                yield None, 0
                continue
            block = os.read(handle, BLOCK)
            if not block:
                if path == STDIN:
                    break
                if os.fstat(handle).st_size < offset:
                    raise BadData(f"{path} has become shorter; it is another file now, so start following it anew")
                yield None, 0
                time.sleep(PAUSE)
                continue
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                offset += len(line) + 1
                yield line, offset
        if rest:
            yield rest, offset + len(rest)
    finally:
        if path != STDIN:
            os.close(handle)
