"""`unnaive label --terminal` with keys on stdin, as a person would press them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.curation.labelling.label_log import LabelRecord

pytestmark = pytest.mark.slow  # `make quick` has fewer of these; `make test` runs all

TEXTS = ["good ball", "fair vote", "ball game", "vote count", "goal", "law"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text("text\n" + "".join(f"{one}\n" for one in TEXTS))
    return path


def label(*arguments: object, keys: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "unnaive", "label", *map(str, arguments)], input=keys, capture_output=True, text=True,
        env=os.environ | {"COLUMNS": "100"}, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def decisions(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    record = LabelRecord(path)
    found = [(one.kind, one.labels) for one in record.decisions()]
    record.close()
    return found


def test_every_key(texts: Path, tmp_path: Path) -> None:
    db = tmp_path / "labels.db"
    keys = "nsport\nnlaw\n" + "1" + "x\n" + " " + "f" + "\x7f" + "z" + "/nowhere\n" + ":la\n" + "q"
    done = label(texts, "-o", db, "--terminal", "--who", "ann", keys=keys)
    found = decisions(db)
    assert found[:5] == [
        ("class", ("sport",)), ("label", ("sport",)), ("class", ("law",)), ("label", ("law",)), ("label", ("sport",)),
    ]  # fmt: skip
    assert [kind for kind, _ in found[5:]] == ["reject", "label", "skip", "flag", "undo", "label"]
    assert {found[5][1][0], found[6][1][0]} == {"sport", "law"}  # the other one is suggested after a rejection
    assert found[-1] == ("label", ("law",))
    assert "the key 'z' does nothing" in done.stdout
    assert "no text contains all of: nowhere" in done.stdout
    assert "all texts are done but 1 that you skipped" in done.stdout
    assert "next: unnaive train" in done.stdout


def test_a_class_spelt_alike_is_asked_about_and_added_if_it_is_named_again(texts: Path, tmp_path: Path) -> None:
    db = tmp_path / "labels.db"
    done = label(texts, "-o", db, "--terminal", keys="nsport\nnSport\nnSport\nq")
    assert "'Sport' is spelt much like the class 'sport'; add it again" in done.stdout
    assert [labels for kind, labels in decisions(db) if kind == "class"] == [("sport",), ("Sport",)]


def test_the_only_class_has_no_probability_and_more_of_nothing_is_a_sentence(texts: Path, tmp_path: Path) -> None:
    done = label(texts, "-o", tmp_path / "labels.db", "--terminal", "--who", "ann", keys="mnsport\na q")
    assert "there is no suggestion yet, so similar texts cannot be searched" in done.stdout
    assert "1 sport" in done.stdout
    assert "1 sport 1" not in done.stdout
    assert ">99" not in done.stdout
    assert "a model needs at least two classes" in done.stdout


@pytest.mark.slow
def test_a_queue_of_findings_shows_the_label_and_what_a_model_without_it_says(tmp_path: Path) -> None:
    """60 texts of two kinds, one with the wrong label: it is asked about, and the other label is suggested."""
    data, db, findings = tmp_path / "data.csv", tmp_path / "labels.db", tmp_path / "findings.csv"
    rows = [("ball goal team", "sport"), ("vote law court", "politics")] * 30
    rows[7] = (rows[7][0], "sport")
    data.write_text("text,label\n" + "".join(f"{text} n{n},{label}\n" for n, (text, label) in enumerate(rows)))
    findings.write_text("kind,row,text\nboilerplate,,\nlabel-error,8,\n")
    done = label(data, "--label", "label", "-o", db, "--terminal", "--who", "ann", "--queue", findings, keys="aq")
    assert "labelled sport so far" in done.stdout
    assert "texts are empty" not in done.stderr
    assert decisions(db)[-1] == ("label", ("politics",))
    assert "agree" not in done.stdout  # nobody but ann has labelled


@pytest.mark.slow
def test_a_simulation_reads_with_the_options_of_reading(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    rows = [("ball goal team", "sport"), ("vote law court", "politics")] * 50
    data.write_text("words,kind,colour\n" + "".join(f"{text} n{n},{kind},red\n" for n, (text, kind) in enumerate(rows)))
    done = label("simulate", data, "--text", "words", "--label", "kind", "--seeds", "2", "--labels", "20", "--json")
    found = json.loads(done.stdout)
    assert (found["labels"], [one["way"] for one in found["ways"]]) == (20, ["mixed", "uncertain", "random"])


@pytest.mark.slow
def test_multilabel_ticks(texts: Path, tmp_path: Path) -> None:
    db = tmp_path / "labels.db"
    label(texts, "-o", db, "--terminal", "--multilabel", "--class", "a", "--class", "b", keys="12a1\n\nq")
    found = decisions(db)
    assert found[0] == ("label", ("a", "b"))
    assert [kind for kind, _ in found] == ["label"] * 3


@pytest.mark.slow
def test_resume_status_and_training(texts: Path, tmp_path: Path) -> None:
    db, model = tmp_path / "labels.db", tmp_path / "my.model"
    label(texts, "-o", db, "--terminal", "--class", "sport", "--class", "law", keys="12q")
    label(texts, "-o", db, "--terminal", keys="1q")
    label(db, "--terminal", keys="2q")
    found = json.loads(label("status", db, "--json").stdout)
    assert (found["labelled"], found["texts"], found["classes"]) == (4, 6, {"sport": 2, "law": 2})
    subprocess.run([sys.executable, "-m", "unnaive", "train", db, "-o", model], check=True, capture_output=True)
    assert list(TextClassifier.load(model).classes_) == ["law", "sport"]
    hints = tmp_path / "hints.toml"
    hints.write_text('sport = ["ball"]\n')
    label(db, "--terminal", "--hints", hints, "--model", model, keys="aq")
    assert LabelRecord(db).decisions()[-1].suggested in ("sport", "law")


@pytest.mark.slow
def test_bad_input_is_a_sentence(texts: Path, tmp_path: Path) -> None:
    db = tmp_path / "labels.db"
    assert "-o" in label(texts, "--terminal", code=2).stderr
    assert "no file of labels" in label("status", "-o", db, code=2).stderr
    label("status", texts, "-o", db)
    other = tmp_path / "other.csv"
    other.write_text("text\nsomething else\n")
    assert "other texts" in label("status", other, "-o", db, code=2).stderr
    note = tmp_path / "note.txt"
    note.write_text("mine")
    assert "not a file of labels" in label("status", texts, "-o", note, code=2).stderr
    assert note.read_text() == "mine"
    empty = tmp_path / "empty.csv"
    empty.write_text("text\n")
    assert label(empty, "-o", tmp_path / "e.db", code=2).stderr
    assert not (tmp_path / "e.db").exists()


def test_a_labels_column_is_where_to_start(tmp_path: Path) -> None:
    data, db = tmp_path / "some.csv", tmp_path / "labels.db"
    data.write_text("text,kind\ngood ball,sport\nfair vote,\nball game,sport\nlaw,politics\n")
    found = json.loads(label("status", data, "-o", db, "--label", "kind", "--json").stdout)
    assert (found["labelled"], found["classes"]) == (3, {"politics": 1, "sport": 2})


@pytest.mark.slow
def test_ctrl_c_keeps_everything_and_the_terminal_shows_no_escapes(tmp_path: Path) -> None:
    data, db = tmp_path / "texts.csv", tmp_path / "labels.db"
    data.write_text("text\n" + "evil \x1b[31m text\n" * 3)
    main, sub = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "unnaive", "label", str(data), "-o", str(db), "--terminal", "--class", "a", "--class",
        "b"],
        stdin=sub, stdout=sub, stderr=sub, env=os.environ | {"NO_COLOR": "1", "TERM": "dumb"}, start_new_session=True,
    )  # fmt: skip
    os.close(sub)
    shown = b""
    while b"1 a" not in shown:
        shown += os.read(main, 4096)
    os.write(main, b"1")
    while not db.exists() or not LabelRecord(db).decisions():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert child.wait() == 130
    assert b"continue with: unnaive label" in shown
    assert b"\\x1b[31m" in shown
    assert len(LabelRecord(db).final()) == 1
