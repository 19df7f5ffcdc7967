"""A file whose pages a model stands on, and whether somebody has written into it since.

A file that is replaced by renaming another one over it stays as it was for those who mapped it. One that is written
over in place changes under their eyes; its size and time of change tell.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unnaive.base.errors import BadModel


class MappedFile:
    """The file as it was when it was mapped; held open, so that a file of the same name is not taken for it.

    `verify` raises if what is in it is not what was once written; it is called at the first use, and when the file has
    changed since. Without it, any change is taken for damage. Copies, such as those in other processes, hold arrays of
    their own, and no file.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.verify: Callable[[], None] | None = None
        self._verified = False
        self._handle = os.dup(handle)
        self._seen = self._state()

    def check(self) -> None:
        """An error if the file was damaged, or if somebody has written into it since it was mapped."""
        found = self._state()
        if found == self._seen and self._verified:
            return
        if found != self._seen and (self.verify is None or found[0] != self._seen[0]):
            raise BadModel(self._sentence())  # not looked at: pages behind the end of a file cannot be read
        try:
            if self.verify is not None:
                self.verify()
        except BadModel as problem:
            raise BadModel(f"{self.path}: {problem}" if found == self._seen else self._sentence()) from problem
        self._seen, self._verified = found, True

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self._handle)
        return status.st_size, status.st_mtime_ns

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
