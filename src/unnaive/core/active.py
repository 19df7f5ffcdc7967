"""Which terms of the vocabulary a model uses: seen in enough documents, then the best by a measure of selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.core.counts import Counts
from unnaive.core.selection import SELECTIONS
from unnaive.errors import UnnaiveError, choose
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Ids

Terms = Sequence[str] | Vocabulary

PER_CLASS = "-per-class"


def checked_select(select: Any) -> tuple[str, int] | None:
    """`select` as (measure, k), if it can be that.

    >>> checked_select(2000), checked_select(["chi2-per-class", 30])
    (('information-gain', 2000), ('chi2-per-class', 30))
    """
    if select is None:
        return None
    name, k = select if _is_pair(select) else ("information-gain", select)
    choose([*SELECTIONS, *(measure + PER_CLASS for measure in SELECTIONS)], name, "selection")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UnnaiveError(f"select is {select!r}; give how many terms to keep, or a pair such as ('chi2', 2000)")
    return name, k


def _is_pair(select: Any) -> bool:
    return isinstance(select, (tuple, list)) and len(select) == 2 and isinstance(select[0], str)


def active_terms(counts: Counts, terms: Terms, *, min_df: int = 1, select: Any = None) -> Ids:
    """Ids of the terms in use, ascending: document frequency of at least `min_df`, then the selected ones.

    Of equals at the border of the selection those first in the alphabet stay, so that the order in which documents
    were seen is irrelevant. "…-per-class" keeps the best k of every class.

    >>> from scipy.sparse import csr_array
    >>> counts = Counts.of(csr_array([[1, 1, 1], [0, 0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> active_terms(counts, ["goal", "ball", "the"], select=1)
    array([1])
    """
    if isinstance(min_df, bool) or not isinstance(min_df, int) or min_df < 1:
        raise UnnaiveError(f"min_df is {min_df!r}; give a whole number of documents from 1 on")
    # weights may make a document less than one: whatever was seen is in 1 document or more
    present = np.flatnonzero(counts.df > 0 if min_df == 1 else counts.df >= min_df)
    chosen = checked_select(select)
    if chosen is None:
        return present
    name, k = chosen
    measure = SELECTIONS[name.removesuffix(PER_CLASS)]
    gains = np.atleast_2d(measure(counts.take_terms(present), per_class=name.endswith(PER_CLASS)))
    return np.unique(np.concatenate([_best(row, k, present, terms) for row in gains]))


def _best(gains: NDArray[np.float64], k: int, ids: Ids, terms: Terms) -> Ids:
    """Ids of the k terms with the highest gains, which are compared to 12 digits."""
    ids, gains = ids[np.isfinite(gains)], gains[np.isfinite(gains)]
    if k >= len(gains):
        return ids
    rounded = np.round(gains / (np.abs(gains).max() or 1.0), 12)
    cut = np.partition(rounded, -k)[-k]
    above = ids[rounded > cut]
    tied = sorted(ids[rounded == cut].tolist(), key=terms.__getitem__)
    return np.concatenate((above, np.asarray(tied[: k - len(above)], np.int64)))
