"""A small part of `make attack`: nothing crashes, nothing is lost."""

import os
import shutil
import signal
from importlib.util import find_spec

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
    if name == "spark" and (find_spec("pyspark") is None or shutil.which("java") is None):
        pytest.skip("pyspark or Java is not installed")
    tally = suite.ATTACKS[name](suite.SMALL)
    assert tally.tried > 0
    assert tally.sound, "\n".join(tally.notes[:20])


@pytest.mark.slow
def test_a_crash_is_counted_and_the_rest_goes_on():
    def work(item):
        if item == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        if item == 5:
            raise KeyError("odd")
        if item == 7:
            raise AssertionError("another label")
        if item == 8:
            signal.pause()
        while item == 6:
            pass
        return ("refused" if item % 2 else "survived"), ""

    tally = run_forked("", work, range(10), seconds=1)
    assert (tally.tried, tally.refused, tally.survived, tally.crashed) == (10, 2, 3, 2)
    assert (tally.wrong, tally.hung, tally.sound) == (1, 2, False)
    assert any("SIGSEGV" in note for note in tally.notes)
