"""Shards of lines, each a JSON object or a plain text: kept lines are written byte for byte."""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.open_files import STDIN, STDIN_NAME, open_bytes
from unnaive.base.types import Bytes
from unnaive.io.batches import join_texts
from unnaive.io.fields.columns import join_names
from unnaive.io.labels import describe_kind
from unnaive.io.read_options import ReadOptions
from unnaive.io.row_reader import parse_text
from unnaive.io.tables.json_tables import ABSENT_KEY, describe_json_error, encode_json_record, get_key
from unnaive.io.tables.native_parser import json_line_columns, lines_end
from unnaive.io.tables.tables import NotPlain
from unnaive.io.text_encoding import CODE_PAGES, WESTERN, decode_code_page
from unnaive.scaleout.filter.blocks import BLOCK_BYTES, BytesWriter, ReadTexts, ShardReading, damaged, finish_packed
from unnaive.text.buffer import TextBuffer, TextChunks

SMALLEST = 1 << 15  # bytes; blocks up to this size are not split further to find the line that Python must read
# the first bytes in UTF-8 of the characters that str.strip removes
WHITE_STARTS = np.frombuffer(b"\t\n\v\f\r\x1c\x1d\x1e\x1f \xc2\xe1\xe2\xe3", np.uint8)
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class LineShard:
    """A file of lines: JSON objects, or plain texts if there are no columns."""

    def __init__(self, path: str, reading: ShardReading) -> None:
        check_line_encoding(reading.options.encoding)
        self.path, self.reading = path, reading
        self.name = STDIN_NAME if path == STDIN else path
        self.mark = b""

    def blocks(self) -> Iterator[LineBlock]:
        """Blocks of whole lines, a few megabytes each."""
        first = 1
        for data in read_line_blocks(self.path, self.reading.options):
            if first == 1:
                data = self._check_start(data)
            n_lines = int(np.count_nonzero(data == ord("\n")))
            yield LineBlock(self.name, data, first, self.reading)
            first += n_lines

    def _check_start(self, data: Bytes) -> Bytes:
        """The first block without its byte-order mark, which is kept for the output."""
        start = data[:4].tobytes()
        if start.startswith(WIDE):
            raise BadData(f"{self.name} is UTF-16, but lines are copied as bytes; convert it to UTF-8 first")
        if self.reading.columns is not None and data[:64].tobytes().lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:1] == b"[":
            raise BadData(
                f"{self.name} is one JSON array, but lines are copied as bytes; convert it to one object per line"
            )
        if start.startswith(codecs.BOM_UTF8):
            self.mark = codecs.BOM_UTF8
            return data[len(self.mark) :]
        return data

    @contextmanager
    def writing(self, file: IO[bytes], packing: str) -> Iterator[LineWriter]:
        """A writer of lines."""
        yield LineWriter(file, packing, self)
        finish_packed(file, packing)


@dataclass(frozen=True)
class LineWriter(BytesWriter):
    """A writer of lines that starts with the byte-order mark of the shard, if it has one."""

    shard: LineShard

    def write(self, packed: tuple[int, bytes]) -> int:
        """Write the compressed content; returns its uncompressed size."""
        if self.shard.mark:
            self.file.write(BytesWriter.pack(self, self.shard.mark)[1])
            self.shard.mark = b""
        return super().write(packed)


@dataclass(eq=False)
class LineBlock:
    """Consecutive whole lines; `first` is the number of the first line, `name` that of the file in messages."""

    name: str
    data: Bytes
    first: int
    reading: ShardReading
    bounds: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # start, end of each text's line

    @property
    def size(self) -> int:
        """The size in bytes."""
        return len(self.data)

    def read(self) -> ReadTexts:
        """The texts, read by native code if possible, else line by line in Python."""
        parts = list(self._read_part(self.data, 0))
        self.bounds = np.concatenate([np.zeros(0, np.int64), *(bounds for _, bounds, _ in parts)])
        texts = [texts for texts, _, _ in parts]
        skipped = sum(skipped for _, _, skipped in parts)
        return ReadTexts(texts[0] if len(texts) == 1 else TextChunks(texts), skipped)

    def _read_part(self, data: Bytes, at: int) -> Iterator[tuple[TextBuffer, NDArray[np.int64], int]]:
        """Texts, bounds of their lines and number of skipped lines, for lines from an offset in the block."""
        result = self._read_natively(data)
        if result is not None:
            yield result[0], result[1] + at, 0
            return
        middle = lines_end(data[: len(data) // 2]) if len(data) > SMALLEST else 0
        if not middle:
            texts, bounds, skipped = self._read_lines(data, at)
            yield TextBuffer.of(texts), bounds + at, skipped
            return
        yield from self._read_part(data[:middle], at)
        yield from self._read_part(data[middle:], at + middle)

    def _read_natively(self, data: Bytes) -> tuple[TextBuffer, NDArray[np.int64]] | None:
        options, columns = self.reading.options, self.reading.columns
        if not is_utf8(options.encoding) or (columns is not None and columns.fields):
            return None
        if columns is None:
            return _plain_lines(data, options.max_line)
        result = json_line_columns(data, list(columns.texts), options.max_line)
        if result is None:
            return None
        try:
            return join_texts([cells.texts() for cells in result[0]]), result[1]
        except NotPlain:
            return None

    def _read_lines(self, data: Bytes, at: int) -> tuple[list[str], NDArray[np.int64], int]:
        """The same line by line, with an error message for a line that cannot be read."""
        number = self.first + int(np.count_nonzero(self.data[:at] == ord("\n")))
        texts, bounds, skipped, offset = [], [], 0, 0
        for line in _split_lines(data.tobytes()):
            text = self._read_line(line, number)
            if text is not None:
                texts.append(text)
                bounds += [offset, offset + len(line)]
            elif line.strip():
                skipped += 1
            offset += len(line)
            number += 1
        return texts, np.array(bounds, np.int64), skipped

    def _read_line(self, line: bytes, number: int) -> str | None:
        """The text of a line; None if it is blank or skipped."""
        options, columns = self.reading.options, self.reading.columns
        if len(line) > options.max_line:
            raise BadData(
                f"line {number} of {self.name} is longer than {options.max_line >> 20} MiB; if that is "
                "right, use --set max-line=SIZE"
            )
        words = _decode(line, options)
        if columns is None or not words.strip():
            return words.rstrip("\r\n") if words.strip() else None
        try:
            record = json.loads(words, strict=False)
        except (ValueError, RecursionError) as problem:
            options.reject_row(self.name, number, f"is not JSON ({describe_json_error(problem)})")
            return None
        if not isinstance(record, dict):
            options.reject_row(self.name, number, 'is not a JSON object such as {"text": …}')
            return None
        if columns.fields:
            try:
                return encode_json_record(record, columns.fields)
            except BadData as problem:
                options.reject_row(self.name, number, f"cannot be read ({problem})")
                return None
        values = []
        for name in columns.texts:
            value = get_key(record, name)
            if value is ABSENT_KEY:
                options.reject_row(self.name, number, f"has no key {name!r}; it has {join_names(list(record))}")
                return None
            if isinstance(value, (dict, list)):
                options.reject_row(self.name, number, f"has {describe_kind(value)} under {name!r}, not a text")
                return None
            values.append(parse_text(value, self.name))
        return "\n".join(values)

    def take(self, kept: NDArray[np.bool_]) -> bytes:
        """The lines of the kept texts; consecutive lines are copied at once."""
        rows = np.flatnonzero(kept)
        starts, ends = self.bounds[::2][rows], self.bounds[1::2][rows]
        breaks = np.flatnonzero(starts[1:] != ends[:-1])  # between them are lines that are dropped or have no text
        firsts, lasts = (
            starts[np.append(0, breaks + 1)[: len(rows)]],
            ends[np.append(breaks, len(rows) - 1)[: len(rows)]],
        )
        whole = self.data.data
        return b"".join([whole[start:end] for start, end in zip(firsts.tolist(), lasts.tolist(), strict=True)])


def _split_lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _decode(line: bytes, options: ReadOptions) -> str:
    """Decode a line like `lines.decode_lines`: as UTF-8 if it is valid, else by the code page of the language."""
    if not is_utf8(options.encoding):
        return line.decode(options.encoding or "utf-8", errors="replace")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return decode_code_page(line, CODE_PAGES.get(options.language, WESTERN))


def is_utf8(encoding: str | None) -> bool:
    """Whether the encoding is UTF-8, which is the default."""
    return encoding is None or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")


def check_line_encoding(encoding: str | None) -> None:
    """Raise an error unless the encoding exists and its lines can be found and copied as bytes."""
    try:
        one_byte = "\n".encode(encoding or "utf-8") == b"\n"
    except LookupError as unknown:
        raise BadData(f"no encoding called {encoding!r}; common ones are utf-8, cp1252, cp1254") from unknown
    if not one_byte:
        raise BadData(
            f"files in {encoding} cannot be filtered, because lines are copied as bytes; convert to UTF-8 first"
        )


def _plain_lines(data: Bytes, longest: int) -> tuple[TextBuffer, NDArray[np.int64]] | None:
    """Each line as a text, without a copy; None if a line is blank, not UTF-8 or too long."""
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        return None
    ends = np.flatnonzero(data == ord("\n")) + 1
    if len(data) and (not len(ends) or ends[-1] < len(data)):
        ends = np.append(ends, len(data))
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    sizes = np.diff(offsets)
    if len(sizes) and sizes.max() > longest:
        return None
    # a line is blank only if it begins with white space, or with a byte that white space beyond ASCII begins with
    unsure = np.flatnonzero(np.isin(data[offsets[:-1]], WHITE_STARTS)) if len(sizes) else ()
    if any(not str(data[offsets[line] : offsets[line + 1]].data, "utf-8").strip() for line in unsure):
        return None
    return TextBuffer(data, offsets), np.repeat(offsets, 2)[1:-1]


def read_line_blocks(path: str, options: ReadOptions) -> Iterator[Bytes]:
    """The decompressed bytes of a file in blocks of whole lines; a line has at most `options.max_line` bytes."""
    name = STDIN_NAME if path == STDIN else path
    rest = np.zeros(0, np.uint8)
    try:
        with open_bytes(path, options.on_read, options.max_ratio) as stream:
            while True:
                buffer = np.empty(len(rest) + BLOCK_BYTES, np.uint8)
                buffer[: len(rest)] = rest
                size = len(rest) + (stream.readinto(buffer[len(rest) :].data) or 0)  # type: ignore[attr-defined]
                if size == len(rest):
                    break
                end = lines_end(buffer[:size])
                if size - end > options.max_line:
                    raise BadData(
                        f"a line of {name} is longer than {options.max_line >> 20} MiB; if that is right, "
                        "use --set max-line=SIZE"
                    )
                rest = buffer[end:size].copy()
                if end:
                    yield buffer[:end]
    except (EOFError, zlib.error, OSError) as problem:
        raise damaged(name, problem) from problem
    if len(rest):
        yield rest
