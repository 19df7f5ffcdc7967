"""Files of word vectors → words and a matrix: GloVe text, word2vec text and binary, fastText's .vec, and .npz."""

from __future__ import annotations

import codecs
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, UnnaiveWarning
from unnaive.base.extras import import_extra
from unnaive.base.open_files import check_exists, open_bytes
from unnaive.base.types import Singles

LONGEST_LINE = 1 << 20  # bytes; enough for a vector of 65,536 numbers
LARGEST_DIM = 1 << 16
SHOWN = 40  # characters of a line in messages
BLOCK = 1 << 22

NamedVectors = tuple[list[str], Singles]  # words, and their vectors (n_words, n_dims)


def read_named_vectors(path: str | Path, limit: int | None = None) -> NamedVectors:
    """The first words of a file, at most `limit`, and their vectors; the format is recognised by the first bytes.

    Gzip and zstd are decompressed. Words that are not UTF-8 or contain a space are left out.
    """
    file_path = check_exists(path)
    if file_path.is_dir():
        raise BadData(f"{path} is a folder; name a file of word vectors")
    with file_path.open("rb") as file:
        if file.read(4) == b"PK\x03\x04":
            return _read_npz(file_path, limit)
    try:
        with open_bytes(file_path) as stream:
            return _read_stream(io.BufferedReader(cast(io.RawIOBase, stream), BLOCK), path, limit)
    except (EOFError, zlib.error, OSError) as problem:
        raise BadData(f"{path} is truncated or damaged ({problem}); copy it again") from problem


def _read_stream(stream: io.BufferedReader, path: str | Path, limit: int | None) -> NamedVectors:
    """The first words of a decompressed text or binary file, and their vectors."""
    first = _read_line(stream, path).removeprefix(codecs.BOM_UTF8)
    size = _find_header(first)
    if size is None:
        return _read_text(stream, path, first, _count_numbers(first, path), limit)[:2]
    n_words, n_dims = size
    if not n_words or not n_dims:
        raise _no_vectors(path, f"its header says {n_words:,} words with {n_dims:,} numbers each")
    most = n_words if limit is None else min(limit, n_words)
    if not _is_text(stream.peek(LONGEST_LINE), n_dims):
        return _read_binary(stream, path, n_dims, most)
    words, vectors, n_lines = _read_text(stream, path, b"", n_dims, most)
    if n_lines < most:
        warnings.warn(
            f"{path} ends after {n_lines:,} of the {n_words:,} word vectors that its header names; if it was cut "
            "short, copy it again", UnnaiveWarning, stacklevel=2,
        )  # fmt: skip
    return words, vectors


def _no_vectors(path: str | Path, why: str) -> BadData:
    return BadData(
        f"{path} has no word vectors: {why}; give a file of GloVe, word2vec or fastText, or an .npz of words and "
        "vectors"
    )


def _read_line(stream: IO[bytes], path: str | Path) -> bytes:
    line = stream.readline(LONGEST_LINE)
    if not line.strip():
        raise _no_vectors(path, "its first line is empty" if line else "it is empty")
    return line


def _find_header(line: bytes) -> tuple[int, int] | None:
    """(number of words, dimensions) from the header of a word2vec or fastText file; None for any other line.

    >>> _find_header(b"400000 300\\n"), _find_header(b"the 0.1 0.2\\n")
    ((400000, 300), None)
    """
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 12 for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _count_numbers(line: bytes, path: str | Path) -> int:
    """The number of values after the word of a line; a word may contain spaces, such as "new york"."""
    parts = line.split()
    n_dims = sum(1 for _ in takewhile(lambda part: _are_numbers([part]), reversed(parts[1:])))
    if n_dims < 1 or n_dims > LARGEST_DIM:
        raise _no_vectors(path, f"its first line is {_shown(line)}, not a word and numbers")
    return n_dims


def _are_numbers(parts: list[bytes]) -> bool:
    try:
        return bool(np.isfinite([float(part) for part in parts]).all())
    except ValueError:
        return False


def _is_text(start: bytes, n_dims: int) -> bool:
    """Whether the line after a header is a word and numbers in text; a binary file has other bytes there."""
    parts = start[: start.find(b"\n") if b"\n" in start else None].split()
    if len(parts) > n_dims and _are_numbers(parts[-n_dims:]):
        return True
    return len(parts) > 1 and _are_numbers(parts[1:2]) and _are_numbers(parts[-1:])  # another number of dimensions


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8", "replace").strip()[:SHOWN])


def _read_text(
    stream: IO[bytes], path: str | Path, first: bytes, n_dims: int, limit: int | None
) -> tuple[list[str], Singles, int]:
    """Words, vectors and the number of lines that were read; pyarrow parses blocks of lines on all cores."""
    words: list[str] = []
    tables: list[Singles] = []
    n_lines, n_read = 0, 0
    for block in _line_blocks(stream, first, path):
        if limit is not None and n_read >= limit:
            break
        if not block.endswith(b"\n"):  # the last line
            if len(block.split()) <= n_dims:
                if first:  # otherwise there are fewer lines than the header names
                    message = f"{path} ends within a line; if it was cut short, copy it again"
                    warnings.warn(message, UnnaiveWarning, stacklevel=2)
                break
            block += b"\n"
        n_lines += block.count(b"\n")
        names, table = _parse_lines(block, n_dims)
        words += names
        tables.append(table)
        n_read += len(names)
    if n_read < max(1, n_lines // 2):
        raise _no_vectors(path, f"only {n_read:,} of {n_lines:,} lines have a word and {n_dims} numbers")
    return words[:limit], np.concatenate(tables)[:limit], n_lines


def _line_blocks(stream: IO[bytes], first: bytes, path: str | Path) -> Iterator[bytes]:
    """The bytes from `first`, in blocks of whole lines; the last line may lack its end."""
    rest = first
    while block := stream.read(BLOCK):
        block = rest + block
        end = block.rfind(b"\n") + 1
        if not end and len(block) > LONGEST_LINE + BLOCK:
            raise _no_vectors(path, f"a line has more than {LONGEST_LINE:,} bytes")
        if end:
            yield block[:end]
        rest = block[end:]
    if rest.strip():
        yield rest


def _parse_lines(block: bytes, n_dims: int) -> NamedVectors:
    """The lines with a word and this number of values."""
    pa, csv = (import_extra(name, "reading a text file of word vectors") for name in ("pyarrow", "pyarrow.csv"))
    spare = (
        ["end"] if block[: block.find(b"\n")].rstrip(b"\r").endswith(b" ") else []
    )  # fastText ends lines with a space
    names = ["word", *map(str, range(n_dims)), *spare]
    kinds: dict[str, Any] = {"word": pa.binary()} | {str(dim): pa.float32() for dim in range(n_dims)}
    delimiter = "\t" if block[: block.find(b"\n")].count(b"\t") >= n_dims else " "
    convert = csv.ConvertOptions(
        column_types=kinds, include_columns=names[: n_dims + 1], null_values=[], check_utf8=False
    )
    # Arrow's threads must not call Python: one that outlives an error would abort the process at its exit
    for threads, options in ((True, {}), (False, {"invalid_row_handler": lambda row: "skip"})):
        try:
            table = csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(column_names=names, block_size=1 << 20, use_threads=threads),
                parse_options=csv.ParseOptions(
                    delimiter=delimiter, quote_char=False, newlines_in_values=False, **options
                ),
                convert_options=convert,
            )
            break
        except pa.ArrowInvalid:
            continue
    else:
        return _parse_slowly(block, n_dims)
    columns = [table.column(dim).combine_chunks() for dim in range(1, n_dims + 1)]
    vectors = np.empty((table.num_rows, n_dims), np.float32)
    for dim, column in enumerate(columns):
        vectors[:, dim] = column.to_numpy(zero_copy_only=False)
    return _with_text(table.column(0).to_pylist(), vectors)


def _parse_slowly(block: bytes, n_dims: int) -> NamedVectors:
    """Like `_parse_lines`, line by line, for blocks with an invalid line."""
    words: list[bytes] = []
    rows: list[NDArray[np.float32]] = []
    for line in block.split(b"\n"):
        parts = line.split()
        if len(parts) != n_dims + 1:
            continue
        try:
            rows.append(np.array(parts[1:], "S").astype(np.float32))
        except ValueError:
            continue
        words.append(parts[0])
    return _with_text(words, np.array(rows, np.float32).reshape(-1, n_dims))


def _with_text(words: list[bytes], vectors: Singles) -> NamedVectors:
    """The UTF-8 words with a finite vector."""
    is_valid = np.asarray(np.isfinite(vectors).all(axis=1))
    texts = []
    for row, word in enumerate(words):
        try:
            texts.append(word.decode())
        except UnicodeDecodeError:
            is_valid[row] = False
            texts.append("")
    if is_valid.all():
        return texts, vectors
    return [word for word, is_kept in zip(texts, is_valid, strict=True) if is_kept], vectors[is_valid]


def _read_binary(stream: IO[bytes], path: str | Path, n_dims: int, n_words: int) -> NamedVectors:
    """word2vec's binary: each word, a space and float32 numbers, little-endian, with or without a line end."""
    if not 1 <= n_dims <= LARGEST_DIM:
        raise _no_vectors(path, f"its header says that a vector has {n_dims:,} numbers")
    words: list[bytes] = []
    blocks: list[bytes] = []
    content, at, size = b"", 0, 4 * n_dims

    def more() -> None:
        nonlocal content, at
        block = stream.read(BLOCK)
        if not block:
            raise BadData(
                f"{path} ends after {len(words):,} of {n_words:,} word vectors; it was cut short, copy it again"
            )
        content, at = content[at:] + block, 0

    while len(words) < n_words:
        end = content.find(b" ", at)
        while end < 0 or len(content) < end + 1 + size:
            if end < 0 and len(content) - at > LONGEST_LINE:
                raise _no_vectors(path, "after its first line there are neither lines of numbers nor binary vectors")
            more()
            end = content.find(b" ", at)
        words.append(content[at:end].lstrip(b"\n"))
        blocks.append(content[end + 1 : end + 1 + size])
        at = end + 1 + size
    vectors = np.frombuffer(b"".join(blocks), "<f4").reshape(-1, n_dims).astype(np.float32)
    return _with_text(words, vectors)


def _read_npz(path: Path, limit: int | None) -> NamedVectors:
    """An .npz of one array of words and one matrix of numbers, whatever their names are."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = [archive[name] for name in archive.files]
    except (ValueError, OSError, zipfile.BadZipFile, KeyError, EOFError) as problem:
        raise _no_vectors(path, f"it cannot be read as .npz ({str(problem)[:SHOWN]})") from problem
    words = [array for array in arrays if array.ndim == 1 and array.dtype.kind in "US"]
    tables = [array for array in arrays if array.ndim == 2 and array.dtype.kind in "fiu"]
    if len(words) != 1 or len(tables) != 1 or len(words[0]) != len(tables[0]) or not len(words[0]):
        raise _no_vectors(path, "it needs one array of words and one matrix with a row for each")
    encoded: Callable[[Any], bytes] = (lambda word: word) if words[0].dtype.kind == "S" else lambda word: word.encode()
    table = np.asarray(tables[0][:limit], np.float32)
    return _with_text([encoded(word) for word in words[0][:limit].tolist()], table)
