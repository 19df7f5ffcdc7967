"""Remove the character n-grams that follow from a document's words, and restore them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unnaive.base.sparse import csr_array
from unnaive.base.types import Sparse
from unnaive.data.count_tables import move_columns
from unnaive.data.kept_documents import KeptDocuments
from unnaive.text.gram_units import GramKind
from unnaive.text.tokens import GRAM
from unnaive.text.unit_grams import find_grams
from unnaive.text.vocabulary import Vocabulary

MOST_GRAMS = 1 << 31  # limit on cells derived from units or words; a file that exceeds it is malicious


def _words_and_grams(vocabulary: Vocabulary, X: Sparse, kind: GramKind) -> tuple[Sparse, list[str]]:
    """X_words · G (n_docs, n_grams), and the grams as terms."""
    words = [column for column, term in enumerate(vocabulary) if not term.startswith(GRAM) and " " not in term]
    if not words:
        return csr_array((X.shape[0], 0), dtype=X.dtype), []
    owner, number, grams = find_grams([vocabulary[column] for column in words], *kind)
    word_counts = csr_array(X[:, words])
    n_word_grams = np.bincount(owner, minlength=len(words))
    if int(n_word_grams @ np.bincount(word_counts.indices, minlength=len(words))) > MOST_GRAMS:
        raise ValueError("their words have too many character n-grams")
    G = csr_array((np.ones(len(owner), np.int64), (owner, number)), shape=(len(words), len(grams)))
    return csr_array(word_counts @ G), [GRAM + gram for gram in grams]


def without_grams(documents: KeptDocuments, kind: GramKind) -> KeptDocuments:
    """Subtract the n-grams predicted from the words; return the documents unchanged if over half of the cells would
    remain.

    That happens if terms are not the words of the text, for instance if they are stemmed.
    """
    if documents.words is None:
        return documents
    predicted, grams = _words_and_grams(documents.words, documents.table, kind)
    if not grams:
        return documents
    union, places = documents.words.union(Vocabulary(grams))
    rest = csr_array(move_columns(documents.table, None, len(union)) - move_columns(predicted, places, len(union)))
    rest.eliminate_zeros()
    if 2 * rest.nnz > documents.table.nnz:
        return documents
    seen = np.flatnonzero(np.bincount(rest.indices, minlength=len(union)))
    return replace(documents, words=union.take(seen), table=csr_array(rest[:, seen]))


def with_grams(documents: KeptDocuments, kind: GramKind) -> KeptDocuments:
    """The inverse of `without_grams`."""
    words = documents.words or Vocabulary()
    predicted, grams = _words_and_grams(words, documents.table, kind)
    union, places = words.union(Vocabulary(grams))
    X = csr_array(move_columns(documents.table, None, len(union)) + move_columns(predicted, places, len(union)))
    X.eliminate_zeros()
    if X.nnz and int(X.data.min()) < 1:
        raise ValueError("a count is below 0")
    return replace(documents, words=union, table=X)
