"""A damaged record of labels is one sentence, and the command that it names saves what can still be read."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unnaive.base.errors import BadData, UnnaiveError
from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.curation.labelling.recover import Recovered, recover_record
from unnaive.text.field import read_fields

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

TEXTS = [f"text number {number} about {'balls' if number % 2 else 'votes'} " + "word " * 40 for number in range(300)]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labels.db"
    record = LabelRecord.create(path, TEXTS, classes=["sport", "politics"])
    for number in range(120):
        record.add("ann", "label", number, ["sport" if number % 2 else "politics"])
    record.undo("ann")
    record.close()
    return path


def damage(path: Path, change: str) -> None:
    with sqlite3.connect(path) as data:
        data.execute("PRAGMA ignore_check_constraints = 1")
        data.execute(change)
    data.close()


def test_of_a_sound_record_all_is_recovered(labelled: Path, tmp_path: Path) -> None:
    assert recover_record(labelled, tmp_path / "new.db") == Recovered(300, 121, 0, 0)
    old, new = LabelRecord(labelled), LabelRecord(tmp_path / "new.db")
    assert new.texts() == old.texts()
    assert new.decisions() == old.decisions()
    assert (new.final(), new.classes(), len(new.final())) == (old.final(), old.classes(), 119)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.slow
def test_damaged_pages_are_one_sentence_and_the_rest_is_saved(labelled: Path, tmp_path: Path, seed: int) -> None:
    rng, raw = random.Random(seed), bytearray(labelled.read_bytes())
    whole = LabelRecord(labelled)
    before = whole.texts()
    whole.close()
    page = 4096 * rng.randrange(10, len(raw) // 4096)  # the first are roots of tables: all is lost with one
    raw[page : page + 4096] = rng.randbytes(4096)
    labelled.write_bytes(raw)
    with pytest.raises(
        BadData,
        match=r"labels.db is damaged, .* \(.*\); nothing was changed; restore it .*, or save .*recover",
    ):
        LabelRecord(labelled)
    found = recover_record(labelled, tmp_path / "new.db")
    assert found.texts + found.lost_texts == 300
    assert found.texts >= 200
    saved = LabelRecord(tmp_path / "new.db")
    assert set(saved.texts()) <= set(before)
    assert len(saved.decisions()) == found.decisions


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE decisions SET labels = '[' WHERE id = 3",
        "UPDATE decisions SET labels = '{}' WHERE id = 3",
        "UPDATE decisions SET kind = 'lebal' WHERE id = 3",
        "UPDATE decisions SET text = 900 WHERE id = 3",
        "DELETE FROM texts WHERE id = 7",
        "UPDATE texts SET text = CAST(x'ff41' AS TEXT) WHERE id = 4",
        "UPDATE labelling SET value = '2' WHERE name = 'multilabel'",
        "UPDATE labelling SET value = '{' WHERE name = 'classes'",
        "DELETE FROM labelling WHERE name = 'classes'",
    ],
)
@pytest.mark.slow
def test_what_no_record_holds_is_refused(labelled: Path, tmp_path: Path, change: str) -> None:
    damage(labelled, change)
    with pytest.raises(BadData, match="is damaged") as problem:
        LabelRecord(labelled)
    assert "\n" not in str(problem.value)
    recover_record(labelled, tmp_path / "new.db")
    LabelRecord(tmp_path / "new.db").close()


@pytest.mark.parametrize(
    ("change", "told", "texts", "decisions"),
    [
        ("UPDATE texts SET text = replace(text, 'balls', 'calls') WHERE id = 3", "1 of 300 texts", 299, 120),
        ("UPDATE decisions SET labels = '[\"spoqt\"]' WHERE id = 3", "1 of 121 decisions", 300, 120),
        ("UPDATE decisions SET text = 5 WHERE id = 3", "1 of 121 decisions", 300, 120),
        ("DELETE FROM decisions WHERE id = 121", "1 of 121 decisions", 300, 120),
        ("UPDATE labelling SET value = '1' WHERE name = 'multilabel'", "settings", 300, 121),
    ],
)
def test_a_row_that_changed_is_told_and_left_out(labelled, tmp_path, change, told, texts, decisions):  # type: ignore[no-untyped-def]
    """A bit that flips inside of a text or a label leaves the file sound for SQLite."""
    damage(labelled, change)
    with pytest.raises(
        BadData, match=rf"labels.db is damaged, .* \(not what was written: {told}\); nothing was changed; restore it"
    ):
        LabelRecord(labelled)
    found = recover_record(labelled, tmp_path / "new.db")
    assert (found.texts, found.decisions) == (texts, decisions)
    LabelRecord(tmp_path / "new.db").close()


def test_the_command_that_the_sentence_names_works(labelled: Path, tmp_path: Path, run: Callable[..., object]) -> None:
    damage(labelled, "UPDATE decisions SET labels = '[' WHERE id = 3")
    code, _, err = run("label", "status", labelled)  # type: ignore[misc]
    assert code == 2
    words = " ".join(err.split()).partition("read with: python ")[2].split()
    assert words[:2] == ["-m", "unnaive.curation.labelling.recover"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "recovered 300 texts and 120 decisions; 0 texts and 1 decision could not be read\n"
    assert LabelRecord(tmp_path / "NEW.db").final()[1] == ("sport",)
    again = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)


def test_a_file_of_which_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "labels.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(5000))
    with pytest.raises(UnnaiveError, match="restore it from a copy"):
        LabelRecord(path)
    with pytest.raises(UnnaiveError, match="restore it from a copy"):
        recover_record(path, tmp_path / "new.db")


def test_language_and_fields_are_recovered(tmp_path: Path) -> None:
    fields = read_fields({"subject": "text", "product": "category"})
    old = LabelRecord.create(tmp_path / "old.db", ["a", "b"], classes=["x"], language="tr", fields=fields)
    old.close()
    recover_record(tmp_path / "old.db", tmp_path / "new.db")
    new = LabelRecord(tmp_path / "new.db")
    assert (new.setting("language"), new.fields(), new.classes()) == ("tr", fields, ["x"])
