"""GramUnits: what character n-grams were cut from, counted; a small form of documents from which their grams follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.sparse import csr_array, vstack
from unnaive.text.backend import kernel
from unnaive.text.tokens import GRAM, TokenRule
from unnaive.text.unit_grams import find_grams
from unnaive.text.vocabulary import Vocabulary

GramKind = tuple[int, int, str]  # shortest and longest character n-gram, and the sign of its borders
Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GramUnits:
    """The chunks between spaces, or words, that the character n-grams of documents are cut from.

    vocabulary  the units
    X           how often each is in each document (n_docs, n_units)

    >>> units = GramUnits(Vocabulary(["no!", "a"]), csr_array([[1, 2]], dtype=np.int32))
    >>> grams, X = units.cut((2, 2, " "))
    >>> dict(zip(grams.terms, X.toarray()[0].tolist(), strict=True))
    {'# a': 2, '# n': 1, '#! ': 1, '#a ': 2, '#no': 1, '#o!': 1}
    """

    vocabulary: Vocabulary
    X: csr_array

    def take(self, rows: Ids) -> GramUnits:
        """Those of some documents."""
        return GramUnits(self.vocabulary, csr_array(self.X[rows]))

    def __add__(self, other: GramUnits) -> GramUnits:
        """Those of these documents, then of the others."""
        both, places = self.vocabulary.union(other.vocabulary)
        mine = csr_array((self.X.data, self.X.indices, self.X.indptr), shape=(self.X.shape[0], len(both)))
        theirs = csr_array(
            (other.X.data, places[other.X.indices].astype(np.int32), other.X.indptr),
            shape=(other.X.shape[0], len(both)),
        )
        return GramUnits(both, csr_array(vstack([mine, theirs], format="csr")))

    def in_order(self) -> GramUnits:
        """Units that some document has, sorted: the same documents are the same arrays."""
        seen = np.bincount(self.X.indices, minlength=len(self.vocabulary)) > 0
        order = self.vocabulary.order()
        order = np.flatnonzero(seen) if order is None else order[seen[order]]
        places = np.zeros(len(self.vocabulary), np.int32)
        places[order] = np.arange(len(order))
        X = csr_array((self.X.data, places[self.X.indices], self.X.indptr), shape=(self.X.shape[0], len(order)))
        X.sort_indices()
        return GramUnits(self.vocabulary.take(order), X)

    def most_grams(self, kind: GramKind) -> int:
        """No fewer than the character n-grams of all documents, repeated ones too."""
        sizes = np.diff(self.vocabulary.to_arrays()[1]) + 2
        return int((sizes[self.X.indices] * (kind[1] - kind[0] + 1)).sum())

    def cut(self, kind: GramKind) -> tuple[Vocabulary, csr_array]:
        """The character n-grams as terms, sorted, and how often each is in each document (n_docs, n_grams)."""
        return self._cut_by_numpy(kind) if kernel is None else self._cut_natively(kind)

    def _cut_natively(self, kind: GramKind) -> tuple[Vocabulary, csr_array]:
        """All units are cut to learn which grams there are, then again, when their columns are known."""
        from unnaive.text.native import NativeEngine

        engine = NativeEngine(TokenRule(), self.vocabulary, 1, chunks=True).kernel
        grams = make_grams(kind, Vocabulary(), np.zeros(0, np.int64))
        grams.learn(engine, grow=True, next=0)
        terms = Vocabulary.trusted(*grams.terms(0, ord(GRAM))).in_order()
        grams = make_grams(kind, terms, np.arange(len(terms)))
        grams.learn(engine, grow=False, next=len(terms))
        none = np.zeros(0, np.int32)
        units = self.X.data.astype(np.int32), self.X.indices.astype(np.int32), self.X.indptr.astype(np.int64)
        words = none, none, np.zeros(self.X.shape[0] + 1, np.int64), none
        data, indices, indptr = grams.join(units, words, len(terms), 1)
        X = csr_array((data, indices, indptr), shape=(self.X.shape[0], len(terms)))
        X.has_canonical_format = True  # known, so that nobody needs to look
        return terms, X

    def _cut_by_numpy(self, kind: GramKind) -> tuple[Vocabulary, csr_array]:
        owner, number, grams = find_grams(self.vocabulary.terms, *kind)
        G: Any = csr_array((np.ones(len(owner), np.int64), (owner, number)), shape=(len(self.vocabulary), len(grams)))
        terms = Vocabulary([GRAM + gram for gram in grams])
        order = terms.order()
        X = csr_array(self.X @ G) if order is None else csr_array((self.X @ G)[:, order])
        X.sort_indices()
        return terms.in_order(order), X


def make_grams(kind: GramKind, vocabulary: Vocabulary, columns: Ids) -> Any:
    """The kernel's table of the grams that a vocabulary has at these columns."""
    blob, offsets = vocabulary.take(columns).to_arrays()
    shortest, longest, border = kind
    return kernel.CharGrams(
        shortest=shortest, longest=longest, border=ord(border), ends=offsets - np.arange(len(offsets)),
        grams=np.delete(blob, offsets[:-1]), columns=columns.astype(np.int32),
    )  # fmt: skip  # letters without the mark of a gram


def which_are_grams(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Whether each term is a character n-gram, by its first byte.

    >>> which_are_grams(Vocabulary(["#ca", "cat"]))
    array([ True, False])
    """
    blob, offsets = vocabulary.to_arrays()
    first = np.append(blob, np.uint8(0))[offsets[:-1]]
    return np.asarray((first == ord(GRAM)) & (np.diff(offsets) > 0))


def find_kinds(terms: Sequence[str] | Vocabulary) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(whether each term is a character n-gram, whether it is several words), in one pass over their bytes.

    >>> find_kinds(["#ca", "cat", "cat sat"])
    (array([ True, False, False]), array([False, False,  True]))
    """
    vocabulary = terms if isinstance(terms, Vocabulary) else Vocabulary(terms)
    blob, offsets = vocabulary.to_arrays()
    spaces = np.concatenate([[0], np.cumsum(blob == ord(" "))])
    return which_are_grams(vocabulary), spaces[offsets[1:]] > spaces[offsets[:-1]]
