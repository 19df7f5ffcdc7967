"""A small part of `make attack`: nothing crashes, nothing is lost."""

import os
import signal

import pytest
import suite
from forks import run_forked

from unnaive.text.backend import BACKEND

NATIVE_ONLY = ("texts", "hash")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(suite.ATTACKS))
def test_nothing_crashes_and_nothing_is_lost(name):
    if name in NATIVE_ONLY and BACKEND != "native":
        pytest.skip("the kernel is not built")
    tally = suite.ATTACKS[name](suite.SMALL)
    assert tally.tried > 0
    assert tally.sound, "\n".join(tally.notes[:20])


def test_a_crash_is_counted_and_the_rest_goes_on():
    def work(item):
        if item == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if item == 5:
            raise KeyError("odd")
        return ("refused" if item % 2 else "survived"), ""

    tally = run_forked("", work, range(10))
    assert (tally.tried, tally.refused, tally.survived, tally.crashed) == (10, 3, 5, 2)
    assert any("SIGSEGV" in note for note in tally.notes)
