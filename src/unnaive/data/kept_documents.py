"""KeptDocuments: the counted documents that a model has learnt from, as a value that supports addition and subtraction.

Models that learn from documents keep them, so that updating, forgetting and merging are as exact as for models that
learn from counts: training reads the rows in an order determined by their content, so a fit equals any series of
updates, bit for bit. packed_documents.py defines their form in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from unnaive.base.read_only import own, read_only
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Label, Sparse
from unnaive.data.count_tables import move_columns, plain_cells, plain_index, row_hashes, sorted_cells, stack_rows
from unnaive.data.followers import count_pairs, has_pairs, no_followers, with_pairs, without_pairs
from unnaive.data.named_counts import NamedCounts, check_seen
from unnaive.data.products import take_columns
from unnaive.data.remove_documents import rows_without
from unnaive.data.targets import Targets, place_columns, sorted_classes
from unnaive.data.vector_rows import VectorRows
from unnaive.text.gram_units import GramUnits, which_are_grams
from unnaive.text.vocabulary import Vocabulary

# 8-byte words in the key of a row: two for a hash of its words, one for its weight, and two each for hashes of its
# labels, of its character n-grams or their units, and of its followers; that of its vectors is mixed into the first
KEY_WORDS = 9
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class KeptDocuments:
    """Counted documents with their labels and weights, without the texts.

    classes     sorted labels, the columns of Y
    words       sorted terms, the columns of `table`; None if documents came as rows of counts
    table       (n_docs, n_words), without zeros; every term occurs in some document
    Y           (n_docs, n_classes), 0/1
    weight      of each document (n_docs,), above 0; None if all are 1
    units       the strings that character n-grams were cut from, if known; `words` then has no character n-grams
    followers   which word follows which, if that determines all pairs; `words` then has no pairs
    vectors     the numbers of vector fields; None if no document has a vector

    `vocabulary` and `X` cover words, pairs, character n-grams and the numbers of vectors. Rows are sorted by a hash of
    their words and vectors, so equal documents give equal arrays, in whatever order documents were added and removed.

    >>> from unnaive.data.targets import read_targets
    >>> one = KeptDocuments.of(csr_array([[1, 2]]), read_targets(["sport"], 1), Vocabulary(["goal", "ball"]))
    >>> two = KeptDocuments.of(csr_array([[1]]), read_targets(["news"], 1), Vocabulary(["vote"]))
    >>> both = one + two
    >>> both.n_docs, both.classes, both.vocabulary.terms
    (2, ('news', 'sport'), ['ball', 'goal', 'vote'])
    >>> both == two + one, both - two == one
    (True, True)
    >>> both - two - two
    Traceback (most recent call last):
    unnaive.base.errors.BadData: the model has no class 'news', only sport; forget documents with the labels that ...
    """

    classes: tuple[Label, ...]
    words: Vocabulary | None
    table: Sparse
    Y: Sparse
    weight: Floats | None = None
    units: GramUnits | None = None
    followers: Sparse | None = None
    vectors: VectorRows | None = None

    @classmethod
    def of(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary | None = None, sample_weight: Floats | None = None,
        units: GramUnits | None = None,
    ) -> KeptDocuments:  # fmt: skip
        """Documents X (n_docs, n_terms) with their labels; documents of weight 0 are left out."""
        table, vectors = csr_array(X), None
        if vocabulary is not None:
            vocabulary, table, vectors = VectorRows.split(vocabulary, table)
        if units is not None and vocabulary is not None:  # the columns of the n-grams follow from the units
            columns = np.flatnonzero(~which_are_grams(vocabulary))
            vocabulary, table = vocabulary.take(columns), take_columns(table, columns)
        Y = csr_array(targets.Y)
        documents = cls(targets.classes, vocabulary, table, Y, sample_weight, units, vectors=vectors).in_order()
        # rows already in order are not copied by sorting; copy what the caller may still modify
        return replace(
            documents,
            table=own(documents.table, X),
            Y=own(documents.Y, targets.Y),
            weight=own(documents.weight, sample_weight),
        )

    @classmethod
    def empty(cls, classes: Sequence[Label] = (), n_terms: int | None = None) -> KeptDocuments:
        """No documents; classes may be named in advance. With `n_terms`, columns have no names."""
        names = sorted_classes(classes)
        table, Y = csr_array((0, n_terms or 0), dtype=np.int32), csr_array((0, len(names)), dtype=np.int64)
        return cls(names, Vocabulary() if n_terms is None else None, table, Y)

    @property
    def n_docs(self) -> int:
        """The number of documents."""
        return int(self.table.shape[0])

    @property
    def n_terms(self) -> int:
        """The number of columns of X, without computing X."""
        if self.words is None or "_joined" in self.__dict__:
            return int(self.X.shape[1])
        n_pairs = 0 if self.followers is None else count_pairs(self.table, self.followers)
        n_grams = 0 if self.units is None else self.units.count_grams()
        return len(self.words) + n_pairs + n_grams + (0 if self.vectors is None else len(self.vectors.terms))

    @property
    def vocabulary(self) -> Vocabulary | None:
        """All terms, sorted, the columns of X; None if documents came as rows of counts."""
        return self.joined()[0]

    @property
    def X(self) -> Sparse:
        """The count of each term in each document (n_docs, n_terms)."""
        return self.joined()[1]

    def joined(self, threads: int = 1) -> tuple[Vocabulary | None, Sparse]:
        """(vocabulary, X), computed from words, followers, units and vectors on first access."""
        if self.words is None or (self.units is None and self.followers is None and self.vectors is None):
            return self.words, self.table
        if "_joined" not in self.__dict__:
            terms, X = self.words, self.table
            if self.followers is not None:
                terms, X = with_pairs(terms, X, self.followers)
            if self.units is not None:
                terms, X = self.units.join(terms, X, threads)
            if self.vectors is not None:
                terms, X = self.vectors.join(terms, X)
            self.__dict__["_joined"] = read_only((terms, plain_index(plain_cells(X))))
        return self.__dict__["_joined"]  # type: ignore[no-any-return]

    @property
    def class_docs(self) -> NDArray[np.int64]:
        """The number of documents of each class (n_classes,)."""
        return np.bincount(self.Y.indices, minlength=len(self.classes))

    def targets(self, target_type: str) -> Targets:
        """The labels, in the format that predictions should have."""
        return Targets(self.classes, self.Y, target_type)

    def counts(self, target_type: str, weight: Floats | None = None, *, threads: int = 1) -> NamedCounts:
        """Sums over the documents, for models that learn from counts; `weight` replaces the documents' weights."""
        vocabulary, X = self.joined(threads)
        weight = self.weight if weight is None else weight
        return NamedCounts.of(X, self.targets(target_type), vocabulary, weight, threads=threads)

    def __add__(self, other: KeptDocuments) -> KeptDocuments:
        first, second = _alike(self, other)
        if first is not self or second is not other:
            return first + second
        classes = sorted_classes({*self.classes, *other.classes})
        mine, theirs, words = None, None, None
        if self.words is None or other.words is None:
            n_words = max(self.table.shape[1], other.table.shape[1])
        else:
            words, theirs = self.words.union(other.words)
            n_words = len(words)
            order = words.order()
            if order is not None:  # move columns to their sorted positions now: they mostly stay ascending
                places = np.empty(n_words, np.int64)
                places[order] = np.arange(n_words)
                words, mine, theirs = words.in_order(order), places[: len(self.words)], places[theirs]
        parts = [self._placed(classes, mine, n_words), other._placed(classes, theirs, n_words)]
        units = other.units if self.units is None else self.units
        if self.units is not None and other.units is not None:
            units = self.units + other.units
        followers = [first.followers for first in parts if first.followers is not None]
        return KeptDocuments(
            classes,
            words,
            stack_rows([first.table for first in parts], n_words),
            stack_rows([first.Y for first in parts], len(classes)),
            np.concatenate([first._weights() for first in parts]),
            units,
            stack_rows(followers, max(first.shape[1] for first in followers)) if followers else None,
            VectorRows.stacked([first.vectors for first in parts], [first.n_docs for first in parts]),
        ).in_order()

    def __sub__(self, other: KeptDocuments) -> KeptDocuments:
        """Remove the documents of `other`, each once, with the named classes and terms that then have no document.

        Two documents are the same if their cells, labels and weight are equal.
        """
        first, second = _alike(self, other)
        if first is not self or second is not other:
            return first - second
        check_seen(self.classes, self.words, other.classes, other.words)
        theirs = None if self.words is None else self.words.ids(other.words or Vocabulary())
        away = other._placed(self.classes, theirs, self.table.shape[1])
        if self.units is not None and other.units is not None:
            away = replace(away, units=other.units.over(self.units.vocabulary))
        if self.vectors is not None and other.vectors is not None:
            away = replace(away, vectors=other.vectors.over(self.vectors.terms))
        remaining = self._take(rows_without(self._keys().tolist(), away._keys().tolist()))
        if self.words is None:
            return remaining.in_order()
        rows = np.flatnonzero((remaining.class_docs > 0) | (self.class_docs == 0))  # classes named in advance stay
        names = tuple(self.classes[row] for row in rows)
        return replace(remaining, classes=names, Y=csr_array(remaining.Y[:, rows])).in_order()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptDocuments):
            return NotImplemented
        first, second = _alike(self, other)
        if first is not self or second is not other:
            return first == second
        return (
            self.classes == other.classes
            and self.words == other.words
            and self.table.shape == other.table.shape
            and (self.units is None or other.units is None or self.units.vocabulary == other.units.vocabulary)
            and np.array_equal(self._keys(), other._keys())
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _weights(self) -> Floats:
        return np.ones(self.n_docs) if self.weight is None else self.weight

    def _take(self, rows: NDArray[np.int64]) -> KeptDocuments:
        weight = None if self.weight is None else self.weight[rows]
        units = None if self.units is None else self.units.take(rows)
        followers = None if self.followers is None else csr_array(self.followers[rows])
        table, Y = csr_array(self.table[rows]), csr_array(self.Y[rows])
        vectors = None if self.vectors is None else self.vectors.take(rows)
        return replace(self, table=table, Y=Y, weight=weight, units=units, followers=followers, vectors=vectors)

    def _placed(self, classes: tuple[Label, ...], columns: Ids | None, n_words: int) -> KeptDocuments:
        """The same documents over other classes, with column i of the table moved to `columns[i]` of n_words."""
        column = {label: position for position, label in enumerate(classes)}
        places = np.array([column[label] for label in self.classes], np.int64)
        Y = sorted_cells(place_columns(self.Y, places, len(classes)))
        return replace(self, classes=classes, table=move_columns(self.table, columns, n_words), Y=Y)

    def in_order(self) -> KeptDocuments:
        """Drop documents of weight 0 and unused terms, sort the terms, and sort the rows by their keys."""
        documents = self
        if self.weight is not None:
            documents = documents._take(np.flatnonzero(self.weight > 0))
            if bool(np.all(documents._weights() == 1)):
                documents = replace(documents, weight=None)
        units = None if documents.units is None else documents.units.in_order()
        vectors = None if documents.vectors is None else documents.vectors.in_order()
        documents = replace(
            documents, table=plain_cells(documents.table), Y=sorted_cells(documents.Y), units=units, vectors=vectors
        )
        if documents.words is not None:
            documents = _pairs_apart(_words_in_order(documents, documents.words))
        keys = documents._keys().view(np.uint64).reshape(-1, KEY_WORDS)
        order = np.lexsort(keys.T[::-1])
        if not bool(np.all(order[1:] > order[:-1])):
            documents = documents._take(order)
        return replace(documents, table=plain_index(documents.table), Y=plain_index(documents.Y))

    def _keys(self) -> NDArray[np.void]:
        """A 72-byte key for each document (n_docs,); two keys are equal only if cells, weight and labels are.

        The hash of the words comes first, so the order depends on the content, favours no class, and is the same
        whether units are known or not.
        """
        keys = np.zeros((self.n_docs, KEY_WORDS), np.uint64)
        words, rest = self._split_grams()
        for start in range(0, self.n_docs, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, self.n_docs))
            keys[rows, 0:2] = row_hashes(words, rows)
            keys[rows, 3:5] = row_hashes(self.Y, rows, values=False)
            if rest is not None:
                keys[rows, 5:7] = row_hashes(rest, rows)
            if self.followers is not None:
                keys[rows, 7:9] = row_hashes(self.followers, rows)
        if self.vectors is not None:
            keys[:, 0:2] ^= self.vectors.hashes()
        keys[:, 2] = self._weights().astype(np.float64).view(np.uint64)
        return keys.view(np.dtype((np.void, 8 * KEY_WORDS))).ravel()

    def _split_grams(self) -> tuple[Sparse, Sparse | None]:
        """The tables of the words, and of the character n-grams or their units (None if there are none)."""
        if self.units is not None:
            return self.table, self.units.X
        grams = np.zeros(0, np.bool_) if self.words is None else which_are_grams(self.words)
        if not grams.any():
            return self.table, None
        parts = (take_columns(self.table, np.flatnonzero(chosen)) for chosen in (~grams, grams))
        return next(parts), next(parts)


def _alike(first: KeptDocuments, second: KeptDocuments) -> tuple[KeptDocuments, KeptDocuments]:
    """Convert both to one form: units and followers known for both or for neither. An empty value fits either."""
    if not first.n_docs or not second.n_docs or first.words is None or second.words is None:
        return first, second
    if (first.units is None) != (second.units is None):
        first, second = _with_grams_in_table(first), _with_grams_in_table(second)
    if (first.followers is None) == (second.followers is None):
        return first, second
    lacking = first if first.followers is None else second
    if lacking.table.data.dtype.kind == "i" and not has_pairs(lacking.words or Vocabulary()):
        completed = replace(lacking, followers=no_followers(lacking.table))
        return (completed, second) if lacking is first else (first, completed)
    return _with_pairs_in_table(first), _with_pairs_in_table(second)


def _with_grams_in_table(documents: KeptDocuments) -> KeptDocuments:
    if documents.units is None:
        return documents
    terms, X, vectors = VectorRows.split(*cast(tuple[Vocabulary, Sparse], documents.joined()))
    return KeptDocuments(documents.classes, terms, X, documents.Y, documents.weight, vectors=vectors).in_order()


def _with_pairs_in_table(documents: KeptDocuments) -> KeptDocuments:
    if documents.followers is None or documents.words is None:
        return documents
    words, table = with_pairs(documents.words, documents.table, documents.followers)
    return replace(documents, words=words, table=table, followers=None)


def _pairs_apart(documents: KeptDocuments) -> KeptDocuments:
    """Replace pairs by followers if that loses nothing."""
    if documents.followers is not None:
        return documents if documents.followers.data.any() else replace(documents, followers=None)
    words = documents.words
    split = None if words is None or not has_pairs(words) else without_pairs(words, documents.table)
    return documents if split is None else replace(documents, words=split[0], table=split[1], followers=split[2])


def _words_in_order(documents: KeptDocuments, words: Vocabulary) -> KeptDocuments:
    """Keep only words that occur in a document, sorted."""
    seen = np.bincount(documents.table.indices, minlength=len(words)) > 0
    order = words.order()
    if order is None and bool(seen.all()):
        return documents
    order = np.arange(len(words)) if order is None else order
    order = order[seen[order]]
    places = np.full(len(words), -1, np.int64)
    places[order] = np.arange(len(order))
    return replace(documents, words=words.take(order), table=move_columns(documents.table, places, len(order)))
