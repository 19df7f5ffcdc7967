"""No command overwrites one of its inputs, nor a model with anything that is not a model."""

import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
from typer.main import get_command

from unnaive import TextClassifier
from unnaive.apps.cli.main import build_app, exit_code
from unnaive.apps.common.given_options import option_info
from unnaive.apps.common.path_options import READ, path_uses


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
    Path("r.svg").write_text('{"data": "data.csv"}\n')
    Path("confusion.png").write_bytes(Path("m.model").read_bytes())
    Path("audit-findings").mkdir()
    Path("audit-findings/findings.csv").write_bytes(Path("data.csv").read_bytes())
    with sqlite3.connect("notes.db") as database:
        database.execute("create table notes (text, label)")
    database.close()
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
        "evaluate m.model data.csv --report data.csv",
        "evaluate m.model data.csv --report m.model",
        "evaluate m.model data.csv --report n.model",
        "explain m.model ball --report m.model",
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
        "compare data.csv --report data.csv",
        "compare data.csv -o data.csv",
        "compare data.csv --json m.model",
        "plot data.csv -o data.csv",
        "plot r.svg -o r.svg",
        "plot confusion.png data.csv --figure confusion",
        "audit audit-findings/findings.csv --set force=true",
        "audit audit-findings/findings.csv -o audit-findings --set force=true",
        "evaluate m.model sqlite:notes.db?table=notes --report notes.db",
        "evaluate m.model da*.csv --report data.csv",
        "evaluate m.model data.csv --report new --report ./new",
        "label simulate data.csv --report data.csv",
        "train docs -o new.model --set cache=docs",
        "filter m.model r.svg -o r.svg --format jsonl --class sport --above 0.5",
        "filter m.model docs -o docs --class sport --above 0.5",
        "filter m.model docs -o docs/sport --class sport --above 0.5",
        "filter m.model r.svg -o n.model --format jsonl --class sport --above 0.5",
        "filter m.model r.svg -o new --format jsonl --class sport --recall 0.9 --held-out data.csv --report data.csv",
    ],
)
@pytest.mark.slow
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
def test_outputs_that_overwrite_nothing_are_allowed(folder, words):
    Path("old.csv").write_text("from last week")
    assert exit_code(words.split()) == 0


def verbs():
    """(words of the command, its parameters by name, its path options) of every command."""
    group = get_command(build_app())
    found = []
    for name, verb in sorted(group.commands.items()):
        for words, command in [
            ([name], verb),
            *(([name, sub], one) for sub, one in getattr(verb, "commands", {}).items()),
        ]:
            outer = command.callback.__wrapped__  # within what typer adds
            inner = getattr(outer.__wrapped__, "__wrapped__", outer)  # within what --set adds
            found.append(
                (
                    words,
                    settings_of(command) | {one.name: one for one in command.params},
                    path_uses(outer) | path_uses(inner),
                )
            )
    return found


def settings_of(command):
    """The parameters of a command that --set gives, by name, in the form of the others."""
    by_set = command.callback.given_options.by_set if hasattr(command.callback, "given_options") else {}
    return {
        one.parameter.name: SimpleNamespace(name=one.parameter.name, opts=[], setting=name, required=False,
                                            metavar=option_info(one.parameter).metavar,
                                            param_type_name="setting")
        for name, one in by_set.items()
    }  # fmt: skip


VERBS = verbs()
PAIRS = [
    pytest.param(words, parameters, written, other, uses, id=f"{'-'.join(words)}-{written}-{other}")
    for words, parameters, uses in VERBS
    for written in uses
    for other in uses
    if uses[written].written and other != written and uses[other].read and not uses[other].inline
]
OUTPUTS = [
    pytest.param(words, parameters, name, id=f"{'-'.join(words)}-{name}")
    for words, parameters, uses in VERBS
    for name, use in uses.items()
    if use.written and not use.model
]
FILLED = {"max_size": "5MB", "text": "ball", "paper": "iir", "name": "tickets"}


def command_line(words, parameters, values):
    """The command with these values of options, and with something for all else that it needs."""
    line = list(words)
    given = dict(values)
    line += ["--register"] if words == ["train"] and "key" in given else []  # the key is that of the register
    for name, one in parameters.items():
        if one.required or ("vector" in given and one.param_type_name == "argument"):  # vectors need DATA
            given.setdefault(name, FILLED.get(name, f"no-{name}"))
    for name, value in sorted(given.items(), key=lambda item: parameters[item[0]].param_type_name != "option"):
        one = parameters[name]
        line += ["--set", f"{one.setting}={value}"] if one.param_type_name == "setting" else []
        line += [max(one.opts, key=len), value] if one.param_type_name == "option" else []
    arguments = [one for one in parameters.values() if one.param_type_name == "argument"]
    last = max((place for place, one in enumerate(arguments) if one.name in given), default=-1)
    return line + [given.get(one.name, f"no-{one.name}") for one in arguments[: last + 1]]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "parameters", "written", "other", "uses"), PAIRS)
def test_no_command_overwrites_what_it_reads(tmp_path, monkeypatch, capsys, words, parameters, written, other, uses):
    monkeypatch.chdir(tmp_path)
    Path("same").write_bytes(b"# precious")
    assert exit_code(command_line(words, parameters, {written: "same", other: "same"})) == 2
    assert capsys.readouterr().err == "unnaive: same is read by this command; name another file to write\n"
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("same", b"# precious")]


@pytest.mark.parametrize(("words", "parameters", "written"), OUTPUTS)
@pytest.mark.slow
def test_no_command_overwrites_a_model_with_something_else(folder, capsys, words, parameters, written):
    before = Path("n.model").read_bytes()
    assert exit_code(command_line(words, parameters, {written: "n.model"})) == 2
    assert "n.model is a model; name another file to write" in capsys.readouterr().err
    assert Path("n.model").read_bytes() == before


def test_pairs_of_path_options_are_those_there_are():
    """A few that were missed when the guard went by names, so that the list above is not empty by mistake."""
    names = {parameter.id for parameter in PAIRS}
    assert {"plot-output-what", "label simulate-report-data", "audit-report-new_data", "train-output-optimise"} <= names


# what help calls the value of an option that is a path, whatever its type
PATHS = ("FILE", "FOLDER", "DATA", "MODEL", "RECORDS", "FINDINGS", ".csv")


@pytest.mark.parametrize(("words", "parameters", "uses"), VERBS, ids=["-".join(words) for words, _, _ in VERBS])
def test_every_path_option_says_what_it_is_for(words, parameters, uses):
    named = {name for name, one in parameters.items() if any(word in (one.metavar or "") for word in PATHS)}
    assert named <= set(uses)
    assert all(use.read or use.written for use in uses.values())


def test_a_path_option_that_does_not_say_is_refused():
    def verb(source: Annotated[Path, READ], output: Path | None, parts: list[Path]) -> None: ...

    with pytest.raises(TypeError, match="output of verb is a path that does not say what it is for; add READ, WRITTEN"):
        path_uses(verb)
