"""A Tally counts right and wrong decisions of each class; precision, recall, F1 and accuracy all derive from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Ids, Sparse


@dataclass(frozen=True, eq=False)
class Tally:
    """Decisions of each class: tp, fp, fn (n_classes,); `n` documents, `exact` of them with all labels right.

    Tallies of disjoint sets of documents add up: Tally.of(a ∪ b) == Tally.of(a) + Tally.of(b). A ratio whose
    denominator is 0 is 0. Macro averages run over the classes that are present: those with a true document or a
    prediction, as in scikit-learn; a class with neither would count as 0, whatever the classifier does.

    >>> tally = Tally.of([[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [0, 1]])
    >>> tally.precision.tolist(), tally.recall.tolist(), round(tally.accuracy, 3)
    ([1.0, 0.5], [0.5, 1.0], 0.667)
    """

    tp: Ids
    fp: Ids
    fn: Ids
    n: int
    exact: int

    @classmethod
    def of(cls, Y: Any, predicted: Any) -> Tally:
        """The tally of predicted against true label sets, both (n_docs, n_classes), sparse or dense 0/1."""
        truth, chosen = check_same_shape(indicator_matrix(Y), indicator_matrix(predicted))
        hits = truth.multiply(chosen).tocsr()
        tp = np.asarray(hits.sum(axis=0), dtype=np.int64)
        wrong = np.diff(truth.indptr) + np.diff(chosen.indptr) - 2 * np.asarray(hits.sum(axis=1))
        return cls(tp, class_sizes(chosen) - tp, class_sizes(truth) - tp, len(wrong), int((wrong == 0).sum()))

    @classmethod
    def zero(cls, n_classes: int) -> Tally:
        """The tally of no documents."""
        none = np.zeros(n_classes, dtype=np.int64)
        return cls(none, none, none, 0, 0)

    def __add__(self, other: Tally) -> Tally:
        if len(self.tp) != len(other.tp):
            raise BadData(
                f"tallies of {len(self.tp)} and {len(other.tp)} classes cannot be added; use the same classes"
            )
        return Tally(
            self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.n + other.n, self.exact + other.exact
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = np.array_equal(self.counts, other.counts)
        return same and (self.n, self.exact) == (other.n, other.exact)

    __hash__ = None  # type: ignore[assignment]  # arrays inside, equality by value

    @property
    def counts(self) -> Ids:
        """tp, fp and fn as rows; (3, n_classes)."""
        return np.stack([self.tp, self.fp, self.fn])

    @property
    def support(self) -> Ids:
        """True documents of each class: tp + fn."""
        return self.tp + self.fn

    @property
    def present(self) -> NDArray[np.bool_]:
        """The classes with a true document or a prediction (n_classes,)."""
        return np.asarray(self.tp + self.fp + self.fn > 0)

    @property
    def precision(self) -> Floats:
        """tp / (tp + fp) of each class."""
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Floats:
        """tp / (tp + fn) of each class."""
        return ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> Floats:
        """2 tp / (2 tp + fp + fn) of each class."""
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def accuracy(self) -> float:
        """Documents whose label set is exactly right, of all documents."""
        return self.exact / self.n if self.n else 0.0

    @property
    def pooled(self) -> Tally:
        """All classes merged; its precision, recall and F1 are the micro averages."""
        tp, fp, fn = self.counts.sum(axis=1, keepdims=True)
        return Tally(tp, fp, fn, self.n, self.exact)

    def micro(self, what: str) -> float:
        """Precision, recall or f1 of all decisions pooled."""
        return float(getattr(self.pooled, what)[0])

    def macro(self, what: str) -> float:
        """Mean of the present classes' precision, recall or f1 (for F1: the mean of F1s, not the F1 of means)."""
        return float(np.mean(getattr(self, what)[self.present])) if self.present.any() else 0.0

    def weighted(self, what: str) -> float:
        """Mean of the classes' precision, recall or f1, weighted by their true documents."""
        return float(ratio(getattr(self, what) @ self.support, self.support.sum()))


def ratio(part: Any, whole: Any) -> Floats:
    """part / whole, 0 where whole is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    shares: Floats = np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)
    return shares


def indicator_matrix(Y: Any) -> Sparse:
    """Y as a 0/1 csr_array (n_docs, n_classes); any non-zero entry is a label. The input is not modified."""
    matrix = csr_array(Y, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return csr_array((np.ones(matrix.nnz, dtype=np.int64), matrix.indices, matrix.indptr), shape=matrix.shape)


def check_same_shape(truth: Sparse, other: Any) -> tuple[Sparse, Any]:
    """Return both if they have the same documents and classes, else raise an error."""
    if truth.shape != other.shape:
        raise BadData(
            f"true labels for {truth.shape[0]} documents × {truth.shape[1]} classes came with values of shape"
            f" {other.shape}; give one value for each document and class"
        )
    return truth, other


def class_sizes(labels: Sparse) -> Ids:
    """Documents of each class."""
    return np.bincount(labels.indices, minlength=labels.shape[1]).astype(np.int64)


def confusion(Y: Any, predicted: Any) -> Sparse:
    """Documents of true class i (row) predicted as class j (column): Yᵀ·predicted, csr_array (n_classes, n_classes).

    For single-label data it is the confusion matrix; a multilabel document counts once for each pair.

    >>> confusion([[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1], [0, 1]]).toarray()
    array([[1, 1],
           [0, 1]])
    """
    truth, chosen = check_same_shape(indicator_matrix(Y), indicator_matrix(predicted))
    return csr_array(truth.T @ chosen)
