"""The time that `auto` announces, on the measured seconds of training on 10,000, 100,000 and 1.2 million documents.

The seconds are processor time of benchmarks/auto_size.py at two threads, step by step. Every report of a training is
given to the progress line with a clock of our own, as the learner gives it.
"""

from dataclasses import dataclass

import pytest

from unnaive.apps.common import progress_bar
from unnaive.models.auto.plan import Size, fitting_work, make_plan
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.views import CHARACTERS, PAIRS, WORDS


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
        monkeypatch.setattr(progress_bar.time, "monotonic", lambda: self.now)
        self.line = progress_bar.Progress("learning", in_logs=False)

    def pass_by(self, seconds):
        for _ in range(4):
            self.now += seconds / 4
            self.told.append((self.now, self.line.estimate_left()))


def replay(clock, measured, slower=1.0):
    """All reports of a training, whose steps take so many times as long as measured."""
    cells, n_docs, n_classes = measured.cells, measured.documents, 20
    size = Size(n_docs, n_classes, cells)
    plan = make_plan(size, "normal")
    clock.line.rename("learning")  # sorting documents reports nothing
    clock.now += slower * measured.ordering
    tell = Steps(clock.line.event)
    for number, view in enumerate(plan.views):
        tried = [one for one in plan.candidates if (view, one.family) in measured.tried]
        searching = sum(
            plan.search_cost(size, other, tried if number else plan.candidates) for other in plan.views[number:]
        )
        tell.expect(searching + sum(plan.refit_cost(size, other) for other in plan.views))
        for one in tried:
            share = sum(other.family == one.family for other in tried)
            tell("trying", plan.search_cost(size, view, [one]) / plan.n_judged)
            clock.pass_by(slower * measured.tried[view, one.family] / share)
    seconds: dict[str, float] = dict(measured.weighted)
    for (view, _), took in measured.fitted.items():
        seconds[view] += took
    work = {view: fitting_work(cells[view], n_classes, [family for own, family in measured.fitted if own == view])
            for view in seconds}  # fmt: skip
    tell.expect(sum(work.values()))
    for view, took in seconds.items():
        tell("fitting", work[view])
        clock.pass_by(slower * took)


@pytest.mark.parametrize("measured", TRAININGS, ids=lambda one: f"{one.documents:,}")
def test_the_announced_end_is_kept_within_one_and_a_half(measured, monkeypatch):
    """At every quarter of every step, what is announced to be left and what is behind are near the whole.

    Plans leave a margin of work, so a training of six seconds may be announced with fourteen.
    """
    most = 2.25 if measured.documents == 10_000 else 1.5
    clock = Clock(monkeypatch)
    replay(clock, measured)
    ends = [(now + left) / clock.now for now, left in clock.told]
    assert max(ends) < most
    assert min(ends) > 1 / 1.5


@pytest.mark.parametrize("measured", TRAININGS, ids=lambda one: f"{one.documents:,}")
def test_a_slow_machine_is_noticed(measured, monkeypatch):
    """With steps that take four times as long, the end is near what was announced from a third of the way on."""
    clock = Clock(monkeypatch)
    replay(clock, measured, slower=4.0)
    ends = [(now + left) / clock.now for now, left in clock.told if now > clock.now / 3]
    assert max(ends) < 1.5
    assert min(ends) > 1 / 1.7


def test_reports_that_tell_nothing_new_do_not_stop_the_clock(monkeypatch):
    """A solver reports every pass; while its share stands still, what is left goes on falling."""
    clock = Clock(monkeypatch)
    same = {"what": "fitting", "work": 10.0, "total_work": 30.0, "pending": 20.0}
    clock.line.event("auto", {"what": "before", "work": 0.0, "total_work": 30.0, "pending": 10.0})
    clock.pass_by(10.0)
    for _ in range(5):
        clock.line.event("auto", same)
        clock.pass_by(2.0)
    pace = (10.0 + 0.5 * 3.0) / (10.0 + 3.0)  # half a second for a unit counts as a tenth of the whole
    assert clock.told[-1] == (20.0, pytest.approx(20.0 * pace - 10.0))
