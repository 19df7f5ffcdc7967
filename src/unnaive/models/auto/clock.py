"""The clock of a search whose budget is in seconds: what may still be tried, by the times measured so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from unnaive.base.work_start import work_start
from unnaive.models.auto.members import FAMILIES

SHARE = 0.8  # of the budget that is planned with; writing the model takes some, and estimates err
POOLING = 5e-6  # seconds for each held-out score of a view: temperatures, pools, and what they get right


@dataclass
class ViewClock:
    """What the search on one view has taken, and what it may.

    allotted  seconds for the view: its search, and training what was chosen on all documents
    rounds    how many splits every candidate is fitted on; times are measured on the first
    scale     documents in all for each that a candidate is fitted on while searching
    """

    allotted: float
    rounds: int
    scale: float
    preparing: float = 0.0
    fitting: float = 0.0
    families: dict[str, float] = field(default_factory=dict)  # the longest fit of each
    shortest: dict[str, float] = field(default_factory=dict)  # the first of a view sums what all others use too

    def allows(self, family: str) -> bool:
        """Whether one more candidate fits, with all rounds of those before and with training on all documents."""
        if not self.families:
            return True  # a view without a candidate is none
        expected = self.expected(family)
        search = self.rounds * (self.preparing + self.fitting + expected)
        return search + self.reserve({family: expected}) <= self.allotted

    def expected(self, family: str) -> float:
        """Seconds of a fit of the family: the longest so far, else by the pace of the slowest other one."""
        pace = max((seconds / FAMILIES[one].cost for one, seconds in self.shortest.items()), default=0.0)
        return self.families.get(family, pace * FAMILIES[family].cost)

    def record(self, family: str, seconds: float) -> None:
        """A candidate was fitted and judged on the first split."""
        self.fitting += seconds
        self.families[family] = max(seconds, self.families.get(family, 0.0))
        self.shortest[family] = min(seconds, self.shortest.get(family, seconds))

    def reserve(self, more: dict[str, float] | None = None) -> float:
        """Seconds of training a member of every family on all documents."""
        longest = {**self.families, **{name: max(t, self.families.get(name, 0.0)) for name, t in (more or {}).items()}}
        return self.scale * (self.preparing + sum(longest.values()))


class Clock:
    """Seconds that are left of a budget, of which every view gets a share by its cells.

    >>> clock = Clock(10.0, now=lambda: 0.0)
    >>> clock.start_view(1, 3, rounds=1, scale=2.0).allotted  # a view with a quarter of the cells that are to come
    2.0
    """

    def __init__(
        self, seconds: float, *, began: float | None = None, now: Callable[[], float] = time.perf_counter
    ) -> None:
        self.now, self.views, self.pooling = now, list[ViewClock](), 0.0
        start = began if began is not None else now()
        self.end = start + SHARE * seconds

    @classmethod
    def of_work(cls, seconds: float) -> Clock:
        """The clock of a budget that counts from where the work began (`work_begins`), else from now."""
        return cls(seconds, began=work_start())

    def expect_pooling(self, n_scores: int) -> None:
        """So many held-out scores, in all views, are to be pooled when the search is over."""
        import scipy.optimize  # noqa: F401  # a tenth of a second that pooling would take, and that is spent now

        self.pooling = POOLING * n_scores

    def left(self) -> float:
        """Seconds until the budget is spent, without those of pooling and of training what was chosen."""
        return max(0.0, self.end - self.now() - self.pooling - sum(view.reserve() for view in self.views))

    def start_view(self, cells: int, later: int, *, rounds: int, scale: float) -> ViewClock:
        """The share of a view with so many cells, of what it and the views after it have."""
        view = ViewClock(self.left() * cells / max(1, cells + later), rounds, scale)
        self.views.append(view)
        return view

    def is_short(self, cells: int, later: int, done: list[int]) -> bool:
        """Whether not even the cheapest candidate of a view fits, going by the views before, with `done` cells."""
        least = [one.rounds * (one.preparing + min(one.families.values())) + one.scale * one.preparing
                 for one in self.views if one.families]  # fmt: skip
        pace = sum(least) / max(1, sum(done))
        return pace * cells > self.left() * cells / max(1, cells + later)
