"""Checksums of the arrays and of the header of a model file, which detect damage: 64 bits each.

They detect flipped bits, lost blocks and overwritten files, not forgery. Every step is a bijection, so a change inside
one word of 8 bytes is always detected; any other change with a probability of about 1 − 2⁻⁶⁴.

    row r of the bytes, filled up with zeros, is 1,024 words w[r, i] of 8 bytes, little-endian; all modulo 2⁶⁴
    s[i] = (i + 1)·F;   for each row: s[i] ← rot29((s[i] ⊕ w[r, i])·F)
    for h = 512, 256, …, 1: s[i] ← rot29((s[i] ⊕ rot17(s[i + h]))·F) for i < h
    x = s[0] ⊕ number of bytes;   x ← (x ⊕ x≫32)·F;   x ← (x ⊕ x≫29)·F;   checksum = x ⊕ x≫32

F = 0x9e3779b97f4a7c15, rot turns a word to the left. io/_rows_checksum.h has the native loops: 7 to 35 GB a second
where BLAKE2b does 1, so that a model loads as fast as without.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel
from unnaive.base.types import Arrays

try:
    import unnaive.base._rows as native
except ImportError:  # built without a compiler
    native = None

LANES = 1024  # words of 8 bytes side by side
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying by it loses nothing
DIGITS = 16  # length of a checksum in hexadecimal
UNKNOWN = "0" * DIGITS  # placeholder in the header while its checksum is computed
ENTRY = '"checksum": "{}"'  # the checksum of the header, as written in it
REMEDY = "restore it from a copy, or train it again"
HEXADECIMAL = re.compile(f"[0-9a-f]{{{DIGITS}}}")


def checksum(array: NDArray[Any]) -> str:
    """The checksum of the bytes of an array as stored in a file, in hexadecimal.

    >>> checksum(np.arange(3, dtype=np.uint8)), checksum(np.zeros(0))
    ('0f707d9c16db82f6', '7b65a4529c288ef9')
    """
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    value = (checksum_by_numpy if native is None else native.checksum)(_bytes_of(little))
    return f"{value:0{DIGITS}x}"


def copy_with_checksum(array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """A copy of an array and its checksum, in one pass over its bytes."""
    if native is None or not array.dtype.isnative or not array.flags.c_contiguous:
        return array.copy(), checksum(array)
    copy = np.empty_like(array)
    value = native.copy_checksum(_bytes_of(array), _bytes_of(copy))
    return copy, f"{value:0{DIGITS}x}"


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def checksum_by_numpy(data: NDArray[np.uint8]) -> int:
    """The checksum of bytes: the specification of the native loops."""
    whole = len(data) // (8 * LANES) * (8 * LANES)
    state = np.arange(1, LANES + 1, dtype=np.uint64) * FACTOR
    for row in data[:whole].reshape(-1, 8 * LANES):
        state = _rotated((state ^ row.view("<u8")) * FACTOR, 29)
    if whole < len(data):
        last = np.zeros(8 * LANES, np.uint8)
        last[: len(data) - whole] = data[whole:]
        state = _rotated((state ^ last.view("<u8")) * FACTOR, 29)
    while len(state) > 1:
        first, second = np.split(state, 2)
        state = _rotated((first ^ _rotated(second, 17)) * FACTOR, 29)
    last_word = state ^ np.uint64(len(data))
    for shift in (32, 29):
        last_word = (last_word ^ last_word >> np.uint64(shift)) * FACTOR
    return int((last_word ^ last_word >> np.uint64(32))[0])


def _rotated(words: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    return words << np.uint64(by) | words >> np.uint64(64 - by)


def seal_header(header: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    """The header of a safetensors file with these metadata and the checksum of all of it, a multiple of 8 bytes."""
    words = json.dumps({"__metadata__": {"checksum": UNKNOWN, **metadata}, **header}).encode()
    words += b" " * (-len(words) % 8)
    return words.replace(_entry(UNKNOWN), _entry(_bytes_checksum(words)), 1)


def check_header(words: bytes, metadata: Mapping[str, str], *, required: bool) -> None:
    """Raise an error if the header of a file was damaged; early files have no checksum."""
    stored = metadata.get("checksum")
    if stored is None and not required:
        return
    blank = words.replace(_entry(str(stored)), _entry(UNKNOWN), 1)
    if stored is None or not HEXADECIMAL.fullmatch(stored) or _bytes_checksum(blank) != stored:
        raise BadModel(f"its description was damaged since it was written (checksum); {REMEDY}")


def _entry(value: str) -> bytes:
    return ENTRY.format(value).encode()


def _bytes_checksum(words: bytes) -> str:
    return checksum(np.frombuffer(words, np.uint8))


def checksums_of(arrays: Arrays) -> dict[str, str]:
    """The checksum of each array."""
    return {name: checksum(array) for name, array in arrays.items()}


def check_arrays(arrays: Arrays, checksums: Mapping[str, str]) -> None:
    """Raise an error if an array was damaged."""
    for name, array in arrays.items():
        _check(name, checksum(array), checksums)


def copy_checked(arrays: Arrays, checksums: Mapping[str, str] | None) -> Arrays:
    """Copies of the arrays; an error if one of them was damaged."""
    if checksums is None:
        return {name: array.copy() for name, array in arrays.items()}
    copies = {}
    for name, array in arrays.items():
        copies[name], computed = copy_with_checksum(array)
        _check(name, computed, checksums)
    return copies


def _check(name: str, computed: str, checksums: Mapping[str, str]) -> None:
    if computed != checksums[name]:
        raise BadModel(f"its {name} was damaged since it was written (checksum); {REMEDY}")


def read_checksums(about: Mapping[str, Any], arrays: Arrays, *, required: bool) -> dict[str, str] | None:
    """The checksums of the arrays in a description; None for an early file."""
    checksums = about.get("checksums")
    if checksums is None and not required:
        return None
    if not isinstance(checksums, dict) or checksums.keys() != arrays.keys():
        raise BadModel(f"its checksums are not those of its arrays; {REMEDY}")
    return checksums
