"""A Ledger is Counts with names: rows are classes, columns are terms. Ledgers of any two models add by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.core.counts import Counts
from unnaive.core.targets import Targets, shown_classes, sorted_classes
from unnaive.errors import BadData
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Label, Sparse


@dataclass(frozen=True, eq=False)
class Ledger:
    """What was learnt from documents, in a form that can be added to, taken from and merged, exactly.

    classes     sorted labels, the rows of `counts`
    vocabulary  terms, the columns of `counts`

    Equality is by name: the order of the vocabulary, which is that of first occurrence, is irrelevant.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.core.targets import read_targets
    >>> one = Ledger.of(csr_array([[2, 1]]), read_targets(["sport"], 1), Vocabulary(["ball", "goal"]))
    >>> two = Ledger.of(csr_array([[1, 1]]), read_targets(["news"], 1), Vocabulary(["vote", "ball"]))
    >>> both = one + two
    >>> both.classes, both.vocabulary.terms, both.counts.terms
    (('news', 'sport'), ['ball', 'goal', 'vote'], array([3, 1, 1]))
    >>> both == two + one, both - two == one
    (True, True)
    """

    classes: tuple[Label, ...]
    vocabulary: Vocabulary
    counts: Counts

    @classmethod
    def of(
        cls, X: Sparse, targets: Targets, vocabulary: Vocabulary, sample_weight: NDArray[Any] | None = None
    ) -> Ledger:
        """Count documents X (n_docs, n_terms) with their labels."""
        return cls(targets.classes, vocabulary, Counts.of(X, targets.Y, sample_weight))

    @classmethod
    def empty(cls, classes: Sequence[Label] = ()) -> Ledger:
        """Nothing seen yet; classes may be named in advance."""
        names = sorted_classes(classes)
        return cls(names, Vocabulary(), Counts.zero(len(names), 0))

    def __add__(self, other: Ledger) -> Ledger:
        classes = self.classes if self.classes == other.classes else sorted_classes({*self.classes, *other.classes})
        vocabulary, theirs = self.vocabulary.union(other.vocabulary)
        mine = np.arange(len(self.vocabulary))
        sums = self._placed(classes, mine, len(vocabulary)) + other._placed(classes, theirs, len(vocabulary))
        return Ledger(classes, vocabulary, sums)

    def __sub__(self, other: Ledger) -> Ledger:
        """Without the documents of `other`; classes and terms that no document has any more are gone too."""
        self._refuse_strangers(other)
        theirs = self.vocabulary.ids(other.vocabulary)
        left = self.counts - other._placed(self.classes, theirs, len(self.vocabulary))
        named_in_advance = self.counts.class_docs == 0
        rows, columns = np.flatnonzero((left.class_docs > 0) | named_in_advance), np.flatnonzero(left.df > 0)
        return Ledger(
            tuple(self.classes[row] for row in rows),
            self.vocabulary if len(columns) == len(self.vocabulary) else self.vocabulary.take(columns),
            _taken(left, rows, columns),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        if self.classes != other.classes or len(self.vocabulary) != len(other.vocabulary):
            return False
        theirs = self.vocabulary.ids(other.vocabulary)
        return bool((theirs >= 0).all()) and self.counts == other._placed(self.classes, theirs, len(theirs))

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def _placed(self, classes: tuple[Label, ...], columns: NDArray[Any], n_terms: int) -> Counts:
        """The counts in the rows and columns of a larger ledger."""
        in_order = n_terms == len(columns) and bool((columns == np.arange(n_terms)).all())
        if classes == self.classes and in_order:
            return self.counts
        row = {label: place for place, label in enumerate(classes)}
        rows = np.array([row[label] for label in self.classes], np.int64)
        return self.counts.placed(rows, columns, len(classes), n_terms)

    def _refuse_strangers(self, other: Ledger) -> None:
        label = next((label for label in other.classes if label not in self.classes), None)
        if label is not None:
            raise BadData(
                f"the model has no class {label!r} but {shown_classes(self.classes)}; "
                "forget documents with the labels that they were learnt with"
            )
        term = next((term for term in other.vocabulary if term not in self.vocabulary), None)
        if term is not None:
            raise BadData(f"the model never saw the term {term!r}, so it did not learn all of these documents")


def _taken(counts: Counts, rows: NDArray[Any], columns: NDArray[Any]) -> Counts:
    if len(columns) < counts.n_terms:
        counts = counts.take_terms(columns)
    if len(rows) == counts.n_classes:
        return counts
    return Counts(
        counts.n_docs,
        counts.class_docs[rows],
        counts.class_terms[rows, :],
        counts.class_df[rows, :],
        counts.terms,
        counts.df,
    )
