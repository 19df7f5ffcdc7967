"""First looks at data files, remembered: every use of a DataFile and of its copies opens a file once."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from unnaive.base.open_files import STDIN, ByteSource, path_mode
from unnaive.io.formats import find_format, inspect_source
from unnaive.io.inspection import Inspection
from unnaive.io.read_options import ReadOptions


class FirstLooks:
    """The inspections of files, as long as the files do not change, and the bytes that they have read.

    Only tables that can be read again from one look are remembered, not databases, workbooks and folders.
    """

    def __init__(self) -> None:
        self._sources: dict[tuple[Any, ...], ByteSource] = {}
        self._inspections: dict[tuple[Any, ...], Inspection] = {}

    def inspect(self, path: str, format: str | None, options: ReadOptions, *, labelled: bool) -> Inspection:
        """What is in a file, by a new look only if it was not looked at in the same way before."""
        file = (path, *_stamp(path))
        shown = (format or find_format(path)) in (None, "lines", "folder")  # formats in which it matters
        how = (
            format, labelled and shown, options.delimiter, options.header, options.expected, options.encoding,
            options.language, options.table, options.skip_bad, options.rows, options.max_line, options.max_ratio,
        )  # fmt: skip
        known = self._inspections.get(file + how)
        if known is not None:
            return known
        source = self._sources.setdefault(file, ByteSource(path))
        inspection = inspect_source(source, format, options, labelled=labelled)
        if inspection.table.reusable:
            self._inspections[file + how] = inspection
        return inspection


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when a file is written again; nothing for a pipe, whose state changes as it is read."""
    if path == STDIN or not stat.S_ISREG(path_mode(path) or 0):
        return ()
    state = Path(path).stat()
    return state.st_ino, state.st_size, state.st_mtime_ns
