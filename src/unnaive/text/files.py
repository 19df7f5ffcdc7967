"""Many small files → one TextBuffer; what is not UTF-8 is decoded with the encoding named or found, and reported."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from unnaive.errors import BadData
from unnaive.text.buffer import TextBuffer

_BOM = b"\xef\xbb\xbf"


def read_files(
    paths: Iterable[str | PathLike[str]], threads: int | None = None, encoding: str | None = None
) -> TextBuffer:
    """The texts of the files; `.encodings` of the result names those that are not UTF-8 and how they were read.

    `encoding` is for the files that are not valid UTF-8; without it, cp1252 is tried, then latin-1. One that is
    not a superset of ASCII, such as utf-16, is used for all files.
    """
    names = [fspath(path) for path in paths]
    everything = encoding is not None and not _extends_ascii(encoding)
    blobs, encodings = [], {}
    for place, name in enumerate(names):
        raw = _bytes(name)
        if everything or not _is_utf8(raw):
            text, encodings[place] = decoded(raw, encoding, name)
            raw = text.encode("utf-8", "replace")
        blobs.append(raw.removeprefix(_BOM))
    offsets = np.cumsum([0, *map(len, blobs)], dtype=np.int64)
    return TextBuffer(np.frombuffer(b"".join(blobs), dtype=np.uint8), offsets, encodings)


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
    """Whether ASCII bytes mean themselves in this encoding."""
    plain = bytes(range(128))
    try:
        return plain.decode(encoding) == plain.decode("ascii")
    except LookupError as error:
        raise BadData(f"there is no encoding called {encoding!r}; try utf-8, cp1252, cp1254 or latin-1") from error
    except UnicodeDecodeError:
        return False


def decoded(raw: bytes, encoding: str | None, name: str) -> tuple[str, str]:
    """(the text, the encoding that gave it) for bytes that are not UTF-8.

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
    raise BadData(f"{name} is neither UTF-8 nor {tried[-1]}; name its encoding")
