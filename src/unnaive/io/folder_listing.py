"""The files of a folder, and which of them may be read.

Links out of the folder, pipes and devices are refused: a folder from elsewhere must not make us read other files, or
block.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from unnaive.base.errors import BadData, UnnaiveWarning

DATASET_FILES = ("dataset_dict.json", "dataset_info.json", "state.json")


def is_dataset_folder(path: str) -> bool:
    """Whether a folder was written by `save_to_disk` of Hugging Face's datasets."""
    return any(Path(path, name).is_file() for name in DATASET_FILES)


def list_class_files(folder: str | Path, *, follow_links: bool = False) -> tuple[list[str], list[str]]:
    """Paths of all files in the subfolders of a folder and, for each, the name of its subfolder; both sorted.

    Hidden files and folders are left out. Files outside a subfolder have no class, with a warning.
    """
    paths: list[str] = []
    labels: list[str] = []
    outside = 0
    for entry in _scan(folder):
        if _is_folder(entry, folder, follow_links):
            inside = list(list_files(entry.path, follow_links=follow_links, root=folder))
            paths += inside
            labels += [entry.name] * len(inside)
        else:
            outside += 1
    if not paths:
        raise BadData(f"{folder} has no subfolders with files; expected a subfolder for each class")
    if outside:
        files = f"{outside} files lie" if outside > 1 else "a file lies"
        verb = "are" if outside > 1 else "is"
        warnings.warn(f"{folder}: {files} outside the class folders and {verb} left out", UnnaiveWarning, stacklevel=2)
    return paths, labels


def list_files(folder: str | Path, *, follow_links: bool = False, root: str | Path | None = None) -> Iterator[str]:
    """Paths of all files below a folder, sorted, without hidden ones, at any depth.

    Links must stay inside `root`, by default the folder, unless `follow_links`.
    """
    root = folder if root is None else root
    waiting = [iter(_scan(folder))]
    seen = {os.path.realpath(folder)} if follow_links else set()
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif entry.is_file(follow_symlinks=False) or not _is_folder(entry, root, follow_links):
            yield entry.path
        elif not follow_links or (real := os.path.realpath(entry.path)) not in seen:
            if follow_links:
                seen.add(real)  # a link to a parent folder would never end
            waiting.append(iter(_scan(entry.path)))


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            shown = sorted((entry for entry in entries if not entry.name.startswith(".")), key=attrgetter("name"))
    except OSError as problem:
        name = str(folder) if len(str(folder)) <= 400 else str(folder)[:77] + "..."
        raise BadData(f"folder {name} cannot be read ({problem.strerror}); check its permissions") from problem
    names = {entry.name for entry in shown}
    if {"cur", "new"} <= names:  # a Maildir: other files in it belong to its server
        return [entry for entry in shown if entry.name in ("cur", "new")]
    return shown


def _is_folder(entry: os.DirEntry[str], root: str | Path, follow_links: bool) -> bool:
    """Whether an entry is a folder; refuse anything but a folder or file inside the root."""
    if entry.is_symlink() and not follow_links:
        inside = Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(root))
        if not inside or entry.is_dir():
            where = "outside the folder" if not inside else "to another folder"
            raise BadData(
                f"{entry.path} is a link that leads {where}; copy its target there, or use --set follow-links=true"
            )
    if entry.is_dir():
        return True
    if not entry.is_file():
        raise BadData(f"{entry.path} is a pipe, a device or a broken link, not a file; remove it from the folder")
    return False
