"""gzip, zstd, bzip2 and xz: the bytes of a compressed file, recognised by its first bytes, are read decompressed.

The compression ratio is limited, so that a malicious file ends with an error instead of filling the memory.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from typing import IO, Any

from unnaive.base.errors import BadData
from unnaive.base.extras import import_extra

OnRead = Callable[[int], None]  # called with the number of bytes just read

BLOCK = 1 << 18
MAX_RATIO = 250
UNPACKED_FREELY = 64 << 20  # bytes of a compressed file before its ratio is checked

GZIP, ZSTD, XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"
SKIPPED_FRAMES = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))  # with which pzstd begins
BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
PACKED_FORMATS = (GZIP, ZSTD, *SKIPPED_FRAMES, b"BZh", XZ)  # a text may begin with the last but one, too
MOST_XZ = 1 << 29  # bytes of memory that a file may ask for
FOREIGN_FORMATS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; export it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Office file; export it as CSV",
    b"%PDF-": "a PDF; extract its text first",
    b"\x89PNG": "a picture, not a text; remove it",
    b"\xff\xd8\xff": "a picture, not a text; remove it",
    b"GIF8": "a picture, not a text; remove it",
    b"PAR1": "a Parquet file; save it under a name that ends in .parquet",
}


class WatchedStream(io.RawIOBase):
    """A binary stream that counts the bytes read, for a progress bar."""

    def __init__(self, stream: IO[bytes], first: bytes = b"", on_read: OnRead | None = None) -> None:
        self._stream, self._on_read, self._first = stream, on_read, first
        self.count = 0

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` from the stream and report the number of bytes."""
        if self._first:
            size = min(len(buffer), len(self._first))
            buffer[:size], self._first = self._first[:size], self._first[size:]
        else:
            size = self._stream.readinto(buffer) or 0  # type: ignore[attr-defined]
        self.count += size
        if self._on_read is not None:
            self._on_read(size)
        return size

    def close(self) -> None:
        """Also close the stream below."""
        self._stream.close()
        super().close()


class UnpackedStream(io.RawIOBase):
    """The decompressed bytes of a file, with a limit on the compression ratio."""

    def __init__(self, unpacked: Any, packed: WatchedStream, name: str, max_ratio: int) -> None:
        self._unpacked, self._packed, self._name, self._max_ratio = unpacked, packed, name, max_ratio
        self._count = 0

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`; an error if the compression ratio exceeds the maximum."""
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        self._count += len(data)
        if self._count > max(UNPACKED_FREELY, self._max_ratio * self._packed.count):
            raise BadData(
                f"{self._name} unpacks to more than {self._max_ratio} times its size; reading stopped after "
                f"{self._count >> 20} MiB; if that size is right, unpack it first"
            )
        return len(data)

    def close(self) -> None:
        """Also close the compressed file."""
        self._unpacked.close()
        self._packed.close()
        super().close()


def decompressed_stream(stream: io.BufferedReader, packed: WatchedStream, name: str, max_ratio: int) -> IO[bytes]:
    """The decompressed bytes of `stream`, or `stream` itself; an error for another format that cannot be read."""
    start = stream.peek(16)[:16]
    unpacked = _open_packed(stream, start)
    if unpacked is not None:
        return io.BufferedReader(UnpackedStream(unpacked, packed, name, max_ratio), BLOCK)
    for magic, what in FOREIGN_FORMATS.items():
        if start.startswith(magic):
            raise BadData(f"{name} is {what}")
    return stream


def unpack_bytes(raw: bytes, name: str) -> bytes:
    """The decompressed bytes of a small file called `name`; the same bytes if it is not compressed.

    >>> import gzip
    >>> unpack_bytes(gzip.compress(b"red ball"), "a.txt.gz")
    b'red ball'
    """
    packed = WatchedStream(io.BytesIO(raw))
    try:
        with decompressed_stream(io.BufferedReader(packed, BLOCK), packed, name, MAX_RATIO) as stream:
            return stream.read()
    except (EOFError, zlib.error, OSError) as problem:
        raise BadData(f"{name} is truncated or damaged ({problem}); copy it again") from problem


def _open_packed(stream: io.BufferedReader, start: bytes) -> Any:
    """The decompressed bytes of a stream that begins with `start`; None if it is not compressed."""
    if start.startswith(GZIP):
        import gzip

        return gzip.GzipFile(fileobj=stream)
    if start.startswith((ZSTD, *SKIPPED_FRAMES)):
        return import_extra("pyarrow", "reading .zst files").CompressedInputStream(stream, "zstd")
    if BZIP2.match(start):
        import bz2

        return bz2.BZ2File(stream)
    return XzStream(stream) if start.startswith(XZ) else None


class XzStream:
    """The decompressed bytes of one xz stream after another; a file that asks for too much memory is an error."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._packed = stream, b""
        self._decompressor: Any = None

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end of the file."""
        import lzma

        while True:
            if self._decompressor is None or self._decompressor.eof:
                self._packed = (self._packed or self._stream.read(BLOCK)).lstrip(b"\0")  # streams may be padded
                if not self._packed:
                    return b""
                self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_XZ)
            elif self._decompressor.needs_input:
                self._packed = self._stream.read(BLOCK)
                if not self._packed:
                    raise EOFError("the compressed stream ends too early")
            try:
                data: bytes = self._decompressor.decompress(self._packed, size)
            except lzma.LZMAError as problem:
                raise OSError(str(problem)) from problem
            self._packed = self._decompressor.unused_data
            if data:
                return data

    def close(self) -> None:
        """Close the compressed stream."""
        self._stream.close()
