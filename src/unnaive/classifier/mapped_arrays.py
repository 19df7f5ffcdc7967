"""The arrays of a safetensors file, memory-mapped, so that all processes that read it share the memory."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.mapped_file import MappedFile
from unnaive.base.system import map_or_read
from unnaive.base.types import Arrays

LONGEST_HEADER = 100_000_000  # bytes, as in the safetensors library
KINDS = {
    f"{letter}{8 * size}": np.dtype(f"<{kind}{size}")
    for letter, kind, sizes in (("F", "f", (2, 4, 8)), ("I", "i", (1, 2, 4, 8)), ("U", "u", (1, 2, 4, 8)))
    for size in sizes
}


class MappedArrays(NamedTuple):
    """The arrays of a file, read-only, its metadata, the bytes of its header, and the file that was mapped."""

    arrays: Arrays
    metadata: dict[str, str]
    header: bytes
    file: MappedFile


def map_arrays(path: Path) -> MappedArrays:
    """The content of a safetensors file; a ValueError if it is invalid.

    The arrays are views of the mapped file. If the file is replaced by renaming, as models are, processes that mapped
    it keep the old content, whose space is freed when the last of them ends. All sizes are checked first: arrays must
    follow each other without gaps or overlaps, and end at the end of the file.
    """
    with path.open("rb") as file:
        mapped = MappedFile(path, file.fileno())
        try:
            data = map_or_read(file)
        except ValueError as problem:  # an empty file cannot be mapped
            raise ValueError("the file is empty") from problem
    header, start = _header(data)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(entry, str) for entry in metadata.values()):
        raise ValueError("its metadata are not text")
    end, arrays = start, {}
    for name, (kind, shape, first, last) in sorted(_entries(header).items(), key=lambda entry: entry[1][2:]):
        if start + first != end or last - first != prod(shape) * kind.itemsize:
            raise ValueError(f"the position of {name} does not fit the file")
        end = start + last
        if end > len(data):
            raise ValueError("it ends too early")
        arrays[name] = _view(data, kind, shape, start + first)
    if end != len(data):
        raise ValueError("it has bytes after its last array")
    return MappedArrays(arrays, metadata, data[8:start], mapped)


def _header(data: Any) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays start."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(LONGEST_HEADER, len(data) - 8):
        raise ValueError("its header is cut off")
    header = json.loads(data[8 : 8 + size].decode())
    if data[8:9] != b"{" or not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    return header, 8 + size


def _entries(header: dict[str, Any]) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int, int]]:
    """Type, shape, first and last byte of each array."""
    entries = {}
    for name, entry in header.items():
        kind, shape, places = (entry[key] for key in ("dtype", "shape", "data_offsets"))
        numbers = [*shape, *places]
        if not all(type(number) is int and number >= 0 for number in numbers) or len(places) != 2:
            raise ValueError(f"the header of {name} has no numbers")
        if kind not in KINDS:
            raise ValueError(f"{name} is of type {kind}, which no model has")
        entries[name] = (KINDS[kind], tuple(shape), places[0], places[1])
    return entries


def _view(data: Any, kind: np.dtype[Any], shape: tuple[int, ...], start: int) -> NDArray[Any]:
    size = prod(shape)
    flat = np.frombuffer(data, kind, size, start) if size else np.zeros(0, kind)
    flat.flags.writeable = False
    usable = flat if flat.flags.aligned and kind.isnative else flat.astype(kind.newbyteorder("="))
    return usable.reshape(shape)
