"""The layout of -h: the options that most people use, the others in groups with headings, and examples that run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from unnaive.apps.common.given_options import Options

SOURCE = "unnaive demo -o demo"  # writes the files that the examples use
GENERAL = "General"
MORE = "More options"  # options of a laid-out command that neither LAYOUT nor their declaration puts in a group
GENERAL_OPTIONS = ("--jobs", "--seed", "--json", "--quiet", "--help")

# the options of a command that come first, then groups by heading; other options keep the group of their declaration
LAYOUT: dict[str, dict[str, str]] = {
    "train": {
        "": "--output --label --text --test --model",
        "Learning": "--budget --holdout",
        "Model file": "--max-size --frozen --register --key",
    },
    "predict": {
        "": "--output --text --top-k --explain --json",
        "Output": "--all",
        "Uncertain documents": "--coverage --by-class --at-least-one --min-probability --out-of-scope-rate --undecided",
        "Input": "--document",
    },
    "evaluate": {
        "": "--label --text --measure --report --json",
        "Uncertain documents": "--target-accuracy --confidence --out-of-scope",
    },
    "filter": {
        "": "--class --output --above --recall --held-out",
        "Threshold": "--confidence",
    },
    "update": {
        "": "--output --label --text --new-classes --search",
        "Stream": "--follow",
        "Register": "--key",
    },
    "forget": {
        "": "--output --label --text --receipt --search",
        "Receipt": "--sign --key",
    },
    "compress": {"": "--output --max-size --label --text --json"},
    "verify": {"": "--receipt --remaining --forgotten --label --text", "Receipt": "--signer --key"},
    "compare": {
        "": "--models --label --splits --train-sizes --report",
        "Experiment": "--folds --vocabulary --measures --baseline --word-vectors",
        "Input": "--data",
    },
    "reproduce": {"": "--table --models --quick --report -o", "Output": "--strict", "Input": "--data"},
    "plot": {"": "--figure --output --measure --label --text", "Input": "--data"},
    "audit": {
        "": "--output --label --text --test --new-data",
        "Checks": "--fast --similarity --most",
        "Output": "--report",
        "Input": "--data",
    },
    "clean": {"": "--output --accept --min-score --label --text"},
    "label": {
        "": "--output --text --class --multilabel --terminal",
        "Suggestions and order": "--hints --model --word-vectors --queue --again --random-share --double --who",
        "Page": "--listen --person --port",
    },
    "serve": {
        "": "--port --host --token-file --read-only --workers",
        "Access": "--certfile --keyfile --allow-host --allow-origin --trusted-proxy --root-path --socket-mode",
        "Model card": "--evaluation --measure-on",
        "Teaching": "--new-classes --write-every",
        GENERAL: "--set --log",
    },
}

COMMAND_GROUPS = {
    "Train and use a model": ("train", "predict", "evaluate", "explain", "inspect", "demo"),
    "Change a model": ("update", "forget", "verify", "merge", "remake", "compress"),
    "Better data": (
        "label",
        "label status",
        "label export",
        "label import",
        "label simulate",
        "audit",
        "clean",
        "filter",
    ),
    "Use a model elsewhere": ("serve", "rebase", "export", "import"),
    "Experiments": ("compare", "plot", "reproduce", "collections"),
    "Problems": ("doctor",),
}


def lay_out_options(name: str, parameters: list[Any]) -> list[Any]:
    """The parameters of a command in the order of its help, each option with its group in `rich_help_panel`.

    Arguments stay first and in order; options that LAYOUT does not name keep the group of their declaration.
    """
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    options = [parameter for parameter in parameters if parameter.param_type_name != "argument"]
    groups = LAYOUT.get(name)
    if groups is None:
        return arguments + options
    flags = [(flag, heading) for heading, names in groups.items() for flag in names.split()]
    places = dict.fromkeys(GENERAL_OPTIONS, (len(flags) + 1, GENERAL))
    places |= {flag: (number, heading) for number, (flag, heading) in enumerate(flags)}
    numbers: dict[int, int] = {}
    begins: dict[str | None, tuple[int, int]] = {}  # heading → the position of its group
    for position, option in enumerate(options):
        declared = (len(flags), option.rich_help_panel or MORE)
        number, heading = next((places[flag] for flag in option.opts if flag in places), declared)
        option.rich_help_panel = heading or None
        numbers[id(option)] = number
        begins[heading or None] = min((number, position), begins.get(heading or None, (number, position)))
    begins[GENERAL] = (len(flags) + 1, 0)  # the last group
    return arguments + sorted(options, key=lambda option: (begins[option.rich_help_panel], numbers[id(option)]))


def command_group(name: str) -> str:
    """The heading of a command in the list of all commands."""
    return next((heading for heading, names in COMMAND_GROUPS.items() if name in names), "From other packages")


def describe_command(function: Callable[..., Any]) -> str:
    """The help of a command: its docstring, with a heading over the lines that start with `unnaive`, the examples."""
    shown: list[str] = []
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        examples = example_lines(paragraph)
        if examples:
            needs_tickets = any("demo/" in line for line in examples) and SOURCE not in examples
            source = f", with the files of {SOURCE}" if needs_tickets else ""
            shown += [f"Example{'s' if len(examples) > 1 else ''}{source}:", *examples]
        else:
            shown.append(" ".join(paragraph.split()))
    names = ", ".join(getattr(function, "given_options", Options()).by_set)
    return "\n\n".join([*shown, *([f"Names of --set besides: {names}."] if names else [])])


def example_lines(paragraph: str) -> list[str]:
    """The commands of a paragraph of a docstring, or nothing if it is a sentence.

    >>> example_lines("unnaive doctor"), example_lines("Serve models.")
    (['unnaive doctor'], [])
    """
    return paragraph.split("\n") if paragraph.startswith("unnaive ") else []


def examples_of(help: str) -> Iterable[str]:
    """The examples in the help of a command."""
    return [line for line in help.split("\n") if line.startswith("unnaive ")]
