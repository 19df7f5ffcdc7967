"""No command writes over what it reads, nor anything but a model over a model."""

import os
from pathlib import Path

import pytest

from unnaive import TextClassifier
from unnaive.apps.cli.main import exit_code


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("text,label\n" + "good ball,sport\nfair vote,politics\n" * 3)
    TextClassifier("or-gate").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save("m.model")
    TextClassifier("or-gate").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save("n.model")
    Path("docs/sport").mkdir(parents=True)
    Path("docs/sport/one.txt").write_text("good ball")
    Path("link").symlink_to("data.csv")
    os.link("data.csv", "second")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "predict m.model data.csv -o m.model",
        "predict m.model data.csv -o data.csv",
        "predict m.model data.csv -o link",
        "predict m.model data.csv -o ./docs/../second",
        "predict m.model docs -o docs/sport/one.txt",
        "predict m.model -d ball -o m.model",
        "predict m.model -d ball -o n.model",
        "evaluate m.model data.csv --html data.csv",
        "evaluate m.model data.csv --html m.model",
        "evaluate m.model data.csv --markdown n.model",
        "explain m.model ball --html m.model",
        "inspect m.model --network sport -o m.model",
        "inspect m.model --network sport -o n.model",
        "train data.csv -o data.csv",
        "train data.csv -o docs/sport/one.txt",
        "train data.csv -o n.model --test n.model",
        "update m.model data.csv -o data.csv",
        "update m.model data.csv -o m.model",
        "forget m.model data.csv -o m.model",
        "remake m.model --set alpha=2 -o m.model",
        "merge m.model n.model -o n.model",
        "merge m.model n.model -o data.csv",
        "compare data.csv --html data.csv",
        "compare data.csv --records data.csv",
        "compare data.csv --json m.model",
        "plot data.csv -o data.csv",
    ],
)
def test_nothing_is_destroyed(folder, words, capsys):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert exit_code(words.split()) == 2
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_stdin_is_an_input_too(folder, monkeypatch):
    before = Path("data.csv").read_bytes()
    saved = os.dup(0)
    handle = os.open("data.csv", os.O_RDONLY)
    os.dup2(handle, 0)
    try:
        assert exit_code(["predict", "m.model", "-", "-o", "data.csv"]) == 2
    finally:
        os.dup2(saved, 0)
        os.close(handle)
        os.close(saved)
    assert Path("data.csv").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "predict m.model data.csv -o new.csv",
        "predict m.model data.csv -o old.csv",
        "predict m.model docs -o docs/new.csv",
        "train data.csv -o m.model",
        "update m.model data.csv",
        "update m.model data.csv -o n.model",
        "merge m.model n.model -o both.model",
    ],
)
def test_what_harms_nothing_is_done(folder, words):
    Path("old.csv").write_text("from last week")
    assert exit_code(words.split()) == 0
