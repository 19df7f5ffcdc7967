"""Conformal sets: the labels of a document that hold the right one with a given confidence.

A set holds every class whose nonconformity −log p stays below what a share of held-out documents had for their true
class. That promises coverage for documents drawn like those of training, whatever the model; where new documents
differ from training, nobody can promise it. Sadinle, Lei and Wasserman (2019) call such sets least ambiguous: of all
with that coverage they are the smallest on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Arrays, Floats, Ids
from unnaive.data.arrays import is_number

MOST, MOST_BY_CLASS = 1000, 200  # scores kept, overall and of each class: coverage is exact to a share of 1 in so many


def kept_ranks(n: int, most: int) -> Ids:
    """The ranks, from 1 to n, whose scores are kept: all of them, or `most` that are evenly spaced and end with n.

    >>> kept_ranks(3, 5), kept_ranks(10, 4)
    (array([1, 2, 3]), array([ 3,  5,  8, 10]))
    """
    if n <= most:
        return np.arange(1, n + 1)
    return -(-np.arange(1, most + 1) * n // most)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Some of the order statistics of n nonconformity scores: those of `kept_ranks(n, …)`, rounded up to float32."""

    n: int
    values: Floats

    @classmethod
    def of(cls, scores: Floats, most: int) -> Ladder:
        """From all scores, in any order."""
        ordered = np.sort(scores)[kept_ranks(len(scores), most) - 1]
        small = ordered.astype(np.float32)
        up = np.nextafter(small, np.float32(np.inf), dtype=np.float32)
        return cls(len(scores), np.where(small < ordered, up, small).astype(np.float64))

    def threshold(self, confidence: float, most: int) -> float:
        """The ⌈(n+1)·confidence⌉-th smallest score, or the next one kept; infinite where n is too small for that.

        >>> scores = Ladder.of(np.arange(1.0, 10.0), 1000)             # 1, …, 9: rank ⌈10 · .9⌉ = 9; ⌈10 · .95⌉ = 10
        >>> scores.threshold(0.9, 1000), scores.threshold(0.95, 1000)
        (9.0, inf)
        """
        rank = int(np.ceil((self.n + 1) * confidence - 1e-9))  # .9 · 10 must be 9
        if rank > self.n:
            return float("inf")
        return float(self.values[np.searchsorted(kept_ranks(self.n, most), rank)])


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """Nonconformity of held-out documents, overall and by class, as a model file keeps them.

    For documents with one label each it is −log p of that label. For multilabel documents, the largest of their labels,
    so that a set holds all labels of a document; by class, that of every document with the class.
    """

    overall: Ladder
    by_class: tuple[Ladder, ...]

    @classmethod
    def of(cls, log_p: Floats, Y: Any) -> ConformalScores:
        """From log-probabilities (n_docs, n_classes) by models that had not seen the documents, and their labels Y.

        >>> held_out = ConformalScores.of(np.log([[0.9, 0.1], [0.6, 0.4]]), np.array([[1, 0], [0, 1]]))
        >>> np.exp(-held_out.overall.values).round(3)
        array([0.9, 0.4])
        """
        truth, columns = csr_array(Y), csc_array(Y)
        rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
        worst = np.zeros(truth.shape[0])
        np.maximum.at(worst, rows, -log_p[rows, truth.indices])
        each = [
            Ladder.of(-log_p[columns.indices[columns.indptr[c] : columns.indptr[c + 1]], c], MOST_BY_CLASS)
            for c in range(columns.shape[1])
        ]
        return cls(Ladder.of(worst, MOST), tuple(each))

    def accepted(self, log_p: Floats, confidence: float, *, by_class: bool = False) -> Any:
        """Which classes are in the set of each document, bool (n_docs, n_classes); none may be.

        by_class  every class by itself is covered with that confidence, the rare ones too; sets get larger
        """
        check_confidence(confidence)
        if by_class:
            limit = np.array([one.threshold(confidence, MOST_BY_CLASS) for one in self.by_class])
        else:
            limit = np.full(log_p.shape[1], self.overall.threshold(confidence, MOST))
        return -log_p <= limit

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal value."""
        each = np.concatenate([np.zeros(0), *(one.values for one in self.by_class)])
        arrays = {"overall": self.overall.values.astype(np.float32), "by_class": each.astype(np.float32)}
        return arrays, {"documents": self.overall.n, "class_documents": [one.n for one in self.by_class]}

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any], n_classes: int) -> ConformalScores:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        sizes = [settings["documents"], *settings["class_documents"]]
        if len(sizes) != n_classes + 1 or not all(
            is_number(n) and isinstance(n, int) and 0 <= n < 2**53 for n in sizes
        ):
            raise ValueError("its held-out scores have sizes that do not fit its classes")
        ladders, each, at = [], arrays["by_class"], 0
        for number, n in enumerate(sizes):
            most = MOST_BY_CLASS if number else MOST
            size = min(n, most)
            values = arrays["overall"] if not number else each[at : at + size]
            at += size if number else 0
            sound = values.dtype == np.float32 and values.shape == (size,)
            if not sound or not bool(np.all(values >= 0)) or not bool(np.all(values[1:] >= values[:-1])):
                raise ValueError("its held-out scores are no rising numbers from 0")
            ladders.append(Ladder(n, values.astype(np.float64)))
        if each.shape != (at,):
            raise ValueError("its held-out scores have sizes that do not fit its classes")
        return cls(ladders[0], tuple(ladders[1:]))


def check_confidence(confidence: float) -> None:
    """An error unless the confidence is between 0 and 1."""
    if not is_number(confidence) or not 0 < confidence < 1:
        raise BadData(f"a confidence of {confidence}; give a share between 0 and 1, such as 0.9")
