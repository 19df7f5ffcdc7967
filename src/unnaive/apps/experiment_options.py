"""Options and helpers that the verbs of experiments share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.errors import UnnaiveError

if TYPE_CHECKING:
    from unnaive.text.corpus import Corpus
    from unnaive.text.datafiles import DataFile

OUTPUT = "Output"  # panel of the help


class Stopped(UnnaiveError):
    """Interrupted, but not in vain: the message says what is kept and how to go on."""

    exit_code = 130


Archives = Annotated[Path | None, typer.Option("--data", help="Folder with the collections' archives.")]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes; the numbers do not depend on it.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page.", rich_help_panel=OUTPUT)]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write JSON; - for stdout.", rich_help_panel=OUTPUT)]


def corpus_of(source: DataFile, data: Path | None) -> Corpus:
    """A data file, or a collection by its name and perhaps a view of it."""
    from unnaive.text.collections import COLLECTIONS, load
    from unnaive.text.tickets import tickets

    name, _, view = source.path.partition(":")
    if Path(source.path).exists() or name not in ("tickets", *COLLECTIONS):
        return source.corpus()
    return tickets(view or "queue") if name == "tickets" else load(name, view=view or None, data=data)


def listed(text: str) -> list[str]:
    """The words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def number(word: str) -> float:
    """A number, or a sentence about what it should be."""
    try:
        return float(word)
    except ValueError:
        raise UnnaiveError(f"{word!r} is no number; give numbers with commas between them, such as 10,50,80") from None


def write(path: Path, text: str) -> None:
    """Write a file, or to stdout for -."""
    if path == Path("-"):
        typer.echo(text, nl=False)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    typer.echo(f"wrote {path}", err=True)
