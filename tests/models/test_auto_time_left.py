"""The time that `auto` announces, on the measured seconds of training on 10,000, 100,000 and 1.2 million documents.

The seconds are processor time of benchmarks/auto_size.py at two threads, step by step. Every report of a training is
given to the progress line with a clock of our own, as the learner gives it.
"""

from dataclasses import dataclass

import pytest

from unnaive.apps.common import screen
from unnaive.learning.class_limits import DataSize
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.expected_work import LAST, ExpectedWork, first_estimate, fit_work, ordering_work
from unnaive.models.auto.plan import PREPARING, Size, make_plan
from unnaive.models.auto.views import CHARACTERS, PAIRS, WORDS
from unnaive.models.auto.work_teller import WorkTeller

THREADS = 2


@dataclass
class Measured:
    """Seconds of each step: `tried` of a view and family, of all its candidates; `fitted` in the last fit."""

    documents: int
    training: int
    cells: dict[str, int]
    ordering: float
    tried: dict[tuple[str, str], float]
    weighted: dict[str, float]
    fitted: dict[tuple[str, str], float]


TRAININGS = [
    Measured(
        10_000, 7_500, {WORDS: 351_627, PAIRS: 551_940, CHARACTERS: 5_365_208}, 1.22,
        {(WORDS, "complement"): 0.04, (WORDS, "maxent"): 0.25, (WORDS, "nbsvm"): 0.15, (WORDS, "svm"): 0.29,
         (PAIRS, "complement"): 0.06, (PAIRS, "maxent"): 0.6, (CHARACTERS, "complement"): 0.36,
         (CHARACTERS, "maxent"): 2.13},
        {WORDS: 0.07, PAIRS: 0.07, CHARACTERS: 0.14},
        {(WORDS, "complement"): 0.01, (WORDS, "maxent"): 0.06, (PAIRS, "complement"): 0.04, (PAIRS, "maxent"): 0.11,
         (CHARACTERS, "complement"): 0.22, (CHARACTERS, "maxent"): 0.45},
    ),
    Measured(
        100_000, 12_000, {WORDS: 3_501_730, PAIRS: 6_589_972, CHARACTERS: 55_403_064}, 14.0,
        {(WORDS, "complement"): 0.04, (WORDS, "maxent"): 0.15, (WORDS, "nbsvm"): 0.27, (PAIRS, "complement"): 0.07,
         (PAIRS, "maxent"): 0.49, (CHARACTERS, "complement"): 0.25, (CHARACTERS, "maxent"): 3.05},
        {WORDS: 0.06, PAIRS: 0.25, CHARACTERS: 1.5},
        {(WORDS, "complement"): 0.05, (WORDS, "maxent"): 1.6, (PAIRS, "complement"): 0.2, (PAIRS, "maxent"): 3.85,
         (CHARACTERS, "complement"): 0.76, (CHARACTERS, "maxent"): 5.14},
    ),
    Measured(
        1_200_000, 96_000, {WORDS: 41_974_629}, 11.4,
        {(WORDS, "complement"): 0.4, (WORDS, "maxent"): 2.7, (WORDS, "nbsvm"): 4.2},
        {WORDS: 1.6},
        {(WORDS, "nbsvm"): 28.0, (WORDS, "maxent"): 1.0},  # the softmax goes on beside the NB-SVM
    ),
]  # fmt: skip


class Clock:
    """A clock that stands still until it is told; it asks the line how long it will go on as it moves."""

    def __init__(self, monkeypatch):
        self.now, self.told = 0.0, []
        monkeypatch.setattr(screen.time, "monotonic", lambda: self.now)
        self.line = screen.Progress("learning", in_logs=False)

    def pass_by(self, seconds):
        for _ in range(4):
            self.now += seconds / 4
            self.told.append((self.now, self.line.estimate_left()))


def replay(clock, measured, slower=1.0):
    """All reports of a training, whose steps take so many times as long as measured."""
    cells, n_docs, n_classes = measured.cells, measured.documents, 20
    size = Size(n_docs, n_classes, cells)
    n_cells = cells.get(CHARACTERS, 0) + cells.get(PAIRS, cells[WORDS])
    plan = make_plan(size, "normal")
    shape = DataSize(n_docs, 1_000, n_cells, n_classes)
    ordering, total = first_estimate(shape, "normal", THREADS, reads_characters=CHARACTERS in cells)
    clock.line.event("auto", {"what": "", "work": 0.0, "total_work": total, "pending": ordering})
    clock.pass_by(slower * measured.ordering)
    tell = WorkTeller(clock.line.event, ordering_work(n_cells))
    expected = ExpectedWork(size, measured.training, (2_500,), THREADS)
    tell.expect(expected.rest(plan, plan.views, plan.candidates))
    for number, view in enumerate(plan.views):
        tried = [one for one in plan.candidates if (view, one.family) in measured.tried]
        if number:
            tell.expect(expected.rest(plan, plan.views[number:], tried))
        for one in tried:
            share = sum(other.family == one.family for other in tried)
            tell("trying", expected.candidate(view, one.family) + expected.preparing(view) / len(plan.candidates))
            clock.pass_by(slower * measured.tried[view, one.family] / share)
    work = {
        (view, family): fit_work(
            view, family, cells[view], n_classes, LAST, THREADS, beside=(view, "nbsvm") in measured.fitted
        )
        for view, family in measured.fitted
    }
    weighting = {view: PREPARING * cells[view] / 1e9 for view in measured.weighted}
    tell.expect(sum(work.values()) + sum(weighting.values()))
    for view in measured.weighted:
        tell.begin("weighting", weighting[view])
        clock.pass_by(slower * measured.weighted[view])
        tell.finish(weighting[view])
        for (own, family), seconds in measured.fitted.items():
            if own == view:
                tell.begin("fitting", work[own, family])
                clock.pass_by(slower * seconds)
                tell.finish(work[own, family])


@pytest.mark.parametrize("measured", TRAININGS, ids=lambda one: f"{one.documents:,}")
def test_the_announced_end_is_kept_within_one_and_a_half(measured, monkeypatch):
    """At every quarter of every step, what is announced to be left and what is behind are near the whole."""
    clock = Clock(monkeypatch)
    replay(clock, measured)
    ends = [(now + left) / clock.now for now, left in clock.told]
    assert max(ends) < 1.5
    assert min(ends) > 1 / 1.5


@pytest.mark.parametrize("measured", TRAININGS, ids=lambda one: f"{one.documents:,}")
def test_a_slow_machine_is_noticed(measured, monkeypatch):
    """With steps that take four times as long, the end is near what was announced from a third of the way on."""
    clock = Clock(monkeypatch)
    replay(clock, measured, slower=4.0)
    ends = [(now + left) / clock.now for now, left in clock.told if now > clock.now / 3]
    assert max(ends) < 1.5
    assert min(ends) > 1 / 1.5


def test_reports_that_tell_nothing_new_do_not_stop_the_clock(monkeypatch):
    """A solver reports every pass; while its share stands still, what is left goes on falling."""
    clock = Clock(monkeypatch)
    same = {"what": "fitting", "work": 10.0, "total_work": 30.0, "pending": 20.0}
    clock.line.event("auto", {"what": "before", "work": 0.0, "total_work": 30.0, "pending": 10.0})
    clock.pass_by(10.0)
    for _ in range(5):
        clock.line.event("auto", same)
        clock.pass_by(2.0)
    assert clock.told[-1] == (20.0, pytest.approx(10.0))


def test_work_follows_the_plan():
    """Twice the cells are twice the work, and solvers of a sample learn from that alone."""
    half, whole = (Size(100_000, 5, {WORDS: n}) for n in (10**6, 2 * 10**6))
    candidates = [Candidate("nbsvm", (0.3,)), Candidate("complement", (0.1,))]
    assert ExpectedWork(whole, 6_000, (2_500,)).search(WORDS, candidates) == pytest.approx(
        2 * ExpectedWork(half, 6_000, (2_500,)).search(WORDS, candidates)
    )
    families = ["complement", "nbsvm"]
    full, sampled = (ExpectedWork(whole, 6_000, (2_500,)).last_fit(WORDS, families, n) for n in (None, 25_000))
    nbsvm = fit_work(WORDS, "nbsvm", 2 * 10**6, 5, LAST)
    assert full - sampled == pytest.approx(0.75 * nbsvm)
