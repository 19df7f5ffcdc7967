"""How far `auto` is, by estimated work: candidates of the search, then the members of the pool on all documents."""

from __future__ import annotations

from threading import Lock, get_ident

from unnaive.base.types import ProgressCallback


class WorkTeller:
    """Tells `progress` what is about to be done, how much work is behind it, and how much there is in all.

    >>> told = []
    >>> tell = WorkTeller(lambda name, details: told.append(details))
    >>> tell.expect(4.0)
    >>> tell("trying NB-SVM on words", 1.0)
    >>> tell("fitting NB-SVM on words", 3.0)
    >>> told[1]
    {'what': 'fitting NB-SVM on words', 'work': 1.0, 'total_work': 4.0}
    >>> tell.advance("fitting NB-SVM on words", 1.5)
    >>> told[2]["work"]
    2.5
    """

    def __init__(self, progress: ProgressCallback | None = None) -> None:
        self.progress, self.done, self.total, self._pending = progress, 0.0, 0.0, 0.0
        self._lock, self._thread = Lock(), get_ident()

    def expect(self, work: float) -> None:
        """So much work is to come; what was expected before is done, or will not be."""
        self.done += self._pending
        self._pending, self.total = 0.0, self.done + work

    def __call__(self, what: str, work: float = 0.0) -> None:
        """What is about to be done, and its work; that of what came before is done.

        Several threads work beside each other with `finish` instead; those but the first tell nothing.
        """
        with self._lock:
            self.done += self._pending
            self._pending = work
            done, total = self.done, max(self.total, self.done + work)
        if self.progress is not None and get_ident() == self._thread:
            self.progress("auto", {"what": what, "work": done, "total_work": total})

    def advance(self, what: str, work: float) -> None:
        """So much of the work of what is being done is done; it counts when it is finished."""
        with self._lock:
            done, total = self.done + work, max(self.total, self.done + work)
        if self.progress is not None and get_ident() == self._thread:
            self.progress("auto", {"what": what, "work": done, "total_work": total})

    def finish(self, work: float) -> None:
        """So much work is done, whatever is going on beside it."""
        with self._lock:
            self.done += work
