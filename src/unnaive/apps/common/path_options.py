"""What a command does with the path of an option: a marker beside its type, which the guard against overwriting uses.

`Annotated[Path | None, READ, typer.Option(...)]` is a file that the command reads. Every option or argument that is a
path has such a marker, also if its type is str because a name or "-" is allowed instead of a path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints


@dataclass(frozen=True)
class PathUse:
    """Whether the file or folder of an option is read, written or both.

    model   a written file is a model, which may replace a model
    folder  the path is a folder to write files into
    files   the names of these files, if they could clash with others
    named   the value may be NAME=PATH
    inline  the value is the content itself, or "-" for stdin
    printed  the result of the command, which is on stdout without the option; --json is its format
    """

    read: bool = False
    written: bool = False
    model: bool = False
    folder: bool = False
    files: tuple[str, ...] = ()
    named: bool = False
    inline: bool = False
    printed: bool = False


READ = PathUse(read=True)
READ_NAMED = PathUse(read=True, named=True)
READ_INLINE = PathUse(read=True, inline=True)
WRITTEN = PathUse(written=True)
WRITTEN_RESULT = PathUse(written=True, printed=True)
WRITTEN_MODEL = PathUse(written=True, model=True)
EXTENDED = PathUse(read=True, written=True)  # existing content is read and extended
CHANGED_MODEL = PathUse(read=True, written=True, model=True)
CHANGED_MODELS = PathUse(read=True, written=True, model=True, named=True)


def written_into(*files: str) -> PathUse:
    """The marker of a folder to write files into, perhaps with these names."""
    return PathUse(written=True, folder=True, files=files)


def path_uses(verb: Callable[..., Any]) -> dict[str, PathUse]:
    """The path parameters of a command by name, with their markers; a TypeError for a Path without one.

    >>> from typing import Annotated
    >>> def verb(source: Annotated[Path, READ], text: str) -> None: ...
    >>> list(path_uses(verb))
    ['source']
    """
    uses = {}
    for name, annotation in get_type_hints(verb, localns={"DataFile": Any}, include_extras=True).items():
        marks = [mark for mark in get_args(annotation) if isinstance(mark, PathUse)]
        if marks:
            uses[name] = marks[0]
        elif _names_path(annotation):
            raise TypeError(
                f"{name} of {verb.__name__} is a path that does not say what it is for; add READ, WRITTEN or another "
                "mark of apps/common/path_options.py to its Annotated type"
            )
    return uses


def _names_path(annotation: Any) -> bool:
    """Whether Path is the annotation, or a type inside it."""
    parts = [annotation]
    while parts:
        part = parts.pop()
        if part is Path:
            return True
        parts += get_args(part)
    return False
