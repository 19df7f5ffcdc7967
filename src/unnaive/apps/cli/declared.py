"""Options of commands from declarations: fields of TokenRule, ReadOptions, ColumnOptions and TrainingOptions.

Type, default, help, names and completion values come from the declaration (base/settings.py). The caller converts
values whose form on the command line differs from Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from unnaive.apps.cli.paths import READ, WRITTEN
from unnaive.base.settings import Setting

# types on the command line, by declared type; all others are strings
TYPES: dict[str, Any] = {
    "bool": bool,
    "bool | None": bool | None,
    "int": int,
    "int | None": int | None,
    "str": str,
    "tuple[int, int]": str,
    "tuple[str, ...]": list[str] | None,
}
PATHS = {"read": READ, "written": WRITTEN}


def command_option(one: Setting, panel: str | None = None, **more: Any) -> Any:
    """The option in `Annotated[type, ...]`; `more` replaces declared values."""
    flags = more.pop("flags", one.flags)
    if not flags and one.annotation == "bool" and one.default is False:
        flags = (f"--{one.name.replace('_', '-')}",)  # without a --no- form, which would be the default
    arguments: dict[str, Any] = {"help": one.doc, "rich_help_panel": panel, "metavar": one.metavar or None}
    if one.choices is not None:
        arguments["autocompletion"] = completion(one.choices)
    return typer.Option(*flags, **arguments | more)


def completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The function that shell completion calls with the beginning of a word.

    >>> completion(("porter", "snowball"))("po")
    ['porter']
    """

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def command_default(one: Setting) -> Any:
    """The default in the form of the command line.

    >>> command_default(Setting((1, 1), "Length.", annotation="tuple[int, int]"))
    '1'
    """
    if one.annotation == "tuple[int, int]":
        first, last = one.default
        return str(first) if first == last else f"{first}-{last}"
    return None if one.annotation.startswith("tuple[") else one.default


def command_parameter(one: Setting, name: str, panel: str, **more: Any) -> inspect.Parameter:
    """The parameter of a command for a declared option: type, default, names, help and path marker."""
    annotation: Any = Annotated[TYPES.get(one.annotation, str | None), command_option(one, panel, **more)]
    if one.path:
        annotation = Annotated[annotation, PATHS[one.path]]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=command_default(one), annotation=annotation)
