"""Many small files → one TextBuffer; files that are not UTF-8 are decoded by a given or guessed encoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fsencode, fspath, strerror
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.decompression import FOREIGN_FORMATS, PACKED_FORMATS, unpack_bytes
from unnaive.base.errors import BadData
from unnaive.base.thread_count import thread_count
from unnaive.text.backend import kernel
from unnaive.text.buffer import TextBuffer

Raw = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8]]
_BOM = b"\xef\xbb\xbf"
_STARTS = (*PACKED_FORMATS, *FOREIGN_FORMATS)
LONGEST_START = max(map(len, _STARTS))
_SUSPECTS = np.isin(np.arange(256), [start[0] for start in _STARTS])  # by the first byte of a file


def read_files(
    paths: Iterable[str | PathLike[str]], threads: int | None = None, encoding: str | None = None
) -> TextBuffer:
    """The texts of the files; `.encodings` of the result has the encoding of each file that is not UTF-8.

    `encoding` is used for files that are not valid UTF-8; without it, cp1252 is tried, then latin-1. An encoding
    that is not a superset of ASCII, such as utf-16, is used for all files.
    """
    names = [fspath(path) for path in paths]
    return _decode(names, _native(names, threads) if kernel is not None else _plain(names), encoding)


def take_files(reader: Any, names: Sequence[str], encoding: str | None = None) -> TextBuffer:
    """The texts of the next files of a `kernel.FilesAhead`; `names` are their names."""
    return _decode(names, _check_read(names, reader.take()), encoding)


def _decode(names: Sequence[str], raw: Raw, encoding: str | None) -> TextBuffer:
    everything = encoding is not None and not _extends_ascii(encoding)
    blob, offsets, odd = raw
    unpacked = _unpack(names, blob, offsets)
    rows = range(len(names)) if everything else sorted({*np.flatnonzero(odd).tolist(), *unpacked})
    if not rows:
        return TextBuffer(blob, offsets)
    texts, encodings = {}, {}
    for row in rows:
        content = unpacked.get(row)
        if content is None:
            content = blob[offsets[row] : offsets[row + 1]].tobytes()
        if not everything and _is_utf8(content):
            texts[row] = content.removeprefix(_BOM).decode()
            continue
        text, encodings[row] = decoded(content, encoding, names[row])
        texts[row] = text.encode("utf-8", "replace").removeprefix(_BOM).decode()
    buffer = TextBuffer(blob, offsets).with_texts(texts)
    return TextBuffer(buffer.blob, buffer.offsets, encodings)


def _unpack(names: Sequence[str], blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> dict[int, bytes]:
    """The content of the compressed files by row; an error for a file that is no text, such as a picture."""
    filled = np.flatnonzero(np.diff(offsets))
    suspects = filled[_SUSPECTS[blob[offsets[filled]]]].tolist()
    starts = {
        row: blob[offsets[row] : min(offsets[row] + LONGEST_START, offsets[row + 1])].tobytes() for row in suspects
    }
    return {
        row: unpack_bytes(blob[offsets[row] : offsets[row + 1]].tobytes(), names[row])
        for row, start in starts.items() if start.startswith(_STARTS)
    }  # fmt: skip


def _native(names: list[str], threads: int | None) -> Raw:
    """The concatenated bytes of the files, their offsets, and which are not UTF-8; by the kernel."""
    return _check_read(names, kernel.read_files([fsencode(name) for name in names], thread_count(threads)))


def _check_read(names: Sequence[str], result: Any) -> Raw:
    """The bytes that the kernel read; raises an error that names the first unreadable file."""
    if len(result) == 2:
        number, code = result
        raise BadData(f"{names[number]} cannot be read: {strerror(code)}")
    return result  # type: ignore[no-any-return]


def _plain(names: list[str]) -> Raw:
    """`_native` in plain Python."""
    blobs = [_bytes(name).removeprefix(_BOM) for name in names]
    offsets = np.cumsum([0, *map(len, blobs)], dtype=np.int64)
    odd = np.array([not _is_utf8(raw) for raw in blobs], dtype=np.uint8)
    return np.frombuffer(b"".join(blobs), dtype=np.uint8), offsets, odd


def _bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise BadData(f"{name} cannot be read: {error.strerror or error}") from error


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _extends_ascii(encoding: str) -> bool:
    """Whether the encoding is a superset of ASCII."""
    plain = bytes(range(128))
    try:
        return plain.decode(encoding) == plain.decode("ascii")
    except LookupError as error:
        raise BadData(f"there is no encoding called {encoding!r}; try utf-8, cp1252, cp1254 or latin-1") from error
    except UnicodeDecodeError:
        return False


def decoded(raw: bytes, encoding: str | None, name: str) -> tuple[str, str]:
    """(the text, its encoding) for bytes that are not UTF-8.

    >>> decoded("“naïve”".encode("cp1252"), None, "a file")
    ('“naïve”', 'cp1252')
    """
    if encoding is None and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    tried = [encoding] if encoding is not None else ["cp1252", "latin-1"]
    for candidate in tried:
        try:
            return raw.decode(candidate), candidate
        except UnicodeDecodeError:
            continue
    raise BadData(f"{name} is neither UTF-8 nor {tried[-1]}; set its encoding")
