"""Output for people: a console as wide as the terminal, notes and summaries, readable numbers and names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unnaive.base.visible_text import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MANY_CLASSES = 30  # with more classes, the worst come first
TOO_MANY_CLASSES = 100  # with more classes, only the MANY_CLASSES with most documents are shown


def console() -> Console:
    """The console for results; with colours if the terminal has them; on stderr while stdout is left to data.

    Sentences are wrapped at the width of a terminal; a file or a program gets each as one line.
    """
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, stderr=_stdout_is_data)
    console.push_render_hook(EscapingHook())  # type: ignore[arg-type]  # rich is not imported for its base class
    if not console.is_terminal:
        show = console.print

        def print_unwrapped(*objects: Any, **options: Any) -> None:
            is_prose = all(isinstance(one, str) for one in objects)
            show(*objects, **({"soft_wrap": True} | options if is_prose else options))

        console.print = print_unwrapped  # type: ignore[method-assign]
    return console


class EscapingHook:
    """Mixin of a rich console: control characters in printed text are shown as escapes; its colours stay."""

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        """The renderable, wrapped."""
        return [Escaped(renderable) for renderable in renderables]


class Escaped:
    """A renderable that is escaped after layout: only text from outside can contain control characters."""

    def __init__(self, renderable: Any) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.segment import Segment

        for part in console.render(self.renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def echo(text: str, *, err: bool = False) -> None:
    """Print one or more lines for people; on stderr while stdout is left to data."""
    import typer

    typer.echo(visible(text), err=err or _stdout_is_data)


_stdout_is_data = False  # whether an output of the command is -


def leave_stdout_to_data(is_data: bool) -> None:
    """Print everything for people on stderr, because a result is written to stdout; False ends this."""
    global _stdout_is_data
    _stdout_is_data = is_data


_quiet = False  # whether --quiet was given


def set_quiet(quiet: bool) -> None:
    """Switch notes, progress and summaries off or on; results and errors are always printed."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether --quiet was given."""
    return _quiet


def note(sentence: str) -> None:
    """Print a remark on stderr, unless --quiet."""
    if not _quiet:
        echo_sentence(f"note: {sentence}", err=True)


def echo_sentence(line: str, *, err: bool = False) -> None:
    """Print a line for people, which a terminal gets wrapped between words, and a file or a program as it is."""
    import shutil
    import sys
    import textwrap

    if (sys.stderr if err or _stdout_is_data else sys.stdout).isatty():
        indent = line[: len(line) - len(line.lstrip())]
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    echo(line, err=err)


def show_event(name: str, details: dict[str, Any]) -> None:
    """Print a note of a workflow, or what it has read, on stderr, unless --quiet."""
    if not _quiet and name in ("note", "read"):
        echo_sentence(f"{name}{':' if name == 'note' else ''} {details['sentence']}", err=True)


def say_summary(line: str) -> None:
    """Print a summary line, unless --quiet."""
    if not _quiet:
        echo_sentence(line)


def say_headline(line: str) -> None:
    """Print the line that matters most in bold, unless --quiet."""
    if not _quiet:
        console().print(line, style="bold", markup=False)


def plain_table(*columns: str) -> Table:
    """A table without lines; a column name with a leading ">" is right-aligned."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        number = column.startswith(">")
        table.add_column(
            column.removeprefix(">"), justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    return table


def shown_classes(n_classes: int, elsewhere: str) -> str:
    """A sentence: which of very many classes are in a table, and which options show all.

    >>> shown_classes(30_000, "--json")
    '30 of 30,000 classes, those with most documents, worst F1 first; all of them with --json.'
    """
    return (
        f"{MANY_CLASSES} of {n_classes:,} classes, those with most documents, worst F1 first; all of them with "
        f"{elsewhere}."
    )


def format_size(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> format_size(512), format_size(15_300_000)
    ('512 B', '15.3 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000 or unit == "GB":
            break
        n_bytes /= 1000
    return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"


def shorten_text(text: str, width: int) -> str:
    """One line of a text, cut to a width.

    >>> shorten_text("two\\n  lines of text", 12)
    'two lines o…'
    """
    line = visible(" ".join(text[: 4 * width].split()))
    return line if len(line) <= width else line[: max(0, width - 1)] + "…"
