"""Pairs of words, of which a file keeps only what the words of a document leave open: which word follows which.

A word that a document has n times has n followers there: other words of the document, or none at the end of a run. The
followers are written word by word, the frequent words first, each word's own in ascending order, so that they tell of
the counts of pairs and of nothing else. A follower is the place of its word among those of the document, which is a
small number; neither the pairs themselves nor their counts are written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.core.kept_documents import move_columns
from unnaive.core.products import take_columns
from unnaive.sparse import csr_array
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Ids, Sparse

SPACE = ord(" ")


class Followers(NamedTuple):
    """Words with their table (n_docs, n_words), and 1 + the place of each follower, 0 for none (Σ table,)."""

    words: Vocabulary
    table: Sparse
    places: Ids


def by_frequency(table: Sparse) -> NDArray[np.int64]:
    """The columns, those of most documents first; of equals the first."""
    return np.argsort(-np.bincount(table.indices, minlength=table.shape[1]), kind="stable")


def without_pairs(terms: Vocabulary, table: Sparse) -> Followers | None:
    """The words among the terms and their followers; None where there are no pairs, or words do not tell of them.

    >>> found = without_pairs(Vocabulary(["go", "go now", "now"]), csr_array([[2, 1, 1]]))
    >>> found.words.terms, found.table.toarray().tolist(), found.places.tolist()  # "go" is followed by "now", and by none
    (['go', 'now'], [[2, 1]], [2, 0, 0])
    >>> with_pairs(*found)[0].terms
    ['go', 'go now', 'now']
    """
    blob, offsets = terms.to_arrays()
    spaces = np.diff(np.concatenate([[0], np.cumsum(blob == SPACE)])[offsets])
    pairs = np.flatnonzero(spaces == 1)
    if not len(pairs) or int(spaces.max()) > 1 or table.data.dtype.kind != "i":
        return None
    alone = np.flatnonzero(spaces == 0)
    words, W = terms.take(alone), take_columns(table, alone)
    first, second = _halves(words, terms.take(pairs))
    if min(int(first.min()), int(second.min())) < 0:
        return None
    order = by_frequency(W)
    rank = np.argsort(order)
    ranked, P = move_columns(W, rank, len(rank)), take_columns(table, pairs)
    rows, cells = _row_numbers(P), _row_numbers(ranked) * len(rank) + ranked.indices
    wanted = [rows * len(rank) + rank[half][P.indices] for half in (first, second)]
    of_first, of_second = (np.minimum(np.searchsorted(cells, one), len(cells) - 1) for one in wanted)
    used = np.bincount(of_first, P.data, minlength=len(cells)).astype(np.int64)
    there = np.array_equal(cells[of_first], wanted[0]) and np.array_equal(cells[of_second], wanted[1])
    if not there or bool((used > ranked.data).any()):
        return None
    among = of_second - ranked.indptr[rows]
    listed = csr_array((P.data, (of_first, among)), shape=(len(cells), int(among.max()) + 1))
    listed.sort_indices()
    starts, used_starts = (np.cumsum(sizes) - sizes for sizes in (ranked.data.astype(np.int64), used))
    places = np.zeros(int(ranked.data.sum()), np.int64)
    places[np.repeat(starts - used_starts, used) + np.arange(used.sum())] = np.repeat(listed.indices + 1, listed.data)
    return Followers(words, W, places)


def with_pairs(words: Vocabulary, table: Sparse, places: Ids) -> tuple[Vocabulary, Sparse]:
    """The inverse of `without_pairs`: words and pairs, and their table. Places that cannot be are a ValueError."""
    if bool((words.to_arrays()[0] == SPACE).any()):
        raise ValueError("a word has a space in it")
    n_words, order = len(words), by_frequency(table)
    ranked = move_columns(table, np.argsort(order), n_words)
    there = places > 0
    owner = np.repeat(np.arange(ranked.nnz), ranked.data)[there]
    rows = _row_numbers(ranked)
    row = rows[owner]
    of_second = ranked.indptr[row] + places[there] - 1
    if bool((of_second >= ranked.indptr[row + 1]).any()):
        raise ValueError("a word is followed by one that its document has not")
    first, second = (order[ranked.indices[cells]] for cells in (owner, of_second))
    found, number = np.unique(first * n_words + second, return_inverse=True)
    first, second = np.divmod(found, n_words)
    before = np.searchsorted(first, np.arange(n_words))  # pairs of earlier words: each word stands before its own
    columns = np.concatenate(
        [(np.arange(n_words) + before)[table.indices], (np.arange(len(found)) + first + 1)[number]]
    )
    at = np.concatenate([_row_numbers(table), row])
    counts = np.concatenate([table.data.astype(np.int64), np.ones(len(row), np.int64)])
    shape = table.shape[0], n_words + len(found)
    return words.with_pairs(first, second), csr_array((counts, (at, columns)), shape=shape)


def _row_numbers(table: Sparse) -> NDArray[np.int64]:
    """The row of each cell."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))


def _halves(words: Vocabulary, pairs: Vocabulary) -> tuple[Ids, Ids]:
    """The ids of the words of each pair, −1 for one that is no word."""
    blob, offsets = pairs.to_arrays()
    number = np.arange(len(pairs))
    ends = np.empty(2 * len(pairs) + 1, np.int64)  # of the halves, one after another without the spaces between
    ends[0], ends[1::2], ends[2::2] = 0, np.flatnonzero(blob == SPACE) - number, offsets[1:] - number - 1
    ids = words.ids(Vocabulary.trusted(blob[blob != SPACE], ends))
    return ids[0::2], ids[1::2]
