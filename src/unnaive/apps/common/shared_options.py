"""Options that commands share, and how they are parsed. A command that reads data has a parameter `source`."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unnaive.apps.common.declared import (
    command_default,
    command_option,
    command_parameter,
    read_parameters,
    show_parameters,
)
from unnaive.apps.common.option_markers import Needs, needs
from unnaive.apps.common.path_options import CHANGED_MODEL, READ, WRITTEN
from unnaive.base.errors import UnnaiveError
from unnaive.base.thread_count import THREADS
from unnaive.io.read_options import COLUMN_OPTIONS, READ_OPTIONS
from unnaive.learning.training_options import TRAINING_OPTIONS

if TYPE_CHECKING:
    from unnaive.io.datafiles import DataFile
    from unnaive.io.folder_ahead import FolderAhead

INPUT = "Input"  # headings in the help
OUTPUT = "Output"
STDOUT = Path("-")


def _set_quiet(quiet: bool) -> bool:
    from unnaive.apps.common.screen import set_quiet

    if quiet:
        set_quiet(True)
    return quiet


Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_set_quiet, help="Print only results and errors, no notes or summaries."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
ModelFile = Annotated[Path, READ, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
ModelAddress = Annotated[
    str, READ, typer.Argument(metavar="MODEL", help="A model file; on Spark also an address.", show_default=False)
]
ChangedModel = Annotated[
    Path,
    CHANGED_MODEL,
    typer.Argument(
        metavar="MODEL", help="The model file; it is changed in place unless --output is given.", show_default=False
    ),
]
KeyFile = Annotated[
    Path | None,
    READ,
    typer.Option(
        "--key", metavar="FILE", help="File with the secret key for the hashes of documents.", show_default=False
    ),
]
RegisterKey = Annotated[KeyFile, needs("register")]
Archives = Annotated[
    Path | None,
    READ,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder with the archives of the collections; by default $UNNAIVE_DATA."
    ),
]
Seed = Annotated[int, command_option(TRAINING_OPTIONS["random_state"], min=0)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Number of processes; by default one, with a thread for each core."),
]


def report_option(*endings: str) -> Any:
    """The type of --report, whose file has one of these endings."""
    kinds = ", ".join(endings[:-1]) + f" or {endings[-1]}" if len(endings) > 1 else endings[0]
    printed = "Markdown; may be repeated" if ".md" in endings else "it"
    about = f"Write a report: {kinds}, or - to print {printed}."
    option = typer.Option("--report", metavar="FILE", help=about, rich_help_panel=OUTPUT)
    return Annotated[list[Path] | None, WRITTEN, option]


Reports = report_option(".html", ".md", ".json")
Page = report_option(".html")

# the options of every command that reads data, in the order of its help
_COLUMNS = (
    "text", "label", "category", "number", "date", "characters", "vector", "fields", "id", "separator",
    "label_columns", "ignore_label", "label_prefix", "lower_labels", "format",
)  # fmt: skip
# a command that reads a model takes its fields from the model
FIELD_OPTIONS = ("category", "number", "date", "characters", "fields")
_VECTOR_FILES = "Vectors of a field of the model from a file, NAME=FILE.npy, with a row for each document."
_REPEATED = ("text", "category", "number", "date", "characters", "vector", "label_columns", "ignore_label")
_READING = ("delimiter", "header", "encoding", "table", "skip_bad", "follow_links", "max_line")
FLAGS = ("text", "label", "format")  # what stays an option in every command that reads data; --set gives the others
LABEL_OPTIONS = ("label", "separator", "label_columns", "ignore_label", "label_prefix", "lower_labels")
_DECLARED = {name: COLUMN_OPTIONS[name] for name in _COLUMNS} | {name: READ_OPTIONS[name] for name in _READING}


def _reading_parameter(name: str, *, trained: bool, by_set: bool) -> inspect.Parameter:
    """The parameter of a reading option; `trained` says that a model names the fields."""
    more = {"help": _VECTOR_FILES, "metavar": "NAME=FILE"} if trained and name == "vector" else {}
    return command_parameter(_DECLARED[name], name, INPUT, by_set=by_set, **more)


def reading(
    help: str,
    *,
    optional: bool = False,
    default: Any = inspect.Parameter.empty,
    ahead: bool = False,
    trained: bool = False,
    without: Sequence[str] = (),
    flags: Sequence[str] = (),
    needed: Mapping[str, Needs] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the parameter `source` of a command by the DATA argument and the reading options.

    An optional DATA is stdin by default; with `default=None` the command gets None. A parameter `read_like` of the
    command is not an option: it gets a function that opens other paths with the same options. With `ahead`, reading of
    a labelled folder starts immediately, while the command imports its modules. `trained` says that the command reads a
    model, which names the fields. The options in `without` are left out; those in `flags` are options of their own, as
    FLAGS are in every command, and the separator where no model names it. `needed` has what the command needs for an
    option to have an effect; where DATA can be left out, all of them need DATA.
    """
    left_out = {*without, *(FIELD_OPTIONS if trained else ())}
    shown = (*FLAGS, *flags, *(() if trained else ("separator",)))
    options = {
        name: _reading_parameter(name, trained=trained, by_set=name not in shown)
        for name in _DECLARED
        if name not in left_out
    }
    data = Annotated[list[str] | None, READ, typer.Argument(metavar="DATA", help=help, show_default=False)]
    if optional:
        default = ["-"]
    needed = dict(needed or {})

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        declared = read_parameters(verb)
        if default is None:  # a stream that is followed is data too
            needed.update(dict.fromkeys(options, needs("data", *(("follow",) if "follow" in declared else ()))))
        for name, need in needed.items():
            options[name] = options[name].replace(annotation=Annotated[options[name].annotation, need])

        @functools.wraps(verb)
        def wrapper(**arguments: Any) -> Any:
            shared = shared_defaults() | {name: arguments.pop(name) for name in options}
            paths = arguments.pop("data")
            check_read_options(paths or (), shared)
            if "read_like" in declared:
                arguments["read_like"] = functools.partial(data_file, **shared)
            begun = _read_ahead(paths, shared) if ahead and paths else None
            return verb(source=data_file(paths, **shared, ahead=begun) if paths else None, **arguments)

        argument = inspect.Parameter("data", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=data)
        own_arguments = [
            argument if name == "source" else parameter for name, parameter in declared.items() if name != "read_like"
        ]
        show_parameters(wrapper, [*own_arguments, *options.values()])
        return wrapper

    return decorate


def check_read_options(paths: Sequence[str], values: Mapping[str, Any]) -> None:
    """Raise an error for an option of reading that has no effect on files of this kind."""
    given = [name for name in WITHOUT_EFFECT if values.get(name) not in (None, False)]
    if not given or not all(Path(path).is_file() for path in paths):
        return
    from unnaive.io.formats import find_format

    for path in paths:
        for name in given:
            what, formats = WITHOUT_EFFECT[name]
            if (values["format"] or find_format(path)) in formats or not formats:
                option = f"--set {name.replace('_', '-')}"
                raise UnnaiveError(f"{option} is for {what}, and {path} is none; leave {option} out")


# options of reading that have no effect on files of some formats: what they are for, and these formats; () for any file
WITHOUT_EFFECT = {
    "table": ("databases and workbooks", ("csv", "tsv", "jsonl", "parquet", "fasttext", "lines", "mbox")),
    "delimiter": ("CSV files", ("jsonl", "parquet", "excel", "sqlite", "mbox")),
    "follow_links": ("folders", ()),
}


def _read_ahead(paths: list[str], shared: dict[str, Any]) -> FolderAhead | None:
    from unnaive.io.folder_ahead import read_folder_ahead

    return read_folder_ahead(paths, shared["format"], follow_links=shared["follow_links"])


def with_quiet(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add --quiet to the command, unless it has it."""
    declared = read_parameters(verb)
    if "quiet" in declared:
        return verb

    @functools.wraps(verb)
    def wrapper(**arguments: Any) -> Any:
        arguments.pop("quiet")
        return verb(**arguments)

    quiet = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    show_parameters(wrapper, [*declared.values(), quiet])
    return wrapper


def with_jobs(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add --jobs to the command: the threads of all its work, or if it has a parameter `jobs`, its processes."""
    declared = read_parameters(verb)
    of_processes = "jobs" in declared

    @functools.wraps(verb)
    def wrapper(**arguments: Any) -> Any:
        jobs = arguments.pop("jobs")
        if jobs is not None:  # also for processes that it starts; `exit_code` restores it
            os.environ[THREADS] = "1" if of_processes else str(jobs)
        return verb(**arguments, **({"jobs": jobs} if of_processes else {}))

    if not of_processes:
        option = Annotated[int | None, command_option(TRAINING_OPTIONS["n_jobs"], min=1)]
        declared["jobs"] = inspect.Parameter("jobs", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
    show_parameters(wrapper, declared.values())
    return wrapper


def shared_defaults() -> dict[str, Any]:
    """The defaults of the reading options."""
    return {name: command_default(setting) for name, setting in _DECLARED.items()}


def data_file(paths: list[str], *, ahead: FolderAhead | None = None, **values: Any) -> DataFile:
    """The data file for these options: `values` has a value for each of them."""
    from unnaive.base.byte_sizes import parse_size
    from unnaive.io.datafiles import DataFile
    from unnaive.io.read_options import ReadOptions

    reading = {name: values[name] for name in _READING} | {"max_line": parse_size(values["max_line"]), "ahead": ahead}
    if reading["delimiter"] is not None:
        reading["delimiter"] = delimiter = reading["delimiter"].replace("\\t", "\t")
        if len(delimiter) != 1:
            raise UnnaiveError(f"the delimiter is {delimiter!r}; give one character, such as ';' or '\\t'")
    columns = {name: values[name] for name in _COLUMNS}
    columns |= {name: tuple(columns[name] or ()) for name in _REPEATED}
    columns |= {name: columns[name] or None for name in ("separator", "label_prefix")}
    return DataFile(tuple(paths), options=ReadOptions(**reading), **columns)


def split_list(text: str) -> list[str]:
    """The words between commas, each once.

    >>> split_list("svm, knn,svm")
    ['svm', 'knn']
    """
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def parse_select(text: str | None) -> Any:
    """ "2000" or "chi2:2000" in the form of TextClassifier.

    >>> parse_select("2000"), parse_select("chi2:30"), parse_select(None)
    (2000, ('chi2', 30), None)
    """
    if text is None:
        return None
    measure, _, number = text.rpartition(":")
    if not number.strip().isdecimal():
        raise UnnaiveError(f"--set select is {text!r}; give a number of terms such as 2000, or chi2:2000")
    return (measure, int(number)) if measure else int(number)


def parse_number(word: str) -> float:
    """A number, or an error."""
    try:
        return float(word)
    except ValueError:
        raise UnnaiveError(
            f"{word!r} is not a number; give numbers with commas between them, such as 10,50,80"
        ) from None


def make_output_folders(paths: Iterable[Path | None]) -> None:
    """Create the folders of output files, so that an error comes before the work."""
    for path in paths:
        if path is None or path == STDOUT:
            continue
        if path.is_dir():
            raise UnnaiveError(f"{path} is a folder; give the name of a file to write")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UnnaiveError(
                f"{path} cannot be written, because the folder {path.parent} cannot be created "
                f"({problem.strerror}); name another folder"
            ) from problem
