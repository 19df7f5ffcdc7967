"""Refuse to overwrite an input file, or a model with anything that is not a model: one check before every command.

An output called - is stdout. It takes one result, which is then alone there: what is printed for people goes to stderr.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unnaive.apps.common.path_options import PathUse, path_uses
from unnaive.apps.common.screen import leave_stdout_to_data
from unnaive.base.errors import UnnaiveError
from unnaive.base.open_files import is_address

STDOUT = "-"
SQLITE = "sqlite:"  # sqlite:FILE?table=NAME


def guarded(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The command, refused before it starts if it would overwrite one of its inputs or a model."""

    @functools.wraps(verb)
    def wrapper(**arguments: Any) -> Any:
        uses = path_uses(verb)
        check_outputs(uses, arguments)
        check_stdout(uses, arguments)
        leave_stdout_to_data(any(STDOUT in _values(arguments.get(name)) for name, use in uses.items() if use.written))
        return verb(**arguments)

    return wrapper


def check_outputs(uses: Mapping[str, PathUse], arguments: Mapping[str, Any]) -> None:
    """Raise an error if an output is also an input, another output, or a model that must not be replaced.

    uses   what the command does with each of its path options
    arguments  the values of its options
    """
    seen: dict[Path, str] = {}
    for name, use in uses.items():
        for path in _outputs(arguments.get(name), use):
            sources = (
                source for other, its in uses.items() if other != name for source in _inputs(arguments.get(other), its)
            )
            refuse_inputs([path], sources)
            if path.is_file() and not use.model and _is_model(path):
                raise UnnaiveError(f"{path} is a model; name another file to write, or remove that one")
            if not use.folder and str(path) != STDOUT and seen.setdefault(_resolved(path), name) != name:
                raise UnnaiveError(f"{path} would be written twice by this command; name two files")


def check_stdout(uses: Mapping[str, PathUse], arguments: Mapping[str, Any]) -> None:
    """Raise an error if stdout would get two results, or one that is not a stream, such as a model or a folder."""
    outputs = {name: use for name, use in uses.items() if use.written}
    named = [name for name in outputs for value in _values(arguments.get(name)) if value == STDOUT]
    for use in map(outputs.__getitem__, named):
        if use.model or use.folder or use.read:
            kind = "a model" if use.model else "a folder" if use.folder else "a file that is read and extended"
            raise UnnaiveError(f"- is stdout, which cannot be {kind}; name {'a folder' if use.folder else 'a file'}")
    printed = any(use.printed and arguments.get(name) is None for name, use in outputs.items())
    is_format = printed or any(outputs[name].printed for name in named)
    if len(named) + printed + bool(arguments.get("as_json") and not is_format) > 1:
        raise UnnaiveError("two results would be written to stdout; name a file for one of them")


def refuse_inputs(outputs: Iterable[Path | None], sources: Iterable[str]) -> None:
    """Raise an error if a file or folder to write is one of the sources, or inside a folder that is read."""
    inputs = list(sources)
    for path in outputs:
        if path is None or not path.exists():
            continue
        if any(_stands_for(Path(source), path) for source in inputs):
            raise UnnaiveError(f"{path} is read by this command; name another file to write")


def _values(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, (str, Path)) and str(item):
            yield str(item)


def _outputs(value: Any, use: PathUse) -> Iterator[Path]:
    """The files and folders to be written."""
    if not use.written:
        return
    for spelling in _values(value):
        for path in map(_plain_path, _spellings(spelling, use)):
            if is_address(path):
                continue
            if use.files and Path(path).is_dir():
                yield from (Path(path, name) for name in use.files)
            else:
                yield Path(path)


def _inputs(value: Any, use: PathUse) -> Iterator[str]:
    """The files and folders to be read; "-" for stdin."""
    if not use.read:
        return
    for spelling in _values(value):
        if not use.inline or spelling == "-":
            for path in _spellings(spelling, use):
                yield from _expand(_plain_path(path))


def _spellings(word: str, use: PathUse) -> list[str]:
    """The word as a path and, for NAME=PATH, also the path."""
    return [word, word.partition("=")[2]] if use.named and "=" in word else [word]


def _plain_path(path: str) -> str:
    """The path in an address of this machine, such as file:///data/tickets.csv; other values are returned."""
    return path.removeprefix("file://") if path.startswith("file:///") else path


def _expand(path: str) -> list[str]:
    """The files that match a pattern; a path that is not a pattern is returned."""
    import glob

    if path.startswith(SQLITE):
        return [path.removeprefix(SQLITE).partition("?")[0]]
    plain = not glob.has_magic(path) or Path(path).exists()
    return [path] if plain else glob.glob(path, recursive=True)  # noqa: PTH207  # Path.glob has none from the root


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return path.absolute()


def _stands_for(source: Path, path: Path) -> bool:
    """Whether `source` is the same file or folder as `path`, or a folder that contains it."""
    try:
        if str(source) == "-":
            return os.path.samestat(os.fstat(0), path.stat())
        if source.is_dir() and path.is_file():
            return path.resolve().is_relative_to(source.resolve())
        return source.exists() and source.samefile(path)
    except (OSError, ValueError):  # missing, not accessible, or not a path
        return False


def _is_model(path: Path) -> bool:
    from unnaive.classifier.model_file import is_model

    try:
        return is_model(path)
    except OSError:
        return False
