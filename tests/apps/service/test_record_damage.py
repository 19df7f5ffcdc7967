"""A record that was damaged: what was acknowledged and is gone is told and counted, and what was changed is refused."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import warnings
from pathlib import Path

import pytest

from unnaive.apps.common.web.refused import Refused
from unnaive.apps.service.served import ServedModel
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.curation.teaching.changes import Change, Document
from unnaive.curation.teaching.teaching_log import TeachingRecord

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

TAUGHT = 15


def teach(served: ServedModel, number: int) -> None:
    served.change("teach", Change((Document(f"ball number{number}", ("sport",)),)))


@pytest.fixture
def crashed(small: Path, tmp_path: Path) -> Path:
    """The model and its record as a process leaves them that taught 15 documents and was killed."""
    served = ServedModel("small", small, teachable=True)
    for number in range(TAUGHT):
        teach(served, number)
    copies = tmp_path / "crashed"
    copies.mkdir()
    for path in small.parent.glob("small.model*"):
        shutil.copy(path, copies)
    served.close()
    assert (copies / "small.model.record-wal").stat().st_size > 10_000
    return copies / "small.model"


def beside(model: Path, ending: str) -> Path:
    return model.with_name(model.name + ending)


def open_quietly(model: Path) -> tuple[ServedModel, str]:
    """The model served again, and what was said at its start."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UnnaiveWarning)
        served = ServedModel("small", model, teachable=True)
    return served, " ".join(str(one.message) for one in said)


def documents_of(served: ServedModel) -> int:
    counts = served.version.fitted.counts
    assert counts is not None
    return int(counts.n_docs)


def test_nothing_is_said_of_a_sound_record(crashed: Path) -> None:
    served, said = open_quietly(crashed)
    assert said == ""
    assert documents_of(served) == 6 + TAUGHT
    served.close()
    assert open_quietly(crashed)[1] == ""


def test_lost_events_of_a_truncated_log_are_reported_and_counted(crashed: Path) -> None:
    log = beside(crashed, ".record-wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    served, said = open_quietly(crashed)
    left = documents_of(served) - 6
    assert 0 < left < TAUGHT
    lost = TAUGHT - left
    assert f"lost its last {lost} event{'s' if lost > 1 else ''}, numbers {left + 1} to {TAUGHT}" in said
    assert served.version.number == TAUGHT + 1  # numbers that were given are not given again
    teach(served, 99)
    with pytest.raises(Refused, match=f"version {left} cannot be restored: events before version {TAUGHT + 1} were"):
        served.roll_back(left)
    served.roll_back(TAUGHT + 1)
    assert documents_of(served) == 6 + left
    served.close()
    again, said = open_quietly(crashed)
    assert said == ""  # told once
    assert documents_of(again) == 6 + left
    again.close()


@pytest.mark.parametrize("ending", [".record", ".record-wal"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.slow
def test_no_damage_is_silent(crashed: Path, ending: str, seed: int) -> None:
    """Bits flipped, blocks of zeros, and cuts: what is left and what is said to be lost are all, or it is refused."""
    rng = random.Random(f"{ending} {seed}")
    path = beside(crashed, ending)
    raw = bytearray(path.read_bytes())
    place = rng.randrange(len(raw))
    if seed % 3 == 0:
        raw = raw[:place]
    elif seed % 3 == 1:
        raw[place] ^= 1 << rng.randrange(8)
    else:
        raw[place : place + 512] = bytes(len(raw[place : place + 512]))
    path.write_bytes(raw)
    try:
        served, said = open_quietly(crashed)
    except UnnaiveError as problem:
        sentence = str(problem)
    else:
        sentence = ""
    if sentence:
        assert "\n" not in sentence
        assert "small.model" in sentence
        return
    told = re.search(r"lost its last ([\d,]+) events?", said)
    lost = int(told.group(1)) if told else 0
    assert documents_of(served) - 6 + lost == TAUGHT
    served.close()


def test_an_event_that_was_changed_is_refused_and_the_remedy_works(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    for number in range(3):
        teach(served, number)
    served.close()
    record = beside(small, ".record")
    with sqlite3.connect(record) as data:
        data.execute("UPDATE documents SET text = 'vote' WHERE event = 2")
    data.close()
    words = (
        r"is damaged, or not the record of a served model \(1 of 3 events, the first of them number 2, is not what was "
        r"written\); the model file is as it was; restore the record from a backup"
    )
    with pytest.raises(UnnaiveError, match=words):
        ServedModel("small", small, teachable=True)
    record.rename(record.with_name("old"))
    again, said = open_quietly(small)
    assert "with its 3 events is missing, so a new record begins" in said
    assert documents_of(again) == 6 + 3  # they are in the model file
    teach(again, 7)
    again.close()
    assert open_quietly(small)[1] == ""


@pytest.mark.parametrize("change", ["DELETE FROM events WHERE id = 2", "DELETE FROM documents WHERE event = 3",
                                    "UPDATE events SET answer = '{}' WHERE id = 1",
                                    "UPDATE seals SET hash = 'x' WHERE event = 2",
                                    "DELETE FROM seals WHERE event = 3"])  # fmt: skip
def test_every_part_of_an_event_is_in_its_hash(small: Path, change: str) -> None:
    served = ServedModel("small", small, teachable=True)
    for number in range(3):
        teach(served, number)
    served.close()
    with sqlite3.connect(beside(small, ".record")) as data:
        data.execute(change)
    data.close()
    with pytest.raises(UnnaiveError, match="not what was written"):
        TeachingRecord(small)
    with sqlite3.connect(beside(small, ".record")) as data:  # nobody holds the lock
        assert data.execute("SELECT count(*) FROM folds").fetchone()[0] > 0
    data.close()


def test_events_that_the_model_file_has_are_not_lost(crashed: Path) -> None:
    """The log is cut after the model file was rewritten: the small file knows up to which event that goes."""
    served, _ = open_quietly(crashed)
    log = beside(crashed, ".record-wal").read_bytes()
    served.write_file()
    copies = {path: path.read_bytes() for path in crashed.parent.iterdir()}
    served.close()
    for path, content in copies.items():
        path.write_bytes(content)
    beside(crashed, ".record-wal").write_bytes(log[: len(log) // 2])
    again, said = open_quietly(crashed)
    assert f"those up to number {TAUGHT} are in the model file" in said
    assert documents_of(again) == 6 + TAUGHT
    again.close()


def test_a_record_whose_hashes_are_gone_is_refused(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    teach(served, 1)
    served.close()
    with sqlite3.connect(beside(small, ".record")) as data:
        data.execute("DROP TABLE seals")
    data.close()
    with pytest.raises(UnnaiveError, match=r"is damaged.*not what was written.*the model file is as it was; restore"):
        open_quietly(small)


def test_lines_of_the_small_file_that_were_cut_or_changed_are_passed_over(small: Path) -> None:
    served = ServedModel("small", small, teachable=True)
    teach(served, 1)
    served.close()
    last = beside(small, ".record.last")
    last.write_bytes(last.read_bytes() + b"event 900 0123456789abcdef 00000000\nevent 9")
    assert open_quietly(small)[1] == ""


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE folds SET event = 5 WHERE event = 8", "the events recorded for its model files"),  # 3 learnt twice
        ("UPDATE folds SET event = 12 WHERE event = 8", "the events recorded for its model files"),  # 4 never learnt
        ("DELETE FROM folds; DELETE FROM fold_seals", "the events recorded for its model files"),
        (
            "INSERT INTO documents VALUES (77, 77, 1, 'a ghost', '[\"sport\"]', NULL, NULL)",
            "it has documents without an event",
        ),
    ],
)
def test_what_would_be_learnt_twice_or_never_is_refused(small: Path, damage: str, sentence: str) -> None:
    served = ServedModel("small", small, teachable=True)
    for number in range(8):
        teach(served, number)
    served.write_file()
    teach(served, 8)
    assert served.record is not None
    served.record.close()
    with sqlite3.connect(beside(small, ".record")) as data:
        data.executescript(damage)
    with pytest.raises(UnnaiveError, match=rf"is damaged, or not .* \({sentence}.*restore the record from a backup"):
        ServedModel("small", small, teachable=True)
