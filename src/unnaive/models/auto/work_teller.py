"""Progress of `auto` by estimated work: candidates of the search, then the members of the pool on all documents."""

from __future__ import annotations

from threading import Lock, get_ident

from unnaive.base.types import ProgressCallback


class WorkTeller:
    """Calls `progress` with the next step, its work (`pending`), the work done so far and the total work.

    Work is in processor seconds, as estimated by expected_work.py; `done` is the work done before the first call.

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
        """Set the remaining work; work that was expected before is done or dropped."""
        self.done += self._pending
        self._pending, self.total = 0.0, self.done + work

    def __call__(self, what: str, work: float = 0.0) -> None:
        """Start the step `what`, which takes `work`; the step before it is done."""
        with self._lock:
            self.done += self._pending
            self._pending = work
        self._tell(what, 0.0, work)

    def begin(self, what: str, work: float) -> None:
        """Start a step in parallel with other threads; it ends with `finish`."""
        self._tell(what, 0.0, work)

    def advance(self, what: str, done: float, work: float) -> None:
        """Report that `done` of the `work` of a running step is done; it is only added up by `finish`."""
        self._tell(what, done, work)

    def finish(self, work: float) -> None:
        """Add `work` to the work done."""
        with self._lock:
            self.done += work

    def _tell(self, what: str, part: float, work: float) -> None:
        """Call `progress` from the first thread only."""
        if self.progress is None or get_ident() != self._thread:
            return
        with self._lock:
            done, total = self.done + part, max(self.total, self.done + work)
        self.progress("auto", {"what": what, "work": done, "total_work": total, "pending": max(work - part, 0.0)})
