"""`unnaive update MODEL --follow`: a model that learns lines of JSON as they arrive, each exactly once.

What was learnt stands in the model file (learning/followed.py), so that one rename commits a batch and the progress.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData, UnnaiveError, UnnaiveWarning, count_noun
from unnaive.base.open_files import STDIN, check_exists
from unnaive.base.system import PLAIN, Arrivals, open_lock
from unnaive.classifier.model_file import load_model, update_model_file
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.io.labels import parse_labels
from unnaive.io.tables.json_tables import encode_json_record, get_key
from unnaive.learning.class_spellings import class_spellings
from unnaive.learning.fitted import FittedModel
from unnaive.learning.followed import START, Followed, Place, hash_batch

BLOCK = 1 << 20  # bytes that are read at a time
PAUSE = 0.2  # seconds between two checks of a file that has not grown
MOST_LINES = 10_000  # maximum number of lines waiting to be learnt


@dataclass(frozen=True)
class FollowOptions:
    """How records are read, and how often they are learnt.

    text, label  keys of the records
    batch        key of the batch id of a record, if any: a batch is learnt once, and as a whole
    separator    separator of the labels of a document, if they are one string
    every        seconds between two writes of the model
    new_classes  learn classes that the model does not have
    """

    text: str = "text"
    label: str = "label"
    batch: str | None = None
    separator: str | None = None
    every: float = 5.0
    new_classes: bool = False


@dataclass
class WaitingDocuments:
    """Documents that arrived and are not learnt yet, the place after the last of them, and their batch ids."""

    texts: list[str] = field(default_factory=list)
    labels: list[tuple[Any, ...]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    place: Place | None = None  # of a source that can be read again

    def extend(self, more: WaitingDocuments) -> None:
        """Append later documents."""
        self.texts += more.texts
        self.labels += more.labels
        self.ids += more.ids
        self.place = more.place


@contextmanager
def unnoted(_: Path) -> Iterator[None]:
    """For models without a record that must know of changes."""
    yield None


def follow(
    model: Path,
    source: str,
    options: FollowOptions,
    tell: Callable[[str], None] = lambda line: None,
    *,
    noting: Callable[[Path], AbstractContextManager[Callable[[str], None] | None]] = unnoted,
) -> dict[str, int]:
    """Learn records from a growing file until Ctrl-C, or from stdin until it ends.

    Records wait for `options.every` seconds, then the model is written atomically. Lines that cannot be read and
    documents of unknown classes are skipped with a warning. A file that was replaced by another, as log rotation does,
    is read to its end before the other. `noting` gets the model around each write; its result is called with the hash
    of the new file before it is put in place. Returns how many documents were learnt and skipped, and how often the
    model was written.
    """
    path = STDIN if source == STDIN else str(check_exists(source))
    with _only_follower(model), _Interrupts() as interrupts:
        fitted = load_model(model)
        follower = _Follower(model, path, options, fitted.followed or Followed(), noting, tell)
        reader = _Records(fitted, options, set(follower.followed.batches))
        deadline = time.monotonic() + options.every
        try:
            while True:
                lines = _Lines(path, follower.followed, interrupts)
                follower.start = reader.closed.place = lines.start
                if lines.start is not None and lines.start[0]:
                    tell(f"{path}: continuing after the {lines.start[0]:,} bytes that the model has learnt")
                for line, place in lines.read():
                    if line is not None:
                        reader.read(line, place)
                    if len(reader.closed.texts) >= MOST_LINES or time.monotonic() >= deadline:
                        follower.learn(reader.take_closed())
                        deadline = time.monotonic() + options.every
                    interrupts.check()
                reader.close_batch()
                if not lines.replaced:
                    break
                follower.learn(reader.take_closed())
        except KeyboardInterrupt:
            tell("stopping after the lines that have arrived are learnt")
        follower.learn(reader.take_closed())
    return {
        "documents": follower.learnt, "writes": follower.writes, "left_out": reader.left_out, "again": reader.again,
    }  # fmt: skip


@contextmanager
def _only_follower(model: Path) -> Iterator[None]:
    """Hold the model's lock for followers; an error if another process holds it."""
    try:
        lock = open_lock(model.with_name(f"{model.name}.follow"), wait=False)
    except BlockingIOError:
        raise UnnaiveError(f"another process follows a source into {model}; stop it, or follow both as one") from None
    with lock:
        yield


class _Follower:
    """Learns documents, and writes the model with the place that it has come to."""

    def __init__(
        self, model: Path, path: str, options: FollowOptions, followed: Followed,
        noting: Callable[[Path], AbstractContextManager[Callable[[str], None] | None]], tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.model, self.path, self.options, self.noting, self.tell = model, path, options, noting, tell
        self.followed = followed
        self.start: Place | None = None  # where the source stands in the model file
        self.learnt = self.writes = 0

    def learn(self, waiting: WaitingDocuments) -> None:
        """Learn the documents, if there are any."""
        if not waiting.texts:
            return

        def change(fitted: FittedModel) -> FittedModel:
            followed = fitted.followed or Followed()
            if self.start is not None and self.start[0] and self.start not in followed.places:
                raise UnnaiveError(
                    f"{self.model} was replaced by another model while it followed {self.path}; start following again"
                )
            classifier = TextClassifier.from_fitted(fitted)
            labels = waiting.labels if fitted.multilabel else [names[0] for names in waiting.labels]
            changed = classifier.partial_fit(
                waiting.texts, labels, new_classes=self.options.new_classes, search="keep"
            ).fitted_
            return replace(changed, followed=followed.advance(self.start, waiting.place, waiting.ids))

        with self.noting(self.model) as placing:
            self.followed = update_model_file(self.model, change, placing=placing).followed or Followed()
        self.start = waiting.place
        self.learnt, self.writes = self.learnt + len(waiting.texts), self.writes + 1
        self.tell(f"learnt {count_noun(self.learnt, 'document')} in {count_noun(self.writes, 'write')}")


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

    def __init__(self, fitted: FittedModel, options: FollowOptions, done: set[str]) -> None:
        self.options, self.done, self.left_out, self.again = options, done, 0, 0
        self.closed = WaitingDocuments()
        self._spelling, self._multilabel = class_spellings(fitted), fitted.multilabel
        self._fields = None if fitted.token_rule is None else fitted.token_rule.fields
        self._open: WaitingDocuments | None = None  # the incomplete batch

    def read(self, line: bytes, place: Place | None) -> None:
        """Add the record of a line, which ends at `place`."""
        document = self._parse(line)
        if document is not None:
            self._add(*document)
        (self._open or self.closed).place = place

    def _parse(self, line: bytes) -> tuple[str, tuple[Any, ...], str | None] | None:
        """The text, labels and batch of a line; None if there is nothing to learn."""
        if not line.strip():
            return None
        try:
            record = json.loads(line)
            text, labels = self._document(record)
            return text, labels, self._batch(record)
        except (ValueError, RecursionError) as problem:
            self._leave_out(f"a line cannot be learnt ({problem})")
            return None

    def _batch(self, record: Any) -> str | None:
        if self.options.batch is None:
            return None
        batch = get_key(record, self.options.batch)
        if not isinstance(batch, (str, int, float)):
            raise BadData(f"it has no batch id under {self.options.batch!r}")
        return str(batch)

    def _add(self, text: str, labels: tuple[Any, ...], batch: str | None) -> None:
        if batch is not None and (self._open is None or self._open.ids != [batch]):
            if hash_batch(batch) in self.done:
                self.again += 1
                return
            self.close_batch()
            self.done.add(hash_batch(batch))
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
        taken, self.closed = self.closed, WaitingDocuments(place=self.closed.place)
        return taken

    def _document(self, record: Any) -> tuple[str, tuple[Any, ...]]:
        text = self._text(record)
        value = get_key(record, self.options.label)
        names = parse_labels(
            value if isinstance(value, (str, int, float, list, bool)) else None, self.options.separator
        )
        unknown = [name for name in names if name not in self._spelling]
        if not names or (unknown and not self.options.new_classes):
            raise BadData(f"the model has no class {unknown[0]!r}" if unknown else "it has no label")
        if len(names) > 1 and not self._multilabel:
            raise BadData(f"it has {len(names)} labels, and the model assigns one")
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


class _Lines:
    """The lines of a source from the place that the model has learnt.

    start     the place before the first line; None for stdin and pipes, which cannot be read again
    replaced  whether another file took the place of this one
    """

    def __init__(self, path: str, followed: Followed, interrupts: _Interrupts) -> None:
        self.path, self.replaced, self._interrupts = path, False, interrupts
        self.start: Place | None = None
        with interrupts.waiting():  # waits for a writer if it is a FIFO
            self._handle = sys.stdin.fileno() if path == STDIN else os.open(path, os.O_RDONLY | PLAIN)
        self._again = path != STDIN and stat.S_ISREG(os.fstat(self._handle).st_mode)
        if self._again:
            self.start, self._hash = find_place(self._handle, followed)

    def read(self) -> Iterator[tuple[bytes | None, Place | None]]:
        """(a whole line, its end) as lines arrive; (None, None) if nothing arrived for a moment."""
        rest, offset = b"", 0 if self.start is None else self.start[0]
        arrivals = Arrivals(self._handle, BLOCK)
        try:
            while True:
                with self._interrupts.waiting():
                    arrived = arrivals.wait(PAUSE)
                block = arrivals.read() if arrived else None
                if block:
                    *lines, rest = (rest + block).split(b"\n")
                    for line in lines:
                        offset += len(line) + 1
                        yield line, self._place(line + b"\n", offset)
                    continue
                if block is not None:
                    if self.path == STDIN:
                        break
                    if self._again and os.fstat(self._handle).st_size < offset:
                        raise BadData(
                            f"{self.path} became shorter, so it is another file now; start following it again"
                        )
                    self.replaced = self._again and self._is_replaced()
                    if self.replaced:
                        break
                yield None, None
                if block is not None:
                    with self._interrupts.waiting():
                        time.sleep(PAUSE)
            if rest:
                yield rest, self._place(rest, offset + len(rest))
        finally:
            if self.path != STDIN:
                os.close(self._handle)

    def _place(self, line: bytes, offset: int) -> Place | None:
        if not self._again:
            return None
        self._hash.update(line)
        return offset, self._hash.copy().hexdigest()

    def _is_replaced(self) -> bool:
        """Whether there is another file at the path, and its writer has begun to write."""
        try:
            now = Path(self.path).stat()
        except OSError:
            return False
        return now.st_size > 0 and not os.path.samestat(now, os.fstat(self._handle))


def find_place(handle: int, followed: Followed) -> tuple[Place, Any]:
    """(the longest part of an open file that the model has learnt, its hash); the file is then read from there."""
    known = set(followed.places)
    place, learnt, reading, reached = START, hashlib.sha256(), hashlib.sha256(), 0
    for offset in sorted(offset for offset, _ in known if offset <= os.fstat(handle).st_size):
        while reached < offset:
            block = os.read(handle, min(BLOCK, offset - reached))
            if not block:
                break
            reading.update(block)
            reached += len(block)
        if (offset, reading.hexdigest()) in known:
            place, learnt = (offset, reading.hexdigest()), reading.copy()
    os.lseek(handle, place[0], os.SEEK_SET)
    return place, learnt
