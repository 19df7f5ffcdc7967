"""What stands behind the options of every command: --set for rare ones, files of options, and what each option needs.

A parameter with the marker BY_SET is no option of its own: `--set NAME=VALUE` gives it. `needs("follow")` and
`excludes("folds")` beside the type of a parameter say with which others it has an effect; `check_given` is the one
check.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo, ParameterInfo

from unnaive.apps.common.declared import read_parameters, show_parameters
from unnaive.apps.common.option_markers import BY_SET, Excludes, Needs, SettingNames
from unnaive.apps.common.path_options import READ, WRITTEN
from unnaive.base.errors import UnnaiveError

NO_FLAG = ("options_file", "save_options", "settings", "quiet", "context")
TRUTHS = {"true": True, "false": False, "True": True, "False": False}


@dataclass(frozen=True)
class Given:
    """One option of a command: its parameter, its name for users, and its markers.

    flag   --name, or None if --set gives it
    """

    parameter: inspect.Parameter
    flag: str | None
    needs: tuple[Needs, ...] = ()
    excludes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in --set and in files of options."""
        return self.flag.removeprefix("--") if self.flag else setting_name(self.parameter)

    @property
    def spelling(self) -> str:
        """How users give it."""
        return self.flag or f"--set {self.name}"


@dataclass
class Options:
    """All options of a command by the names of their parameters."""

    by_parameter: dict[str, Given] = field(default_factory=dict)

    @property
    def by_set(self) -> dict[str, Given]:
        """Those that --set gives, by their names with hyphens."""
        return {one.name: one for one in self.by_parameter.values() if one.flag is None}


def option_info(parameter: inspect.Parameter) -> ParameterInfo | None:
    """The declaration for typer beside the type of a parameter."""
    return next((note for note in get_args(parameter.annotation) if isinstance(note, ParameterInfo)), None)


def setting_name(parameter: inspect.Parameter) -> str:
    """The name that a parameter has as a flag or in --set: that of its flag if declared, else its own."""
    info = option_info(parameter)
    words = () if info is None else (info.default, *(info.param_decls or ()))  # typer takes the first as the default
    declared = [word for word in words if isinstance(word, str) and word.startswith("--")]
    return (declared[0] if declared else parameter.name).split("/")[0].removeprefix("--").replace("_", "-")


def read_options(verb: Callable[..., Any]) -> Options:
    """The options of a command with their markers."""
    options = Options()
    for name, parameter in read_parameters(verb).items():
        notes = get_args(parameter.annotation)[1:]
        if not isinstance(option_info(parameter), OptionInfo) or name in NO_FLAG:
            continue
        flag = None if BY_SET in notes else f"--{setting_name(parameter)}"
        excluded = tuple(other for note in notes if isinstance(note, Excludes) for other in note.names)
        options.by_parameter[name] = Given(
            parameter, flag, tuple(note for note in notes if isinstance(note, Needs)), excluded
        )
    return options


def holds(condition: str, values: Mapping[str, Any], given: Iterable[str]) -> bool:
    """Whether a condition of `needs` holds: the option is given, or has this value.

    >>> holds("follow", {"follow": True}, []), holds("engine=spark", {"engine": "local"}, ["engine"])
    (True, False)
    """
    name, equals, wanted = condition.partition("=")
    value = values.get(name)
    if equals:
        return ("" if value is None else str(value)) == wanted
    return name in given or bool(value)


def check_given(options: Options, values: Mapping[str, Any], given: Sequence[str]) -> None:
    """Raise an error if an option was given that has no effect, or contradicts another that was given.

    values  the value of every parameter; given: the names of those that the user gave
    """
    known = options.by_parameter
    for name in given:
        one = known.get(name)
        if one is None:
            continue
        for other in one.excludes:
            if other in given:
                pair = f"{one.spelling} and {known[other].spelling}"
                raise UnnaiveError(f"{pair} contradict each other; leave one of the two out")
        for need in one.needs:
            if not any(holds(condition, values, given) for condition in need.conditions):
                wanted = [spell_condition(condition, known) for condition in need.conditions if condition[-1] != "="]
                raise UnnaiveError(
                    f"{one.spelling} has an effect only with {' or '.join(wanted)}; add {wanted[0]}, or leave "
                    f"{one.spelling} out"
                )


def spell_condition(condition: str, known: Mapping[str, Given]) -> str:
    """A condition of `needs` as users write it."""
    name, equals, value = condition.partition("=")
    if name not in known:  # an argument
        return name.upper()
    if not equals:
        return known[name].spelling
    return f"{known[name].spelling}{' ' if known[name].flag else '='}{value}"


def with_settings(verb: Callable[..., Any], *, files: bool = False) -> Callable[..., Any]:
    """The command with --set if it has parameters by --set, and what was given checked.

    files  whether it also has --options and --save-options
    """
    options = read_options(verb)
    declared = read_parameters(verb)
    by_set = options.by_set
    own = declared.get("settings")
    names = next((note for note in get_args(own.annotation) if isinstance(note, SettingNames)), None) if own else None
    has_context = "context" in declared

    @functools.wraps(verb)
    def wrapper(**arguments: Any) -> Any:
        context = arguments["context"] if has_context else arguments.pop("context")
        pairs = arguments.get("settings") or []
        given = [name for name in options.by_parameter if is_given(context, name)]
        if by_set:
            read = arguments.pop("options_file", None)
            saved = arguments.pop("save_options", None)
            values, others = read_pairs(pairs, by_set)
            arguments |= {one.parameter.name: one.parameter.default for one in by_set.values()} | values
            given += values
            named = {str(part) for value in values.values() for part in _parts(value)}
            for path in (saved, read):
                if path is not None and str(path) in named:
                    raise UnnaiveError(f"{path} is read by this command; name another file to write")
            if own is None:
                arguments.pop("settings")
            else:
                arguments["settings"] = others
            refuse_flags(others, options, context.command_path)
            if others and own is None:
                raise UnnaiveError(unknown_name(others[0].partition("=")[0], context.command_path, by_set))
            if others and names is not None:
                check_names(others, [*by_set, *names.names(arguments)], context.command_path)
        check_given(options, arguments, given)
        result = verb(**arguments)
        if files and saved is not None:
            from unnaive.apps.common.options_file import write_options

            write_options(saved, {options.by_parameter[name].name: arguments[name] for name in given}, pairs, by_set)
        return result

    shown = {name: one for name, one in declared.items() if name not in options.by_parameter
             or options.by_parameter[name].flag is not None}  # fmt: skip
    if by_set:
        shown |= {name: one for name, one in _file_parameters(own, files).items() if name not in shown}
    if not has_context:
        shown["context"] = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    show_parameters(wrapper, shown.values())
    wrapper.given_options = options  # type: ignore[attr-defined]  # for the help, the reference and the did-you-mean
    return wrapper


def _file_parameters(own: inspect.Parameter | None, files: bool) -> dict[str, inspect.Parameter]:
    """--set, unless the command declares it, and with `files` also --options and --save-options."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    setting = typer.Option("--set", metavar="NAME=VALUE", help="A less common option by its name; may be repeated.")
    read = typer.Option("--options", metavar="FILE.toml", help="File of options; those of the command line win.")
    written = typer.Option("--save-options", metavar="FILE.toml", help="Write the given options to a file.")
    parameters = {
        "settings": inspect.Parameter(
            "settings", keyword, default=None, annotation=Annotated[list[str] | None, setting]
        ),
        "options_file": inspect.Parameter(
            "options_file", keyword, default=None, annotation=Annotated[Path | None, READ, read]
        ),
        "save_options": inspect.Parameter(
            "save_options", keyword, default=None, annotation=Annotated[Path | None, WRITTEN, written]
        ),
    }
    unwanted = (*(["settings"] if own is not None else []), *([] if files else ["options_file", "save_options"]))
    return {name: one for name, one in parameters.items() if name not in unwanted}


def is_given(context: Any, name: str) -> bool:
    """Whether the user gave a parameter, on the command line or in a file of options."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def read_pairs(pairs: Sequence[str], by_set: Mapping[str, Given]) -> tuple[dict[str, Any], list[str]]:
    """(values of the parameters that --set gives, other pairs); an error for a pair without = or a wrong value."""
    values: dict[str, Any] = {}
    others = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UnnaiveError(f"--set came as {pair!r}; write NAME=VALUE, for instance --set encoding=latin-1")
        one = by_set.get(name.strip().replace("_", "-"))
        if one is None:
            others.append(pair)
            continue
        value = read_value(one, text)
        key = one.parameter.name
        values[key] = [*values.get(key, []), value] if is_list(one) else value
    return values, others


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def is_list(one: Given) -> bool:
    """Whether --set may give the parameter several times."""
    return "list[str]" in str(get_args(one.parameter.annotation)[0])


def read_value(one: Given, text: str) -> Any:
    """The value of a parameter in --set NAME=VALUE, with the type and the range of its declaration."""
    kind, info = str(get_args(one.parameter.annotation)[0]), option_info(one.parameter)
    if "bool" in kind:
        if text.strip() not in TRUTHS:
            raise UnnaiveError(f"--set {one.name} is {text!r}; give true or false")
        return TRUTHS[text.strip()]
    if "Path" in kind:
        return Path(text)
    if "int" not in kind and "float" not in kind:
        return text
    try:
        value = float(text) if "float" in kind else int(text)
    except ValueError:
        raise UnnaiveError(
            f"--set {one.name} is {text!r}; give a {'' if 'float' in kind else 'whole '}number"
        ) from None
    least, most = getattr(info, "min", None), getattr(info, "max", None)
    if (least is not None and not value >= least) or (most is not None and not value <= most):
        limits = " ".join(
            [*([] if least is None else [f"from {least:g}"]), *([] if most is None else [f"to {most:g}"])]
        )
        raise UnnaiveError(f"--set {one.name} is {text}; give a number {limits}")
    return value


def refuse_flags(pairs: Sequence[str], options: Options, command: str) -> None:
    """Raise an error for a pair whose name is an option of its own."""
    flags = {one.flag for one in options.by_parameter.values()}
    for pair in pairs:
        flag = f"--{pair.partition('=')[0].strip().replace('_', '-')}"
        if flag in flags:
            raise UnnaiveError(f"--set {pair} is {flag} of {command}, an option of its own; give {flag} instead")


def check_names(pairs: Sequence[str], names: Sequence[str], command: str) -> None:
    """Raise an error for a pair whose name is none of these."""
    spelled = {name.replace("_", "-") for name in names}
    for pair in pairs:
        name = pair.partition("=")[0].strip()
        if name.replace("_", "-") not in spelled:
            raise UnnaiveError(unknown_name(name, command, sorted(spelled)))


def unknown_name(name: str, command: str, names: Iterable[str]) -> str:
    """The sentence for a name that --set of a command does not know: all that it knows, and the nearest.

    >>> unknown_name("delimeter", "unnaive train", ["delimiter", "encoding"])
    "--set of unnaive train has no 'delimeter'; there are delimiter, encoding; did you mean 'delimiter'?"
    """
    import difflib

    known = sorted(names)
    near = difflib.get_close_matches(name.strip().replace("_", "-"), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"--set of {command} has no {name.strip()!r}; there are {', '.join(known)}{hint}"
