"""Let the kernel read a folder while Python imports the modules of training, which takes as long."""

from __future__ import annotations

from collections.abc import Sequence
from os import fsencode
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadData
from unnaive.io.folder_listing import is_dataset_folder, list_class_files
from unnaive.io.part_files import list_parts
from unnaive.io.tables.mail_tables import is_mailbox
from unnaive.text.backend import kernel

FILES_AT_A_TIME = 512
MOST_AHEAD = 64 << 20  # bytes that may wait for training


class FolderAhead:
    """The files of a folder for each class, their labels, and a thread that reads them.

    It is a thread of the kernel: it needs neither Python nor NumPy, which may not be imported yet.
    """

    def __init__(self, path: str, files: list[str], labels: list[str]) -> None:
        self.path, self.files, self.labels = path, files, labels
        self._reader = kernel.FilesAhead([fsencode(file) for file in files], FILES_AT_A_TIME, MOST_AHEAD)

    def take_reader(self) -> Any:
        """The source of `text.files.take_files`, once; then None, and files are read normally."""
        reader, self._reader = self._reader, None
        return reader


def read_folder_ahead(paths: Sequence[str], format: str | None, *, follow_links: bool) -> FolderAhead | None:
    """Start reading the paths if they are a folder with a folder for each class; otherwise None."""
    if kernel is None or len(paths) != 1 or format not in (None, "folder"):
        return None
    (path,) = paths
    if path == "-" or not Path(path).is_dir() or is_dataset_folder(path) or is_mailbox(path) or list_parts(path):
        return None
    try:
        return FolderAhead(path, *list_class_files(path, follow_links=follow_links))
    except BadData:  # reported when the folder is read, after errors of the options
        return None
