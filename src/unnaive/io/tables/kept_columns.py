"""Columns of a table that are passed through: bytes in memory, Python values on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from unnaive.base.lazy import lazy_property
from unnaive.io.tables.tables import NotPlain
from unnaive.text.buffer import TextBuffer


class KeptColumn(Sequence[Any]):
    """Values over the cells of a column (native_parser.Cells or arrow.ArrowCells); slices share the cells."""

    def __init__(self, cells: Any) -> None:
        self._cells = cells

    @lazy_property
    def values(self) -> list[Any]:
        """The values as Python objects; None for a missing one."""
        values: list[Any] = self._cells.values()
        return values

    @property
    def array(self) -> Any | None:
        """The cells as an Arrow array; None if they are not in one."""
        return getattr(self._cells, "array", None)

    def texts(self) -> TextBuffer | None:
        """The cells as texts, missing ones empty; None if one is neither a string nor missing."""
        try:
            texts: TextBuffer = self._cells.texts(missing=True)
        except NotPlain:
            return None
        return texts

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            rows = range(len(self))[index]
            return KeptColumn(self._cells.part(rows.start, rows.stop)) if rows.step == 1 else self.values[index]
        return self.values[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        return self.values == list(other) if isinstance(other, (list, KeptColumn)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]
