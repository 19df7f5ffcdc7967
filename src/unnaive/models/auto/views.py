"""Views of the text: words, words and pairs, or character grams, told by the names of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.core.weighting import presence
from unnaive.text.tokens import GRAM
from unnaive.types import Ids, Sparse

WORDS, PAIRS, CHARACTERS, COLUMNS = "words", "words and pairs", "characters", "columns"


@dataclass(frozen=True, eq=False)
class View:
    """Some of the columns, under a name."""

    name: str
    columns: Ids


def find_views(X: Sparse, terms: Sequence[str] | None) -> list[View]:
    """The views that the names of the columns tell; one of all columns where they have none.

    Pairs and character grams of a single document are left out: they cost most and say least. Single words stay.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1, 1], [1, 0, 1, 0]])
    >>> [(view.name, view.columns.tolist()) for view in find_views(X, ["good", "ball", "#go", "good ball"])]
    [('words', [0, 1]), ('words and pairs', [0, 1]), ('characters', [2])]
    """
    if terms is None:
        return [View(COLUMNS, np.arange(X.shape[1]))]
    often = np.bincount(presence(X).indices, minlength=X.shape[1]) > 1
    is_gram, is_pair = _kinds_of_terms(terms)
    found = {
        WORDS: ~is_gram & ~is_pair,
        PAIRS: ~is_gram & (often | ~is_pair) if is_pair.any() else np.zeros(len(terms), np.bool_),
        CHARACTERS: is_gram & often,
    }
    return [View(name, np.flatnonzero(mask)) for name, mask in found.items() if mask.any()]


def _kinds_of_terms(terms: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(whether each term is a character gram, whether it is several words), in one pass over their bytes."""
    if not len(terms):
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    text = np.frombuffer("\n".join(["", *terms, ""]).encode(errors="surrogatepass"), np.uint8)
    starts = np.flatnonzero(text == ord("\n"))  # no term holds a newline
    is_gram = text[starts[:-1] + 1] == ord(GRAM)
    spaces = np.concatenate([[0], np.cumsum(text == ord(" "))])
    return is_gram, spaces[starts[1:]] > spaces[starts[:-1]]
