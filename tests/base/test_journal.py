"""A journal keeps what was appended: no wrong row is accepted, and no row before damage is lost."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from unnaive.base.damage import DamagedRecord, RecordKind
from unnaive.base.errors import UnnaiveWarning
from unnaive.base.journal import Journal

KIND = RecordKind("a record of steps", "the results are as they were", "remove it to start again")
ROWS = [{"step": 1, "of": "a ball\n"}, {"step": 2, "value": 0.25, "of": "Größe"}, {"step": 3, "list": [1, None, "x"]}]


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "steps.jsonl", KIND)
    for row in ROWS:
        journal.append([row])
    return journal


def read_quietly(journal):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnnaiveWarning)
        return journal.read()


def test_rows_come_back_and_are_lines_of_json(journal):
    assert journal.read() == ROWS
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert [{name: value for name, value in line.items() if name != "crc32"} for line in lines] == ROWS
    assert Journal(journal.path.with_name("absent"), KIND).read() == []


@pytest.mark.slow
def test_cut_anywhere_the_complete_rows_stay_and_the_next_follows_them(journal):
    whole = journal.path.read_bytes()
    ends = [position for position, byte in enumerate(whole) if byte == 10]  # a row is complete without its line end
    for size in range(len(whole) + 1):
        journal.path.write_bytes(whole[:size])
        complete = sum(end <= size for end in ends)
        if size in {0, *ends, *(end + 1 for end in ends)}:
            assert journal.read() == ROWS[:complete]
        else:
            with pytest.warns(UnnaiveWarning, match=r"the last line of .*steps\.jsonl is incomplete and left out"):
                assert journal.read() == ROWS[:complete]
        journal.append([{"step": 9}])
        assert journal.read() == [*ROWS[:complete], {"step": 9}]


@pytest.mark.parametrize("change", [0x01, 0x20, 0x80, 0xFF], ids=hex)
def test_a_changed_byte_is_an_error_with_its_line_or_leaves_out_the_last_row(journal, change):
    whole = journal.path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= change
        journal.path.write_bytes(bytes(damaged))
        line = whole[:place].count(b"\n") + 1
        try:
            rows = read_quietly(journal)
        except DamagedRecord as problem:
            said = str(problem)
        else:  # only the end of the last line, or bytes that are the same JSON
            assert rows == ROWS or (rows == ROWS[:2] and place == len(whole) - 1)
            continue
        assert said == (
            f"{journal.path} is damaged, or not a record of steps (line {line} is not what was written); "
            "the results are as they were; remove it to start again"
        )


def test_a_killed_writer_leaves_complete_rows(tmp_path):
    path = tmp_path / "steps.jsonl"
    code = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from tests.base.test_journal import KIND\n"
        "from unnaive.base.journal import Journal\n"
        f"journal = Journal(Path({str(path)!r}), KIND)\n"
        "journal.append([{'step': 1}])\n"
        f"file = open({str(path)!r}, 'ab')\n"
        'file.write(b\'{"step": 2, "crc\'); file.flush()\n'
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    journal = Journal(path, KIND)
    assert read_quietly(journal) == [{"step": 1}]
    journal.append([{"step": 2}])
    assert journal.read() == [{"step": 1}, {"step": 2}]
