"""The README and every page of docs/, executed: Python as a doctest or as it stands, commands in an empty folder."""

import doctest
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from unnaive.apps.cli.main import build_app
from unnaive.apps.common.web.limits import SETTINGS
from unnaive.learning.training_options import TRAINING_OPTIONS
from unnaive.models.catalogue import MODELS, find_model

ROOT = Path(__file__).parents[2]
ELSEWHERE = {  # pages whose Python another test runs, because it needs something first
    "docs/gallery.md": "test_examples.py",
    "docs/model-file.md": "test_docs.py",
    "docs/spark.md": "test_docs.py",
}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def code_blocks(page, language):
    """The code of every fenced block of that language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def shown_commands(page):
    """(command, output that the page shows for it), in order; a command goes on after a backslash."""
    pairs = []
    for line in "".join(code_blocks(page, "console")).replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        else:
            pairs[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in pairs]


def run_python(page, name):
    """Run the page's Python in one namespace; returns how many examples of it were doctests."""
    blocks = code_blocks(page, "python")
    if not any(">>>" in block for block in blocks):
        names = {}
        for block in blocks:
            exec(compile(block, name, "exec"), names)
        return 0
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    results = doctest.DocTestRunner(optionflags=OPTIONS).run(examples)
    assert results.failed == 0, f"{results.failed} examples of {name} failed"
    return results.attempted


def run_commands(page, folder):
    """Run the page's commands in a folder, with a shell; what is shown of their output must be what they print.

    … stands for any text; a command without shown output may print what it likes.
    """
    programs = folder / ".programs"
    programs.mkdir()
    (programs / "unnaive").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unnaive "$@"\n')
    (programs / "unnaive").chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "120"}
    for command, output in shown_commands(page):
        ran = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (command, ran.stderr)
        pattern, printed = output.replace("…", "..."), ran.stdout.strip()
        assert not output or doctest.OutputChecker().check_output(pattern, printed, OPTIONS), (command, output, printed)


PAGES = {
    str(path.relative_to(ROOT)): path.read_text() for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
}


@pytest.mark.parametrize(
    "name", [name for name in PAGES if code_blocks(PAGES[name], "python") and name not in ELSEWHERE]
)
def test_python_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_python(PAGES[name], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if shown_commands(PAGES[name])])
def test_commands_run(name, tmp_path):
    run_commands(PAGES[name], tmp_path)


@pytest.fixture(scope="module")
def options_of_commands():
    """The options of every command, by its name."""
    command = typer.main.get_command(build_app())
    settings = {name for model in MODELS for name in find_model(model).declared()} | {*TRAINING_OPTIONS, *SETTINGS}
    return {
        name: {word for one in verb.params for word in (*one.opts, *one.secondary_opts)}
        | {f"--set {word.replace('_', '-')}" for word in (*verb.callback.given_options.by_set, *settings)}
        for name, verb in command.commands.items()
        if not hasattr(verb, "commands")
    }


@pytest.mark.parametrize("name", [name for name in PAGES if "unnaive " in PAGES[name]])
def test_commands_that_are_not_run_have_options_that_there_are(name, options_of_commands):
    """sh blocks and commands inside of sentences and tables: the verb exists, and so does every --option."""
    shown = [line for block in code_blocks(PAGES[name], "sh") for line in block.splitlines()]
    shown += re.findall(r"`(unnaive [^`]*)`", PAGES[name].replace("\n", " "))
    for line in shown:
        words = line.split(" # ")[0].replace("|", " ").split()
        if words[:1] != ["unnaive"] or words[1:2] in ([], ["--help"], ["--version"], ["collections"]):
            continue
        name = " ".join(words[1:3]) if " ".join(words[1:3]) in options_of_commands else words[1]
        assert name in options_of_commands, line
        options = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-zA-Z]", word)}
        settings = [after for before, after in pairwise(words) if before == "--set"]
        options |= {f"--set {word.partition('=')[0].replace('_', '-')}" for word in settings}
        assert options - options_of_commands[name] <= {"-h", "--help"}, line


@pytest.mark.parametrize("name", PAGES)
def test_commands_stand_in_blocks_that_say_whether_they_are_run(name):
    """console is run, sh cannot be; an indented block would be neither."""
    assert not re.search(r"^    (unnaive|pip|python|make) ", PAGES[name], flags=re.MULTILINE) or name == "README.md"


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for name in PAGES:
        assert name == "README.md" or f" {name.removeprefix('docs/')}" in navigation, name
