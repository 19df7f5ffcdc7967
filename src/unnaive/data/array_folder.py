"""Arrays on disk, one file each in a folder; they are appended to, and read as memory maps or block by block.

A folder is complete if it has a manifest. The manifest is written last; it holds the size and checksum of every array,
and its own checksum.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.base.atomic_files import replacing
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.sealed_json import read_sealed, seal_json
from unnaive.base.types import Arrays

MANIFEST = "manifest.json"
FORMAT = 2
BLOCK = 1 << 22  # bytes per step of the checksum

Opened = TypeVar("Opened")


class ArrayWriter:
    """Append to named arrays in one folder; `finish` completes it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "run"
    >>> writer = ArrayWriter(folder)
    >>> writer.append("df", np.array([3, 1]))
    >>> writer.append("df", np.array([2]))
    >>> writer.finish({"documents": 3})
    >>> arrays, about = open_arrays(folder)
    >>> arrays["df"].tolist(), about
    ([3, 1, 2], {'documents': 3})
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        except OSError as problem:
            raise UnnaiveError(f"{folder} cannot be created ({problem.strerror}); choose another folder") from problem
        self._files: dict[str, IO[bytes]] = {}
        self._about: dict[str, dict[str, Any]] = {}

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Append to an array; all parts must have the same type."""
        values = np.ascontiguousarray(values)
        if name not in self._files:
            self._files[name] = (self.folder / name).open("wb")
            self._about[name] = {"dtype": values.dtype.str, "size": 0, "crc32": 0}
        about = self._about[name]
        if about["dtype"] != values.dtype.str:
            raise TypeError(f"{name} holds {about['dtype']}, not {values.dtype.str}")
        data = values.view(np.uint8).data if values.size else b""
        self._files[name].write(data)
        about["size"] += values.size
        about["crc32"] = zlib.crc32(data, about["crc32"])

    def finish(self, about: dict[str, Any]) -> None:
        """Flush and close all arrays, then write the manifest."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        with replacing(self.folder / MANIFEST) as file:
            file.write(seal_json({"format": FORMAT, "arrays": self._about, "about": about}))

    def abandon(self) -> None:
        """Close and remove all arrays."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class StoredArray:
    """An array on disk that is read block by block; unlike a memory map, it uses memory only for the block."""

    def __init__(self, path: Path, dtype: np.dtype[Any], size: int) -> None:
        self._path, self._dtype, self._size = path, dtype, size

    def __len__(self) -> int:
        return self._size

    def read(self, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """The values from `first` (inclusive) to `last` (exclusive), or to the end."""
        count = (self._size if last is None else last) - first
        values = np.fromfile(self._path, self._dtype, count, offset=first * self._dtype.itemsize)
        if len(values) < count:
            raise BadData(f"{self._path} was truncated while it was read; count again")
        return values


def open_stored(folder: Path) -> tuple[dict[str, StoredArray], dict[str, Any]]:
    """Like `open_arrays`, for reading block by block."""
    return _open(folder, StoredArray)


def open_arrays(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """Return (the arrays as read-only memory maps, the dict passed to `finish`); an incomplete folder is an error.

    >>> open_arrays(Path("no-such-folder"))
    Traceback (most recent call last):
    unnaive.base.errors.BadData: no-such-folder is incomplete (it has no manifest.json); remove it and count again
    """
    return _open(folder, _map)


def _map(path: Path, dtype: np.dtype[Any], size: int) -> NDArray[Any]:
    return np.memmap(path, dtype, "r", shape=(size,)) if size else np.zeros(0, dtype)


def _open(folder: Path, how: Callable[[Path, np.dtype[Any], int], Opened]) -> tuple[dict[str, Opened], dict[str, Any]]:
    try:
        manifest = _read_manifest(folder)
        arrays = {name: _open_array(folder / name, entry, how) for name, entry in manifest["arrays"].items()}
        return arrays, manifest["about"]
    except FileNotFoundError as problem:
        missing = Path(problem.filename).name
        raise BadData(f"{folder} is incomplete (it has no {missing}); remove it and count again") from problem
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        if isinstance(problem, BadData):
            raise
        raise BadData(f"{folder} is damaged ({problem}); remove it and count again") from problem


def _read_manifest(folder: Path) -> dict[str, Any]:
    content = (folder / MANIFEST).read_bytes()
    if json.loads(content).get("format") == 1:  # format 1 has no checksum of its own
        raise BadData(f"{folder} was written by another version of unnaive; remove it and count again")
    manifest = read_sealed(content)
    if manifest["format"] != FORMAT:
        raise BadData(f"{folder} was written by another version of unnaive; remove it and count again")
    return manifest


def _open_array(path: Path, about: dict[str, Any], how: Callable[[Path, np.dtype[Any], int], Opened]) -> Opened:
    kind = np.dtype(about["dtype"])
    if kind.kind not in "iuf":
        raise ValueError(f"{path.name} has the type {kind}")
    if path.stat().st_size != about["size"] * kind.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {about['size'] * kind.itemsize}")
    if _checksum(path) != about["crc32"]:
        raise ValueError(f"{path.name} has a wrong checksum")
    return how(path, kind, about["size"])


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum


def is_whole(folder: Path) -> bool:
    """Whether the folder is complete, that is, has a manifest."""
    return (folder / MANIFEST).is_file()
