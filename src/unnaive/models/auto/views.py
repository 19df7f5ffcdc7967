"""Views of the text: words, words and pairs, or character n-grams, identified by the names of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

Kinds = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # which columns are character n-grams, and which are pairs
SelectColumns = Callable[[Sparse, Sparse, Floats | None], Ids]  # documents, labels, weights → columns
WORDS, PAIRS, CHARACTERS, COLUMNS = "words", "words and pairs", "characters", "columns"
JOINED = "words and characters"  # in one row; for multilabel data
VECTORS = "word vectors"  # see vector_view.py
SQUARES = "squared word vectors"  # see squared_view.py
FIELD_VECTORS = "vectors of "  # followed by the name of the vector field
# prior weight of a view in a pool: the first two read the same words, so together they weigh as much as characters
PRIOR = {WORDS: 1.0, PAIRS: 1.0, CHARACTERS: 2.0, JOINED: 2.0, COLUMNS: 1.0, VECTORS: 2.0, SQUARES: 2.0}


def field_view_name(field: str) -> str:
    """The name of the view of a vector field."""
    return FIELD_VECTORS + field


def is_view_name(name: object) -> bool:
    """Whether there is a view of this name."""
    return isinstance(name, str) and (name in PRIOR or name.startswith(FIELD_VECTORS))


def view_prior(name: str) -> float:
    """The prior weight of a view in a pool."""
    return PRIOR.get(name, PRIOR[VECTORS])


@dataclass(frozen=True, eq=False)
class View:
    """A named selection of columns, with the document frequency of each."""

    name: str
    columns: Ids
    df: Ids


MOST_CELLS = 1 << 25  # most classes × columns of a view, whose weights are one table: 256 MB of float64


def find_views(
    X: Sparse,
    terms: Sequence[str] | Vocabulary | None,
    n_classes: int,
    kinds: Kinds | None = None,
) -> list[View]:
    """The views found by the names of the columns; without names, one view of all columns.

    Pairs and character n-grams that only one document has are left out: they cost most and help least. Single words
    stay. If classes × columns exceed MOST_CELLS, the columns with the highest document frequency are kept. A column
    that no document has is in no view. `kinds` is `find_kinds(terms)`, if already computed.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1, 1], [1, 0, 1, 0]])
    >>> [(view.name, view.columns.tolist()) for view in find_views(X, ["good", "ball", "#go", "good ball"], 2)]
    [('words', [0, 1]), ('words and pairs', [0, 1]), ('characters', [2]), ('words and characters', [0, 1, 2])]
    """
    df = document_frequency(X)
    seen = df > 0
    most = max(1, MOST_CELLS // max(1, n_classes))
    if terms is None:
        return [_make_view(COLUMNS, np.flatnonzero(seen), df, most)]
    is_gram, is_pair = find_kinds(terms) if kinds is None else kinds
    words, characters, nothing = ~is_gram & ~is_pair & seen, is_gram & (df > 1), np.zeros(len(terms), np.bool_)
    masks = {
        WORDS: words,
        PAIRS: ~is_gram & np.where(is_pair, df > 1, seen) if (is_pair & seen).any() else nothing,
        CHARACTERS: characters,
        JOINED: words | characters if words.any() and characters.any() else nothing,
    }
    return [_make_view(name, np.flatnonzero(mask), df, most) for name, mask in masks.items() if mask.any()]


def select_views(
    X: Sparse,
    terms: Sequence[str] | Vocabulary | None,
    n_classes: int,
    columns: Ids | None,
    kinds: Kinds | None = None,
) -> list[View]:
    """The views of documents X restricted to `columns`; None means all columns.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1], [1, 0, 1]])
    >>> select_views(X, ["good", "ball", "vote"], 2, np.array([0, 2]))[0].columns.tolist()
    [0, 2]
    """
    if columns is None:
        return find_views(X, terms, n_classes, kinds)
    if not len(columns):
        return []
    column_kinds = None if kinds is None else (kinds[0][columns], kinds[1][columns])
    views = find_views(take_columns(X, columns), take_names(terms, columns), n_classes, column_kinds)
    return [replace(view, columns=columns[view.columns]) for view in views]


def take_names(terms: Sequence[str] | Vocabulary | None, columns: Ids) -> Sequence[str] | Vocabulary | None:
    """The names of some of the columns."""
    if terms is None or isinstance(terms, Vocabulary):
        return terms and terms.take(columns)
    return [terms[column] for column in columns.tolist()]


def _make_view(name: str, columns: Ids, df: Ids, most: int) -> View:
    """A view of at most `most` columns, those with the highest document frequency; the first of equal ones."""
    if len(columns) > most:
        columns = np.sort(columns[np.argsort(-df[columns], kind="stable")[:most]])
    return View(name, columns, df[columns])
