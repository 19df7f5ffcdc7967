"""Texts from any container → a sequence of str, or one UTF-8 buffer without a copy, ready to be counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.lazy import lazy_property
from unnaive.text.backend import kernel

LARGEST_TEXT = 2**32 - 4  # bytes; the counts of one text then fit 32 bits
DECODED_AT_ONCE = 4096  # texts that iteration decodes at a time
TABLES = ("DataFrame", "LazyFrame", "Table", "RecordBatch")  # table types of pandas, polars and Arrow


class TextBuffer(Sequence[str]):
    """A sequence of str over one UTF-8 blob and n + 1 offsets; slices share the blob.

    `encodings` maps rows to encodings, for texts that were read from files that are not UTF-8.

    >>> texts = TextBuffer.of(["ab", "çd", ""])
    >>> texts[1], len(texts[1:]), list(texts[-2:])
    ('çd', 2, ['çd', ''])
    """

    def __init__(
        self, blob: NDArray[np.uint8], offsets: NDArray[np.int64], encodings: dict[int, str] | None = None
    ) -> None:
        self.blob, self.offsets = blob, offsets
        self.encodings = encodings or {}

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextBuffer:
        """Copy the texts into one buffer; lone surrogates become U+FFFD."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> TextBuffer: ...
    def __getitem__(self, index: int | slice) -> str | TextBuffer:
        if isinstance(index, slice):
            return self._slice(index)
        row = range(len(self))[index]
        return self.blob[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8", "replace")

    def _slice(self, selection: slice) -> TextBuffer:
        rows = range(len(self))[selection]
        if rows.step != 1:
            return self.take(np.fromiter(rows, dtype=np.int64, count=len(rows)))
        encodings = {row - rows.start: name for row, name in self.encodings.items() if row in rows}
        return TextBuffer(self.blob, self.offsets[rows.start : max(rows.stop, rows.start) + 1], encodings)

    def take(self, rows: NDArray[np.int64]) -> TextBuffer:
        """The texts at `rows`, in that order, copied."""
        starts, ends = self.offsets[:-1][rows], self.offsets[1:][rows]
        parts = [self.blob[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(ends - starts, out=offsets[1:])
        blob = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)
        encodings = {new: self.encodings[row] for new, row in enumerate(rows.tolist()) if row in self.encodings}
        return TextBuffer(blob, offsets, encodings)

    def with_texts(self, texts: dict[int, str]) -> TextBuffer:
        """A copy with some texts replaced; `texts` maps rows, in ascending order, to the new texts.

        >>> list(TextBuffer.of(["ab", "cd", "ef"]).with_texts({1: "long"}))
        ['ab', 'long', 'ef']
        """
        parts, at = [], self.offsets[0]
        sizes = np.diff(self.offsets)
        for row, text in texts.items():
            encoded = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
            parts += [self.blob[at : self.offsets[row]], encoded]
            at, sizes[row] = self.offsets[row + 1], len(encoded)
        parts.append(self.blob[at : self.offsets[-1]])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return TextBuffer(np.concatenate(parts), offsets, self.encodings)

    def count_empty(self) -> int:
        """The number of empty texts."""
        return int(np.count_nonzero(np.diff(self.offsets) == 0))

    @property
    def chunks(self) -> Sequence[TextBuffer]:
        """The buffers that hold the texts; processing them one by one avoids copying all texts into one."""
        return (self,)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(
            _decode_all(chunk[start : start + DECODED_AT_ONCE])
            for chunk in self.chunks
            for start in range(0, len(chunk), DECODED_AT_ONCE)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, tuple, TextBuffer)):
            return NotImplemented
        return len(self) == len(other) and all(text == other_text for text, other_text in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TextBuffer({count_noun(len(self), 'text')}, {int(self.offsets[-1] - self.offsets[0])} bytes)"


def _decode_all(texts: TextBuffer) -> list[str]:
    ends = (texts.offsets - texts.offsets[0]).tolist()
    data = texts.blob[texts.offsets[0] : texts.offsets[-1]].tobytes()
    return [data[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]


class TextChunks(TextBuffer):
    """The texts of several buffers in sequence; they are copied into one buffer only on demand.

    >>> texts = TextChunks([TextBuffer.of(["ab"]), TextBuffer.of(["", "çd"])])
    >>> len(texts), texts[2], len(texts.chunks), texts.count_empty()
    (3, 'çd', 2, 1)
    """

    def __init__(self, chunks: Sequence[TextBuffer]) -> None:
        self._chunks = [part for chunk in chunks for part in chunk.chunks]
        starts = np.cumsum([0, *map(len, self._chunks)]).tolist()
        self.encodings = {
            start + row: name
            for start, chunk in zip(starts, self._chunks, strict=False)
            for row, name in chunk.encodings.items()
        }

    @property
    def chunks(self) -> Sequence[TextBuffer]:
        """The buffers."""
        return self._chunks

    @lazy_property
    def blob(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """The bytes of all texts."""
        parts = [chunk.blob[chunk.offsets[0] : chunk.offsets[-1]] for chunk in self._chunks]
        return np.concatenate([np.zeros(0, dtype=np.uint8), *parts])

    @lazy_property
    def offsets(self) -> NDArray[np.int64]:  # type: ignore[override]
        """The start of each text, and the end of the last."""
        sizes = [np.zeros(1, np.int64), *(np.diff(chunk.offsets) for chunk in self._chunks)]
        return np.cumsum(np.concatenate(sizes))

    def __len__(self) -> int:
        return sum(map(len, self._chunks))


Texts = Sequence[str]


def as_texts(values: Any) -> list[str] | tuple[str, ...] | TextBuffer:
    """The texts of a list, tuple, numpy array, pandas or polars Series, Arrow array, or other sequence.

    A missing text, or a value that is not a str, raises an error that names its position.

    >>> as_texts(["good ball", None])
    Traceback (most recent call last):
    ...
    unnaive.base.errors.BadData: text 1 is missing (None); fill it with "" or leave its row out
    """
    if isinstance(values, TextBuffer):
        return values
    if isinstance(values, (str, bytes)):
        raise BadData(f"texts came as one {type(values).__name__}; give a list of texts")
    if not isinstance(values, (list, tuple)):
        values = _unpacked(values)
    if isinstance(values, TextBuffer):
        return values
    if not (set(map(type, values)) <= {str} if kernel is None else kernel.all_str(values)):
        _check_items(values)
    return values  # type: ignore[no-any-return]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _check_items(values: Sequence[Any]) -> None:
    for row, value in enumerate(values):
        if value is None or _is_nan(value) or type(value).__name__ in ("NAType", "NaTType"):
            raise BadData(f'text {row} is missing ({value!r}); fill it with "" or leave its row out')
        if isinstance(value, dict):
            raise BadData(
                f"text {row} is a dict, not str; to learn from records, name their fields with fields=, and give no "
                "texts among them"
            )
        if not isinstance(value, str):
            raise BadData(f"text {row} is {type(value).__name__}, not str; decode or convert it first")


def _unpacked(values: Any) -> list[Any] | TextBuffer:
    """The texts of a container that is not a list, without iteration where the container allows it."""
    module = type(values).__module__.partition(".")[0]
    if type(values).__name__ in TABLES:
        return _unpacked(_only_column(values, module))
    if module == "pyarrow":
        return _from_arrow(values)
    if module == "polars":
        return _from_arrow(values.to_arrow()) if str(values.dtype) == "String" else values.to_list()
    if module == "pandas":
        return _from_pandas(values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1 and values.shape[1:] != (1,):
            raise BadData(f"texts came as an array of shape {values.shape}; give a one-dimensional array of texts")
        return values.ravel().tolist()
    if not hasattr(values, "__iter__"):
        raise BadData(f"texts came as {type(values).__name__}; give a list of texts")
    return list(values)


def _only_column(table: Any, module: str) -> Any:
    """The only column of a table; an error if it has several, or cannot be read without running a query."""
    shape = getattr(table, "shape", (0, 0))
    if len(shape) != 2 or shape[1] != 1:
        raise BadData(
            f"texts came as a {module} {type(table).__name__} with several columns; give one of its columns, or name "
            "several with fields="
        )
    return table.column(0) if module == "pyarrow" else table[table.columns[0]]


def _from_pandas(values: Any) -> list[Any] | TextBuffer:
    array = values.array
    if hasattr(array, "__arrow_array__") and str(values.dtype) in ("str", "string"):
        return _from_arrow(array.__arrow_array__())
    return values.tolist()  # type: ignore[no-any-return]


def _from_arrow(values: Any) -> list[Any] | TextBuffer:
    """The texts of an Arrow string array, without a copy where possible."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type) or str(values.type) == "string_view":
        values = values.cast(pa.large_string())
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise BadData(f"texts came as an Arrow array of {values.type}; give a string column")
    if values.null_count:
        row = values.is_null().index(True).as_py()
        raise BadData(f'text {row} is missing (null); fill it with "" (fill_null) or leave its row out')
    chunks = [_chunk(chunk) for chunk in getattr(values, "chunks", [values]) if len(chunk)]
    return chunks[0] if len(chunks) == 1 else TextChunks(chunks)


def _chunk(array: Any) -> TextBuffer:
    _, ends, data = array.buffers()
    wide = np.int64 if str(array.type) == "large_string" else np.int32
    offsets = np.frombuffer(ends, dtype=wide)[array.offset : array.offset + len(array) + 1]
    blob = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return TextBuffer(blob, offsets.astype(np.int64))
