"""Find documents that share passages (quoting replies, versions, near copies): those with many rare terms in common.

A model that has learnt one of them has an advantage on the others. Held-out scores are representative of new documents
only if documents that share passages are held out together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.count_tables import row_hashes
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

RARE_DF = 5, 20  # a rare term is in at most 1/50 of the documents; this limit is clipped to between these two numbers
# two documents share a passage if they have this many rare terms in common, and this share of the smaller one's
PAIRS_IN_COMMON = 10, 0.6  # if pairs of words are compared
TERMS_IN_COMMON = 5, 0.5  # if single terms are compared because there are no pairs
COPY_TERMS = 5  # minimum number of distinct words of a copy: many people write "thanks, that works"
MOST_CELLS = 20_000_000  # maximum of the documents × documents table; common terms are dropped until it is reached
BLOCK_CELLS = 1_000_000  # cells of this table in memory at once: 16 MB


@dataclass(frozen=True, eq=False)
class SharedPassages:
    """Pairs of documents of one group, first < second, and the number of rare terms they share (n_pairs,)."""

    n_docs: int
    first: Ids
    second: Ids
    shared: Ids

    def __add__(self, other: SharedPassages) -> SharedPassages:
        """The pairs of both, of the same documents."""
        first, second, shared = (
            np.concatenate(parts)
            for parts in ((self.first, other.first), (self.second, other.second), (self.shared, other.shared))
        )
        return SharedPassages(self.n_docs, first, second, shared)

    def count_documents(self) -> int:
        """The number of documents that share a passage with another."""
        return len(np.union1d(self.first, self.second))

    def groups(self) -> Ids:
        """A group number for each document (n_docs,), equal for documents linked by passages directly or through
        others.

        >>> SharedPassages(5, np.array([0, 1]), np.array([3, 4]), np.array([10, 12])).groups().tolist()
        [0, 1, 2, 0, 1]
        """
        root = np.arange(self.n_docs)  # a document of the same group, in the end the first one
        while True:
            first, second = root[self.first], root[self.second]
            earlier = root.copy()
            np.minimum.at(earlier, np.maximum(first, second), np.minimum(first, second))
            earlier = earlier[earlier]
            if (earlier == root).all():
                return np.asarray(np.unique(root, return_inverse=True)[1], np.int64)
            root = earlier

    def order(self) -> Ids:
        """All documents (n_docs,), with those that share most next to each other; the others keep their order.

        Documents are joined into runs by single linkage, strongest pairs first; a run takes the position of its first
        document.

        >>> SharedPassages(5, np.array([0, 1]), np.array([3, 4]), np.array([10, 12])).order().tolist()
        [0, 3, 1, 4, 2]
        """
        parent = list(range(self.n_docs))  # union–find: the root of a run is its first document
        following, last = [-1] * self.n_docs, list(range(self.n_docs))  # runs are linked lists, joined in one step

        def find_root(row: int) -> int:
            while parent[row] != row:
                parent[row] = parent[parent[row]]
                row = parent[row]
            return row

        by_strength = np.lexsort((self.second, self.first, -self.shared))
        for left, right in zip(self.first[by_strength].tolist(), self.second[by_strength].tolist(), strict=True):
            start, end = sorted((find_root(left), find_root(right)))
            if start != end:
                following[last[start]], last[start] = end, last[end]
                parent[end] = start
        order = []
        for start in range(self.n_docs):
            row = start if parent[start] == start else -1
            while row >= 0:
                order.append(row)
                row = following[row]
        return np.array(order, np.int64)


def find_shared_passages(X: Sparse, group: Ids, terms: Sequence[str] | Vocabulary | None = None) -> SharedPassages:
    """Find pairs of documents X (n_docs, n_terms) within the same `group` (n_docs,) that share many rare terms.

    A rare term is in at most 20 documents; with fewer than 1,000 documents the limit is lower, down to 5. If the column
    names `terms` include pairs of words, pairs are compared, since ten rare pairs in common are a quotation; otherwise
    single words, or all columns if they have no names.

    >>> X = csr_array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 3]])
    >>> found = find_shared_passages(X, np.array([0, 0, 0]))
    >>> found.first.tolist(), found.second.tolist(), found.shared.tolist()
    ([0], [1], [5])
    """
    X = csr_array(X)
    columns, (least, share) = _columns_to_compare(X.shape[1], terms)
    df = document_frequency(X)
    max_df = int(np.clip(X.shape[0] // 50, *RARE_DF))
    rare = take_columns(X, np.flatnonzero(columns & (df >= 2) & (df <= max_df)))
    together, sizes = _terms_of_groups(rare, group)
    first, second, shared = (np.concatenate(parts) for parts in zip(*_pairs_of_rows(together, least), strict=True))
    is_pair = shared >= share * np.minimum(sizes[first], sizes[second])
    return SharedPassages(X.shape[0], first[is_pair], second[is_pair], shared[is_pair])


def _pairs_of_rows(together: Sparse, least: int) -> Iterator[tuple[Ids, Ids, Ids]]:
    """Yield (first, second, terms in common) of pairs of rows, first < second, with at least `least` in common.

    Rows are multiplied some at a time, so that the table of all pairs is never in memory.
    """
    transposed = csr_array(together.T)
    n_cells = np.cumsum(together @ np.diff(transposed.indptr))  # at most so many in the table up to each row
    full = np.arange(BLOCK_CELLS, int(n_cells.max(initial=0)) + 1, BLOCK_CELLS)
    borders = np.unique(np.searchsorted(n_cells, full, side="right")).tolist()
    for start, end in pairwise([0, *borders, together.shape[0]]):
        table = (together[start:end] @ transposed).tocoo()
        rows = table.row + start
        is_pair = (rows < table.col) & (table.data >= least)
        yield rows[is_pair], table.col[is_pair], table.data[is_pair]


def find_copies(X: Sparse, group: Ids, terms: Sequence[str] | Vocabulary | None = None) -> SharedPassages:
    """Pairs of documents X (n_docs, n_terms) of the same `group` with the same words: the first and each later one.

    Common words count too, since short texts have no rare ones. Documents of fewer than COPY_TERMS are not copies.

    >>> X = csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 3]])
    >>> found = find_copies(X, np.array([0, 0, 0]))
    >>> found.first.tolist(), found.second.tolist(), found.shared.tolist()
    ([0], [1], [5])
    """
    hashes, sizes = hash_word_sets(X, terms)
    rows = np.flatnonzero(sizes >= COPY_TERMS)
    _, earliest, number = np.unique(
        hashes[rows] + np.asarray(group, np.uint64)[rows], return_index=True, return_inverse=True
    )
    first = rows[earliest[number]]
    later = first != rows
    return SharedPassages(len(sizes), first[later], rows[later], sizes[rows[later]])


def hash_word_sets(X: Sparse, terms: Sequence[str] | Vocabulary | None = None) -> tuple[NDArray[np.uint64], Ids]:
    """(a hash of the set of words of each document, the number of words in it), (n_docs,) each.

    Words are the columns that are neither pairs nor character n-grams; all columns if there are no words.
    """
    X = csr_array(X)
    if terms is not None:
        is_gram, is_pair = find_kinds(terms)
        words = np.flatnonzero(~is_gram & ~is_pair)
        X = take_columns(X, words) if len(words) else X
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return row_hashes(X, slice(0, X.shape[0]), values=False)[:, 0], np.diff(X.indptr)


def _columns_to_compare(
    n_terms: int, terms: Sequence[str] | Vocabulary | None
) -> tuple[NDArray[np.bool_], tuple[int, float]]:
    """(whether each column is compared, the number and share that two documents must have in common)."""
    if terms is None:
        return np.ones(n_terms, np.bool_), TERMS_IN_COMMON
    is_gram, is_pair = find_kinds(terms)
    is_pair &= ~is_gram
    return (is_pair, PAIRS_IN_COMMON) if is_pair.any() else (~is_gram, TERMS_IN_COMMON)


def _terms_of_groups(rare: Sparse, group: Ids) -> tuple[Sparse, Ids]:
    """(a 0/1 column for every term in at least two documents of a group, the number of rare terms of each document).

    Only the rarest terms are used, so that the product of the table with itself has at most MOST_CELLS cells.
    """
    rows = np.repeat(group, np.diff(rare.indptr))
    _, column, df = np.unique(
        rows.astype(np.int64) * rare.shape[1] + rare.indices, return_inverse=True, return_counts=True
    )
    cells = np.cumsum(np.bincount(df, minlength=2) * np.arange(max(1, df.max(initial=0)) + 1) ** 2)
    most = int(np.searchsorted(cells - cells[1], MOST_CELLS, side="right")) - 1
    rarest = df[column] <= most
    is_shared = rarest & (df[column] >= 2)
    ends = np.concatenate([[0], np.cumsum(is_shared)])[rare.indptr]
    ones = np.ones(int(ends[-1]), np.int32)
    sizes = np.diff(np.concatenate([[0], np.cumsum(rarest)])[rare.indptr])
    return csr_array((ones, column[is_shared], ends), shape=(rare.shape[0], len(df))), sizes
