"""No command writes over what it reads, nor anything but a model over a model: one check before every verb."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveError

# parameters of verbs by what they are for
READ = (
    "data", "model", "models", "test", "stopwords", "optimise", "records", "receipt", "against", "key", "findings",
    "hints", "queue", "import_",
)  # fmt: skip
WRITTEN = ("output", "path", "html", "markdown", "json_file", "csv_file", "records", "receipt", "export")
ONLY_READ = {"evaluate": ("records",), "verify": ("receipt",)}  # which others write
WRITE_MODELS = ("train", "update", "forget", "merge", "remake", "compress")


def guarded(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb, refused before it starts if a file that it would write is one that it reads, or somebody's model."""

    @functools.wraps(verb)
    def wrapper(**given: Any) -> Any:
        check_outputs(verb.__name__, given)
        return verb(**given)

    return wrapper


def check_outputs(verb: str, given: dict[str, Any]) -> None:
    """An error of one sentence if an output is an input, or a model that the verb would not replace by another."""
    for name, path in _paths(given, WRITTEN):
        if name in ONLY_READ.get(verb, ()) or not path.is_file():
            continue
        for other, source in _paths(given, READ):
            if other != name and _stands_for(source, path):
                raise UnnaiveError(f"{path} is read by this command; name another file to write")
        if not (name == "output" and verb in WRITE_MODELS) and _is_model(path):
            raise UnnaiveError(f"{path} is a model; name another file to write, or remove that one")


def _paths(given: dict[str, Any], names: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for name in names:
        value = given.get(name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, (str, Path)) and str(one):
                yield from ((name, Path(path)) for path in _expand(str(one)))


def _expand(path: str) -> list[str]:
    """The files that a pattern stands for; a path that is none stands for itself."""
    import glob

    plain = not glob.has_magic(path) or Path(path).exists()
    return [path] if plain else glob.glob(path, recursive=True)  # noqa: PTH207  # Path.glob has none from the root


def _stands_for(source: Path, path: Path) -> bool:
    """Whether `source` is the file at `path`, by whatever name, or a folder that has it in it."""
    try:
        if str(source) == "-":
            return os.path.samestat(os.fstat(0), path.stat())
        if source.is_dir():
            return path.resolve().is_relative_to(source.resolve())
        return source.exists() and source.samefile(path)
    except (OSError, ValueError):  # not there, not to be looked at, or no path at all
        return False


def _is_model(path: Path) -> bool:
    from unnaive.classifier.model_file import is_model

    try:
        return is_model(path)
    except OSError:
        return False
