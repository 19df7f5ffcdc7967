"""Sort terms by their bytes, which is the order of code points, without a Python string for each term."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Ids

WORD = 8  # bytes that are compared at a time as one number
_MASKS = np.array([0, *((1 << 64) - (1 << 8 * (WORD - length)) for length in range(1, WORD + 1))], np.uint64)


def term_order(blob: NDArray[np.uint8], offsets: Ids) -> NDArray[np.int64] | None:
    """The ids of terms in ascending order of their bytes; None if they are already sorted.

    Terms are sorted by their first 8 bytes, ties by the next 8 bytes, and so on; of terms that differ only in trailing
    NULs, the shorter comes first.

    >>> term_order(np.frombuffer(b"voteballbal", np.uint8), np.array([0, 4, 8, 11]))
    array([2, 1, 0])
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    padded = np.concatenate([blob, np.zeros(WORD, np.uint8)])
    keys = _words(padded, starts, lengths)
    order = np.argsort(keys)
    alike = _find_alike(keys[order])
    depth = WORD
    while alike.size:
        # positions in `order` of terms that are tied so far, and the group of ties that each belongs to
        places, groups = alike
        terms = order[places]
        if depth >= lengths[terms].max():  # only the lengths differ
            order[places] = terms[np.lexsort((lengths[terms], groups))]
            break
        keys = _words(padded, starts[terms] + np.minimum(depth, lengths[terms]), lengths[terms] - depth)
        inside = np.lexsort((keys, groups))
        order[places] = terms[inside]
        again = _find_alike(keys[inside], groups[inside])
        alike = np.array([places[again[0]], again[1]]) if again.size else again
        depth += WORD
    return None if bool((order[1:] > order[:-1]).all()) else order


def _words(padded: NDArray[np.uint8], starts: Ids, lengths: Ids) -> NDArray[np.uint64]:
    """The 8 bytes from each start as a number in the same order; bytes beyond a term's end are 0."""
    windows = np.ndarray((len(padded) - WORD + 1,), ">u8", padded, strides=(1,))
    values: Any = windows[starts].astype(np.uint64)
    return values & _MASKS[np.clip(lengths, 0, WORD)]  # type: ignore[no-any-return]


def _find_alike(keys: NDArray[np.uint64], groups: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """(positions, groups) of sorted keys that equal a neighbour in the same group; empty if there are none."""
    same = keys[1:] == keys[:-1]
    if groups is not None:
        same &= groups[1:] == groups[:-1]
    joined = np.zeros(len(keys), np.bool_)
    joined[1:] = same
    joined[:-1] |= same
    places = np.flatnonzero(joined)
    if not len(places):
        return places
    starts = np.concatenate([[True], ~same])[places]
    return np.array([places, np.cumsum(starts)])
