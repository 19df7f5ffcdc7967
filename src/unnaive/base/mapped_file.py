"""A memory-mapped model file, and a check that nobody has modified it since it was mapped.

Renaming another file over a mapped file does not affect the mapping. Writing into it in place does, and changes its
size or its timestamps; the change time (ctime) shows a write even if the modification time was set back. On Windows,
where mapped files cannot be replaced, models use a private copy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadModel
from unnaive.base.system import OPEN_FILES_MOVE

CLOCK_STEP = 50_000_000  # ns: two writes within this interval may leave the same timestamps


class MappedFile:
    """The state of a file when it was mapped; the file stays open, so that a new file of the same name is not mistaken
    for it.

    `handle` is its descriptor, None on Windows. `verify` raises if the content differs from what was saved. It is
    called on first use and after a change; without `verify`, every change counts as damage. Copies, such as those in
    other processes, hold their own arrays and no file.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.verify: Callable[[], None] | None = None
        self._was_sound = False  # result of the last check
        self._verified = False  # if set, the file counts as intact until its timestamps change
        self.handle = os.dup(handle) if OPEN_FILES_MOVE else None
        self._seen = self._state()

    def check(self) -> None:
        """Raise BadModel if the file is damaged or was modified after it was mapped."""
        state = self._state()
        if state == self._seen and self._verified:
            return
        written = state[:2] != self._seen[:2]  # ctime also changes when the file is renamed or its mode is set
        if written and (self.verify is None or state[0] != self._seen[0]):
            # raised without reading: reading pages beyond the end of a truncated file would crash
            raise BadModel(self._sentence())
        try:
            if self.verify is not None:
                self.verify()
        except BadModel as problem:
            over = self._was_sound or state != self._seen
            raise BadModel(self._sentence() if over else f"{self.path}: {problem}") from problem
        self._seen, self._was_sound = state, True
        self._verified = not 0 <= time.time_ns() - max(state[1:]) < CLOCK_STEP

    def _state(self) -> tuple[int, int, int]:
        """Size, modification time, change time."""
        if self.handle is None:
            return 0, 0, 0
        status = os.fstat(self.handle)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _sentence(self) -> str:
        return (
            f"{self.path}: the file was overwritten while its model was in use; load it again, and replace model "
            "files by renaming, as `save` does"
        )

    def __reduce__(self) -> Any:
        return _no_file, ()

    def __copy__(self) -> MappedFile:
        return self  # a copy shares the mapped pages

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __del__(self) -> None:
        handle = self.__dict__.get("handle")
        if handle is not None:
            os.close(handle)


def _no_file() -> None:
    """A pickled MappedFile is restored as None."""
