"""The files of a path: patterns, folders of mailboxes, and plain texts that are one document each."""

from __future__ import annotations

import glob
import stat
from collections.abc import Sequence
from pathlib import Path

from unnaive.base.errors import BadData
from unnaive.base.open_files import STDIN, check_exists, is_address, path_mode
from unnaive.io.folder_listing import list_files
from unnaive.io.formats import find_format
from unnaive.io.tables.binary_tables import SQLITE
from unnaive.io.tables.mail_tables import is_mailbox

SQLITE_LOGS = ("-wal", "-journal")  # beside a database: rows that are not in it yet, or pages to restore


def expand_pattern(path: str) -> list[str]:
    """The files that match a pattern, sorted; a path that is not a pattern, or is a file, is returned."""
    plain = path == STDIN or path.startswith(SQLITE) or is_address(path) or not glob.has_magic(path)
    if plain or path_mode(path) is not None:
        return [path]
    matching = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # Path.glob has no patterns from the root
    if not matching:
        raise BadData(f"no file matches {path}; check the pattern and the current folder")
    return matching


def expand_mailboxes(path: str) -> list[str]:
    """The files of a folder that contains only mbox files; any other path is returned."""
    if path == STDIN or not stat.S_ISDIR(path_mode(path) or 0):
        return [path]
    inside = sorted(file for file in Path(path).iterdir() if not file.name.startswith("."))
    mailboxes = inside and all(file.is_file() and is_mailbox(file) for file in inside)
    return [str(file) for file in inside] if mailboxes else [path]


def are_documents(files: Sequence[str]) -> bool:
    """Whether several files are plain texts, each of which is one document."""
    return len(files) > 1 and all(find_format(path) in ("lines", "files") for path in files)


def list_opened_files(path: str, follow_links: bool) -> list[Path]:
    """The files whose bytes decide what a path gives: those of a folder, and the logs beside a database."""
    if path.startswith(SQLITE):
        path = path.removeprefix(SQLITE).partition("?")[0]
    if stat.S_ISDIR(path_mode(path) or 0):
        return [Path(file) for file in list_files(path, follow_links=follow_links)]
    logs = [Path(path + ending) for ending in SQLITE_LOGS] if find_format(path) == "sqlite" else []
    return [check_exists(path), *(log for log in logs if log.is_file() and log.stat().st_size)]
