"""KeptDocuments: the counted documents that a model learnt from, as a value that can be added to and subtracted from.

Models that learn from documents keep them, so that they can learn more, forget and join as exactly as those that learn
from counts: training reads rows in an order that depends on what is in them alone, so a fit equals any series of
updates, bit for bit. packed_documents.py has their form in a file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unnaive.core.named_counts import NamedCounts, check_seen
from unnaive.core.targets import Targets, place_columns, sorted_classes
from unnaive.errors import BadData, count_noun
from unnaive.sparse import csr_array, vstack
from unnaive.text.gram_units import GramUnits
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Floats, Ids, Label, Sparse

KEY_WORDS = 5  # of 8 bytes in the key of a row: two of its cells' hash, one of its weight, two of its labels' hash
SMALL_COUNT = 1 << 15  # whole numbers below it are kept in 32 bits: no sum of their products leaves 64
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class KeptDocuments:
    """Counted documents with their labels and weights; never the text.

    classes     sorted labels, the columns of Y
    vocabulary  terms, sorted, the columns of X; None where documents came as rows of counts
    X           (n_docs, n_terms), without zeros; every term of the vocabulary is in some document
    Y           (n_docs, n_classes), 0/1
    weight      of each document (n_docs,), above 0; None where all are 1
    units       what the character n-grams among the terms were cut from, where that is known: files keep it instead

    Rows are in the order of a hash of their cells, so whatever was added and taken away in whatever order, the same
    documents are the same arrays.

    >>> from unnaive.core.targets import read_targets
    >>> one = KeptDocuments.of(csr_array([[1, 2]]), read_targets(["sport"], 1), Vocabulary(["goal", "ball"]))
    >>> two = KeptDocuments.of(csr_array([[1]]), read_targets(["news"], 1), Vocabulary(["vote"]))
    >>> both = one + two
    >>> both.n_docs, both.classes, both.vocabulary.terms
    (2, ('news', 'sport'), ['ball', 'goal', 'vote'])
    >>> both == two + one, both - two == one
    (True, True)
    >>> both - two - two
    Traceback (most recent call last):
    unnaive.errors.BadData: the model has no class 'news' but sport; forget documents with the labels that they were ...
    """

    classes: tuple[Label, ...]
    vocabulary: Vocabulary | None
    X: Sparse
    Y: Sparse
    weight: Floats | None = None
    units: GramUnits | None = None

    @classmethod
    def of(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary | None = None, sample_weight: Floats | None = None,
        units: GramUnits | None = None,
    ) -> KeptDocuments:  # fmt: skip
        """Documents X (n_docs, n_terms) with their labels; those of weight 0 are left out, since they say nothing."""
        return cls(targets.classes, vocabulary, csr_array(X), csr_array(targets.Y), sample_weight, units).in_order()

    @classmethod
    def empty(cls, classes: Sequence[Label] = (), n_terms: int | None = None) -> KeptDocuments:
        """Nothing seen yet; classes may be named in advance. With `n_terms` columns have no names."""
        names = sorted_classes(classes)
        X, Y = csr_array((0, n_terms or 0), dtype=np.int32), csr_array((0, len(names)), dtype=np.int64)
        return cls(names, Vocabulary() if n_terms is None else None, X, Y)

    @property
    def n_docs(self) -> int:
        """How many documents there are."""
        return int(self.X.shape[0])

    @property
    def n_terms(self) -> int:
        """How many columns there are."""
        return int(self.X.shape[1])

    @property
    def class_docs(self) -> NDArray[np.int64]:
        """How many documents each class has (n_classes,)."""
        return np.bincount(self.Y.indices, minlength=len(self.classes))

    def targets(self, target_type: str) -> Targets:
        """The labels, in the form that predictions are to have."""
        return Targets(self.classes, self.Y, target_type)

    def counts(self, target_type: str, weight: Floats | None = None) -> NamedCounts:
        """Sums over the documents, for models that learn from counts; with other weights where they are given."""
        return NamedCounts.of(
            self.X, self.targets(target_type), self.vocabulary, self.weight if weight is None else weight
        )

    def __add__(self, other: KeptDocuments) -> KeptDocuments:
        classes = sorted_classes({*self.classes, *other.classes})
        mine, theirs, vocabulary = None, None, None
        if self.vocabulary is None or other.vocabulary is None:
            n_terms = max(self.X.shape[1], other.X.shape[1])
        else:
            vocabulary, theirs = self.vocabulary.union(other.vocabulary)
            n_terms = len(vocabulary)
            order = vocabulary.order()
            if order is not None:  # columns go to their sorted places at once: they stay ascending, mostly
                places = np.empty(n_terms, np.int64)
                places[order] = np.arange(n_terms)
                vocabulary, mine, theirs = vocabulary.in_order(order), places[: self.n_terms], places[theirs]
        parts = [self._placed(classes, mine, n_terms), other._placed(classes, theirs, n_terms)]
        return KeptDocuments(
            classes,
            vocabulary,
            csr_array(vstack([one.X for one in parts], format="csr")),
            csr_array(vstack([one.Y for one in parts], format="csr")),
            np.concatenate([one._weights() for one in parts]),
            self._join_units(other),
        ).in_order()

    def _join_units(self, other: KeptDocuments) -> GramUnits | None:
        if not self.n_docs or not other.n_docs:
            return self.units if self.n_docs else other.units
        return self.units + other.units if self.units is not None and other.units is not None else None

    def __sub__(self, other: KeptDocuments) -> KeptDocuments:
        """Without the documents of `other`, each once; named classes and terms that no document has any more go too.

        A document is one that is here if its cells, its labels and its weight are the same.
        """
        check_seen(self.classes, self.vocabulary, other.classes, other.vocabulary)
        theirs = None if self.vocabulary is None else self.vocabulary.ids(other.vocabulary or Vocabulary())
        gone = other._placed(self.classes, theirs, self.X.shape[1])._keys().tolist()
        left = self._take(_without(self._keys().tolist(), gone))
        if self.vocabulary is None:
            return left.in_order()
        rows = np.flatnonzero((left.class_docs > 0) | (self.class_docs == 0))  # those named in advance stay
        names = tuple(self.classes[row] for row in rows)
        return replace(left, classes=names, Y=csr_array(left.Y[:, rows])).in_order()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeptDocuments):
            return NotImplemented
        return (
            self.classes == other.classes
            and self.vocabulary == other.vocabulary
            and self.X.shape == other.X.shape
            and np.array_equal(self._keys(), other._keys())
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _weights(self) -> Floats:
        return np.ones(self.n_docs) if self.weight is None else self.weight

    def _take(self, rows: NDArray[np.int64]) -> KeptDocuments:
        weight = None if self.weight is None else self.weight[rows]
        units = None if self.units is None else self.units.take(rows)
        return replace(self, X=csr_array(self.X[rows]), Y=csr_array(self.Y[rows]), weight=weight, units=units)

    def _placed(self, classes: tuple[Label, ...], columns: Ids | None, n_terms: int) -> KeptDocuments:
        """The same documents over other classes, and with column i moved to `columns[i]` of n_terms."""
        place = {label: position for position, label in enumerate(classes)}
        places = np.array([place[label] for label in self.classes], np.int64)
        Y = csr_array(place_columns(self.Y, places, len(classes)))
        Y.sort_indices()
        return replace(self, classes=classes, X=move_columns(self.X, columns, n_terms), Y=Y)

    def in_order(self) -> KeptDocuments:
        """Without documents of weight 0 and terms of no document, terms sorted, rows in the order of their keys."""
        documents = self
        if self.weight is not None:
            documents = documents._take(np.flatnonzero(self.weight > 0))
            if bool(np.all(documents._weights() == 1)):
                documents = replace(documents, weight=None)
        documents = replace(documents, X=_plain_cells(documents.X), Y=_sorted_cells(documents.Y))
        if documents.vocabulary is not None:
            documents = _terms_in_order(documents, documents.vocabulary)
        keys = documents._keys().view(np.uint64).reshape(-1, KEY_WORDS)
        order = np.lexsort(keys.T[::-1])
        if not bool(np.all(order[1:] > order[:-1])):
            documents = documents._take(order)
        units = None if documents.units is None else documents.units.in_order()
        return replace(documents, X=_plain_index(documents.X), Y=_plain_index(documents.Y), units=units)

    def _keys(self) -> NDArray[np.void]:
        """40 bytes for each document that are those of another only if its cells, weight and labels are (n_docs,).

        A hash of the cells comes first, so that the order is by content and does not favour a class.
        """
        keys = np.zeros((self.n_docs, KEY_WORDS), np.uint64)
        for start in range(0, self.n_docs, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, self.n_docs))
            keys[rows, 0:2] = _row_hashes(self.X, rows, np.float64)
            keys[rows, 3:5] = _row_hashes(self.Y, rows, None)
        keys[:, 2] = self._weights().astype(np.float64).view(np.uint64)
        return keys.view(np.dtype((np.void, 8 * KEY_WORDS))).ravel()


def _row_hashes(table: Sparse, rows: slice, values: type | None) -> NDArray[np.uint64]:
    """A hash of the columns and values of each row, or of the columns alone (n_rows, 2)."""
    ends = table.indptr[rows.start : rows.stop + 1]
    first, last = int(ends[0]), int(ends[-1])
    columns = memoryview(table.indices[first:last].astype("<i4")).cast("B")
    cells = memoryview(b"" if values is None else table.data[first:last].astype("<f8").tobytes())
    width = 0 if values is None else 8
    cuts = (ends - first).tolist()
    found = bytearray()
    for start, end in pairwise(cuts):
        digest = hashlib.blake2b(columns[4 * start : 4 * end], digest_size=16)
        digest.update(cells[width * start : width * end])
        found += digest.digest()
    return np.frombuffer(bytes(found), "<u8").reshape(-1, 2)


def _without(keys: list[bytes], gone: list[bytes]) -> NDArray[np.int64]:
    """Which rows are left when each of `gone` took away one that equals it; an error if one has none."""
    away = Counter(gone)
    left = []
    for row, key in enumerate(keys):
        if away.get(key, 0):
            away[key] -= 1
        else:
            left.append(row)
    if lost := sum(away.values()):
        raise BadData(
            f"{lost} of {count_noun(len(gone), 'document')} cannot be taken away, because the model has none (or "
            "fewer) with the same counts, labels and weight; forget only documents that the model was trained on"
        )
    return np.array(left, np.int64)


def move_columns(table: Sparse, columns: Ids | None, n_columns: int) -> Sparse:
    """The table with column i at `columns[i]` of `n_columns`, cells of a row ascending; None: where they are."""
    if columns is None:
        return csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], n_columns))
    indices = np.asarray(columns, np.int32)[table.indices]
    return _sorted_cells(csr_array((table.data, indices, table.indptr), shape=(table.shape[0], n_columns)))


def _sorted_cells(table: Sparse) -> Sparse:
    """With ascending columns in every row; two transpositions sort all rows in linear time."""
    return table if table.has_sorted_indices else csr_array(table.tocsc().tocsr())


def _plain_index(table: Sparse) -> Sparse:
    """With indices of 32 bits where they suffice: learners keep some, and the same documents give the same bytes."""
    kind = np.int32 if max(table.nnz, *table.shape) < 2**31 else np.int64
    parts = table.data, table.indices.astype(kind, copy=False), table.indptr.astype(kind, copy=False)
    plain = csr_array(parts, shape=table.shape)
    plain.has_canonical_format = True  # known, so that nobody needs to look
    return plain


def _plain_cells(X: Sparse) -> Sparse:
    """Without zeros, columns ascending, whole numbers as integers, whatever type they came in."""
    data = X.data
    if data.size and not bool(np.all(data != 0)):
        X = X.copy()
        X.eliminate_zeros()
        data = X.data
    whole = data.dtype.kind in "iub" or bool(np.all(data == np.rint(data)) and np.all(data < 2**31))
    kind = np.float64 if not whole else np.int32 if data.max(initial=0) < SMALL_COUNT else np.int64
    indices = X.indices.astype(np.int32, copy=False)
    return _sorted_cells(csr_array((data.astype(kind, copy=False), indices, X.indptr), shape=X.shape))


def _terms_in_order(documents: KeptDocuments, vocabulary: Vocabulary) -> KeptDocuments:
    """With the terms that some document has, sorted."""
    seen = np.bincount(documents.X.indices, minlength=len(vocabulary)) > 0
    order = vocabulary.order()
    if order is None and bool(seen.all()):
        return documents
    order = np.arange(len(vocabulary)) if order is None else order
    order = order[seen[order]]
    places = np.full(len(vocabulary), -1, np.int64)
    places[order] = np.arange(len(order))
    return replace(documents, vocabulary=vocabulary.take(order), X=move_columns(documents.X, places, len(order)))
