"""`unnaive label`: texts are appended when that was said, a failed import leaves nothing, every vote is exported."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from unnaive.apps.cli.main import exit_code
from unnaive.curation.labelling import record_tables
from unnaive.curation.labelling.label_log import LabelRecord

Run = Callable[..., str]
FIRST = "id,text\na,good ball\nb,fair vote\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `unnaive label` and returns what it printed; of a command that fails, its one sentence."""

    def run_label(*words: object, fails: bool = False) -> str:
        code = exit_code(["label", *map(str, words)])
        out, err = capsys.readouterr()
        assert code == (2 if fails else 0), err
        return err.splitlines()[-1] if fails else out + err

    return run_label


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("first.csv").write_text(FIRST)
    run("status", "first.csv", "-o", "labels.db", "--class", "sport", "--class", "politics")
    return tmp_path


def test_texts_are_appended_on_request_only(files: Path, run: Run) -> None:
    Path("more.csv").write_text(FIRST + "a,late goal\nc,last ballot\n")
    assert "2 of its 4 texts are new; add --append" in run("status", "more.csv", "-o", "labels.db", fails=True)
    assert len(LabelRecord(files / "labels.db")) == 2
    assert "2 texts appended" in run("status", "more.csv", "-o", "labels.db", "--append")
    record = LabelRecord(files / "labels.db")
    assert (record.texts()[2:], record.names()) == (["late goal", "last ballot"], ["1", "2", "3", "4"])
    assert "appended" not in run("status", "more.csv", "-o", "labels.db", "--append")
    assert "appended" not in run("status", "first.csv", "-o", "labels.db")  # a part of its texts


def test_labels_of_appended_texts_come_along(files: Path, run: Run) -> None:
    Path("more.csv").write_text("id,text,queue\nd,late goal,sport\n")
    run("status", "more.csv", "-o", "labels.db", "--append", "--label", "queue")
    assert LabelRecord(files / "labels.db").final() == {2: ("sport",)}


def test_an_import_that_fails_leaves_no_record(files: Path, run: Run) -> None:
    Path("odd.csv").write_text("name,colour\n1,red\n")
    for name in ("odd.csv", "absent.csv"):
        run("import", name, "first.csv", "-o", "new.db", fails=True)
        assert not Path("new.db").exists()
    run("import", "odd.csv", "first.csv", "-o", "labels.db", fails=True)
    assert LabelRecord(files / "labels.db").decisions() == []


@pytest.mark.parametrize("name", ["votes.csv", "votes.jsonl", "votes.parquet"])
def test_every_vote_there_and_back(files: Path, run: Run, name: str) -> None:
    record = LabelRecord(files / "labels.db")
    record.add("ann", "label", 0, ["sport"])
    record.add("bob", "flag", 0)
    record.add("bob", "label", 1, ["politics"])
    assert "3 answers written" in run("export", "labels.db", "-o", name, "--votes")
    assert "3 answers imported" in run("import", name, "first.csv", "-o", "new.db")
    assert LabelRecord(files / "new.db").votes() == record.votes()


def test_guidelines_of_a_file_are_kept(files: Path, run: Run) -> None:
    Path("about.toml").write_text('guidelines = "Read."\n[sport]\nkeywords = ["ball"]\ndescription = "Games."\n')
    command = [sys.executable, "-m", "unnaive", "label", "labels.db", "--hints", "about.toml", "--terminal"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    names = LabelRecord(files / "labels.db").class_names()
    assert (names.guidelines, names.descriptions) == ("Read.", {"sport": "Games."})


def test_strangers_need_a_token(files: Path, run: Run) -> None:
    assert "everybody needs a token" in run("labels.db", "--listen", "0.0.0.0", fails=True)
    assert "give each name once" in run("labels.db", "--person", "bob:boss", fails=True)


def test_a_file_on_a_medium_that_cannot_be_written_is_not_called_damaged(
    files: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(record_tables, "connect_durable", refuse)
    problem = run("status", "labels.db", fails=True)
    assert "labels.db cannot be opened: unable to open database file; a file of labels needs a folder" in problem
    assert "damaged" not in problem


def test_another_sqlite_file_is_not_a_file_of_labels(files: Path, run: Run) -> None:
    with closing(sqlite3.connect("other.db")) as data:
        data.execute("CREATE TABLE t (x)")
        data.commit()
    before = Path("other.db").read_bytes()
    assert "other.db is not a file of labels; to label its texts, name one with -o" in run(
        "status", "other.db", fails=True
    )
    assert Path("other.db").read_bytes() == before
