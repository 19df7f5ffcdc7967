"""The README, executed: its Python as a doctest, its commands in an empty folder, their shown output compared."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import unnaive
from unnaive.models.catalogue import MODELS

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def shown_commands():
    """(command, output that the README shows for it), in order."""
    pairs = []
    for line in "".join(blocks("console")).splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        else:
            pairs[-1][1].append(line)
    return pairs


def test_the_two_commands_stand_first():
    first = [line.split("#")[0].strip() for line in README.splitlines() if line.strip()][1:3]
    assert first == ["make demo", "make test"]


def test_python_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parser = doctest.DocTestParser()
    examples = parser.get_doctest("\n".join(blocks("python")), {}, "README", "README.md", 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(examples)
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.slow
def test_commands(tmp_path):
    for command, output in shown_commands():
        program, *arguments = shlex.split(command)
        assert program == "unnaive"
        ran = subprocess.run(
            [sys.executable, "-m", "unnaive", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (command, ran.stderr)
        wanted = "\n".join(output)
        checker = doctest.OutputChecker()
        pattern = wanted.replace("…", "...")
        assert not wanted or checker.check_output(pattern, ran.stdout.strip(), doctest.ELLIPSIS), (wanted, ran.stdout)


def test_the_table_names_every_model_and_class():
    for model in MODELS:
        assert f"`{model}`" in README, model
    for name in re.findall(r"`([A-Z]\w+)`", README.split("## What is in it")[1].split("## How fast")[0]):
        assert hasattr(unnaive, name), name
