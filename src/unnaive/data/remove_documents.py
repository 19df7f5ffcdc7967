"""How `forget` finds a kept document: by a key of its counts, labels and weight; equal documents count as copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun


def rows_without(keys: Sequence[bytes], removed: Sequence[bytes]) -> NDArray[np.int64]:
    """The rows that remain when each of `removed` takes away one equal row; an error if there is no equal row.

    >>> rows_without([b"a", b"b", b"a"], [b"a"])
    array([1, 2])
    """
    away = Counter(removed)
    remaining = []
    for row, key in enumerate(keys):
        if away.get(key, 0):
            away[key] -= 1
        else:
            remaining.append(row)
    if n_missing := sum(away.values()):
        raise BadData(
            f"{n_missing} of {count_noun(len(removed), 'document')} cannot be removed, because the model does not have "
            "them (or has fewer copies) with the same counts, labels and weight; forget only "
            "documents that the model was trained on"
        )
    return np.array(remaining, np.int64)
