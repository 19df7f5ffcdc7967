"""GramUnits: counts of the words or chunks that character n-grams are cut from, a compact form of the n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array, hstack, vstack
from unnaive.base.types import Ids
from unnaive.text.backend import kernel
from unnaive.text.tokens import GRAM, TokenRule
from unnaive.text.unit_grams import find_grams
from unnaive.text.vocabulary import Vocabulary

GramKind = tuple[int, int, str]  # shortest and longest character n-gram, and the character that marks borders


@dataclass(frozen=True, eq=False)
class GramUnits:
    """The chunks between spaces, or words, that the character n-grams of documents are cut from.

    vocabulary  the units
    X           counts of the units in each document (n_docs, n_units)
    kind        the kind of the n-grams

    >>> units = GramUnits(Vocabulary(["no!", "a"]), csr_array([[1, 2]], dtype=np.int32), (2, 2, " "))
    >>> terms, X = units.join(Vocabulary(["no"]), csr_array([[1]], dtype=np.int32))
    >>> dict(zip(terms.terms, X.toarray()[0].tolist(), strict=True))
    {'# a': 2, '# n': 1, '#! ': 1, '#a ': 2, '#no': 1, '#o!': 1, 'no': 1}
    """

    vocabulary: Vocabulary
    X: csr_array
    kind: GramKind

    def take(self, rows: Ids) -> GramUnits:
        """The units of the documents in `rows`."""
        return replace(self, X=csr_array(self.X[rows]))

    def __add__(self, other: GramUnits) -> GramUnits:
        """The units of these documents, followed by those of the other documents."""
        union, places = self.vocabulary.union(other.vocabulary)
        counts = csr_array((self.X.data, self.X.indices, self.X.indptr), shape=(self.X.shape[0], len(union)))
        other_counts = csr_array(
            (other.X.data, places[other.X.indices].astype(np.int32), other.X.indptr),
            shape=(other.X.shape[0], len(union)),
        )
        return GramUnits(union, csr_array(vstack([counts, other_counts], format="csr")), self.kind)

    def over(self, vocabulary: Vocabulary) -> GramUnits:
        """The same over the columns of another vocabulary; all units that it lacks share one extra last column."""
        places = vocabulary.ids(self.vocabulary)
        places[places < 0] = len(vocabulary)
        return GramUnits(vocabulary, self._moved(places, len(vocabulary) + 1), self.kind)

    def in_order(self) -> GramUnits:
        """The units that occur, sorted; equal documents then give equal arrays."""
        seen = np.bincount(self.X.indices, minlength=len(self.vocabulary)) > 0
        order = self.vocabulary.order()
        order = np.flatnonzero(seen) if order is None else order[seen[order]]
        places = np.zeros(len(self.vocabulary), np.int32)
        places[order] = np.arange(len(order))
        return GramUnits(self.vocabulary.take(order), self._moved(places, len(order)), self.kind)

    def _moved(self, places: NDArray[Any], n_columns: int) -> csr_array:
        """A copy of X with column i moved to places[i]; two transpositions sort all rows in linear time."""
        shape = self.X.shape[0], n_columns
        return csr_array(csr_array((self.X.data, places[self.X.indices], self.X.indptr), shape=shape).tocsc().tocsr())

    def most_grams(self) -> int:
        """An upper bound on the number of character n-grams of all documents, counting repetitions."""
        sizes = np.diff(self.vocabulary.to_arrays()[1]) + 2
        return int((sizes[self.X.indices] * (self.kind[1] - self.kind[0] + 1)).sum())

    def join(self, words: Vocabulary, counts: csr_array, threads: int = 1) -> tuple[Vocabulary, csr_array]:
        """The character n-grams and `words`, sorted, and their counts in each document (n_docs, n_terms).

        `counts` (n_docs, n_words) are the counts of `words`, which are already sorted.
        """
        return (self._join_by_numpy if kernel is None else self._join_natively)(words, counts, threads)

    def count_grams(self) -> int:
        """The number of distinct character n-grams."""
        if kernel is None:
            return len(find_grams(self.vocabulary.terms, *self.kind)[2])
        return len(self._cut_natively()[1])

    def _cut_natively(self) -> tuple[Any, Vocabulary]:
        """The kernel's table that cuts units into character n-grams, and these n-grams."""
        from unnaive.text.native import NativeEngine

        engine = NativeEngine(TokenRule(), self.vocabulary, 1, chunks=True).kernel
        cut = make_grams(self.kind, Vocabulary(), np.zeros(0, np.int64))
        cut.learn(engine, grow=True, next=0, known=0)
        return cut, Vocabulary.trusted(*cut.terms(0, ord(GRAM)))

    def _join_natively(self, words: Vocabulary, counts: csr_array, threads: int) -> tuple[Vocabulary, csr_array]:
        cut, grams = self._cut_natively()
        order = grams.order()
        terms, columns, first = _insert(words, grams.in_order(order))
        column = np.empty(len(grams), np.int32)
        column[slice(None) if order is None else order] = np.arange(first, first + len(grams))
        cut.move(column)
        data, indices, indptr = cut.join(_rows(self.X), (*_rows(counts), columns), len(terms), threads)
        return terms, csr_array((data, indices, indptr), shape=(self.X.shape[0], len(terms)))

    def _join_by_numpy(self, words: Vocabulary, counts: csr_array, threads: int) -> tuple[Vocabulary, csr_array]:
        owner, number, distinct = find_grams(self.vocabulary.terms, *self.kind)
        G: Any = csr_array(
            (np.ones(len(owner), np.int64), (owner, number)), shape=(len(self.vocabulary), len(distinct))
        )
        grams = Vocabulary([GRAM + gram for gram in distinct])
        order = grams.order()
        X = csr_array(self.X @ G) if order is None else csr_array((self.X @ G)[:, order])
        terms, _, first = _insert(words, grams.in_order(order))
        joined = csr_array(hstack([counts[:, :first], X, counts[:, first:]], format="csr"))
        joined.sort_indices()
        return terms, joined


def _rows(table: csr_array) -> tuple[Any, Any, Any]:
    return table.data.astype(np.int32), table.indices.astype(np.int32), table.indptr.astype(np.int64)


def _insert(words: Vocabulary, grams: Vocabulary) -> tuple[Vocabulary, NDArray[np.int32], int]:
    """(n-grams and words, sorted; the columns of the words; the first column of the n-grams).

    All n-grams begin with the same byte, so they are adjacent.
    """
    blob, offsets = words.to_arrays()
    first = int(np.count_nonzero(blob[offsets[:-1]] < ord(GRAM)))
    columns = np.arange(len(words), dtype=np.int32)
    columns[first:] += len(grams)
    before = words.take(np.arange(first)) if first else Vocabulary()
    return before.followed_by(grams).followed_by(words.since(first)), columns, first


def make_grams(kind: GramKind, vocabulary: Vocabulary, columns: Ids) -> Any:
    """The kernel's table of the n-grams in these columns of a vocabulary."""
    blob, offsets = vocabulary.take(columns).to_arrays()
    shortest, longest, border = kind
    return kernel.CharGrams(
        shortest=shortest, longest=longest, border=ord(border), ends=offsets - np.arange(len(offsets)),
        grams=np.delete(blob, offsets[:-1]), columns=columns.astype(np.int32),
    )  # fmt: skip  # without the prefix GRAM


def which_are_grams(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Whether each term is a character n-gram, by its first byte.

    >>> which_are_grams(Vocabulary(["#ca", "cat"]))
    array([ True, False])
    """
    blob, offsets = vocabulary.to_arrays()
    if not len(blob):
        return np.zeros(len(offsets) - 1, np.bool_)
    first = blob[np.minimum(offsets[:-1], len(blob) - 1)]
    return np.asarray((first == ord(GRAM)) & (np.diff(offsets) > 0))


def find_kinds(terms: Sequence[str] | Vocabulary) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(whether each term is a character n-gram, whether it is several words), in one pass over the bytes.

    >>> find_kinds(["#ca", "cat", "cat sat"])
    (array([ True, False, False]), array([False, False,  True]))
    """
    vocabulary = terms if isinstance(terms, Vocabulary) else Vocabulary(terms)
    blob, offsets = vocabulary.to_arrays()
    spaces = np.flatnonzero(blob == ord(" "))
    is_several = np.zeros(len(offsets) - 1, np.bool_)
    is_several[np.searchsorted(offsets, spaces, side="right") - 1] = True
    return which_are_grams(vocabulary), is_several
