"""Options and helpers that the verbs of experiments share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unnaive.errors import BadData, UnnaiveError, choose

if TYPE_CHECKING:
    from unnaive.reading.corpus import Corpus
    from unnaive.reading.datafiles import DataFile

OUTPUT = "Output"  # panel of the help
STDOUT = Path("-")


class Stopped(UnnaiveError):
    """Interrupted, but not in vain: the message says what is kept and how to go on."""

    exit_code = 130


Archives = Annotated[Path | None, typer.Option("--data", help="Folder with the collections' archives.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes; the numbers do not depend on it.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a page.", rich_help_panel=OUTPUT)]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write JSON; - for stdout.", rich_help_panel=OUTPUT)]


def corpus_of(source: DataFile, data: Path | None) -> Corpus:
    """A data file, or a collection by its name and perhaps a view of it."""
    from unnaive.reading.collections import COLLECTIONS, load
    from unnaive.reading.tickets import load_tickets

    name, _, view = source.path.partition(":")
    names = ["tickets", *COLLECTIONS]
    if name not in names and looks_like_a_name(name):
        choose(names, name, "file, folder or collection")
    if Path(source.path).exists() or name not in names:
        return source.corpus()
    if name == "tickets":
        return load_tickets(view or "queue")
    return load(name, view=view or None, data=data)


def looks_like_a_name(word: str) -> bool:
    """Whether someone who wrote this may have meant a collection: no file, no folder, no ending."""
    return word != "-" and not Path(word).exists() and Path(word).name == word and not Path(word).suffix


def existing_place(data: Path | None) -> Path | None:
    """The folder or archive named with --data, which must be there."""
    if data is not None and not data.exists():
        raise BadData(f"--data names {data}, which is not there; give the folder with the archives, or one archive")
    return data


def has_own_split(corpus: Corpus) -> bool:
    """Whether the data says which documents are for training and which for testing."""
    return corpus.split is not None and {"train", "test"} <= set(corpus.split)


def listed(text: str) -> list[str]:
    """The words between commas, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def number(word: str) -> float:
    """A number, or a sentence about what it should be."""
    try:
        return float(word)
    except ValueError:
        raise UnnaiveError(f"{word!r} is no number; give numbers with commas between them, such as 10,50,80") from None


def ready(paths: Iterable[Path | None]) -> None:
    """Make the folders that results will be written to, before the work and not after it is found that one cannot."""
    for path in paths:
        if path is None or path == STDOUT:
            continue
        if path.is_dir():
            raise UnnaiveError(f"{path} is a folder; give the name of a file to write")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UnnaiveError(
                f"{path} cannot be written: the folder {path.parent} cannot be made ({problem.strerror})"
            ) from problem


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all, or to stdout for -."""
    from unnaive.apps.output import written

    with written(path) as file:
        file.write(text)
    if path != STDOUT:
        typer.echo(f"wrote {path}", err=True)
