"""What a workflow reports while it works: steps, progress and notes, as events of one callback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.base.types import ProgressCallback
    from unnaive.io.datafiles import DataFile


class Feedback:
    """Passes events to a callback, if there is one, and keeps the notes for the result.

    The callback gets the name of an event and its details: "step" (title, total, steps), "advance" (amount, of the
    total), "note" and "read" (sentence), and the events of learners, such as "tuning".

    >>> feedback = Feedback(lambda name, details: print(name, details))
    >>> feedback.note("the texts are e-mail messages")
    note {'sentence': 'the texts are e-mail messages'}
    >>> feedback.notes
    ['the texts are e-mail messages']
    """

    def __init__(self, progress: ProgressCallback | None = None) -> None:
        self._progress = progress
        self.notes: list[str] = []

    def event(self, name: str, details: dict[str, Any]) -> None:
        """Pass on an event; learners call this."""
        if self._progress is not None:
            self._progress(name, details)

    def note(self, sentence: str) -> None:
        """A remark for people, which the result has too."""
        self.notes.append(sentence)
        self.event("note", {"sentence": sentence})

    def read(self, source: DataFile) -> None:
        """What was read: the columns, the header, the number of rows."""
        self.event("read", {"sentence": source.describe()})

    def step(self, title: str, total: float | None = None, *, steps: int | None = None) -> None:
        """Begin a step, the first of `steps` if that is given; `total` is the sum of its advances, if known."""
        self.event("step", {"title": title, "total": total, "steps": steps})

    def advance(self, amount: float) -> None:
        """Report progress of the step."""
        self.event("advance", {"amount": amount})

    def reading(self, source: DataFile, title: str = "reading", *, steps: int | None = None) -> DataFile:
        """Begin a step that reads a source; returns the source, which reports the bytes that it reads."""
        files = [Path(path) for path in source.files()]
        total = sum(path.stat().st_size for path in files) if all(path.is_file() for path in files) else None
        self.step(title, total, steps=steps)
        return replace(source, options=replace(source.options, on_read=self.advance))
