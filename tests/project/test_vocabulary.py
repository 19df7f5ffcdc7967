"""One idea has one name: the table of docs/glossary.md against the command line, Python and REST, by introspection."""

import inspect
import re
from pathlib import Path

import pytest
import typer

import unnaive
from unnaive.apps.cli.main import build_app

ROOT = Path(__file__).parents[2]
# names that stood for these ideas before, and must not come back as an option, a parameter or a field
FORMER = {
    "abstain_for", "abstain_confidence", "approximate", "grow", "keep_choice", "markup", "rechoose", "reject_below",
    "threads", "unknown_rate",
}  # fmt: skip


def table():
    """(idea, option of the command line, name in Python, name in REST) of each row; None for a dash."""
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (\S+) \| (\S+) \| (\S+) \|$", page, flags=re.MULTILINE)
    return [
        (idea, *(None if name == "–" else name.strip("`") for name in names))
        for idea, *names in rows
        if names[0] != "---" and set(names) & {"–"} | {name for name in names if name.startswith("`")}
    ]


def command_line():
    """All options, names of --set and commands."""

    def walk(command):
        for one in getattr(command, "params", ()):
            yield from (max(one.opts, key=len),) if one.param_type_name == "option" else ()
        yield from (command.callback.given_options.by_set if hasattr(command.callback, "given_options") else ())
        for name, inner in getattr(command, "commands", {}).items():
            yield name
            yield from walk(inner)

    return set(walk(typer.main.get_command(build_app())))


def python_names():
    """The public functions, methods, parameters and settings."""
    names = set()
    for word in dir(unnaive):
        thing = getattr(unnaive, word, None)
        if word.startswith("_") or not callable(thing):
            continue
        members = [thing, *(one for name, one in inspect.getmembers(thing) if not name.startswith("_"))]
        names |= {name for name in dir(thing) if not name.startswith("_")}
        for member in members:
            if callable(member):
                try:
                    names |= set(inspect.signature(member).parameters)
                except (TypeError, ValueError):
                    continue
    return names


def rest_names():
    """The fields of all bodies, and the last words of all paths."""
    pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
    from pydantic import BaseModel

    from unnaive.apps.service import bodies

    models = [one for _, one in inspect.getmembers(bodies, inspect.isclass) if issubclass(one, BaseModel)]
    fields = {field.alias or name for model in models for name, field in model.model_fields.items()}
    return fields | {"teach", "forget"}


@pytest.mark.slow
def test_the_names_of_the_table_are_those_of_the_three_surfaces():
    options, names, fields = command_line(), python_names(), rest_names()
    rows = table()
    assert len(rows) > 20
    for idea, option, name, field in rows:
        assert option is None or option in options, idea
        assert name is None or name in names, idea
        assert field is None or field in fields, idea


def test_a_name_stands_for_one_idea():
    for place in (1, 2, 3):
        names = [row[place] for row in table() if row[place] is not None]
        assert len(names) == len(set(names))


@pytest.mark.slow
def test_names_of_one_idea_are_spelled_alike():
    """But for those that scikit-learn or a field has taken, as the table says."""
    for idea, option, name, field in table():
        if "scikit-learn" in idea or idea in ("a class", "the label set", "the result of a command"):
            continue
        spelled = {word.removeprefix("--").replace("-", "_") for word in (option, name, field) if word is not None}
        assert len(spelled) == 1, idea


@pytest.mark.slow
def test_former_names_are_gone_from_every_surface():
    options = {word.removeprefix("--").replace("-", "_") for word in command_line()}
    assert not FORMER & options
    assert not FORMER & python_names() - {"threads"}
    assert not FORMER & rest_names()
