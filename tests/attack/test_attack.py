"""A small part of `make attack`: nothing crashes, nothing is lost."""

import importlib
import os
import shutil
import signal
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest
import suite
from forks import Tally, run_forked

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


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """tools/attack.py with a page and kept parts of its own."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    tool = importlib.import_module("attack")
    page = tmp_path / "SECURITY.md"
    page.write_text("before\n<!-- written by tools/attack.py -->\n<!-- end -->\nafter\n")
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(tool, "KEPT", tmp_path / "attack.json")
    return tool


def test_what_failed_is_in_the_table_until_it_is_run_again(tool, monkeypatch):
    ends = [Tally("words made to collide", tried=9, survived=8, hung=1), Tally("words made to collide", 9, survived=9)]
    monkeypatch.setattr(tool.suite, "run_part", lambda *_: ends.pop(0))
    for row in ("| 9 | 0 | 8 | 0 | 1 | 0 | 0 |", "| 9 | 0 | 9 | 0 | 0 | 0 | 0 |", "| 9 | 0 | 9 | 0 | 0 | 0 | 0 |"):
        tool.Progress().run("hash 1/1", "hash", suite.WHOLE, 0)  # the third time it is not run
        assert tool.write_page(tool.Progress()) == 0
        assert f"| words made to collide {row}" in tool.PAGE.read_text()
    assert not ends


def test_the_table_says_what_was_not_run(tool):
    of = suite.parts_of("sequences", suite.WHOLE)
    kept = asdict(Tally("sequences of verbs", tried=100, survived=100)) | {"seconds": 60.0, "day": "2026-01-02"}
    for key in (f"sequences 1/{of}", f"sequences 2/{of}", "sequences 1/7", "sequences small 1/1"):  # two do not count
        tool.keep_part(key, kept)
    assert tool.write_page(tool.Progress()) == 0
    written = tool.PAGE.read_text()
    assert "Run on 2026-01-02, by parts:" in written
    assert "| sequences of verbs | 200 | 0 | 200 | 0 | 0 | 0 | 0 | 2.0 |" in written
    told = " ".join(written.split())  # in lines of any length
    assert f"sequences (2 of {of})" in told
    assert "service (0 of 1)" in told
    assert written.startswith("before\n")
    assert written.endswith("after\n")


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
