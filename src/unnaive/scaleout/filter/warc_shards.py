"""Shards of web archives, WARC and WET: kept records are written byte for byte.

A record of type conversion (WET) has a text, and so has one of type response or resource with text or HTML. All other
records, such as warcinfo, have no text and are written unchanged. ISO 28500:2017.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.open_files import STDIN, STDIN_NAME, open_bytes
from unnaive.io.text_encoding import decode_code_page
from unnaive.scaleout.filter.blocks import BLOCK_BYTES, ReadTexts, ShardReading, damaged, finish_packed, pack_bytes
from unnaive.scaleout.filter.http_content import decode_body
from unnaive.text.encoded_words import decode_as

LONGEST_HEADER = 1 << 16  # maximum bytes of a record's header
TEXT_KINDS = ("conversion", "response", "resource")
HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True)
class WarcRecord:
    """A record: all its bytes, and the start and length of its content."""

    raw: bytes
    start: int
    length: int

    def fields(self) -> dict[str, str]:
        """The header fields: names in lower case, and their values."""
        return _fields(self.raw[: self.start])

    def text(self, *, strip: bool) -> str | None:
        """Its text, without HTML markup if `strip`; None if it has no text."""
        fields = self.fields()
        kind, content_type = fields.get("warc-type", "").lower(), fields.get("content-type", "").lower()
        if kind not in TEXT_KINDS:
            return None
        content, http_fields = self.raw[self.start : self.start + self.length], dict[str, str]()
        if kind == "response" and content_type.startswith("application/http"):
            head, _, content = content.partition(b"\r\n\r\n")
            http_fields = _fields(head)
            content_type = http_fields.get("content-type", "").lower()
        if kind != "conversion" and not content_type.startswith(("text/", *HTML)):
            return None
        text = _decode(decode_body(content, http_fields), content_type)
        return _without_markup(text) if strip and content_type.startswith(HTML) else text


def _fields(head: bytes) -> dict[str, str]:
    lines = head.decode("utf-8", "replace").split("\r\n")[1:]
    parts = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in parts if colon}


def _decode(content: bytes, content_type: str) -> str:
    """The content in the encoding of its content type; by default UTF-8 if it is valid, else Western."""
    _, named, charset = content_type.partition("charset=")
    for encoding in ([charset.split(";")[0].strip(" \"'")] if named else []) + ["utf-8"]:
        text = decode_as(content, encoding)
        if text is not None:
            return text
    return decode_code_page(content, "cp1252")


def _without_markup(text: str) -> str:
    from unnaive.text.markup import visible_pieces

    return "".join(piece.text for piece in visible_pieces(text, 0, len(text)))


def read_records(stream: IO[bytes], name: str, longest: int) -> Iterator[WarcRecord]:
    """All records of a decompressed archive; an error if one is invalid or has over `longest` bytes of content."""
    number = 0
    while True:
        head = _read_head(stream, f"record {number + 1} of {name}")
        if not head:
            return
        number += 1
        fields = _fields(head)
        try:
            length = int(fields["content-length"])
        except (KeyError, ValueError):
            raise BadData(f"record {number} of {name} has no Content-Length; fetch it again") from None
        if not 0 <= length <= longest:
            raise BadData(
                f"record {number} of {name} has {length:,} bytes, more than the limit; if that is right, "
                "use --set max-line=SIZE"
            )
        rest = stream.read(length + 4)
        if len(rest) < length:
            raise BadData(f"{name} ends in the middle of record {number}; fetch it again")
        if rest[length:] != b"\r\n\r\n"[: len(rest) - length]:
            raise BadData(f"record {number} of {name} does not end where its Content-Length says; fetch it again")
        yield WarcRecord(head + rest, len(head), length)


def _read_head(stream: IO[bytes], name: str) -> bytes:
    """The lines of a header with the empty line after them; empty at the end of the file."""
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(LONGEST_HEADER):
        lines.append(line)
        size += len(line)
        if len(lines) == 1 and not line.startswith(b"WARC/"):
            raise BadData(f"{name} does not begin with WARC/, so it is not a web archive; give a .warc or .wet file")
        if line == b"\r\n":
            return b"".join(lines)
        if size > LONGEST_HEADER:
            raise BadData(f"the header of {name} is longer than {LONGEST_HEADER >> 10} KiB; fetch it again")
    if lines:
        raise BadData(f"{name} ends in the middle of its header; fetch it again")
    return b""


class WarcShard:
    """A web archive."""

    def __init__(self, path: str, reading: ShardReading) -> None:
        self.path, self.reading = path, reading

    def blocks(self) -> Iterator[RecordBlock]:
        """Blocks of records, a few megabytes each."""
        options = self.reading.options
        name = STDIN_NAME if self.path == STDIN else self.path
        block = RecordBlock(self.reading.strip)
        try:
            with open_bytes(self.path, options.on_read, options.max_ratio) as stream:
                for record in read_records(stream, name, options.max_line):
                    block.records.append(record)
                    block.size += len(record.raw)
                    if block.size >= BLOCK_BYTES:
                        yield block
                        block = RecordBlock(self.reading.strip)
        except (EOFError, zlib.error, OSError) as problem:
            raise damaged(name, problem) from problem
        if block.records:
            yield block

    @contextmanager
    def writing(self, file: IO[bytes], packing: str) -> Iterator[RecordWriter]:
        """A writer of records."""
        yield RecordWriter(file, packing)
        finish_packed(file, packing)


@dataclass(frozen=True)
class RecordWriter:
    """A writer that compresses each record separately, as readers of web archives expect."""

    file: IO[bytes]
    packing: str

    def pack(self, part: list[bytes]) -> tuple[int, bytes]:
        """(size, bytes to write)."""
        return sum(map(len, part)), b"".join(pack_bytes(raw, self.packing) for raw in part)

    def write(self, packed: tuple[int, bytes]) -> int:
        """Write the compressed content; returns its uncompressed size."""
        self.file.write(packed[1])
        return packed[0]


@dataclass(eq=False)
class RecordBlock:
    """Consecutive records; `strip` removes HTML markup."""

    strip: bool
    records: list[WarcRecord] = field(default_factory=list)
    size: int = 0
    has_text: list[bool] = field(default_factory=list)

    def read(self) -> ReadTexts:
        """The texts of the records that have one."""
        texts = [record.text(strip=self.strip) for record in self.records]
        self.has_text = [text is not None for text in texts]
        return ReadTexts([text for text in texts if text is not None])

    def take(self, kept: NDArray[np.bool_]) -> list[bytes]:
        """The records whose text is kept, and those without a text."""
        stays = np.ones(len(self.records), np.bool_)
        stays[np.array(self.has_text, np.bool_)] = kept
        return [record.raw for record, stay in zip(self.records, stays.tolist(), strict=True) if stay]
