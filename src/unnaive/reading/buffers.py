"""Columns of Arrow as texts and label sets without a Python string for each text; datafiles.py tries this first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unnaive.reading.corpus import Labels
from unnaive.reading.tables import Table
from unnaive.text.buffer import TextBuffer

if TYPE_CHECKING:
    from unnaive.reading.columns import Columns
    from unnaive.reading.datafiles import Batch


def read_arrow(table: Table, columns: Columns, parse: Callable[[Any], Labels], seen: int) -> Batch | None:
    """All rows of a table as a Batch over one buffer; None where the row-by-row reader must do it."""
    return None


def concatenate(parts: Sequence[Sequence[str]]) -> Sequence[str]:
    """The texts of several files one after another: in one buffer if all of them are in buffers."""
    if len(parts) == 1:
        return parts[0]
    if not all(isinstance(part, TextBuffer) for part in parts):
        return [text for part in parts for text in part]
    blobs = [part.blob[part.offsets[0] : part.offsets[-1]] for part in parts]  # type: ignore[attr-defined]
    sizes = [np.diff(part.offsets) for part in parts]  # type: ignore[attr-defined]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes))])
    return TextBuffer(np.concatenate(blobs), offsets)


def count_empty(texts: Sequence[str]) -> int:
    """How many texts have no character."""
    if isinstance(texts, TextBuffer):
        return int(np.count_nonzero(np.diff(texts.offsets) == 0))
    return sum(not text for text in texts)


def number_rows(seen: int, size: int) -> list[str]:
    """Ids for rows that have none: their numbers, from 1 on."""
    return [str(number) for number in range(seen + 1, seen + size + 1)]
