"""Bytes of a file or of stdin, decompressed; and whether a path exists."""

from __future__ import annotations

import difflib
import io
import os
import re
import stat
import sys
import time
from pathlib import Path
from typing import IO, Any

from unnaive.base.decompression import BLOCK, MAX_RATIO, OnRead, WatchedStream, decompressed_stream
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.system import NO_WAIT, PLAIN

STDIN = "-"
STDIN_NAME = "stdin"
PIPE_PATIENCE = 5.0  # seconds until somebody must write to a named pipe


def hash_file(path: str | Path) -> str:
    """The sha256 of a file."""
    import hashlib

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_address(path: str | Path) -> bool:
    """Whether a path is an address with a scheme, such as hdfs://namenode:8020/tickets.

    >>> is_address("s3a://bucket/tickets.parquet"), is_address("tickets.parquet"), is_address("see https://a.org")
    (True, False, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", str(path)) is not None


def local_path(path: str | Path) -> Path:
    """The path of a file to write here; an error if it is an address.

    >>> local_path("hdfs://namenode:8020/tickets.model")
    Traceback (most recent call last):
    unnaive.base.errors.UnnaiveError: hdfs://namenode:8020/tickets.model is an address, where only --engine spark ...
    """
    if is_address(path):
        raise UnnaiveError(f"{path} is an address, where only --engine spark and unnaive.spark write; name a file")
    return Path(path)


def check_exists(path: str | Path) -> Path:
    """The path, if it exists; otherwise an error that suggests the nearest name in its folder.

    >>> check_exists("no-such-file.csv")
    Traceback (most recent call last):
    unnaive.base.errors.BadData: no file or folder called no-such-file.csv; check the spelling and the current folder
    """
    if is_address(path):
        raise BadData(f"{_shorten(str(path))} is an address; download the file first, then name it here")
    path = Path(path)
    if path_mode(path) is not None:
        return path
    hint = _find_nearest_name(path)
    advice = f"did you mean {hint}?" if hint else "check the spelling and the current folder"
    if str(path) == "tickets":  # the built-in collection, which compare and audit know by name
        advice = "to get the built-in tickets as files, run: unnaive demo -o demo"
    text = "" if path.suffix or hint else '; for a text itself: unnaive predict MODEL "some text"'
    raise BadData(f"no file or folder called {_shorten(str(path))}; {advice}{text}")


def path_mode(path: str | Path) -> int | None:
    """The kind of a path, as `stat` gives it; None if it does not exist.

    A name too long for the file system, or with a NUL, does not exist either.
    """
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return None


def can_read_again(path: str | Path) -> bool:
    """Whether a path can be read any number of times: not stdin, a pipe or a device.

    >>> can_read_again(STDIN), can_read_again("."), can_read_again("no-such-file.csv")
    (False, True, True)
    """
    mode = path_mode(path)
    return str(path) != STDIN and (mode is None or stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _shorten(path: str) -> str:
    """A path of reasonable length, or the beginning of a whole text that was passed as a path."""
    return path if len(path) <= 400 else path[:77] + "..."


def _find_nearest_name(path: Path) -> str | None:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return None
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return str(path.parent / near[0]) if near else None


def open_bytes(path: str | Path, on_read: OnRead | None = None, max_ratio: int = MAX_RATIO) -> IO[bytes]:
    """The decompressed bytes of a file, or of stdin for "-"; compressed ones are recognised by their first bytes."""
    return ByteSource(path).open(on_read, max_ratio)


class ByteSource:
    """The bytes of a file, or of stdin for "-", whose start can be read several times although it is opened once.

    What a look reads stays in memory. `open` hands it on together with the rest, so that a pipe loses nothing; after
    that, a file is opened again, and a pipe cannot be opened again. `lines_before` is the number of lines before the
    first byte, for messages.
    """

    lines_before = 0

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.is_file = self.path != STDIN and stat.S_ISREG(path_mode(path) or 0)
        self._handed_on = False  # whether the bytes of a pipe were given to a reader
        self._raw: IO[bytes] | None = None  # after the bytes of _start
        self._start = bytearray()

    @property
    def name(self) -> str:
        """The name in messages."""
        return STDIN_NAME if self.path == STDIN else self.path

    def look(self, max_ratio: int = MAX_RATIO) -> IO[bytes]:
        """The decompressed bytes from the start; those that are read are kept for the next reader."""
        return self._decompressed(self.packed(looking=True), max_ratio)

    def open(self, on_read: OnRead | None = None, max_ratio: int = MAX_RATIO) -> IO[bytes]:
        """The decompressed bytes from the start; what looks have kept is handed on and forgotten."""
        return self._decompressed(self.packed(on_read), max_ratio)

    def packed(self, on_read: OnRead | None = None, *, looking: bool = False) -> WatchedStream:
        """The unbuffered bytes as they are in the file, for a look or to be handed on."""
        if looking:
            if self._raw is None:
                self._raw, first = self._open_raw()
                self._start = bytearray(first)
            return WatchedStream(_Replay(self._raw, self._start))  # type: ignore[arg-type]
        if self._raw is None:
            return WatchedStream(*self._open_raw(), on_read)
        raw, start = self._raw, bytes(self._start)
        self._raw, self._start = None, bytearray()
        return WatchedStream(raw, start, on_read)

    def starts_with(self, prefixes: tuple[bytes, ...]) -> bool:
        """Whether the bytes in the file begin with one of these, by a look."""
        with self.packed(looking=True) as stream:
            return stream.read(BLOCK).startswith(prefixes)

    def __del__(self) -> None:
        if self._raw is not None and self.path != STDIN:
            self._raw.close()

    def _open_raw(self) -> tuple[IO[bytes], bytes]:
        if self._handed_on:
            raise BadData(f"{self.name} is not a file, so it can be read only once; save what it gives to a file first")
        if self.path == STDIN:
            self._handed_on = True
            # unbuffered, so that a line arrives when it was typed, not when a block is full
            return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), b""
        try:
            opened = _open_raw(check_exists(self.path))
        except OSError as problem:
            raise BadData(f"{self.path} cannot be read ({problem.strerror}); check its permissions") from problem
        self._handed_on = not self.is_file
        return opened

    def _decompressed(self, watched: WatchedStream, max_ratio: int) -> IO[bytes]:
        return decompressed_stream(io.BufferedReader(watched, BLOCK), watched, self.name, max_ratio)


class FilePart(ByteSource):
    """The bytes of a file from `start` to before `stop`, which are whole lines."""

    def __init__(self, path: str | Path, start: int, stop: int) -> None:
        super().__init__(path)
        self.start, self.stop = start, stop

    def packed(self, on_read: OnRead | None = None, *, looking: bool = False) -> WatchedStream:
        """The unbuffered bytes; a look is not kept."""
        file, _ = self._open_raw()
        file.seek(self.start)
        return WatchedStream(_Bounded(file, self.stop - self.start), on_read=on_read)  # type: ignore[arg-type]

    def count_lines(self) -> None:
        """Count the lines before the part; a lone carriage return ends a line too."""
        ends, left, after = 0, self.start, b""
        with Path(self.path).open("rb") as file:
            while left and (block := file.read(min(left, 64 * BLOCK))):
                ends += block.count(b"\n") + block.count(b"\r") - (after + block).count(b"\r\n")
                left, after = left - len(block), block[-1:]
        self.lines_before = ends


class _Bounded(io.RawIOBase):
    """The next `left` bytes of a file."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file, self._left = file, left

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with the next bytes."""
        size: int = self._file.readinto(memoryview(buffer)[: self._left]) or 0  # type: ignore[attr-defined]
        self._left -= size
        return size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


class _Replay(io.RawIOBase):
    """The bytes of `start`, then those of `raw`, which are added to `start`; several may share the two."""

    def __init__(self, raw: IO[bytes], start: bytearray) -> None:
        self._raw, self._start, self._at = raw, start, 0

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` with the next bytes."""
        if self._at == len(self._start):
            size: int = self._raw.readinto(buffer) or 0  # type: ignore[attr-defined]
            self._start += buffer[:size]
        else:
            part = self._start[self._at : self._at + len(buffer)]
            size = len(part)
            buffer[:size] = part
        self._at += size
        return size


def _open_raw(path: Path) -> tuple[IO[bytes], bytes]:
    """(the file, the bytes already read from it); an error for a FIFO without a writer."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb", buffering=0), b""
    pipe = os.open(path, os.O_RDONLY | PLAIN | NO_WAIT)
    first = b""
    deadline = time.monotonic() + PIPE_PATIENCE
    while not first:
        try:
            first = os.read(pipe, BLOCK)  # nothing: no writer, or one that came and went
        except BlockingIOError:
            break  # a writer that has not written yet
        if not first and time.monotonic() > deadline:
            os.close(pipe)
            raise BadData(
                f"{path} is a pipe without a writer; start the program that writes to it first, or name a file"
            )
        time.sleep(0 if first else 0.02)
    os.set_blocking(pipe, True)
    return os.fdopen(pipe, "rb", buffering=0), first


def file_signature(path: Path) -> tuple[int, ...] | None:
    """Detects a change of a file without reading it; None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
