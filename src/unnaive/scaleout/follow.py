"""`unnaive update MODEL --follow`: a model that learns lines of JSON as they arrive, each exactly once.

A journal beside the model records the progress. It is written before the model is replaced, with the hashes of the
model before and after: after a crash, the hash of the model shows whether the batch was learnt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.open_files import STDIN, check_exists, hash_file
from unnaive.base.system import PLAIN, Arrivals
from unnaive.classifier.model_file import load_model, update_model_file
from unnaive.classifier.receipts import model_hash
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.io.labels import parse_labels
from unnaive.io.tables.json_tables import encode_json_record, get_key
from unnaive.learning.fitted import FittedModel

BLOCK = 1 << 20  # bytes that are read at a time
PAUSE = 0.2  # seconds between two checks of a file that has not grown
MOST_LINES = 10_000  # maximum number of lines waiting to be learnt
MOST_IDS = 100_000  # maximum number of batch ids in the journal, the latest ones


@dataclass(frozen=True)
class FollowOptions:
    """How records are read, and how often they are learnt.

    text, label  keys of the records
    batch        key of the batch id of a record, if any: a batch is learnt once, and as a whole
    separator    separator of the labels of a document, if they are one string
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
    """Progress of a model: `offset` in the file, batch ids, hashes of the model before and after the last batch."""

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
        """The journal beside the model, without the last batch if the model was not replaced."""
        journal = cls(model.with_name(f"{model.name}.follow"), source)
        if not journal.path.exists():
            return journal
        try:
            stored = json.loads(journal.path.read_text(encoding="utf-8"))
            for name in ("offset", "ids", "before", "after", "start", "last"):
                setattr(journal, name, stored[name])
            recorded_source = stored["source"]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise UnnaiveError(f"{journal.path} is damaged ({problem}); remove it to start again") from problem
        now = hash_file(model)
        if now == journal.before:
            journal.offset, journal.ids = journal.start, [id_ for id_ in journal.ids if id_ not in journal.last]
        elif now != journal.after:
            warnings.warn(
                f"{model} was changed by another command since it last followed {recorded_source}; following continues "
                "where it stopped",
                UnnaiveWarning,
                stacklevel=3,
            )
        if recorded_source != source:
            journal.offset = 0  # another file: its lines are new, but batch ids still count
        return journal

    def record(self, model: Path, changed: FittedModel, offset: int, ids: list[str]) -> None:
        """Record what the model is about to become."""
        self.start, self.offset, self.last = self.offset, offset, ids
        self.ids = [*self.ids, *ids][-MOST_IDS:]
        self.before, self.after = hash_file(model), model_hash(changed)
        about = {name: value for name, value in self.__dict__.items() if name != "path"}
        with replacing(self.path) as file:
            file.write(json.dumps(about).encode())


@dataclass
class WaitingDocuments:
    """Documents that arrived and are not learnt yet, the offset after the last of them, and their batch ids."""

    texts: list[str] = field(default_factory=list)
    labels: list[tuple[Any, ...]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    offset: int = 0

    def extend(self, more: WaitingDocuments) -> None:
        """Append later documents."""
        self.texts += more.texts
        self.labels += more.labels
        self.ids += more.ids
        self.offset = more.offset


def follow(
    model: Path, source: str, options: FollowOptions, tell: Callable[[str], None] = lambda line: None
) -> dict[str, int]:
    """Learn records from a growing file until Ctrl-C, or from stdin until it ends.

    Records wait for `options.every` seconds, then the model is written atomically. Lines that cannot be read and
    documents of unknown classes are skipped with a warning. Returns how many documents were learnt and skipped, and
    how often the model was written.
    """
    path = STDIN if source == STDIN else str(check_exists(source))
    journal = Journal.open(model, path)
    reader = _Records(load_model(model), options, set(journal.ids), journal.offset)
    learnt, writes = 0, 0
    deadline = time.monotonic() + options.every

    def learn() -> None:
        nonlocal learnt, writes, deadline
        waiting = reader.take_closed()
        if waiting.texts:
            _learn(model, waiting, journal, options)
            learnt, writes = learnt + len(waiting.texts), writes + 1
            tell(f"learnt {count_noun(learnt, 'document')} in {count_noun(writes, 'write')}")
        deadline = time.monotonic() + options.every

    with _Interrupts() as interrupts:
        try:
            for line, offset in _lines(path, journal.offset, interrupts):
                if line is not None:
                    reader.read(line, offset)
                if len(reader.closed.texts) >= MOST_LINES or time.monotonic() >= deadline:
                    learn()
                interrupts.check()
            reader.close_batch()
        except KeyboardInterrupt:
            tell("stopping after the lines that have arrived are learnt")
        learn()
    return {"documents": learnt, "writes": writes, "left_out": reader.left_out, "again": reader.again}


class _Interrupts:
    """Handles Ctrl-C in its block: it ends a wait immediately, and other work at the next call of `check`.

    Blocking the signal is not enough: another thread of the process may receive it, and Python then raises
    KeyboardInterrupt in the main thread while a batch is being learnt.
    """

    def __init__(self) -> None:
        self._came = self._waiting = False
        self._before: Any = None

    def __enter__(self) -> _Interrupts:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, *_: object) -> None:
        self._came = True
        if self._waiting:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed before."""
        if self._came:
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that only waits: Ctrl-C ends it immediately."""
        self._waiting = True
        try:
            self.check()
            yield
        finally:
            self._waiting = False


class _Records:
    """Lines of JSON → documents; bad ones are skipped.

    closed  documents to be learnt; only complete batches, since a batch is learnt as a whole
    """

    def __init__(self, fitted: FittedModel, options: FollowOptions, done: set[str], offset: int) -> None:
        self.options, self.done, self.left_out, self.again = options, done, 0, 0
        self.closed = WaitingDocuments(offset=offset)
        self._spelling = {str(label): label for label in fitted.classes}
        self._fields = None if fitted.token_rule is None else fitted.token_rule.fields
        self._open: WaitingDocuments | None = None  # the incomplete batch

    def read(self, line: bytes, offset: int) -> None:
        """Add the record of a line, which ends at `offset`."""
        document = self._parse(line)
        if document is not None:
            self._add(*document)
        (self._open or self.closed).offset = offset

    def _parse(self, line: bytes) -> tuple[str, tuple[Any, ...], str | None] | None:
        """The text, labels and batch of a line; None if there is nothing to learn."""
        if not line.strip():
            return None
        try:
            record = json.loads(line)
            text, labels = self._document(record)
        except (ValueError, RecursionError) as problem:
            self._leave_out(f"a line cannot be learnt ({problem})")
            return None
        return text, labels, None if self.options.batch is None else str(get_key(record, self.options.batch))

    def _add(self, text: str, labels: tuple[Any, ...], batch: str | None) -> None:
        if batch is not None and (self._open is None or self._open.ids != [batch]):
            if batch in self.done:
                self.again += 1
                return
            self.close_batch()
            self.done.add(batch)
            self._open = WaitingDocuments(ids=[batch])
        waiting = self._open or self.closed
        waiting.texts.append(text)
        waiting.labels.append(labels)

    def close_batch(self) -> None:
        """Close the incomplete batch: another begins, or nothing more comes.

        A batch that was not closed when the command stopped is sent again, and learnt then.
        """
        if self._open is not None:
            self.closed.extend(self._open)
            self._open = None

    def take_closed(self) -> WaitingDocuments:
        """The documents to be learnt, which do not wait any more."""
        taken, self.closed = self.closed, WaitingDocuments(offset=self.closed.offset)
        return taken

    def _document(self, record: Any) -> tuple[str, tuple[Any, ...]]:
        text = self._text(record)
        value = get_key(record, self.options.label)
        names = parse_labels(
            value if isinstance(value, (str, int, float, list, bool)) else None, self.options.separator
        )
        unknown = [name for name in names if name not in self._spelling]
        if not names or (unknown and not self.options.grow):
            raise BadData(f"the model has no class {unknown[0]!r}" if unknown else "it has no label")
        return text, tuple(self._spelling.get(name, name) for name in names)

    def _text(self, record: Any) -> str:
        """The text of a line, or the record of its fields."""
        if self._fields is None:
            text = get_key(record, self.options.text)
            if not isinstance(text, str):
                raise BadData(f"it has no text under {self.options.text!r}")
            return text
        return encode_json_record(record, self._fields)

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


def _lines(path: str, offset: int, interrupts: _Interrupts) -> Iterator[tuple[bytes | None, int]]:
    """(a whole line, its end) as lines arrive; (None, 0) if nothing arrived for a moment."""
    rest = b""
    with interrupts.waiting():  # waits for a writer if it is a FIFO
        handle = sys.stdin.fileno() if path == STDIN else os.open(path, os.O_RDONLY | PLAIN)
    arrivals = Arrivals(handle, BLOCK)
    try:
        if path != STDIN:
            os.lseek(handle, offset, os.SEEK_SET)
        while True:
            with interrupts.waiting():
                arrived = arrivals.wait(PAUSE)
            if not arrived:
                yield None, 0
                continue
            block = arrivals.read()
            if not block:
                if path == STDIN:
                    break
                if os.fstat(handle).st_size < offset:
                    raise BadData(f"{path} became shorter, so it is another file now; start following it again")
                yield None, 0
                with interrupts.waiting():
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
