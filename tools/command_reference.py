"""Writes docs/reference/commands.md from the program itself: every verb, its arguments and its options."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from unnaive.apps.cli.help_page import SOURCE, examples_of
from unnaive.apps.cli.main import build_app
from unnaive.apps.common.given_options import option_info

PLACE = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"


def main() -> None:
    """Write the page, or with --check say whether it is up to date."""
    page = reference()
    if "--check" in sys.argv:
        if PLACE.read_text(encoding="utf-8") != page:
            sys.exit(f"{PLACE.name} is not what the program says; run: python tools/command_reference.py")
        return
    PLACE.write_text(page, encoding="utf-8")


SHARED = ("Input", "Tokens", "Spark", "General")  # groups that several commands have: described once, at the end
SEVERAL = 3  # commands, from which on an option of these groups is described there

Row = tuple[str | None, str]  # group of an option, and its line of a table


def reference() -> str:
    """The whole page."""
    command: Any = get_command(build_app())
    commands = [
        (words, verb)
        for name, top in sorted(command.commands.items())
        for words, verb in [(name, top), *((f"{name} {sub}", one) for sub, one in _subcommands(top))]
    ]
    rows = {name: list(option_rows(name, verb)) for name, verb in commands}
    uses = Counter(row for lines in rows.values() for row in lines if row[0] in SHARED)
    shared = {row for row, number in uses.items() if number >= SEVERAL}
    parts = [
        "# Commands\n\nThis page lists the arguments and options of every command, as `-h` shows them; `make docs` "
        "writes it from the program. Errors end with one sentence and exit code 2, Ctrl-C with 130. The examples use "
        f"the files of `{SOURCE}`.\n",
        *(describe(name, verb, rows[name], shared) for name, verb in commands),
        "## Options of several commands\n",
    ]
    for heading in SHARED:
        lines = dict.fromkeys(line for group, line in uses if group == heading and (group, line) in shared)
        parts.append("\n".join([f"### {heading}\n", "| | |", "|---|---|", *lines]) + "\n")
    return "\n".join(parts)


def _subcommands(verb: Any) -> list[tuple[str, Any]]:
    return sorted(getattr(verb, "commands", {}).items())


def option_rows(name: str, verb: Any) -> Iterator[Row]:
    """The arguments and options of a command, in the order of its help."""
    for parameter in verb.get_params(typer.Context(verb, info_name=name)):
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            words = _cell(getattr(parameter, "help", "") or "")
            heading = getattr(parameter, "rich_help_panel", None)
            yield heading, f"| {_names(parameter)} | {words}{_default(parameter)} |"
    given = getattr(verb.callback, "given_options", None)
    for setting, option in sorted(given.by_set.items() if given else ()):
        info, default = option_info(option.parameter), option.parameter.default
        ends = "" if default is None or isinstance(default, bool) else f" Default: {_cell(str(default))}."
        value = info.metavar or ("true|false" if "bool" in str(option.parameter.annotation) else "VALUE")
        yield info.rich_help_panel, f"| `--set {setting}=`{_cell(value)} | {_cell(info.help)}{ends} |"


def describe(name: str, verb: Any, rows: list[Row], shared: set[Row]) -> str:
    """One command: what it does, examples, a table of its options by group, and links to the shared groups."""
    examples = list(examples_of(verb.help or ""))
    lines = [f"## unnaive {name}\n"]
    for part in (verb.help or "").split("\n\n"):
        if part.startswith("Example"):  # the heading over the examples
            lines += ["```sh", *examples, "```\n"]
        elif part not in examples and not part.startswith("Names of --set"):
            lines.append(f"{part}\n")
    table: list[str] = []
    last = None
    for heading, line in (row for row in rows if row not in shared):
        if heading not in (last, None):
            table.append(f"| **{heading}** | |")
        last = heading
        table.append(line)
    if table:
        lines += ["| | |", "|---|---|", *table, ""]
    links = [
        f"[{heading}](#{heading.lower()})"
        for heading in SHARED
        if any(row[0] == heading for row in rows if row in shared)
    ]
    if links:
        lines.append(f"It also has options of {', '.join(links)}.\n")
    return "\n".join(lines)


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        name = (one.metavar or one.name.upper()).strip("{}")
        return f"<code>{name.replace('|', '&#124;')}</code>" if "|" in name else f"`{name}`"
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    return f"{names} {_cell(one.metavar)}" if one.metavar and not one.is_flag else names


def _default(one: Any) -> str:
    value = one.default
    if isinstance(value, bool) and one.secondary_opts:
        return f" Default: `{(one.opts if value else one.secondary_opts)[0]}`."
    empty = value is None or isinstance(value, bool) or value in ("", (), [])
    if one.param_type_name == "argument" or empty or callable(value):
        return ""
    return f" Default: {_cell(str(value))}."


def _cell(words: str) -> str:
    """Text for a cell of a Markdown table."""
    return re.sub(r"\s+", " ", words).replace("|", "\\|").replace("<", "&lt;").strip()


if __name__ == "__main__":
    main()
