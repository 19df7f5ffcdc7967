"""Bytes of a file or of stdin, decompressed, as lines of text in the right encoding; csv_tables.py makes rows of them.

Memory is bounded by one line of at most `max_line` bytes, and the compression ratio is limited, so that a malicious
file ends with an error instead of filling the memory.
"""

from __future__ import annotations

import codecs
import difflib
import io
import os
import stat
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, AnyStr

from unnaive.base.errors import BadData, MissingExtra, UnnaiveWarning
from unnaive.base.system import NO_WAIT, PLAIN
from unnaive.io.options import MAX_LINE, MAX_RATIO, OnRead, ReadOptions

Lines = Iterator[tuple[int, str]]  # numbered from 1

STDIN = "-"
STDIN_NAME = "stdin"
BLOCK = 1 << 18
UNPACKED_FREELY = 64 << 20  # bytes of a compressed file before its ratio is checked
PIPE_PATIENCE = 5.0  # seconds until somebody must write to a named pipe

# The likely encoding of a file that is not UTF-8: the Windows code page of the language, Western by default.
CODE_PAGES = {
    "tr": "cp1254", "ru": "cp1251", "uk": "cp1251", "bg": "cp1251", "el": "cp1253", "he": "cp1255", "ar": "cp1256",
    "pl": "cp1250", "cs": "cp1250", "sk": "cp1250", "hu": "cp1250", "ro": "cp1250", "lt": "cp1257", "lv": "cp1257",
    "et": "cp1257", "vi": "cp1258",
}  # fmt: skip
WESTERN = "cp1252"

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
FOREIGN_FORMATS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; export it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Office file; export it as CSV",
    b"%PDF": "a PDF; extract its text first",
    b"\x89PNG": "a picture",
    b"PAR1": "a Parquet file; save it under a name that ends in .parquet",
    b"BZh": "packed with bzip2; unpack it, or pack it with gzip or zstd",
    b"\xfd7zXZ": "packed with xz; unpack it, or pack it with gzip or zstd",
}


class WatchedStream(io.RawIOBase):
    """A binary stream that counts the bytes read, for a progress bar."""

    def __init__(self, stream: IO[bytes], on_read: OnRead | None = None, first: bytes = b"") -> None:
        self._stream, self._on_read, self._first = stream, on_read, first
        self.count = 0

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` from the stream and report the number of bytes."""
        if self._first:
            size = len(self._first)
            buffer[:size], self._first = self._first, b""
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


def hash_file(path: str | Path) -> str:
    """The sha256 of a file."""
    import hashlib

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_exists(path: str | Path) -> Path:
    """The path, if it exists; otherwise an error that suggests the nearest name in its folder.

    >>> check_exists("no-such-file.csv")
    Traceback (most recent call last):
    unnaive.base.errors.BadData: no file or folder called no-such-file.csv; check the spelling and the current folder
    """
    if str(path).startswith(("http://", "https://", "ftp://", "s3://", "gs://")):
        raise BadData(f"{_shorten(str(path))} is an address; download the file first, then name it here")
    path = Path(path)
    if path_mode(path) is not None:
        return path
    hint = _find_nearest_name(path)
    advice = f"did you mean {hint}?" if hint else "check the spelling and the current folder"
    if str(path) == "tickets":  # the built-in collection, which compare and audit know by name
        advice = "to get the built-in tickets as files, run: unnaive demo --keep tickets"
    raise BadData(f"no file or folder called {_shorten(str(path))}; {advice}")


def path_mode(path: str | Path) -> int | None:
    """The kind of a path, as `stat` gives it; None if it does not exist.

    A name too long for the file system, or with a NUL, does not exist either.
    """
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return None


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
    """The decompressed bytes of a file, or of stdin for "-"; gzip and zstd are recognised by their first bytes."""
    first = b""
    if str(path) == STDIN:
        # unbuffered, so that a line arrives when it was typed, not when a block is full
        raw: IO[bytes] = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    else:
        try:
            raw, first = _open_raw(check_exists(path))
        except OSError as problem:
            raise BadData(f"{path} cannot be read ({problem.strerror}); check its permissions") from problem
    watched = WatchedStream(raw, on_read, first)
    return _decompress(io.BufferedReader(watched, BLOCK), watched, path, max_ratio)


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


def _decompress(stream: io.BufferedReader, packed: WatchedStream, path: str | Path, max_ratio: int) -> IO[bytes]:
    name = STDIN_NAME if str(path) == STDIN else str(path)
    start = stream.peek(8)[:8]
    if start.startswith(b"\x1f\x8b"):
        import gzip

        return io.BufferedReader(UnpackedStream(gzip.GzipFile(fileobj=stream), packed, name, max_ratio), BLOCK)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return io.BufferedReader(UnpackedStream(_open_zstd(stream), packed, name, max_ratio), BLOCK)
    for magic, what in FOREIGN_FORMATS.items():
        if start.startswith(magic):
            raise BadData(f"{name} is {what}")
    return stream


def _open_zstd(stream: IO[bytes]) -> Any:
    try:
        import pyarrow
    except ImportError as absent:
        raise MissingExtra("reading .zst files needs pyarrow; install it with: pip install pyarrow") from absent
    return pyarrow.CompressedInputStream(stream, "zstd")


def read_lines(path: str, options: ReadOptions) -> Lines:
    """The numbered lines of a file or of stdin; the file is closed at the end."""
    name = STDIN_NAME if path == STDIN else path
    with open_bytes(path, options.on_read, options.max_ratio) as stream:
        yield from decode_lines(
            stream, name, encoding=options.encoding, language=options.language, max_line=options.max_line
        )


def decode_lines(
    stream: IO[bytes], name: str, *, encoding: str | None = None, language: str = "en", max_line: int = MAX_LINE
) -> Lines:
    """Numbered lines with their ends, decoded; a lone carriage return also ends a line.

    The encoding is the one given, or that of a byte-order mark, or UTF-8; lines that are not UTF-8 are read in the code
    page of `language`, with a warning. A truncated compressed file is an error.

    >>> list(decode_lines(io.BytesIO("çay\\r\\nköfte".encode()), "menu"))
    [(1, 'çay\\r\\n'), (2, 'köfte')]
    """
    number = 0
    nuls = False
    try:
        for line in _choose_decoder(stream, name, encoding, language, max_line):
            for piece in io.StringIO(line, newline="") if "\r" in line else (line,):
                number += 1
                if "\0" in piece and not nuls:
                    nuls = _warn_about_nuls(piece, name, number)
                yield number, piece
    except (EOFError, zlib.error, OSError) as problem:
        where = f"after line {number}" if number else "before its first line"
        raise BadData(f"{name} is truncated or damaged {where} ({problem}); copy it again") from problem


def _bounded_lines(stream: IO[AnyStr], name: str, max_line: int) -> Iterator[AnyStr]:
    number = 0
    while line := stream.readline(max_line + 1):
        number += 1
        if len(line) > max_line:
            raise BadData(
                f"line {number} of {name} is longer than {max_line >> 20} MiB; if that is right, use --max-line MIB"
            )
        yield line


def _choose_decoder(stream: IO[bytes], name: str, encoding: str | None, language: str, max_line: int) -> Iterator[str]:
    encoding = encoding or _find_byte_order_mark(stream)
    if encoding == "utf-8-sig":
        stream.read(len(codecs.BOM_UTF8))
        encoding = None
    if encoding is None:
        return _decode_utf8_or_code_page(stream, name, CODE_PAGES.get(language, WESTERN), max_line)
    return _decode_as(stream, name, encoding, max_line)


def _find_byte_order_mark(stream: IO[bytes]) -> str | None:
    peek = getattr(stream, "peek", None)
    start = peek(4)[:4] if peek else stream.read(4)
    if not peek:
        stream.seek(0)
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS if start.startswith(mark)), None)


def _decode_as(stream: IO[bytes], name: str, encoding: str, max_line: int) -> Iterator[str]:
    try:
        wrapped = io.TextIOWrapper(stream, encoding=encoding, newline="")
    except LookupError as unknown:
        raise BadData(f"no encoding called {encoding!r}; common ones are utf-8, utf-16, cp1252, cp1254") from unknown
    try:
        yield from _bounded_lines(wrapped, name, max_line)
    except UnicodeError as problem:
        raise BadData(
            f"{name} is not {encoding} ({_describe_unicode_error(problem)}); set another --encoding"
        ) from problem
    finally:
        if not wrapped.closed:
            wrapped.detach()


def _describe_unicode_error(problem: UnicodeError) -> str:
    if isinstance(problem, UnicodeDecodeError):
        return f"byte 0x{problem.object[problem.start]:02x}"
    return str(problem)


def _decode_utf8_or_code_page(stream: IO[bytes], name: str, code_page: str, max_line: int) -> Iterator[str]:
    """Decode each line as UTF-8 if it is valid, else by the code page, whose text is hardly ever valid UTF-8."""
    warned = False
    for number, raw in enumerate(_bounded_lines(stream, name, max_line), start=1):
        try:
            yield raw.decode()
        except UnicodeDecodeError as problem:
            if not warned:
                warned = _warn_about_code_page(name, f"byte 0x{raw[problem.start]:02x} on line {number}", code_page)
            yield decode_code_page(raw, code_page)


def _warn_about_code_page(name: str, where: str, code_page: str) -> bool:
    warnings.warn(
        f"{name} is not UTF-8 ({where}): such lines are read as {code_page}; if that is wrong, set --encoding",
        UnnaiveWarning,
        stacklevel=3,
    )
    return True


def decode_code_page(raw: bytes, code_page: str) -> str:
    """The bytes as text; bytes that a Windows code page does not define are control characters, as in browsers.

    >>> decode_code_page(b"caf\\xe9\\x81", "cp1252")
    'café\\x81'
    """
    return raw.decode(code_page, errors="unnaive-control")


def _keep_control_bytes(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeDecodeError):
        raise problem
    return problem.object[problem.start : problem.end].decode("latin-1"), problem.end


codecs.register_error("unnaive-control", _keep_control_bytes)


def _guess_byte_order(piece: str) -> str:
    """The encoding of a UTF-16 line without a byte-order mark: by which byte of each two is NUL.

    >>> _guess_byte_order("t\\0e\\0x\\0t\\0"), _guess_byte_order("\\0t\\0e\\0x\\0t")
    ('--encoding utf-16-le', '--encoding utf-16-be')
    """
    first, second = piece[::2].count("\0"), piece[1::2].count("\0")
    if abs(first - second) <= len(piece) // 8:
        return "--encoding utf-16-le, or utf-16-be"
    return f"--encoding utf-16-{'be' if first > second else 'le'}"


def _warn_about_nuls(piece: str, name: str, number: int) -> bool:
    if piece.count("\0") * 4 > len(piece):
        raise BadData(f"line {number} of {name} is mostly NULs; if the file is UTF-16, use {_guess_byte_order(piece)}")
    warnings.warn(f"{name} contains NULs (line {number}); they are read as word borders", UnnaiveWarning, stacklevel=3)
    return True
