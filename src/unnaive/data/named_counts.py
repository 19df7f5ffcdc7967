"""NamedCounts is Counts with names: rows are classes, columns are terms. NamedCounts of any two models add by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Label, Sparse
from unnaive.data.counts import Counts
from unnaive.data.sample_weights import class_weight_factors
from unnaive.data.targets import Targets, place_columns, shorten_classes, sorted_classes
from unnaive.text.counting import TextCounter
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class NamedCounts:
    """Counts with class and term names; addition, subtraction and merging are exact.

    classes     sorted labels, the rows of `counts`
    vocabulary  terms, the columns of `counts`; None if documents came as rows of counts, whose columns have no names
    counts      the sums

    Equality is by name: the order of the vocabulary (that of first occurrence) is irrelevant.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.data.targets import read_targets
    >>> one = NamedCounts.of(csr_array([[2, 1]]), read_targets(["sport"], 1), Vocabulary(["ball", "goal"]))
    >>> two = NamedCounts.of(csr_array([[1, 1]]), read_targets(["news"], 1), Vocabulary(["vote", "ball"]))
    >>> both = one + two
    >>> both.classes, both.vocabulary.terms, both.counts.terms
    (('news', 'sport'), ['ball', 'goal', 'vote'], array([3, 1, 1]))
    >>> both == two + one, both - two == one
    (True, True)
    """

    classes: tuple[Label, ...]
    vocabulary: Vocabulary | None
    counts: Counts

    @classmethod
    def of(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary | None = None, sample_weight: Floats | None = None,
        *, threads: int = 1, in_order: bool = False,
    ) -> NamedCounts:  # fmt: skip
        """Count documents X (n_docs, n_terms) with their labels; with `in_order`, terms are sorted by code point."""
        order = vocabulary.order() if in_order and vocabulary is not None else None
        counts = Counts.of(X, targets.Y, sample_weight, threads=threads, order=order)
        if vocabulary is None or order is None:
            return cls(targets.classes, vocabulary, counts)
        return cls(targets.classes, vocabulary.in_order(order), counts)

    @classmethod
    def of_texts(cls, counter: TextCounter, texts: Any, targets: Targets) -> NamedCounts | None:
        """Sum texts with one label each, terms sorted, without a matrix; None if the counter cannot (`sum_classes`).

        >>> from unnaive.data.targets import read_targets
        >>> counts = NamedCounts.of_texts(TextCounter(), ["good ball", "fair"], read_targets(["sport", "news"], 2))
        >>> counts.vocabulary.terms, counts.counts.class_terms.toarray()
        (['ball', 'fair', 'good'], array([[0, 1, 0],
               [1, 0, 1]]))
        """
        classes, n_classes = targets.Y.indices, len(targets.classes)
        if targets.multilabel or len(classes) != targets.Y.shape[0]:  # some have no label
            return None
        summed = counter.sum_classes(texts, classes.astype(np.int32, copy=False), n_classes)
        if summed is None:
            return None
        shape = n_classes, len(summed.vocabulary)
        terms, df = (csr_array((part, summed.columns, summed.ends), shape=shape) for part in (summed.sums, summed.df))
        class_docs = np.bincount(classes, minlength=n_classes)
        counts = Counts(np.int64(len(classes)), class_docs, terms, df, summed.corpus_sums, summed.corpus_df)
        return cls(targets.classes, summed.vocabulary, counts)

    @classmethod
    def empty(cls, classes: Sequence[Label] = (), n_terms: int | None = None) -> NamedCounts:
        """Counts of no documents; classes may be named in advance. With `n_terms`, columns have no names."""
        names = sorted_classes(classes)
        return cls(names, Vocabulary() if n_terms is None else None, Counts.zero(len(names), n_terms or 0))

    @property
    def n_docs(self) -> Any:
        """The number of documents."""
        return self.counts.n_docs

    @property
    def n_terms(self) -> int:
        """The number of columns."""
        return self.counts.n_terms

    @property
    def class_docs(self) -> NDArray[Any]:
        """The number of documents of each class (n_classes,)."""
        return self.counts.class_docs

    def __add__(self, other: NamedCounts) -> NamedCounts:
        classes = self.classes if self.classes == other.classes else sorted_classes({*self.classes, *other.classes})
        if self.vocabulary is None or other.vocabulary is None:
            n_terms = max(self.counts.n_terms, other.counts.n_terms)
            sums = self._placed(classes, None, n_terms) + other._placed(classes, None, n_terms)
            return NamedCounts(classes, None, sums)
        vocabulary, theirs = self.vocabulary.union(other.vocabulary)
        sums = self._placed(classes, None, len(vocabulary)) + other._placed(classes, theirs, len(vocabulary))
        return NamedCounts(classes, vocabulary, sums)

    def __sub__(self, other: NamedCounts) -> NamedCounts:
        """Subtract the documents of `other`; named classes and terms that then have no document are removed."""
        check_seen(self.classes, self.vocabulary, other.classes, other.vocabulary)
        if self.vocabulary is None or other.vocabulary is None:
            remaining = self.counts - other._placed(self.classes, None, self.counts.n_terms)
            return NamedCounts(self.classes, None, remaining)
        theirs = self.vocabulary.ids(other.vocabulary)
        remaining = self.counts - other._placed(self.classes, theirs, len(self.vocabulary))
        named_in_advance = self.counts.class_docs == 0
        rows, columns = np.flatnonzero((remaining.class_docs > 0) | named_in_advance), np.flatnonzero(remaining.df > 0)
        return NamedCounts(
            tuple(self.classes[row] for row in rows),
            self.vocabulary if len(columns) == len(self.vocabulary) else self.vocabulary.take(columns),
            remaining.take(rows, columns),
        )

    def weighted(self, class_weight: Any) -> NamedCounts:
        """Multiply each document by the weight of its class: None, "balanced" or a dict.

        >>> counts = NamedCounts(("news", "sport"), None, Counts.zero(2, 1))
        >>> counts.weighted({"sports": 2.0})
        Traceback (most recent call last):
        unnaive.base.errors.BadData: ...'sports'...
        """
        if class_weight is None:
            return self
        factors = class_weight_factors(class_weight, self.classes, self.counts.class_docs)
        return NamedCounts(self.classes, self.vocabulary, self.counts.scaled(factors))

    def in_order(self) -> NamedCounts:
        """Sort the terms by code point, so that the order of the documents leaves no trace.

        >>> from scipy.sparse import csr_array
        >>> from unnaive.data.targets import read_targets
        >>> counts = NamedCounts.of(csr_array([[2, 1]]), read_targets(["sport"], 1), Vocabulary(["goal", "ball"]))
        >>> counts.in_order().vocabulary.terms, counts.in_order().counts.terms
        (['ball', 'goal'], array([1, 2]))
        """
        if self.vocabulary is None:
            return self
        order = self.vocabulary.order()
        if order is None:
            return self
        return NamedCounts(self.classes, self.vocabulary.in_order(order), self.counts.reordered(order))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedCounts):
            return NotImplemented
        if self.classes != other.classes or (self.vocabulary is None) != (other.vocabulary is None):
            return False
        if self.vocabulary is None or other.vocabulary is None:
            return self.counts == other.counts
        if len(self.vocabulary) != len(other.vocabulary):
            return False
        theirs = self.vocabulary.ids(other.vocabulary)
        return bool((theirs >= 0).all()) and self.counts == other._placed(self.classes, theirs, len(theirs))

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _placed(self, classes: tuple[Label, ...], columns: NDArray[Any] | None, n_terms: int) -> Counts:
        """The counts moved into a larger table; None for columns that keep their positions."""
        in_order = columns is None or bool((columns == np.arange(len(columns))).all())
        if classes == self.classes and in_order:
            return self.counts.grown(len(classes), n_terms)
        row = {label: position for position, label in enumerate(classes)}
        rows = np.array([row[label] for label in self.classes], np.int64)
        columns = np.arange(self.counts.n_terms) if columns is None else columns
        return self.counts.placed(rows, columns, len(classes), n_terms)


def check_seen(
    classes: Sequence[Label], vocabulary: Vocabulary | None, removed: Sequence[Label], terms: Vocabulary | None
) -> None:
    """Raise an error that names a class of `removed`, or one of `terms`, that the model does not have."""
    model_classes = set(classes)
    label = next((label for label in removed if label not in model_classes), None)
    if label is not None:
        raise BadData(
            f"the model has no class {label!r}, only {shorten_classes(classes)}; "
            "forget documents with the labels that they were learnt with"
        )
    if vocabulary is None or terms is None:
        return
    lacking = np.flatnonzero(vocabulary.ids(terms) < 0)
    if len(lacking):
        term = terms[int(lacking[0])]
        raise BadData(
            f"the model has never seen the term {term!r}, so it was not trained on all of these documents; forget only "
            "documents that it was trained on"
        )


def over_classes(targets: Targets, classes: Sequence[Label]) -> Targets:
    """The same labels over `classes`, which must contain all of their classes."""
    column = {label: position for position, label in enumerate(classes)}
    places = np.array([column[label] for label in targets.classes], np.int64)
    return Targets(tuple(classes), place_columns(targets.Y, places, len(classes)), targets.target_type)
