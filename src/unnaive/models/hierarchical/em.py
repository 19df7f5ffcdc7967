"""Expectation–maximisation from many random starts; the steps themselves are in em_to_class.py and em_from_class.py.

Most starts are poor and show it early: all starts run 1 iteration, the better half 2 more, the better half of these 4
more, and so on (Chickering and Heckerman 1997), so that 64 starts cost about as much as 6 runs of 64 iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.types import Floats

TINY = 1e-12  # probabilities stay in [TINY, 1 − TINY], so that no logarithm is infinite
SEEN = 1e-9  # a smaller expected count leaves the table unchanged

StartTables = list[Floats]  # probabilities, with an axis of starts in front; each step defines its tables

STOPPING = ("per-case", "absolute")


class EmProblem(Protocol):
    """The problem that EM solves. Tables have an axis of starts in front."""

    weight: float

    def start(self, random: np.random.Generator, n_starts: int) -> StartTables:
        """Random tables."""

    def step(self, tables: StartTables) -> tuple[StartTables, Floats]:
        """Tables after one iteration, and the log-likelihood (starts,) before it."""

    def log_likelihood(self, tables: StartTables) -> Floats:
        """The log-likelihood of each start (starts,)."""


@dataclass(frozen=True)
class EmSearch:
    """The search strategy of EM.

    restarts   random starts
    average    how many of them are run to the end and kept
    tol        a run ends when an iteration raises the log-likelihood by less than this
    stopping   "per-case": tol is per document; "absolute": in total, as in the thesis, which is almost never reached
    max_iter   maximum number of iterations
    """

    restarts: int = 64
    average: int = 1
    tol: float = 1e-4
    stopping: str = "per-case"
    max_iter: int = 1000

    def __post_init__(self) -> None:
        choose(list(STOPPING), self.stopping, "stopping rule")
        if not 1 <= self.average <= self.restarts:
            raise UnnaiveError(
                f"average is {self.average} and restarts is {self.restarts}; give an average of at least 1 and at most "
                "restarts"
            )
        if self.max_iter < 1 or not self.tol >= 0:
            raise UnnaiveError(
                f"max_iter is {self.max_iter} and tol is {self.tol}; give a max_iter of at least 1 "
                "and a non-negative tol"
            )

    def gains_too_little(self, gain: Floats, weight: float) -> Any:
        """Whether a gain in log-likelihood is too small to continue."""
        return gain < (self.tol * weight if self.stopping == "per-case" else self.tol)


def run_em(
    problem: EmProblem,
    search: EmSearch,
    random: np.random.Generator,
    progress: Callable[[int, Floats], None] | None = None,
) -> tuple[StartTables, Floats]:
    """The best `search.average` tables found, best first, with their log-likelihoods.

    `progress(iteration, log_likelihoods)` is called after every iteration.
    """
    report = progress or (lambda iteration, likelihoods: None)
    tables, done = problem.start(random, search.restarts), 0
    for iterations, keep in halving_rounds(search.restarts, search.average):
        for _ in range(iterations):
            tables, likelihoods = problem.step(tables)
            done += 1
            report(done, likelihoods)
        tables = _keep_best(tables, problem.log_likelihood(tables), keep)
    tables, likelihoods = _run_to_end(problem, tables, search, lambda count, values: report(done + count, values))
    order = np.argsort(-likelihoods, kind="stable")
    return [table[order] for table in tables], likelihoods[order]


def halving_rounds(starts: int, keep: int) -> Iterator[tuple[int, int]]:
    """Successive halving: the number of iterations, and the number of starts that continue after them.

    >>> list(halving_rounds(64, 1))
    [(1, 32), (2, 16), (4, 8), (8, 4), (16, 2), (32, 1)]
    """
    iterations = 1
    while starts > keep:
        starts = max(keep, (starts + 1) // 2)
        yield iterations, starts
        iterations *= 2


def _keep_best(tables: StartTables, likelihoods: Floats, keep: int) -> StartTables:
    order = np.sort(np.argsort(-likelihoods, kind="stable")[:keep])
    return [table[order] for table in tables]


def _run_to_end(
    problem: EmProblem, tables: StartTables, search: EmSearch, report: Callable[[int, Floats], None]
) -> tuple[StartTables, Floats]:
    """Run every start until it gains too little; finished starts are not changed."""
    finals = [table.copy() for table in tables]
    likelihoods = np.full(len(tables[0]), -np.inf)
    running = np.arange(len(likelihoods))
    for iteration in range(1, search.max_iter + 1):
        now = [table[running] for table in finals]
        better, before = problem.step(now)
        ended = search.gains_too_little(before - likelihoods[running], problem.weight)
        likelihoods[running] = before
        report(iteration, likelihoods)
        going = ~ended
        for final, table in zip(finals, better, strict=True):
            final[running[going]] = table[going]
        running = running[going]
        if not len(running):
            return finals, likelihoods
    likelihoods[running] = problem.log_likelihood([table[running] for table in finals])
    return finals, likelihoods
