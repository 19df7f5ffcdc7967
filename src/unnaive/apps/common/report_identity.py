"""The identity of a command's reports: the command line, the date, and the files by their SHA-256."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unnaive.base.visible_text import visible

if TYPE_CHECKING:
    from unnaive.evaluation.reports.identity import Identity, NamedFile

LONGEST_WORD = 400  # characters of an argument; texts to explain may be longer

_command = ""  # the command line of this run


def remember_command(arguments: Sequence[str]) -> None:
    """Keep the command line for reports."""
    global _command
    words = (word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…" for word in arguments)
    _command = visible(shlex.join(["unnaive", *words]), lines=False)


def identify(files: Mapping[str, Iterable[str | Path | None]], *, sha256: Mapping[str, str] | None = None) -> Identity:
    """The identity of a report of this run, about these files by what they are, such as "data".

    sha256  the hashes that are known already, by path
    """
    from unnaive.evaluation.reports.identity import Identity, report_date

    named = {what: tuple(_name_file(path, sha256 or {}) for path in paths if path) for what, paths in files.items()}
    return Identity(files={what: paths for what, paths in named.items() if paths}, date=report_date(), command=_command)


def _name_file(path: str | Path, sha256: Mapping[str, str]) -> NamedFile:
    """The file with its hash; folders, databases, collections and pipes have none."""
    from unnaive.base.open_files import STDIN, STDIN_NAME, hash_file
    from unnaive.evaluation.reports.identity import NamedFile

    if str(path) == STDIN:
        return NamedFile(STDIN_NAME)
    digest = sha256.get(str(path)) or (hash_file(path) if Path(path).is_file() else "")
    return NamedFile(str(path), digest)
