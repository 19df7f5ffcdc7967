"""Labelled documents by the name of a data file or of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unnaive.base.errors import BadData, choose

if TYPE_CHECKING:
    from unnaive.data.corpus import Corpus
    from unnaive.io.datafiles import DataFile
    from unnaive.workflows.feedback import Feedback


def read_corpus(source: DataFile, data: Path | None, feedback: Feedback) -> Corpus:
    """A data file, or a collection by its name and perhaps a view; `data` is the folder with the archives."""
    from unnaive.base.open_files import is_address
    from unnaive.io.tables.binary_tables import SQLITE
    from unnaive.io.tickets import load_tickets
    from unnaive.papers.collections import COLLECTIONS, load

    name, _, view = source.path.partition(":")
    names = ["tickets", *COLLECTIONS]
    address = source.path.startswith(SQLITE) or is_address(source.path)
    if len(source.paths) == 1 and name not in names and not address and is_collection_name(name):
        choose(names, name, "file, folder or collection")
    if len(source.paths) > 1 or Path(source.path).exists() or name not in names:
        if source.paths == (name,) and name in names:
            feedback.note(_describe_name(name))
        corpus = source.corpus()
        feedback.read(source)
        return corpus
    if name == "tickets":
        return load_tickets(view or "queue")
    return load(name, view=view or None, data=data)


def _describe_name(name: str) -> str:
    """A note that a file or folder with the name of a collection is read, and how to read the collection."""
    from unnaive.papers.collections import COLLECTIONS

    kind = "folder" if Path(name).is_dir() else "file"
    view = COLLECTIONS[name].views[0] if name in COLLECTIONS else "queue"
    return f"reading the {kind} {name} that is here; the collection of that name is {name}:{view}"


def is_collection_name(word: str) -> bool:
    """Whether the word may be the name of a collection: not a file or folder, and without an ending."""
    return (
        word != "-"
        and not set(word) & set("*?[")
        and not Path(word).exists()
        and Path(word).name == word
        and not Path(word).suffix
    )


def has_own_split(corpus: Corpus) -> bool:
    """Whether the data has a split into training and test documents."""
    return corpus.split is not None and {"train", "test"} <= set(corpus.split)


def check_archives(data: Path | None) -> Path | None:
    """The folder or archive of --data, which must exist."""
    if data is not None and not data.exists():
        raise BadData(f"--data {data} does not exist; give the folder with the archives, or one archive")
    return data
