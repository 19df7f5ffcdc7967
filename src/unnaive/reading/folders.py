"""A folder with a folder for each class: its files as a table or, at once and by the kernel, as a Corpus."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unnaive.errors import BadData, UnnaiveWarning
from unnaive.reading.corpus import Corpus
from unnaive.reading.sources import CODE_PAGES, check_exists
from unnaive.reading.tables import ReadOptions
from unnaive.text.buffer import TextBuffer
from unnaive.text.files import read_files

FILES = 1024  # read at a time


def list_class_files(folder: str | Path) -> tuple[list[str], list[str]]:
    """Paths of all files below the folder's subfolders and, for each, the name of its subfolder; both sorted.

    Hidden files and folders are left out. Files outside a subfolder have no class; they give a warning.
    """
    paths: list[str] = []
    labels: list[str] = []
    outside = 0
    for entry in _entries(folder):
        if entry.is_dir():
            found = list(list_files(entry.path))
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


def list_files(folder: str | Path) -> Iterator[str]:
    """Paths of all files below a folder, sorted, hidden ones left out."""
    for entry in _entries(folder):
        if entry.is_dir():
            yield from list_files(entry.path)
        else:
            yield entry.path


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as problem:
        raise BadData(f"folder {folder} cannot be read ({problem.strerror}); check its permissions") from problem


def read_folder(path: str, options: ReadOptions) -> Corpus:
    """All files of a folder per class, their texts in one buffer; ids are paths inside the folder."""
    paths, labels = list_class_files(check_exists(path))
    texts = _read(paths, options)
    _warn_about_encodings(path, paths, texts.encodings)
    return Corpus(texts, [(label,) for label in labels], ids=_inside(path, paths), name=path)


class FolderTable:
    """The files of a folder as a table: id (the path inside the folder), text, label."""

    names: tuple[str, ...] = ("id", "text", "label")

    def __init__(self, path: str, options: ReadOptions, *, labelled: bool) -> None:
        self._path, self._options = path, options
        if labelled:
            self._files, self._labels = list_class_files(check_exists(path))
        else:
            self._files = list(list_files(check_exists(path)))
            self._labels = [""] * len(self._files)

    def batches(self, wanted: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, some files at a time."""
        odd: dict[int, str] = {}
        for start in range(0, len(self._files), FILES):
            files = self._files[start : start + FILES]
            texts = _read(files, self._options)
            odd |= {start + row: encoding for row, encoding in texts.encodings.items()}
            columns = {
                "id": _inside(self._path, files),
                "text": list(texts),
                "label": self._labels[start : start + FILES],
            }
            yield [columns[name] for name in wanted]
        _warn_about_encodings(self._path, self._files, odd)


def _read(files: Sequence[str], options: ReadOptions) -> TextBuffer:
    texts = read_files(files, encoding=options.encoding or CODE_PAGES.get(options.language))
    if options.on_read:
        options.on_read(len(texts.blob))
    return texts


def _inside(root: str, paths: Sequence[str]) -> list[str]:
    start = len(str(Path(root))) + 1
    return [path[start:] for path in paths]


def _warn_about_encodings(folder: str, paths: Sequence[str], encodings: dict[int, str]) -> None:
    if encodings:
        row, encoding = next(iter(encodings.items()))
        more = f" and {len(encodings) - 1} more are" if len(encodings) > 1 else " is"
        _warn(f"{folder}: {paths[row]}{more} not UTF-8: read as {encoding}; name the --encoding if that is wrong")


def _warn(message: str) -> None:
    warnings.warn(message, UnnaiveWarning, stacklevel=3)
