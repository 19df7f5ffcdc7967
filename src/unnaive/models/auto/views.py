"""Views of the text: words, words and pairs, or character grams, told by the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Ids, Sparse
from unnaive.data.weighting import document_frequency
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

WORDS, PAIRS, CHARACTERS, COLUMNS = "words", "words and pairs", "characters", "columns"
# what a view weighs in a pool before anything is known: the first two read the same words, so they share a half
PRIOR = {WORDS: 1.0, PAIRS: 1.0, CHARACTERS: 2.0, COLUMNS: 1.0}


@dataclass(frozen=True, eq=False)
class View:
    """Some of the columns, under a name, and how many documents have each."""

    name: str
    columns: Ids
    df: Ids


MOST_CELLS = 1 << 25  # classes × columns of a view, whose weights are held as one table: 256 MB of float64


def find_views(X: Sparse, terms: Sequence[str] | Vocabulary | None, n_classes: int) -> list[View]:
    """The views that the names of the columns tell; one of all columns where they have none.

    Pairs and character grams of a single document are left out: they cost most and say least. Single words stay. Where
    classes × columns are more than MOST_CELLS, the columns of most documents are taken.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1, 1], [1, 0, 1, 0]])
    >>> [(view.name, view.columns.tolist()) for view in find_views(X, ["good", "ball", "#go", "good ball"], 2)]
    [('words', [0, 1]), ('words and pairs', [0, 1]), ('characters', [2])]
    """
    df = document_frequency(X)
    most = max(1, MOST_CELLS // max(1, n_classes))
    if terms is None:
        return [_make_view(COLUMNS, np.arange(X.shape[1]), df, most)]
    is_gram, is_pair = find_kinds(terms)
    found = {
        WORDS: ~is_gram & ~is_pair,
        PAIRS: ~is_gram & ((df > 1) | ~is_pair) if is_pair.any() else np.zeros(len(terms), np.bool_),
        CHARACTERS: is_gram & (df > 1),
    }
    return [_make_view(name, np.flatnonzero(mask), df, most) for name, mask in found.items() if mask.any()]


def _make_view(name: str, columns: Ids, df: Ids, most: int) -> View:
    """At most so many of the columns, those of most documents; of equals the first."""
    if len(columns) > most:
        columns = np.sort(columns[np.argsort(-df[columns], kind="stable")[:most]])
    return View(name, columns, df[columns])
