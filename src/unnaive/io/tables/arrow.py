"""Parquet through pyarrow → columns of bytes, a batch of rows at a time, without a Python string for each text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.io.fields.columns import Columns
from unnaive.io.tables.binary_tables import ParquetTable, arrow_values
from unnaive.io.tables.native_parser import distinct_strings, map_in_order
from unnaive.io.tables.tables import NotPlain
from unnaive.text.buffer import TextBuffer, as_texts


@dataclass(frozen=True, eq=False)
class ArrowCells:
    """One column of some rows, as Arrow holds it; the methods are those of native_parser.Cells."""

    array: Any

    def __len__(self) -> int:
        return len(self.array)

    def part(self, start: int, stop: int) -> ArrowCells:
        """The rows from `start` to before `stop`."""
        return ArrowCells(self.array.slice(start, stop - start))

    def texts(self, *, missing: bool = True) -> TextBuffer:
        """The cells as texts, missing ones empty; NotPlain if they are not strings, or not UTF-8."""
        import pyarrow

        if not _holds_strings(self.array.type):
            raise NotPlain
        array = self.array.cast(pyarrow.large_string()) if pyarrow.types.is_dictionary(self.array.type) else self.array
        try:
            array.validate(full=True)
        except pyarrow.ArrowInvalid:
            raise NotPlain from None
        texts = as_texts(array.fill_null("") if array.null_count else array)
        if not isinstance(texts, TextBuffer):
            raise NotPlain
        return texts

    def values(self) -> list[Any]:
        """The cells as Python values."""
        return arrow_values(self.array)

    def distinct(self) -> tuple[NDArray[np.int32], list[Any]]:
        """(a code for each cell, the value of each code)."""
        import pyarrow

        kind = self.array.type
        if not (_holds_strings(kind) or pyarrow.types.is_integer(kind)) or pyarrow.types.is_dictionary(kind):
            return np.arange(len(self.array), dtype=np.int32), self.values()
        if _holds_strings(kind) and not self.array.null_count:
            texts = self.texts()
            codes, firsts = distinct_strings(texts)
            return codes, [texts[row] for row in firsts]
        coded = self.array.dictionary_encode(null_encoding="encode")
        # to_numpy would import pandas
        return np.array(coded.indices.to_pylist(), np.int32), coded.dictionary.to_pylist()


def _holds_strings(kind: Any) -> bool:
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def read_parquet(table: ParquetTable, columns: Columns) -> Iterator[dict[str, ArrowCells]]:
    """The rows of a Parquet file; the next batch is decoded while one is used."""
    names = list(dict.fromkeys(columns.names))
    batches = table.arrays(names)
    for arrays in map_in_order(lambda _: next(batches, None), iter(int, 1), threads=1):
        if arrays is None:
            return
        yield {name: ArrowCells(array) for name, array in zip(names, arrays, strict=True)}
