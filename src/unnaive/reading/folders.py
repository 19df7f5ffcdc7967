"""Files that are documents: a folder with a folder for each class, or files named one by one.

Links that lead out of the folder, pipes and devices are refused: a folder that came from elsewhere must not make
us read what it does not hold, or wait for ever.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unnaive.errors import BadData, UnnaiveWarning
from unnaive.reading.corpus import Corpus
from unnaive.reading.options import ReadOptions
from unnaive.reading.sources import CODE_PAGES, check_exists
from unnaive.reading.tables import Table
from unnaive.text.buffer import TextBuffer
from unnaive.text.files import read_files

FILES_AT_A_TIME = 1024


def list_class_files(folder: str | Path, *, follow_links: bool = False) -> tuple[list[str], list[str]]:
    """Paths of all files below the folder's subfolders and, for each, the name of its subfolder; both sorted.

    Hidden files and folders are left out. Files outside a subfolder have no class; they give a warning.
    """
    paths: list[str] = []
    labels: list[str] = []
    outside = 0
    for entry in _scan(folder):
        if _is_folder(entry, folder, follow_links):
            found = list(list_files(entry.path, follow_links=follow_links, root=folder))
            paths += found
            labels += [entry.name] * len(found)
        else:
            outside += 1
    if not paths:
        raise BadData(f"{folder} has no folders with files in them; expected a folder for each class")
    if outside:
        files = f"{outside} files lie" if outside > 1 else "a file lies"
        _warn(f"{folder}: {files} outside the class folders and {'are' if outside > 1 else 'is'} left out")
    return paths, labels


def list_files(folder: str | Path, *, follow_links: bool = False, root: str | Path | None = None) -> Iterator[str]:
    """Paths of all files below a folder, sorted, hidden ones left out; folders may be nested in any depth.

    Links must stay inside `root`, by default the folder, unless `follow_links`.
    """
    root = folder if root is None else root
    waiting = [iter(_scan(folder))]
    seen = {os.path.realpath(folder)} if follow_links else set()
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif not _is_folder(entry, root, follow_links):
            yield entry.path
        elif not follow_links or (real := os.path.realpath(entry.path)) not in seen:
            if follow_links:
                seen.add(real)  # a link back to a folder above would never end
            waiting.append(iter(_scan(entry.path)))


def _scan(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as problem:
        shown = str(folder) if len(str(folder)) <= 400 else str(folder)[:77] + "..."
        raise BadData(f"folder {shown} cannot be read ({problem.strerror}); check its permissions") from problem


def _is_folder(entry: os.DirEntry[str], root: str | Path, follow_links: bool) -> bool:
    """Whether an entry is a folder; anything but a folder or a file that lies inside the root is refused."""
    if entry.is_symlink() and not follow_links:
        inside = Path(os.path.realpath(entry.path)).is_relative_to(os.path.realpath(root))
        if not inside or entry.is_dir():
            where = "outside the folder" if not inside else "to another folder"
            raise BadData(f"{entry.path} is a link that leads {where}; copy what it leads to, or say --follow-links")
    if entry.is_dir():
        return True
    if not entry.is_file():
        raise BadData(f"{entry.path} is a pipe, a device or a broken link, not a file; take it out of the folder")
    return False


def read_folder(path: str, options: ReadOptions) -> Corpus:
    """All files of a folder per class, their texts in one buffer; ids are paths inside the folder."""
    paths, labels = list_class_files(check_exists(path), follow_links=options.follow_links)
    texts = _read(paths, options)
    _warn_about_encodings(path, paths, texts.encodings)
    return Corpus(texts, [(label,) for label in labels], ids=_strip_root(path, paths), name=path)


class FilesTable(Table):
    """Each file a document: id (its path as given), text."""

    names: tuple[str, ...] = ("id", "text")
    known: Mapping[str, str] = {"id": "id", "text": "text"}
    header = "each file a document"

    def __init__(self, paths: Sequence[str], options: ReadOptions, name: str = "") -> None:
        self._name, self._options, self._files = name or paths[0], options, list(paths)
        self._ids, self._labels = self._files, [""] * len(self._files)

    def kept_names(self) -> tuple[str, ...]:
        """None: a file is a document, and no row of a table."""
        return ()

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, some files at a time."""
        for texts, labels, ids in self.documents():
            columns: dict[str, list[Any]] = {"id": list(ids), "text": list(texts), "label": list(labels)}
            yield [columns[name] for name in wanted]

    def documents(self) -> Iterator[tuple[TextBuffer, Sequence[str], Sequence[str]]]:
        """(texts in one buffer, labels, ids), some files at a time."""
        odd: dict[int, str] = {}
        for start in range(0, len(self._files), FILES_AT_A_TIME):
            part = slice(start, start + FILES_AT_A_TIME)
            texts = _read(self._files[part], self._options)
            odd |= {start + row: encoding for row, encoding in texts.encodings.items()}
            yield texts, self._labels[part], self._ids[part]
        _warn_about_encodings(self._name, self._files, odd)


class FolderTable(FilesTable):
    """The files of a folder as a table: id (the path inside the folder), text, label."""

    names: tuple[str, ...] = ("id", "text", "label")
    known: Mapping[str, str] = {"id": "id", "text": "text", "label": "label"}

    def __init__(self, path: str, options: ReadOptions, *, labelled: bool) -> None:
        links = options.follow_links
        if labelled:
            files, labels = list_class_files(check_exists(path), follow_links=links)
        else:
            files = list(list_files(check_exists(path), follow_links=links))
            labels = [""] * len(files)
        super().__init__(files, options, path)
        self._ids, self._labels = _strip_root(path, files), labels


def _read(files: Sequence[str], options: ReadOptions) -> TextBuffer:
    texts = read_files(files, encoding=options.encoding or CODE_PAGES.get(options.language))
    if options.on_read:
        options.on_read(len(texts.blob))
    return texts


def _strip_root(root: str, paths: Sequence[str]) -> list[str]:
    start = len(str(Path(root))) + 1
    return [path[start:] for path in paths]


def _warn_about_encodings(folder: str, paths: Sequence[str], encodings: dict[int, str]) -> None:
    if encodings:
        row, encoding = next(iter(encodings.items()))
        more = f" and {len(encodings) - 1} more are" if len(encodings) > 1 else " is"
        _warn(f"{folder}: {paths[row]}{more} not UTF-8: read as {encoding}; name the --encoding if that is wrong")


def _warn(message: str) -> None:
    warnings.warn(message, UnnaiveWarning, stacklevel=3)
