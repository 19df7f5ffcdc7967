"""Files that are documents: a folder with a folder for each class, or single files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unnaive.base.errors import UnnaiveWarning
from unnaive.base.open_files import check_exists
from unnaive.data.corpus import Corpus
from unnaive.io.folder_ahead import FILES_AT_A_TIME
from unnaive.io.folder_listing import list_class_files, list_files
from unnaive.io.read_options import ReadOptions
from unnaive.io.tables.tables import Table
from unnaive.io.text_encoding import CODE_PAGES
from unnaive.text.buffer import TextBuffer, TextChunks
from unnaive.text.small_files import read_files, take_files


def read_folder(path: str, options: ReadOptions) -> Corpus:
    """All files of a folder with a folder for each class, their texts in one buffer.

    Ids are paths inside the folder.
    """
    paths, labels, reader = _list_classes(path, options)
    texts = TextChunks(list(_read(paths, options, reader, FILES_AT_A_TIME if reader else len(paths))))
    _warn_about_encodings(path, paths, texts.encodings)
    return Corpus(texts, [(label,) for label in labels], ids=_strip_root(path, paths), name=path)


def sample_folder(path: str, options: ReadOptions, size: int) -> list[str]:
    """A sample of the texts of such a folder, from all classes."""
    ahead = options.ahead
    files = ahead.files if ahead is not None and ahead.path == path else _list_classes(path, options)[0]
    chosen = files[:: max(1, len(files) // size)][:size]
    return list(read_files(chosen, encoding=options.encoding or CODE_PAGES.get(options.language)))


class FilesTable(Table):
    """Each file is a document: id (its path), text."""

    names: tuple[str, ...] = ("id", "text")
    roles: Mapping[str, str] = {"id": "id", "text": "text"}
    header = "each file a document"

    def __init__(self, paths: Sequence[str], options: ReadOptions, name: str = "") -> None:
        self._name, self.options, self._files = name or paths[0], options, list(paths)
        self._ids, self._labels = self._files, [""] * len(self._files)
        self._reader: Any = None

    def kept_names(self) -> tuple[str, ...]:
        """Empty: a file is a document, not a row of a table."""
        return ()

    def batches(self, names: Sequence[str]) -> Iterator[list[list[Any]]]:
        """The wanted columns, in batches of files."""
        for texts, labels, ids in self.documents():
            columns: dict[str, list[Any]] = {"id": list(ids), "text": list(texts), "label": list(labels)}
            yield [columns[name] for name in names]

    def documents(self) -> Iterator[tuple[TextBuffer, Sequence[str], Sequence[str]]]:
        """(texts in one buffer, labels, ids), in batches of files."""
        odd: dict[int, str] = {}
        start = 0
        reader, self._reader = self._reader, None  # it can be used once
        for texts in _read(self._files, self.options, reader):
            part = slice(start, start + len(texts))
            odd |= {start + row: encoding for row, encoding in texts.encodings.items()}
            yield texts, self._labels[part], self._ids[part]
            start = part.stop
        _warn_about_encodings(self._name, self._files, odd)


class FolderTable(FilesTable):
    """The files of a folder as a table: id (the path inside the folder), text, label."""

    names: tuple[str, ...] = ("id", "text", "label")
    roles: Mapping[str, str] = {"id": "id", "text": "text", "label": "label"}

    def __init__(self, path: str, options: ReadOptions, *, labelled: bool) -> None:
        reader = None
        if labelled:
            files, labels, reader = _list_classes(path, options)
        else:
            files = list(list_files(check_exists(path), follow_links=options.follow_links))
            labels = [""] * len(files)
        super().__init__(files, options, path)
        self._ids, self._labels, self._reader = _strip_root(path, files), labels, reader


def _list_classes(path: str, options: ReadOptions) -> tuple[list[str], list[str], Any]:
    """(files, their labels, the reader that has started on them or None) of a folder with a folder for each class."""
    ahead = options.ahead
    if ahead is not None and ahead.path == path:
        return ahead.files, ahead.labels, ahead.take_reader()
    return *list_class_files(check_exists(path), follow_links=options.follow_links), None


def _read(
    files: Sequence[str], options: ReadOptions, reader: Any = None, at_a_time: int = FILES_AT_A_TIME
) -> Iterator[TextBuffer]:
    """The texts of the files in batches; from the `reader` that has started, if there is one."""
    encoding = options.encoding or CODE_PAGES.get(options.language)
    for start in range(0, len(files), at_a_time):
        part = files[start : start + at_a_time]
        texts = read_files(part, encoding=encoding) if reader is None else take_files(reader, part, encoding)
        if options.on_read:
            options.on_read(len(texts.blob))
        yield texts


def _strip_root(root: str, paths: Sequence[str]) -> list[str]:
    start = len(str(Path(root))) + 1
    return [path[start:] for path in paths]


def _warn_about_encodings(folder: str, paths: Sequence[str], encodings: dict[int, str]) -> None:
    if encodings:
        row, encoding = next(iter(encodings.items()))
        more = f" and {len(encodings) - 1} more are" if len(encodings) > 1 else " is"
        _warn(f"{folder}: {paths[row]}{more} not UTF-8: read as {encoding}; if that is wrong, use --set encoding=NAME")


def _warn(message: str) -> None:
    warnings.warn(message, UnnaiveWarning, stacklevel=3)
