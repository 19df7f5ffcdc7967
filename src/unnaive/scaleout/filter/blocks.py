"""The interface of formats for the filter: blocks of texts, of which some are kept, and a writer."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.extras import import_extra
from unnaive.io.fields.columns import Columns
from unnaive.io.read_options import ReadOptions

GZIP_LEVEL = 6
BLOCK_BYTES = 4 << 20  # bytes of lines or records scored at a time


@dataclass(frozen=True)
class ShardReading:
    """How a shard is read.

    columns  columns of text, if the format has columns
    message  parts to read of e-mail messages; None for whole texts
    options  the options of reading
    strip    whether HTML must be stripped of markup, because the model does not do it
    """

    columns: Columns | None
    message: str | None
    options: ReadOptions
    strip: bool = True


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """The texts of a block, in order; `skipped` lines could not be read."""

    texts: Sequence[str]
    skipped: int = 0


class TextBlock(Protocol):
    """Consecutive texts of a shard, with everything around them."""

    @property
    def size(self) -> int:
        """Decompressed bytes."""

    def read(self) -> ReadTexts:
        """The texts; called once, perhaps by another thread."""

    def take(self, kept: NDArray[np.bool_]) -> Any:
        """The content to write if these texts of the block are kept; called after `read`."""


class ShardWriter(Protocol):
    """Writes the kept parts, in order."""

    def pack(self, part: Any) -> Any:
        """Prepare the result of `take` for `write`; thread-safe."""

    def write(self, packed: Any) -> int:
        """Write it after all earlier parts; returns the decompressed bytes."""


class Shard(Protocol):
    """A file of texts that is read sequentially and written unchanged, with fewer texts."""

    def blocks(self) -> Iterator[TextBlock]:
        """The content of the file, block by block."""

    def writing(self, file: IO[bytes], packing: str) -> AbstractContextManager[ShardWriter]:
        """A writer to an open file with the given compression, one of PACKINGS, or "" for none."""


@dataclass(frozen=True)
class BytesWriter:
    """A writer of bytes that compresses each part separately: members, frames and streams can be concatenated."""

    file: IO[bytes]
    packing: str

    def pack(self, part: bytes) -> tuple[int, bytes]:
        """(size, bytes to write)."""
        return len(part), pack_bytes(part, self.packing)

    def write(self, packed: tuple[int, bytes]) -> int:
        """Write the compressed content; returns its uncompressed size."""
        self.file.write(packed[1])
        return packed[0]


def pack_bytes(data: bytes, packing: str) -> bytes:
    """The compressed content; empty content stays empty.

    >>> import gzip
    >>> gzip.decompress(pack_bytes(b"one ", "gzip") + pack_bytes(b"two", "gzip"))
    b'one two'
    """
    return compress(data, packing) if data and packing else data


def finish_packed(file: IO[bytes], packing: str) -> None:
    """Write an empty member, frame or stream if nothing was kept: decompressors reject a file of no bytes."""
    if packing and not file.tell():
        file.write(compress(b"", packing))


def compress(data: bytes, packing: str) -> bytes:
    """The content as one member of gzip, frame of zstd, or stream of bzip2 or xz."""
    if packing in ("bzip2", "xz"):
        packed: bytes = import_module({"bzip2": "bz2", "xz": "lzma"}[packing]).compress(data)
        return packed
    if packing == "gzip":
        member = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)  # no time stamp: equal content gives equal bytes
        return member.compress(data) + member.flush()
    pyarrow = import_extra("pyarrow", "writing .zst files")

    return bytes(pyarrow.Codec("zstd").compress(data, asbytes=True))


def damaged(path: str, problem: Exception) -> BadData:
    """The error for a compressed file that cannot be decompressed to its end."""
    return BadData(f"{path} is truncated or damaged ({problem}); copy it again")
