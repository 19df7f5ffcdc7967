"""Counts of pairs of words in a small form, for model files: which words follow each word of a document.

A word that a document has n times has n followers there: other words of the document, or none at the end of a run. They
are listed word by word, each word's own in ascending order, so that the list holds the counts of pairs and nothing else
of the text. A follower is stored as the place of its word among those of the document: a small number, which does not
depend on other documents. `without_pairs` makes the list of the counts, `with_pairs` the counts of the list.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Sparse
from unnaive.data.products import take_columns
from unnaive.text.gram_units import which_are_grams
from unnaive.text.vocabulary import Vocabulary

SPACE = ord(" ")


def has_pairs(terms: Vocabulary) -> bool:
    """Whether a term is of several words."""
    return bool((terms.to_arrays()[0] == SPACE).any())


def list_followers(places: NDArray[Any], table: Sparse) -> Sparse:
    """The followers as a table: a row for each document, with as many cells as it has mentions of words.

    places  1 + the place of each follower, 0 for none; of all documents, one after another
    table   the counts of words (n_docs, n_words)
    """
    ends = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int64)
    columns = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
    shape = table.shape[0], int(np.diff(ends).max(initial=0))
    return csr_array((places.astype(np.int32), columns.astype(np.int32), ends), shape=shape)


def no_followers(table: Sparse) -> Sparse:
    """The followers of documents that have words and no pairs: none at all."""
    return list_followers(np.zeros(int(table.data.sum()), np.int32), table)


def without_pairs(terms: Vocabulary, table: Sparse) -> tuple[Vocabulary, Sparse, Sparse] | None:
    """The words among the terms, their table, and followers.

    None where this form cannot hold the counts: there are no pairs, or longer n-grams, a pair of which a word is no
    term, more pairs than mentions of their first word, or counts that are no whole numbers.

    >>> words, table, followers = without_pairs(Vocabulary(["go", "go now", "now"]), csr_array([[2, 1, 1]]))
    >>> words.terms, table.toarray().tolist(), followers.data.tolist()  # "go" is followed by "now", and by none
    (['go', 'now'], [[2, 1]], [2, 0, 0])
    >>> with_pairs(words, table, followers)[0].terms
    ['go', 'go now', 'now']
    """
    blob, offsets = terms.to_arrays()
    spaces = np.diff(np.concatenate([[0], np.cumsum(blob == SPACE)])[offsets])
    pairs, alone = np.flatnonzero(spaces == 1), np.flatnonzero(spaces == 0)
    others = bool((spaces > 1).any()) or bool(which_are_grams(terms).any())
    if others or not len(pairs) or not len(alone) or table.data.dtype.kind != "i":
        return None
    words, W, P = terms.take(alone), take_columns(table, alone), take_columns(table, pairs)
    halves = _halves(words, terms.take(pairs))
    if int(halves.min()) < 0:
        return None
    rows, cells = _row_numbers(P), _row_numbers(W) * len(words) + W.indices
    wanted = [rows * len(words) + half[P.indices] for half in halves]
    of_first, of_second = (np.minimum(np.searchsorted(cells, one), len(cells) - 1) for one in wanted)
    used = np.bincount(of_first, P.data, minlength=len(cells)).astype(np.int64)
    there = np.array_equal(cells[of_first], wanted[0]) and np.array_equal(cells[of_second], wanted[1])
    if not there or bool((used > W.data).any()):
        return None
    among = of_second - W.indptr[rows]
    listed = csr_array((P.data, (of_first, among)), shape=(len(cells), int(among.max()) + 1))
    listed.sort_indices()
    starts, used_starts = (np.cumsum(sizes) - sizes for sizes in (W.data.astype(np.int64), used))
    places = np.zeros(int(W.data.sum()), np.int32)
    places[np.repeat(starts - used_starts, used) + np.arange(used.sum())] = np.repeat(listed.indices + 1, listed.data)
    return words, W, list_followers(places, W)


def with_pairs(words: Vocabulary, table: Sparse, followers: Sparse) -> tuple[Vocabulary, Sparse]:
    """The inverse of `without_pairs`: words and pairs, and their table."""
    n_words = len(words)
    there = followers.data > 0
    owner = np.repeat(np.arange(table.nnz), table.data)[there]
    row = _row_numbers(table)[owner]
    first, second = table.indices[owner], table.indices[table.indptr[row] + followers.data[there] - 1]
    found, number = np.unique(first.astype(np.int64) * n_words + second, return_inverse=True)
    first, second = np.divmod(found, max(n_words, 1))
    before = np.searchsorted(first, np.arange(n_words))  # pairs of earlier words: each word stands before its own
    of_words, of_pairs = np.arange(n_words) + before, np.arange(len(found)) + first + 1
    at = np.concatenate([_row_numbers(table), row]), np.concatenate([of_words[table.indices], of_pairs[number]])
    counts = np.concatenate([table.data, np.ones(len(row), table.data.dtype)])
    return words.with_pairs(first, second), csr_array((counts, at), shape=(table.shape[0], n_words + len(found)))


def check_followers(words: Vocabulary, table: Sparse, followers: Sparse) -> None:
    """A ValueError if a follower cannot be: files may hold anything."""
    if has_pairs(words):
        raise ValueError("a word has a space in it")
    most = np.repeat(np.diff(table.indptr), np.diff(followers.indptr))
    if bool((followers.data > most).any()):
        raise ValueError("a word is followed by one that its document has not")


def _row_numbers(table: Sparse) -> NDArray[np.int64]:
    """The row of each cell."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def _halves(words: Vocabulary, pairs: Vocabulary) -> NDArray[np.int64]:
    """The ids of the first and of the second word of each pair (2, n_pairs), −1 for one that is no word."""
    blob, offsets = pairs.to_arrays()
    number = np.arange(len(pairs))
    ends = np.empty(2 * len(pairs) + 1, np.int64)  # of the halves, one after another without the spaces between
    ends[0], ends[1::2], ends[2::2] = 0, np.flatnonzero(blob == SPACE) - number, offsets[1:] - number - 1
    return words.ids(Vocabulary.trusted(blob[blob != SPACE], ends)).reshape(-1, 2).T
