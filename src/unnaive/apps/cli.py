"""The command line: a verb for each thing to do, and one place where mistakes become sentences and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer

from unnaive import __version__
from unnaive.apps.guard import guarded
from unnaive.apps.screen import echo, visible
from unnaive.errors import UnnaiveError, UnnaiveWarning

# each module has `register(app)`; heavy imports happen inside the verbs, so that help is instant
VERBS = (
    "train", "predict", "evaluate", "explain", "inspect", "change", "verify", "demo", "collections", "compare",
    "reproduce", "plot",
)  # fmt: skip

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130


def build_app() -> typer.Typer:
    """The app with all its verbs."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, invoke_without_command=True)
    app.callback()(top)
    for name in VERBS:
        import_module(f"unnaive.apps.verbs_{name}").register(app)
    for command in app.registered_commands:
        command.callback = guarded(command.callback) if command.callback else None
    return app


def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Text classification with the Bayesian family: fast, explainable, updatable.

    Start with: unnaive demo
    """
    if version:
        typer.echo(f"unnaive {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The entry point."""
    sys.exit(exit_code(sys.argv[1:]))


def exit_code(arguments: list[str]) -> int:
    """Run a verb and return how it ended: 0, 2 for a mistake of the user, 130 for Ctrl-C.

    Mistakes are printed as one sentence on stderr, and so are warnings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnnaiveWarning)
        warnings.showwarning = _print_warning
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        code = build_app()(args=arguments, prog_name="unnaive", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has enough: no second complaint
        return 0
    except SystemExit as left:  # how typer itself ends a broken pipe
        return 0 if isinstance(left.__context__, BrokenPipeError) else EXIT_MISTAKE
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
        echo(f"note: {message}", err=True)


if __name__ == "__main__":
    main()
