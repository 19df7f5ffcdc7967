"""The command line: a verb for each thing to do, and one place where mistakes become sentences and exit codes."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

import typer
import typer.core
from typer.models import OptionInfo

from unnaive import __version__
from unnaive.apps.cli.guard import guarded
from unnaive.apps.cli.options import THREADS, Quiet, with_quiet, with_threads
from unnaive.apps.cli.plain_values import read_plainly
from unnaive.apps.cli.screen import note, set_quiet
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.system import use_utf8
from unnaive.base.visible_text import visible

# each module has `register(app)`; heavy imports happen inside the verbs, so that help is instant
VERBS = (
    "train", "predict", "evaluate", "filter", "explain", "inspect", "change", "compress", "import_model", "export",
    "verify", "demo", "collections", "compare", "reproduce", "plot", "audit", "clean", "label", "doctor", "serve",
    "rebase",
)  # fmt: skip
COMMANDS = {  # not called as their module
    "update": "change", "forget": "change", "merge": "change", "remake": "change", "import": "import_model",
}  # fmt: skip

PARALLEL = (
    "train", "predict", "evaluate", "explain", "update", "forget", "merge", "remake", "compress", "verify", "demo",
    "compare", "reproduce", "audit", "label", "serve", "rebase", "filter_command",
)  # fmt: skip  # commands that have --threads

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130


def modules_for(arguments: list[str]) -> tuple[str, ...]:
    """The modules of the verbs that may be meant: of one alone if it is named first, which saves time.

    >>> modules_for(["update", "tickets.model"]), modules_for(["--help"]) == VERBS
    (('change',), True)
    """
    word = arguments[0] if arguments else ""
    module = COMMANDS.get(word, word)
    return (module,) if module in VERBS and word not in COMMANDS.values() else VERBS


def build_app(modules: tuple[str, ...] = VERBS) -> typer.Typer:
    """The app with the verbs of these modules, by default all."""
    app = typer.Typer(
        cls=Group,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(top)
    for name in modules:
        import_module(f"unnaive.apps.cli.commands.{name}").register(app)
    name_values(top)
    for verbs in (app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)):
        for command in verbs.registered_commands:
            command.cls = Command
            if command.callback:
                parallel = command.callback.__name__ in PARALLEL
                verb = with_threads(command.callback) if parallel else command.callback
                command.callback = guarded(name_values(with_quiet(verb)))
        own = verbs.registered_callback
        if verbs is not app and own is not None and own.callback:  # a verb with verbs of its own
            verbs.info.cls = own.cls = Group
            own.callback = name_values(with_quiet(own.callback))
    return app


class PlainHelp:
    """Of a command: help shows flags as flags and arguments by their names, where typer would show types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            read_plainly(one)
            if getattr(one, "is_flag", False):
                one.metavar = ""
            if one.param_type_name == "argument" and hasattr(one, "display_type_rich"):
                one.display_type_rich = lambda ctx: None  # newer versions of typer would say <list[str]> of DATA
        return found


class Command(PlainHelp, typer.core.TyperCommand):
    """A verb."""


class Group(PlainHelp, typer.core.TyperGroup):
    """All of them, or those of a verb that has several."""


# what help calls the value of an option of a type, unless the option says so itself
VALUES: dict[Any, str] = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", list[str]: "TEXT", list[Path]: "FILE"}


def name_values(verb: Any) -> Any:
    """Let help show what an option wants in a word: typer would say <path> or <list[str]>."""
    for annotation in get_type_hints(verb, localns={"DataFile": Any}, include_extras=True).values():
        kind, *notes = get_args(annotation) or (None,)
        plain = (
            next((one for one in get_args(kind) if one is not type(None)), kind) if type(kind) is UnionType else kind
        )
        for one in notes:
            if isinstance(one, OptionInfo) and one.metavar is None and plain in VALUES:
                one.metavar = VALUES[plain]
    return verb


def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and the backend, and leave.")] = False,
    quiet: Quiet = False,
) -> None:
    """Text classification with the Bayesian family: fast, explainable, updatable.

    Start with: unnaive demo
    """
    if version:
        from unnaive.text.backend import BACKEND

        typer.echo(f"unnaive {__version__}, {'native' if BACKEND == 'native' else 'Python'} backend")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The entry point."""
    # idle threads of BLAS wait 2²⁶ cycles by default, busily, on a processor that others need; 2²⁰ are a third of a
    # millisecond
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    # of a short command's objects most are modules, which are no garbage: not to search them over and over, nor once
    # more at the end, saves a tenth of its time
    gc.set_threshold(20_000)
    use_utf8()
    code = exit_code(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run a verb and return how it ended: 0, 2 for a mistake of the user, 130 for Ctrl-C.

    Mistakes are printed as one sentence on stderr, and so are warnings.
    """
    set_quiet(False)
    threads = os.environ.get(THREADS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnnaiveWarning)
            warnings.showwarning = _print_warning
            return _run(arguments)
    finally:  # --threads is for this command alone
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads


def _run(arguments: list[str]) -> int:
    try:
        code = build_app(modules_for(arguments))(args=arguments, prog_name="unnaive", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has enough: no second complaint
        return 0
    except SystemExit as left:  # how typer itself ends a broken pipe
        if isinstance(left.__context__, BrokenPipeError):
            return 0
        return left.code if isinstance(left.code, int) else EXIT_MISTAKE
    except UnnaiveError as problem:
        return _print_error(str(problem), getattr(problem, "exit_code", EXIT_MISTAKE))
    except MemoryError:
        return _print_error("there is not enough memory; use fewer documents, or --select fewer terms", EXIT_MISTAKE)
    except OSError as problem:
        return _print_error(f"{problem.filename or 'input or output'}: {problem.strerror or problem}", EXIT_MISTAKE)
    except Exception as problem:
        if hasattr(problem, "format_message"):  # usage errors; which module they live in depends on the typer version
            return _print_error(_usage_sentence(problem), EXIT_MISTAKE)
        raise
    if code == EXIT_INTERRUPTED:  # some versions of typer return it, others raise
        return _print_error("interrupted; no file was changed", EXIT_INTERRUPTED)
    return code if isinstance(code, int) else 0


def _usage_sentence(problem: Any) -> str:
    context = getattr(problem, "ctx", None)
    verb = context.command_path if context else "unnaive"
    message = problem.format_message().rstrip(".")
    return f"{message}{' See:' if message.endswith('?') else '; see:'} {verb} --help"


def _print_error(sentence: str, code: int) -> int:
    with_colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    name = typer.style("unnaive:", fg="red", bold=True) if with_colour else "unnaive:"
    typer.echo(f"{name} {visible(sentence, lines=False)}", err=True)
    return code


def _print_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, UnnaiveWarning):
        note(str(message))


if __name__ == "__main__":
    main()
