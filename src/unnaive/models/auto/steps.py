"""Progress of `auto`: the steps of the search and of the last fit, each with its work as plan.py estimates it."""

from __future__ import annotations

from unnaive.base.types import ProgressCallback


class Steps:
    """Calls `progress` with each step, its work (`pending`), the work done before it, and the total work.

    >>> told = []
    >>> start = Steps(lambda name, details: told.append(details))
    >>> start.expect(4.0)
    >>> start("trying NB-SVM on words", 1.0)
    >>> start("fitting words", 3.0)
    >>> told[1]
    {'what': 'fitting words', 'work': 1.0, 'total_work': 4.0, 'pending': 3.0}
    """

    def __init__(self, progress: ProgressCallback | None = None) -> None:
        self.progress, self.done, self.total, self.pending = progress, 0.0, 0.0, 0.0

    def expect(self, work: float) -> None:
        """Set the remaining work; steps that were expected before are done or dropped."""
        self.done += self.pending
        self.pending, self.total = 0.0, self.done + work

    def __call__(self, what: str, work: float) -> None:
        """Start a step; the one before it is done."""
        self.done += self.pending
        self.pending = work
        if self.progress is not None:
            total = max(self.total, self.done + work)
            self.progress("auto", {"what": what, "work": self.done, "total_work": total, "pending": work})
