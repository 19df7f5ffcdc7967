"""Atomic file writes: write a temporary file beside the target, flush it, rename it over the target.

A writer holds a lock on its temporary file. An unlocked temporary file was left by a writer that was killed, and the
next writer of the same target removes it. The new file keeps the old one's mode and owner; a warning says what could
not be kept. On Windows, which cannot rename an open file, the temporary file is closed first and a leftover is
recognised by its age.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from unnaive.base.errors import UnnaiveWarning
from unnaive.base.system import (
    NO_LINK,
    NO_WAIT,
    OPEN_FILES_MOVE,
    PLAIN,
    flush_folder,
    keep_mode,
    keep_owner,
    lock_file,
    replace_file,
    user_id,
)

# seconds since the last write after which a temporary file counts as abandoned where locks cannot tell
LEFT_OVER = 3600.0


@contextmanager
def replacing(target: Path, mode: str = "wb", *, tidy: bool = True, **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces `target` if the block succeeds and is deleted if the block raises.

    tidy  remove what killed writers of `target` left, which lists the folder

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "note", "w") as file:
    ...     _ = file.write("whole")
    >>> [path.name for path in folder.iterdir()]
    ['note']
    """
    if tidy:
        remove_leftovers(target)
    temporary, handle = _open_temporary(target)
    try:
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            _take_over(target, file.fileno())
            os.fsync(file.fileno())
            if OPEN_FILES_MOVE:
                temporary.replace(target)  # still locked, so that no other writer removes it as a leftover
        if not OPEN_FILES_MOVE:
            replace_file(temporary, target)
        flush_folder(target.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def remove_leftovers(*targets: Path) -> list[Path]:
    """Remove temporary files of targets that killed writers left; files that a process has locked are kept."""
    names: dict[Path, set[str]] = {}
    for target in targets:
        names.setdefault(target.parent, set()).add(target.name)
    removed: list[Path] = []
    for folder, ours in names.items():
        with suppress(OSError):
            files = [path for path in folder.iterdir() if _target_name(path.name) in ours]
            removed += [path for path in files if _remove_unheld(path)]
    return removed


def _target_name(name: str) -> str | None:
    """The name of the target of a temporary file; None for other files."""
    match = re.fullmatch(r"\.(.+)\.[0-9a-f]{8}\.tmp", name, re.DOTALL)
    return None if match is None else match[1]


def _remove_unheld(path: Path) -> bool:
    if not OPEN_FILES_MOVE:
        return _remove_old(path)
    try:
        handle = os.open(path, os.O_RDONLY | PLAIN | NO_LINK | NO_WAIT)
    except OSError:
        return False
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != user_id():
            return False
        lock_file(handle, wait=False)
        path.unlink()
    except OSError:  # locked, or already deleted
        return False
    finally:
        os.close(handle)
    return True


def _remove_old(path: Path) -> bool:
    try:
        if time.time() - path.lstat().st_mtime < LEFT_OVER:
            return False
        path.unlink()
    except OSError:  # locked, or already deleted
        return False
    return True


def _open_temporary(target: Path) -> tuple[Path, int]:
    """Create and lock a temporary file beside the target."""
    while True:
        temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | PLAIN, 0o666)
        if not OPEN_FILES_MOVE:
            return temporary, handle
        with suppress(OSError):  # a file system without locks; leftovers are not removed there either
            lock_file(handle)
        if os.fstat(handle).st_nlink:
            return temporary, handle
        os.close(handle)  # another writer removed it as a leftover before it was locked


def _take_over(target: Path, handle: int) -> None:
    """Copy mode and owner of the replaced file to the open file; warn about what could not be copied."""
    try:
        old = target.stat()
    except OSError:
        return
    new = os.fstat(handle)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid) and not keep_owner(handle, old.st_uid, old.st_gid):
        _announce(f"{target} belonged to user {old.st_uid}, group {old.st_gid}; the new file belongs to you")
    keep_mode(handle, stat.S_IMODE(old.st_mode))
    if old.st_nlink > 1:
        others = "1 other name" if old.st_nlink == 2 else f"{old.st_nlink - 1} other names"
        _announce(f"{target} had {others} (hard links), which still refer to the old file")


def _announce(sentence: str) -> None:
    warnings.warn(sentence, UnnaiveWarning, stacklevel=6)


class HashingFile:
    """A file that computes the SHA-256 of its content while it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes or the buffer of an array."""
        self._hash.update(data)
        return self._file.write(data)

    @property
    def sha256(self) -> str:
        """SHA-256 of everything written so far."""
        return self._hash.hexdigest()
