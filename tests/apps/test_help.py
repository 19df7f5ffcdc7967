"""The help of every command: the options that people use first, groups with headings, examples that run as printed."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.support.fasttext_files import FastTextParts, write_fasttext
from tests.support.serving import run_service
from typer.main import get_command

from unnaive.apps.cli.help_page import COMMAND_GROUPS, GENERAL, LAYOUT, SOURCE, examples_of
from unnaive.apps.cli.main import build_app

PAGES = ("serve", "label")  # which run until they are stopped
COLLECTIONS = {
    "reproduce": "reuters21578.tar.gz",
    "collections fetch": "webkb4-stemmed.tar.gz",
    "collections check": "webkb4-stemmed.tar.gz",
}


def all_commands():
    group = get_command(build_app())
    for name, verb in group.commands.items():
        yield name, verb
        yield from ((f"{name} {sub}", command) for sub, command in getattr(verb, "commands", {}).items())


COMMANDS = dict(all_commands())


def options_of(name):
    command = COMMANDS[name]
    parameters = command.get_params(typer.Context(command, info_name=name))
    return [one for one in parameters if one.param_type_name == "option" and not one.hidden]


@pytest.mark.parametrize("name", COMMANDS)
def test_options_people_use_come_first_and_the_others_have_headings(name):
    options = options_of(name)
    first = [one for one in options if one.rich_help_panel is None]
    if name in LAYOUT:
        assert options[: len(first)] == first
        assert all(flag in one.opts for one, flag in zip(first, LAYOUT[name][""].split(), strict=True))
        assert len(first) == 5
        headings = [one.rich_help_panel for one in options]
        assert headings == sorted(headings, key=list(dict.fromkeys(headings)).index)  # each group once
        assert headings[-1] == GENERAL
    else:
        assert len(first) <= 9
    flags = {flag for one in options for flag in one.opts}
    named = {flag for group in LAYOUT.get(name, {}).values() for flag in group.split()}
    assert named <= flags


def test_every_command_is_in_one_group():
    named = [name for names in COMMAND_GROUPS.values() for name in names]
    assert sorted(named) == sorted(name for name in COMMANDS if not name.startswith("collections "))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_of_its_own(name):
    examples = examples_of(COMMANDS[name].help)
    assert any(line.startswith(f"unnaive {name}") for line in examples)
    assert all(len(line) <= 118 for line in examples)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """The folder that the examples use: made by the command that the help names."""
    folder = tmp_path_factory.mktemp("examples")
    run_line(SOURCE, folder)
    return folder / "demo"


def run_line(line, folder):
    command = [sys.executable, "-m", "unnaive", *shlex.split(line)[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_examples_run_as_printed(name, tickets, tmp_path, monkeypatch):
    if name in COLLECTIONS:
        folder = os.environ.get("UNNAIVE_DATA", "")
        if not folder or not (Path(folder) / COLLECTIONS[name]).exists():
            pytest.skip("the collection is not here; see UNNAIVE_DATA")
    shutil.copytree(tickets, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    if name == "import":  # a file from elsewhere
        (tmp_path / "lid.176.ftz").write_bytes(write_fasttext(FastTextParts(quantised=True)))
    if name == "rebase":  # what a service leaves behind
        teach_a_document(tmp_path / "demo" / "tickets.model")
    before = set(tmp_path.rglob("*"))
    for line in examples_of(COMMANDS[name].help):
        if name in PAGES:
            port = () if "--port" in line else ("--port", "0")  # another program may use the usual one
            with run_service(*shlex.split(line)[1:], *port) as running:
                assert running.address.startswith("http://127.0.0.1:")
        else:
            printed = run_line(line, tmp_path)
    for flag, file in zip(shlex.split(line), shlex.split(line)[1:], strict=False):
        assert flag != "-o" or tmp_path / file in set(tmp_path.rglob("*")) - before
    assert name in PAGES or printed or "-o" in line


def teach_a_document(model):
    pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
    from unnaive.apps.service.served import ServedModel
    from unnaive.curation.teaching.changes import Change, Document

    served = ServedModel("tickets", model, teachable=True)
    served.change("teach", Change((Document("My card was charged twice this month.", ("billing",)),)))
    served.close()
