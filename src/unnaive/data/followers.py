"""A compact form of word-pair counts for model files: for each word of a document, the words that follow it.

A word that occurs n times in a document has n followers there: other words of the document, or none at the end of a
run. They are listed word by word, each word's followers in ascending order, so the list holds the pair counts and no
other information about the text. A follower is stored as the index of its word among the words of the document: a small
number that does not depend on other documents. `without_pairs` converts counts to the list, `with_pairs` converts them
back.
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
    """Whether any term has several words."""
    return bool((terms.to_arrays()[0] == SPACE).any())


def list_followers(places: NDArray[Any], table: Sparse) -> Sparse:
    """The followers as a table: one row for each document, with one cell for each occurrence of a word.

    places  1 + the index of each follower, 0 for none; for all documents, concatenated
    table   the word counts (n_docs, n_words)
    """
    ends = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int64)
    columns = np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))
    shape = table.shape[0], int(np.diff(ends).max(initial=0))
    return csr_array((places.astype(np.int32), columns.astype(np.int32), ends), shape=shape)


def no_followers(table: Sparse) -> Sparse:
    """The followers table of documents without pairs: every follower is none."""
    return list_followers(np.zeros(int(table.data.sum()), np.int32), table)


def without_pairs(terms: Vocabulary, table: Sparse) -> tuple[Vocabulary, Sparse, Sparse] | None:
    """Split terms into words and followers: (words, their table, followers).

    Returns None if this form cannot hold the counts: there are no pairs, there are longer n-grams, a word of a pair is
    not a term, a pair occurs more often than its first word, or counts are not whole numbers.

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
    pair_cells = [rows * len(words) + half[P.indices] for half in halves]
    of_first, of_second = (np.minimum(np.searchsorted(cells, side), len(cells) - 1) for side in pair_cells)
    used = np.bincount(of_first, P.data, minlength=len(cells)).astype(np.int64)
    all_words = np.array_equal(cells[of_first], pair_cells[0]) and np.array_equal(cells[of_second], pair_cells[1])
    if not all_words or bool((used > W.data).any()):
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
    row, keys = _pair_keys(table, followers, n_words)
    pairs, number = np.unique(keys, return_inverse=True)
    first, second = np.divmod(pairs, max(n_words, 1))
    before = np.searchsorted(first, np.arange(n_words))  # pairs of earlier words: each word sorts before its own pairs
    of_words, of_pairs = np.arange(n_words) + before, np.arange(len(pairs)) + first + 1
    at = np.concatenate([_row_numbers(table), row]), np.concatenate([of_words[table.indices], of_pairs[number]])
    counts = np.concatenate([table.data, np.ones(len(row), table.data.dtype)])
    return words.with_pairs(first, second), csr_array((counts, at), shape=(table.shape[0], n_words + len(pairs)))


def count_pairs(table: Sparse, followers: Sparse) -> int:
    """The number of distinct pairs that `with_pairs` returns."""
    return len(np.unique(_pair_keys(table, followers, table.shape[1])[1]))


def _pair_keys(table: Sparse, followers: Sparse, n_words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The document of each pair that occurs, and first word · n_words + second word."""
    has_follower = followers.data > 0
    owner = np.repeat(np.arange(table.nnz), table.data)[has_follower]
    row = _row_numbers(table)[owner]
    first, second = table.indices[owner], table.indices[table.indptr[row] + followers.data[has_follower] - 1]
    return row, first.astype(np.int64) * n_words + second


def check_followers(words: Vocabulary, table: Sparse, followers: Sparse) -> None:
    """Raise ValueError if a follower is impossible; the file may be malicious."""
    if has_pairs(words):
        raise ValueError("a word contains a space")
    most = np.repeat(np.diff(table.indptr), np.diff(followers.indptr))
    if bool((followers.data > most).any()):
        raise ValueError("a follower is not among the words of its document")


def _row_numbers(table: Sparse) -> NDArray[np.int64]:
    """The row index of each cell."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def _halves(words: Vocabulary, pairs: Vocabulary) -> NDArray[np.int64]:
    """The ids of the first and second word of each pair (2, n_pairs), −1 if it is not in `words`."""
    blob, offsets = pairs.to_arrays()
    number = np.arange(len(pairs))
    ends = np.empty(2 * len(pairs) + 1, np.int64)  # ends of the halves, concatenated without the spaces
    ends[0], ends[1::2], ends[2::2] = 0, np.flatnonzero(blob == SPACE) - number, offsets[1:] - number - 1
    return words.ids(Vocabulary.trusted(blob[blob != SPACE], ends)).reshape(-1, 2).T
