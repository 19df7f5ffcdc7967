"""Options of commands from declarations: fields of TokenRule, ReadOptions, ColumnOptions and TrainingOptions.

Type, default, help, names and completion values come from the declaration (base/settings.py). The caller converts
values whose form on the command line differs from Python.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from unnaive.apps.common.option_markers import BY_SET, Needs
from unnaive.apps.common.path_options import READ, READ_NAMED, WRITTEN
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
PATHS = {"read": READ, "read-named": READ_NAMED, "written": WRITTEN}


def read_parameters(verb: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a command's function by name, with their annotations evaluated."""
    return dict(inspect.signature(verb, eval_str=True, locals={"DataFile": Any}).parameters)


def show_parameters(wrapper: Callable[..., Any], parameters: Iterable[inspect.Parameter]) -> None:
    """Give a wrapper the parameters that typer makes options of; all of them are keywords."""
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    wrapper.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}


def with_options(
    place: str, options: Mapping[str, inspect.Parameter], read: Callable[..., dict[str, Any]]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the parameter `place` of a command by options, by the names of their declarations; it gets `read(…)`."""

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        declared = read_parameters(verb)

        @functools.wraps(verb)
        def wrapper(**arguments: Any) -> Any:
            values = {name: arguments.pop(option.name) for name, option in options.items()}
            return verb(**{place: read(**values)}, **arguments)

        shown: list[inspect.Parameter] = []
        for name, parameter in declared.items():
            shown += options.values() if name == place else [parameter]
        show_parameters(wrapper, shown)
        return wrapper

    return decorate


def command_option(setting: Setting, panel: str | None = None, **more: Any) -> Any:
    """The option in `Annotated[type, ...]`; `more` replaces declared values."""
    flags = more.pop("flags", setting.flags)
    if not flags and setting.annotation == "bool" and setting.default is False:
        flags = (f"--{setting.name.replace('_', '-')}",)  # without a --no- form, which would be the default
    arguments: dict[str, Any] = {"help": setting.doc, "rich_help_panel": panel, "metavar": setting.metavar or None}
    if setting.choices is not None:
        arguments["autocompletion"] = completion(setting.choices)
    return typer.Option(*flags, **arguments | more)


def completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    """The function that shell completion calls with the beginning of a word.

    >>> completion(("porter", "snowball"))("po")
    ['porter']
    """

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def command_default(setting: Setting) -> Any:
    """The default in the form of the command line.

    >>> command_default(Setting((1, 1), "Length.", annotation="tuple[int, int]"))
    '1'
    """
    if setting.annotation == "tuple[int, int]":
        first, last = setting.default
        return str(first) if first == last else f"{first}-{last}"
    return None if setting.annotation.startswith("tuple[") else setting.default


def command_parameter(
    setting: Setting, name: str, panel: str, *, by_set: bool = False, **more: Any
) -> inspect.Parameter:
    """The parameter of a command for a declared option: type, default, names, help, path marker and what it needs.

    by_set  whether --set gives it, and it is no option of its own
    """
    kind = str if setting.metavar == "SIZE" else TYPES.get(setting.annotation, str | None)
    annotation: Any = Annotated[kind, command_option(setting, panel, **more)]
    if by_set:
        annotation = Annotated[annotation, BY_SET]
    if setting.needs:
        annotation = Annotated[annotation, Needs(setting.needs)]
    if setting.path:
        annotation = Annotated[annotation, PATHS[setting.path]]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=command_default(setting), annotation=annotation
    )
