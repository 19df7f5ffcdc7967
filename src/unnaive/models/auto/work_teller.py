"""How far `auto` is, by estimated work: candidates of the search, then the members of the pool on all documents."""

from __future__ import annotations

from threading import Lock, get_ident

from unnaive.base.types import ProgressCallback


class WorkTeller:
    """Tells `progress` what is about to be done, its work (`pending`), how much is behind it, and how much in all.

    Work is in processor seconds, as expected_work.py estimates them; `done` is behind it before anything is told.

    >>> told = []
    >>> tell = WorkTeller(lambda name, details: told.append(details))
    >>> tell.expect(4.0)
    >>> tell("trying NB-SVM on words", 1.0)
    >>> tell("fitting NB-SVM on words", 3.0)
    >>> told[1]
    {'what': 'fitting NB-SVM on words', 'work': 1.0, 'total_work': 4.0, 'pending': 3.0}
    >>> tell.advance("fitting NB-SVM on words", 1.5, 3.0)
    >>> told[2]["work"], told[2]["pending"]
    (2.5, 1.5)
    """

    def __init__(self, progress: ProgressCallback | None = None, done: float = 0.0) -> None:
        self.progress, self.done, self.total, self._pending = progress, done, 0.0, 0.0
        self._lock, self._thread = Lock(), get_ident()

    def expect(self, work: float) -> None:
        """So much work is to come; what was expected before is done, or will not be."""
        self.done += self._pending
        self._pending, self.total = 0.0, self.done + work

    def __call__(self, what: str, work: float = 0.0) -> None:
        """What is about to be done, and its work; that of what came before is done."""
        with self._lock:
            self.done += self._pending
            self._pending = work
        self._tell(what, 0.0, work)

    def begin(self, what: str, work: float) -> None:
        """What is about to be done beside other threads: it is done when `finish` says so."""
        self._tell(what, 0.0, work)

    def advance(self, what: str, done: float, work: float) -> None:
        """So much of the work of what is being done is done; it counts when it is finished."""
        self._tell(what, done, work)

    def finish(self, work: float) -> None:
        """So much work is done, whatever is going on beside it."""
        with self._lock:
            self.done += work

    def _tell(self, what: str, part: float, work: float) -> None:
        """Of several threads that work beside each other, all but the first tell nothing."""
        if self.progress is None or get_ident() != self._thread:
            return
        with self._lock:
            done, total = self.done + part, max(self.total, self.done + work)
        self.progress("auto", {"what": what, "work": done, "total_work": total, "pending": max(work - part, 0.0)})
