"""Integers as deflated byte planes: the first bytes of all numbers, then the second bytes, and so on.

Small numbers have mostly 0 as their high bytes, so the planes deflate well. packed_documents.py writes them,
unpack_documents.py reads them.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.decompression import MAX_RATIO, UNPACKED_FREELY

INTEGERS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by width in bytes
NUMBER = 32  # bytes that a number takes while it is unpacked and checked
PIECE = 1 << 22  # bytes deflated at a time


def deflate_integers(values: NDArray[Any], strategy: int = zlib.Z_RLE) -> tuple[NDArray[np.uint8], int]:
    """Deflate non-negative integers: the first bytes of all, then the second bytes, ….

    Also return the width in bytes.
    """
    width = np.min_scalar_type(int(values.max(initial=0))).itemsize
    narrow = values.astype(np.dtype(INTEGERS[width]).newbyteorder("<"))
    return deflate(narrow.view(np.uint8).reshape(-1, width).T, strategy), width


def deflate(plain: NDArray[np.uint8], strategy: int = zlib.Z_RLE) -> NDArray[np.uint8]:
    """Deflate with run lengths and single bytes.

    Six times as fast as searching repeated strings, which gaps do not have.
    """
    compressor = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    flat = np.ascontiguousarray(plain).reshape(-1)
    pieces = [compressor.compress(flat[start : start + PIECE].data) for start in range(0, flat.size, PIECE)]
    return np.frombuffer(b"".join([*pieces, compressor.flush()]), np.uint8)


def most_unpacked(n_packed: int) -> int:
    """The most bytes that `n_packed` bytes of a file may take in memory: the rule of every compressed file.

    >>> most_unpacked(1000) >> 20, most_unpacked(1_000_000)
    (64, 250000000)
    """
    return max(UNPACKED_FREELY, MAX_RATIO * n_packed)


def inflate(packed: NDArray[np.uint8], size: int, name: str) -> NDArray[np.uint8]:
    """Inflate to exactly `size` bytes, which the caller has compared with `most_unpacked`."""
    if packed.ndim != 1 or packed.dtype != np.uint8 or size < 0:
        raise ValueError(f"{len(packed)} bytes cannot hold their {name}")
    decompressor = zlib.decompressobj()
    plain = decompressor.decompress(packed.tobytes(), size + 1)
    if len(plain) != size or not decompressor.eof or decompressor.unused_data:
        raise ValueError(f"their {name} have a wrong length")
    return np.frombuffer(plain, np.uint8)


def fold_sign(values: NDArray[Any]) -> NDArray[np.int64]:
    """Map integers to non-negative ones: 0, −1, 1, −2, 2, … → 0, 1, 2, 3, 4, …"""
    wide = values.astype(np.int64)
    return np.where(wide < 0, -2 * wide - 1, 2 * wide)


def unfold_sign(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The inverse of `fold_sign`."""
    return np.where(values % 2 == 1, -(values + 1) // 2, values // 2)
