"""A file whose pages a model stands on, and whether somebody has written into it since.

A file that is replaced by renaming another one over it stays as it was for those who mapped it. One that is written
over in place changes under their eyes; its size and its times of change tell, also where somebody sets back the time
that can be set. Where mapped files cannot be replaced, models stand on a copy, which nobody else can change.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadModel
from unnaive.base.system import OPEN_FILES_MOVE

CLOCK_STEP = 50_000_000  # ns that two writes may be apart and give a file the same times


class MappedFile:
    """The file as it was when it was mapped; held open, so that a file of the same name is not taken for it.

    `verify` raises if what is in it is not what was once written; it is called at the first use, and when the file has
    changed since. Without it, any change is taken for damage. Copies, such as those in other processes, hold arrays of
    their own, and no file.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.verify: Callable[[], None] | None = None
        self._was_sound = False  # when it was last looked at
        self._verified = False  # and so to be taken as sound until its times change
        self._handle = os.dup(handle) if OPEN_FILES_MOVE else None
        self._seen = self._state()

    def check(self) -> None:
        """An error if the file was damaged, or if somebody has written into it since it was mapped."""
        found = self._state()
        if found == self._seen and self._verified:
            return
        written = found[:2] != self._seen[:2]  # the last time changes with the name and the mode, too
        if written and (self.verify is None or found[0] != self._seen[0]):
            raise BadModel(self._sentence())  # not looked at: pages behind the end of a file cannot be read
        try:
            if self.verify is not None:
                self.verify()
        except BadModel as problem:
            over = self._was_sound or found != self._seen
            raise BadModel(self._sentence() if over else f"{self.path}: {problem}") from problem
        self._seen, self._was_sound = found, True
        self._verified = not 0 <= time.time_ns() - max(found[1:]) < CLOCK_STEP

    def _state(self) -> tuple[int, int, int]:
        """Size, time of writing, time of any change."""
        if self._handle is None:
            return 0, 0, 0
        status = os.fstat(self._handle)
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _sentence(self) -> str:
        return (
            f"{self.path}: the file was written over while its model was in use; load it again, and put new models in "
            "its place by renaming, as `save` does"
        )

    def __reduce__(self) -> Any:
        return _no_file, ()

    def __copy__(self) -> MappedFile:
        return self  # the same pages

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __del__(self) -> None:
        handle = self.__dict__.get("_handle")
        if handle is not None:
            os.close(handle)


def _no_file() -> None:
    """What a pickled MappedFile comes back as."""
