"""Writes docs/reference/commands.md from the program itself: every verb, its arguments and its options."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from unnaive.apps.cli.main import build_app

PLACE = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"


def main() -> None:
    """Write the page, or with --check say whether it is up to date."""
    page = reference()
    if "--check" in sys.argv:
        if PLACE.read_text(encoding="utf-8") != page:
            sys.exit(f"{PLACE.name} is not what the program says; run: python tools/command_reference.py")
        return
    PLACE.write_text(page, encoding="utf-8")


def reference() -> str:
    """The whole page."""
    command: Any = get_command(build_app())
    parts = [
        "# Commands\n\nMade from the program by `make docs`. Every verb has `-h`. Mistakes end with one sentence and "
        "exit code 2, Ctrl-C with 130.\n"
    ]
    for name, verb in sorted(command.commands.items()):
        parts += [describe(name, verb)] + [describe(f"{name} {one}", sub) for one, sub in _subcommands(verb)]
    return "\n".join(parts)


def _subcommands(verb: Any) -> list[tuple[str, Any]]:
    return sorted(getattr(verb, "commands", {}).items())


def describe(name: str, verb: Any) -> str:
    """One verb: what it does, its usage, and a table of its options."""
    words = (verb.help or "").strip().split("\n\n")
    examples = [one.strip() for one in words if one.strip().startswith("unnaive ")]
    told = [" ".join(one.split()) for one in words if not one.strip().startswith("unnaive ")]
    lines = [f"## unnaive {name}\n", *(f"{one}\n" for one in told)]
    if examples:
        lines += ["```sh", *examples, "```\n"]
    arguments = [one for one in verb.params if one.param_type_name == "argument"]
    options = [one for one in verb.params if one.param_type_name == "option" and not one.hidden]
    shown = [("argument", _names(one), one) for one in arguments] + [("option", _names(one), one) for one in options]
    if shown:
        lines += ["| | |", "|---|---|"]
        lines += [f"| {names} | {_cell(getattr(one, 'help', '') or '')}{_default(one)} |" for _, names, one in shown]
    return "\n".join(lines) + "\n"


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{(one.metavar or one.name.upper()).strip('{}')}`"
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    return f"{names} {one.metavar}" if one.metavar and not one.is_flag else names


def _default(one: Any) -> str:
    value = one.default
    if one.param_type_name == "argument" or value in (None, False, True, (), []) or callable(value):
        return ""
    return f" Default: {_cell(str(value))}."


def _cell(words: str) -> str:
    """Text for a cell of a Markdown table."""
    return re.sub(r"\s+", " ", words).replace("|", "\\|").replace("<", "&lt;").strip()


if __name__ == "__main__":
    main()
