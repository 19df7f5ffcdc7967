"""The command line: builds the app from the modules of commands/, and turns errors into sentences and exit codes."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

import typer
import typer.core
from typer.models import OptionInfo

from unnaive import __version__
from unnaive.apps.cli.help_page import command_group, describe_command, lay_out_options
from unnaive.apps.cli.overwriting import guarded
from unnaive.apps.cli.plain_values import read_plainly
from unnaive.apps.cli.repeated_options import refuse_repeated
from unnaive.apps.cli.unknown_options import unknown_option
from unnaive.apps.common.given_options import Options, with_settings
from unnaive.apps.common.options_file import expand_options
from unnaive.apps.common.report_identity import remember_command
from unnaive.apps.common.screen import note, set_quiet
from unnaive.apps.common.shared_options import Quiet, with_jobs, with_quiet
from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.registry import Registry
from unnaive.base.system import buffer_stdout, replace_closed_streams, use_utf8
from unnaive.base.thread_count import THREADS
from unnaive.base.visible_text import visible

# the function that adds each command to the app; heavy imports are inside the commands, so that help is instant
COMMANDS = {
    "train": "unnaive.apps.cli.commands.train:register",
    "predict": "unnaive.apps.cli.commands.predict:register",
    "evaluate": "unnaive.apps.cli.commands.evaluate:register",
    "explain": "unnaive.apps.cli.commands.explain:register",
    "inspect": "unnaive.apps.cli.commands.inspect:register",
    "demo": "unnaive.apps.cli.commands.demo:register",
    "update": "unnaive.apps.cli.commands.change:register",
    "forget": "unnaive.apps.cli.commands.change:register",
    "merge": "unnaive.apps.cli.commands.change:register",
    "remake": "unnaive.apps.cli.commands.change:register",
    "compress": "unnaive.apps.cli.commands.compress:register",
    "verify": "unnaive.apps.cli.commands.verify:register",
    "label": "unnaive.apps.labelling.command:register",
    **{
        f"label {name}": "unnaive.apps.labelling.command:register"
        for name in ("status", "export", "import", "simulate")
    },
    "audit": "unnaive.apps.cli.commands.audit:register",
    "clean": "unnaive.apps.cli.commands.clean:register",
    "filter": "unnaive.apps.cli.commands.filter:register",
    "serve": "unnaive.apps.service.command:register",
    "rebase": "unnaive.apps.cli.commands.rebase:register",
    "export": "unnaive.apps.cli.commands.export:register",
    "import": "unnaive.apps.cli.commands.import_model:register",
    "compare": "unnaive.apps.cli.commands.compare:register",
    "plot": "unnaive.apps.cli.commands.plot:register",
    "reproduce": "unnaive.apps.cli.commands.reproduce:register",
    "collections": "unnaive.apps.cli.commands.collections:register",
    "doctor": "unnaive.apps.cli.commands.doctor:register",
}
REGISTRY = Registry("unnaive.commands", "command", COMMANDS)

PARALLEL = (
    "train", "predict", "evaluate", "explain", "update", "forget", "merge", "remake", "compress", "verify", "demo",
    "compare", "reproduce", "audit", "label", "label_status", "label_simulate", "serve", "rebase", "filter_command",
)  # fmt: skip  # commands that have --jobs
OPTION_FILES = ("train", "predict", "evaluate", "label", "audit", "compare", "filter_command")  # have --options

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130


def find_commands(arguments: list[str]) -> tuple[str, ...]:
    """The commands to add, one for each function: only the one that is named first, which saves time; else all.

    A command that is none of ours is looked for in the other packages.

    >>> find_commands(["update", "tickets.model"]), find_commands(["--help"]) == find_commands([])
    (('update',), True)
    """
    word = arguments[0] if arguments else ""
    if word in COMMANDS or (word and not word.startswith("-") and REGISTRY.has_foreign(word)):
        return (word,)
    names: dict[str, str] = {}
    for name, function in COMMANDS.items():
        names.setdefault(function, name)
    return tuple(names.values())


def build_app(names: tuple[str, ...] | None = None) -> typer.Typer:
    """The app with these commands and those that the same functions add; by default all."""
    app = typer.Typer(
        cls=Group,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(top)
    for name in find_commands([]) if names is None else names:
        REGISTRY.find(name)(app)
    name_values(top)
    for group in app.registered_groups:
        group.rich_help_panel = command_group(group.name or "")
    for verbs in (app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)):
        for command in verbs.registered_commands:
            command.cls = Command
            if command.callback:
                function = command.callback.__name__
                if verbs is app:
                    command.rich_help_panel = command_group(command.name or function)
                verb = with_jobs(command.callback) if function in PARALLEL else command.callback
                command.callback = name_values(
                    guarded(with_settings(guarded(with_quiet(verb)), files=function in OPTION_FILES))
                )
                command.help = describe_command(command.callback)
        callback = verbs.registered_callback
        if verbs is not app and callback is not None and callback.callback:  # a command with subcommands
            verbs.info.cls = callback.cls = Group
            verbs.info.help = callback.help = describe_command(callback.callback)
            callback.callback = name_values(with_settings(with_quiet(callback.callback)))
    return app


class PlainHelp:
    """Mixin of commands: help shows flags without a value and arguments by name, where typer would show types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments, and options in the order of the help."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            read_plainly(parameter)
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            if parameter.param_type_name == "argument" and hasattr(parameter, "display_type_rich"):
                parameter.display_type_rich = lambda ctx: None  # newer versions of typer would say <list[str]> of DATA
        return lay_out_options(self.name, parameters)  # type: ignore[attr-defined]


class Command(PlainHelp, typer.core.TyperCommand):
    """A command, whose options may also come from a file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments and those of the file of --options; an unknown option is answered with the nearest."""
        options = getattr(self.callback, "given_options", Options())
        own = [one for one in self.params if one.param_type_name == "option"]
        flags = {flag: getattr(one, "is_flag", False) for one in own for flag in (*one.opts, *one.secondary_opts)}
        try:
            read = expand_options(args, flags) if options.by_set else args
            for origin in (args, read[: len(read) - len(args)]):  # the user's own options win over those of the file
                refuse_repeated(self, ctx, origin, options.by_set)
            return super().parse_args(ctx, read)
        except Exception as problem:
            unknown = getattr(problem, "option_name", None)
            if unknown is None or not hasattr(problem, "possibilities"):
                raise
            raise UnnaiveError(unknown_option(unknown, ctx.command_path, list(flags), list(options.by_set))) from None


class Group(PlainHelp, typer.core.TyperGroup):
    """All commands, or the subcommands of one; a command may have two words, such as `label status`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments begin with; two words win over a command with a file of that name."""
        both = " ".join(args[:2])
        if len(args) > 1 and (command := self.get_command(ctx, both)) is not None:
            return both, command, args[2:]
        return super().resolve_command(ctx, args)


# the name of an option's value in the help by type, unless the option declares one
VALUES: dict[Any, str] = {Path: "FILE", int: "N", float: "NUMBER", str: "TEXT", list[str]: "TEXT", list[Path]: "FILE"}


def name_values(verb: Any) -> Any:
    """Name the values of options in the help, such as FILE; typer would show <path> or <list[str]>."""
    for annotation in get_type_hints(verb, localns={"DataFile": Any}, include_extras=True).values():
        kind, *notes = get_args(annotation) or (None,)
        plain = (
            next((part for part in get_args(kind) if part is not type(None)), kind) if type(kind) is UnionType else kind
        )
        for option in notes:
            if isinstance(option, OptionInfo) and option.metavar is None and plain in VALUES:
                option.metavar = VALUES[plain]
    return verb


def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and the backend, and exit.")] = False,
    quiet: Quiet = False,
) -> None:
    """Text classification with naive Bayes and the methods developed from it: fast, explainable, updatable.

    Start with: unnaive demo -o demo

    This shows a tour and writes the files that the examples in the help of all commands use.
    """
    if version:
        from unnaive.text.backend import BACKEND

        typer.echo(f"unnaive {__version__}, {'native' if BACKEND == 'native' else 'Python'} backend")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The entry point."""
    # idle BLAS threads spin for 2²⁶ cycles by default, on cores that other processes need; 2²⁰ cycles are 0.3 ms
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    # most objects of a short command are modules, which are never garbage; collecting rarely, and not at exit, saves a
    # tenth of its time
    gc.set_threshold(20_000)
    replace_closed_streams()
    use_utf8()
    buffer_stdout()
    code = exit_code(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def exit_code(arguments: list[str]) -> int:
    """Run a command and return its exit code: 0, 2 for a user error, 130 for Ctrl-C.

    Errors and warnings are printed as one sentence on stderr.
    """
    set_quiet(False)
    remember_command(arguments)
    threads = os.environ.get(THREADS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UnnaiveWarning)
            warnings.showwarning = _print_warning
            return _run(arguments)
    finally:  # --jobs applies to this command only
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads


def _run(arguments: list[str]) -> int:
    try:
        code = build_app(find_commands(arguments))(args=arguments, prog_name="unnaive", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe
        _discard_stdout()
        return 0
    except SystemExit as left:  # how typer reports a broken pipe
        if isinstance(left.__context__, BrokenPipeError):
            return 0
        return left.code if isinstance(left.code, int) else EXIT_MISTAKE
    except UnnaiveError as problem:
        return _print_error(str(problem), getattr(problem, "exit_code", EXIT_MISTAKE))
    except MemoryError:
        return _print_error(
            "there is not enough memory; use fewer documents, or --set select fewer terms", EXIT_MISTAKE
        )
    except OSError as problem:
        code = _print_error(_os_error_sentence(problem), EXIT_MISTAKE)
        try:
            sys.stdout.flush()
        except OSError:
            _discard_stdout()
        return code
    except Exception as problem:
        if hasattr(problem, "format_message"):  # usage errors; which module they live in depends on the typer version
            return _print_error(_usage_sentence(problem), EXIT_MISTAKE)
        raise
    if code == EXIT_INTERRUPTED:  # some versions of typer return it, others raise
        return _print_error("interrupted; no file was changed", EXIT_INTERRUPTED)
    return code if isinstance(code, int) else 0


def _discard_stdout() -> None:
    """Discard what stdout cannot take; Python would write it again at the end and print a second error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_error_sentence(problem: OSError) -> str:
    reason = problem.strerror or str(problem)
    if problem.filename is not None:
        return f"{problem.filename}: {reason}"
    return f"a file, or stdin or stdout, cannot be read or written ({reason}); check the disk, and try again"


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
