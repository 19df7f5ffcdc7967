"""The terms of a fitted vectorizer and their columns; strings and the dict of scikit-learn are made on demand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.text.backend import kernel
from unnaive.text.python_text import TermArrays, pack_terms, unpack_terms


class Terms:
    """Terms in the order of scikit-learn's `vocabulary_`, which is that of their first occurrence.

    arrays  the terms
    column  the column of each term
    places  the alphabetical place of each term, if it is known
    """

    def __init__(
        self, arrays: TermArrays, column: NDArray[Any] | None = None, places: NDArray[Any] | None = None
    ) -> None:
        self.arrays, self._places = arrays, places
        self.column = np.arange(len(self)) if column is None else column
        self._dictionary: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.arrays[1]) - 1

    @classmethod
    def of(cls, vocabulary: dict[str, int]) -> Terms | None:
        """The terms of a dict; None if they are not str or their columns are not 0, 1, …"""
        column = np.array(list(vocabulary.values()))
        if not all(isinstance(term, str) for term in vocabulary) or column.dtype.kind not in "iu":
            return None
        if not np.array_equal(np.sort(column), np.arange(len(column))):
            return None
        return cls(pack_terms(list(vocabulary)), column)

    def alphabetical(self) -> NDArray[Any]:
        """The place of each term in alphabetical order, which is that of code points."""
        if self._places is not None:
            return self._places
        order = kernel.term_order(*self.arrays)
        place = np.arange(len(self))
        if order is not None:
            place[order] = np.arange(len(self))
        return place

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Leave out the columns that are not `kept`; the others move up."""
        chosen = np.flatnonzero(kept[self.column])
        self.column = (np.cumsum(kept) - 1)[self.column[chosen]]
        self.arrays, self._places = kernel.take_terms(*self.arrays, chosen), None
        self._dictionary = None

    def by_column(self) -> TermArrays:
        """The terms in the order of their columns."""
        order = np.empty(len(self), np.int64)
        order[self.column] = np.arange(len(self))
        return kernel.take_terms(*self.arrays, order)  # type: ignore[no-any-return]

    def names(self) -> NDArray[Any]:
        """The terms in the order of their columns, as an array of str."""
        names = np.empty(len(self), object)
        names[:] = unpack_terms(self.by_column())
        return names

    def dictionary(self) -> dict[str, int]:
        """The column of each term; the same dict in every call."""
        if self._dictionary is None:
            self._dictionary = dict(zip(unpack_terms(self.arrays), self.column.tolist(), strict=True))
        return self._dictionary

    def is_changed(self) -> bool:
        """Whether a caller has added terms to the dict, or removed some."""
        return self._dictionary is not None and len(self._dictionary) != len(self)
