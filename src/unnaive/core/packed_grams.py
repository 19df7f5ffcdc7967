"""Documents without the character n-grams that follow from their units or their words, and with them again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unnaive.core.kept_documents import KeptDocuments, move_columns
from unnaive.sparse import csr_array
from unnaive.text.gram_units import GramKind, GramUnits
from unnaive.text.tokens import GRAM
from unnaive.text.unit_grams import find_grams
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Sparse

MOST_GRAMS = 1 << 31  # cells that units or words may tell of; a file that asks for more is hostile


def _words_and_grams(vocabulary: Vocabulary, X: Sparse, kind: GramKind) -> tuple[Sparse, list[str]]:
    """X_words · G (n_docs, n_grams), and the grams as terms."""
    words = [place for place, term in enumerate(vocabulary) if not term.startswith(GRAM) and " " not in term]
    if not words:
        return csr_array((X.shape[0], 0), dtype=X.dtype), []
    owner, number, grams = find_grams([vocabulary[place] for place in words], *kind)
    mine = csr_array(X[:, words])
    told = np.bincount(owner, minlength=len(words))
    if int(told @ np.bincount(mine.indices, minlength=len(words))) > MOST_GRAMS:
        raise ValueError("their words have too many character n-grams")
    G = csr_array((np.ones(len(owner), np.int64), (owner, number)), shape=(len(words), len(grams)))
    return csr_array(mine @ G), [GRAM + gram for gram in grams]


def without_terms(documents: KeptDocuments, gone: NDArray[np.bool_]) -> KeptDocuments:
    """The documents without some of their columns."""
    kept = np.flatnonzero(~gone)
    places = np.full(len(gone), -1, np.int32)
    places[kept] = np.arange(len(kept), dtype=np.int32)
    columns = places[documents.X.indices]
    inside = columns >= 0
    ends = np.concatenate([[0], np.cumsum(inside)])[documents.X.indptr]
    X = csr_array((documents.X.data[inside], columns[inside], ends), shape=(documents.n_docs, len(kept)))
    return replace(documents, vocabulary=(documents.vocabulary or Vocabulary()).take(kept), X=X)


def with_units(documents: KeptDocuments, units: GramUnits, kind: GramKind) -> KeptDocuments:
    """The documents, of words, with the character n-grams of their units."""
    if units.most_grams(kind) > MOST_GRAMS:
        raise ValueError("their units have too many character n-grams")
    grams, counts = units.cut(kind)
    vocabulary, places = (documents.vocabulary or Vocabulary()).union(grams)
    order = vocabulary.order()
    mine = None
    if order is not None:  # columns go to their sorted places at once: both parts stay ascending
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        vocabulary, mine, places = vocabulary.in_order(order), place[: documents.n_terms], place[places]
    X = move_columns(documents.X, mine, len(vocabulary)) + move_columns(counts, places, len(vocabulary))
    return replace(documents, vocabulary=vocabulary, X=csr_array(X), units=units)


def without_grams(documents: KeptDocuments, kind: GramKind) -> KeptDocuments:
    """The documents less the grams that their words tell of; themselves where that leaves more than half of the cells.

    That is so where a word is not read as it stands: stemmed, say.
    """
    if documents.vocabulary is None:
        return documents
    told, grams = _words_and_grams(documents.vocabulary, documents.X, kind)
    if not grams:
        return documents
    both, places = documents.vocabulary.union(Vocabulary(grams))
    rest = csr_array(move_columns(documents.X, None, len(both)) - move_columns(told, places, len(both)))
    rest.eliminate_zeros()
    if 2 * rest.nnz > documents.X.nnz:
        return documents
    seen = np.flatnonzero(np.bincount(rest.indices, minlength=len(both)))
    return replace(documents, vocabulary=both.take(seen), X=csr_array(rest[:, seen]))


def with_grams(documents: KeptDocuments, kind: GramKind) -> KeptDocuments:
    """The inverse of `without_grams`."""
    vocabulary = documents.vocabulary or Vocabulary()
    told, grams = _words_and_grams(vocabulary, documents.X, kind)
    both, places = vocabulary.union(Vocabulary(grams))
    X = csr_array(move_columns(documents.X, None, len(both)) + move_columns(told, places, len(both)))
    X.eliminate_zeros()
    if X.nnz and int(X.data.min()) < 1:
        raise ValueError("a count is below 0")
    return replace(documents, vocabulary=both, X=X)
