"""The parts of the training documents that are held out in turn, so that a held-out document is like a new one.

Documents that copy or quote each other are held out together: a new document is no copy of a training document. Short
texts that repeat ("thanks, that works") are spread over the parts like any other documents, since they will come again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import block_folds, fold_strata, shuffle_blocks
from unnaive.data.products import take_columns
from unnaive.data.shared_passages import (
    COPY_TERMS,
    SharedPassages,
    find_copies,
    find_shared_passages,
    hash_word_sets,
)
from unnaive.data.soft_labels import likeliest_rows
from unnaive.data.targets import single_labels
from unnaive.data.training_data import DocumentRows
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class HeldOutOrder:
    """An order of documents; each part that is held out is a run of neighbours of one class.

    order     the documents, those that share passages next to each other
    passages  pairs of documents that copy or quote each other
    document  the document of each row (n_rows,): all rows of a text with several weighted labels are one document
    row       the row of each document (n_docs,), the one with its likeliest label
    short     a number for each document (n_docs,), equal for those with the same few words; −1 for those with more
    """

    order: Ids
    passages: SharedPassages
    document: Ids
    row: Ids
    short: Ids

    @classmethod
    def of(
        cls, X: Sparse, strata: Ids, terms: Sequence[str] | Vocabulary | None = None, *, likeliest: Ids | None = None,
        pooled: int = -1,
    ) -> HeldOutOrder:  # fmt: skip
        """The order of the rows of X (n_rows, n_terms), which are cut into parts within each of `strata` (n_rows,).

        likeliest  for each row, the row of the same text with its likeliest label; None if every row is a document
        pooled     the stratum of `fold_strata` that has all rare classes, in random order; −1 for none
        """
        row, document = np.arange(X.shape[0]), np.arange(X.shape[0])
        if likeliest is not None:
            row, document = np.unique(likeliest, return_inverse=True)
            X, strata = csr_array(X)[row], strata[row]
        passages = find_shared_passages(X, strata, terms) + find_copies(X, strata, terms)
        word_sets, sizes = hash_word_sets(X, terms)
        short = np.where(sizes < COPY_TERMS, np.unique(word_sets, return_inverse=True)[1], -1)
        order = _spread_repeats(passages.order(), strata, word_sets, short)
        if pooled >= 0:
            order = shuffle_blocks(order, passages.groups(), strata == pooled)
        return cls(order, passages, document, row, short)

    def parts(self, strata: Ids, n_parts: int, rows: Ids | None = None) -> Ids:
        """The part of each of `rows` (all by default), from 0 to n_parts − 1; `strata` are those of all rows."""
        documents, number = np.unique(self.document if rows is None else self.document[rows], return_inverse=True)
        place = np.empty(len(self.order), np.int64)
        place[self.order] = np.arange(len(self.order))
        return block_folds(strata[self.row[documents]], n_parts, np.argsort(place[documents]))[number]

    def seen_only_in_all(self, training: Ids, rows: Ids) -> NDArray[np.bool_]:
        """Whether each of `rows` has few words and repeats other documents, none of them among those of `training`.

        A model of all documents has seen such a text; one of the rows `training` has not.
        """
        short = self.short[self.document[rows]]
        repeated = np.bincount(self.short[self.short >= 0], minlength=int(self.short.max(initial=0)) + 1) > 1
        return (short >= 0) & repeated[short] & ~np.isin(short, self.short[self.document[training]])

    def groups(self) -> Ids:
        """A group number for each row (n_rows,), equal for documents that share passages."""
        return self.passages.groups()[self.document]


def parts_like_new(rows: DocumentRows, n_parts: int, *, words: Ids | None = None) -> Ids:
    """The part of each document (n_docs,), from 0 to n_parts − 1.

    Documents that quote or copy each other are in the same part; rare classes are spread over the parts. A text with
    several weighted labels is one document with its likeliest label: all its rows are in the same part.

    words  the columns in which copies and passages are looked for; None for all
    """
    X, terms = rows.X, rows.vocabulary
    if words is not None and terms is not None:
        X, terms = take_columns(csr_array(X), words), terms.take(words)
    labels, weight = single_labels(rows.targets.Y), rows.sample_weight
    likeliest = None
    if labels is not None and weight is not None and not rows.targets.multilabel:
        likeliest = likeliest_rows(X, labels, weight)
    documents = np.arange(X.shape[0]) if likeliest is None else np.unique(likeliest)
    strata = np.zeros(X.shape[0], np.int64)
    strata[documents], pooled = fold_strata(csr_array(rows.targets.Y)[documents])
    return HeldOutOrder.of(X, strata, terms, likeliest=likeliest, pooled=pooled).parts(
        strata, min(n_parts, len(documents))
    )


def _spread_repeats(order: Ids, strata: Ids, word_sets: NDArray[np.uint64], short: Ids) -> Ids:
    """Move documents whose few words an earlier document has, each to a random place among those of its stratum.

    Documents are sorted by a hash of their words, so otherwise all that say "thanks" would be held out together. The
    place follows from the words and the number of documents before it with the same ones, not from the order in which
    documents were added.
    """
    by_words = np.argsort(word_sets, kind="stable")
    ordered = word_sets[by_words]
    nth = np.empty(len(order), np.uint64)
    nth[by_words] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    again = (short >= 0) & (nth > 0)
    if not again.any():
        return order
    in_strata = order[np.argsort(strata[order], kind="stable")]
    of_stratum = strata[in_strata]
    start = np.searchsorted(of_stratum, of_stratum)
    size = np.searchsorted(of_stratum, of_stratum, side="right") - start
    place = np.empty(len(order))
    place[in_strata] = (np.arange(len(order)) - start) / size
    place[again] = _uniform(word_sets[again], nth[again])
    return order[np.argsort(place[order], kind="stable")]


def _uniform(hashes: NDArray[np.uint64], number: NDArray[np.uint64]) -> Floats:
    """A number from 0 to 1 for each hash and number; Steele, Lea and Flood (2014), SplitMix."""
    mixed = hashes + number * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) / 2.0**64)
