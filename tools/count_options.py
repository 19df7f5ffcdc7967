"""Count the options of every command by introspection of the command line: `python tools/count_options.py [--list]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from unnaive.apps.cli.main import build_app

NOT_COUNTED = {"--help", "--quiet", "--jobs"}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command and subcommand, with its path such as "label export"."""

    def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
        yield path, command
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{path} {name}".strip())

    yield from walk(typer.main.get_command(build_app()), "")


def options(command: Any) -> list[str]:
    """The long name of each option of a command, hidden ones too, without those that every command has."""
    names = [max(one.opts, key=len) for one in command.params if one.param_type_name == "option"]
    return [name for name in names if name not in NOT_COUNTED]


def main() -> None:
    """Print the number of options of each command, and the sum."""
    total = 0
    for path, command in commands():
        names = options(command)
        total += len(names)
        shown = f"  {' '.join(names)}" if "--list" in sys.argv else ""
        print(f"{len(names):4}  {path or 'unnaive'}{shown}")
    print(f"{total:4}  in all")


if __name__ == "__main__":
    main()
