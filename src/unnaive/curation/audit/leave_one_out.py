"""Exact leave-one-out scores of naive Bayes: the counts of the document are subtracted from the total counts.

A term counts once per document (presence). Term probabilities of a class are Jelinek–Mercer mixtures with the corpus,

    p(t|c) ∝ n_ct / n_c + γ n_t        n_ct documents of class c with t, n_c = Σ_t n_ct, n_t = Σ_c n_ct

with γ = β / ((1 − β) N) and N = Σ_t n_t, constants of the collection. Leaving out document d of length L changes n_t to
n_t − 1 for each term t of d, and in the class of d also n_ct to n_ct − 1 and n_c to n_c − L; other classes stay the
same. The normaliser and γ (n_t − 1) are the same for all classes. Divided by them, the score of a class is a sum over
the terms of d that the class has:

    score(d, c) = log prior(c) + Σ_t log(1 + n_ct / (n_c γ (n_t − 1)))

These weights are the same for every document, except in its own class. So one sparse product gives the scores of the
other classes for all documents, and one pass over the terms gives the scores of their own classes. A term that no other
document has is unknown to the model and left out. Scores are divided by √length, because naive Bayes is the more
overconfident the longer the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.base.elementary import log, log1p
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import product
from unnaive.data.shared_passages import find_copies
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighting import presence

BETA = 0.7  # the share of the corpus in the mixture; the best value measured with few documents per class
BLOCK_CELLS = 1 << 22  # documents × classes in memory at a time
DENSE_CELLS = 1 << 24  # classes × terms up to which weights are dense, because the product is faster


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The counts of all documents, from which each document is scored without its own counts.

    >>> X = csr_array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1]])
    >>> model = LeaveOneOut.of(X, np.array([0, 0, 1, 1]), 2)
    >>> model.scores(np.array([3])).round(2)   # without it, class 0 has term 0 in both of its documents, class 1 never
    array([[ 0.4 , -0.34]])
    """

    X: Sparse  # presence (n_docs, n_terms), without the terms of a single document
    targets: Ids
    class_docs: Ids
    class_totals: Floats
    class_df: Sparse  # (n_classes, n_terms)
    df: Floats
    own_df: Floats  # for each entry of X: documents of the same class that have the term
    strength: float  # γ
    copies: Ids  # documents of the same class with the same terms, itself included (n_docs,)

    @classmethod
    def of(cls, X: Sparse, targets: NDArray[np.integer], n_classes: int, *, beta: float = BETA) -> LeaveOneOut:
        """Count documents X (n_docs, n_terms) of classes `targets` (n_docs,)."""
        X, codes = presence(csr_array(X)), np.asarray(targets, np.int64)
        group = find_copies(X, codes).groups()
        occurrences = np.bincount(X.indices, minlength=X.shape[1])
        X = _without_terms(X, occurrences < 2)
        df: Floats = np.where(occurrences < 2, 0, occurrences).astype(np.float64)
        Y = one_label_matrix(codes, n_classes)
        class_df = csr_array(Y.T.astype(np.float64) @ X)
        class_df.sort_indices()
        totals = np.asarray(class_df.sum(axis=1), np.float64)
        strength = beta / ((1 - beta) * max(float(df.sum()), 1.0))
        class_docs = np.bincount(codes, minlength=n_classes)
        own_df = _cells(class_df, np.repeat(codes, np.diff(X.indptr)), X.indices)
        return cls(X, codes, class_docs, totals, class_df, df, own_df, strength, np.bincount(group)[group])

    @property
    def others_of_class(self) -> Ids:
        """The number of documents of each document's class that are no copies of it (n_docs,)."""
        return self.class_docs[self.targets] - self.copies

    @property
    def lengths(self) -> Floats:
        """The number of known terms of each document (n_docs,)."""
        lengths: Floats = np.diff(self.X.indptr).astype(np.float64)
        return lengths

    def scores(self, rows: NDArray[np.integer]) -> Floats:
        """Leave-one-out scores of these documents, divided by √length (len(rows), n_classes)."""
        return self._scores(self._weights(), rows)

    def blocks(self, progress: Callable[[int, int], None] | None = None) -> Iterator[tuple[Ids, Floats]]:
        """Yield (rows, leave-one-out scores) in blocks, so that memory never holds all documents × classes."""
        weights = self._weights()
        n_docs, step = self.X.shape[0], max(1, BLOCK_CELLS // len(self.class_docs))
        for start in range(0, n_docs, step):
            rows = np.arange(start, min(start + step, n_docs))
            yield rows, self._scores(weights, rows)
            if progress is not None:
                progress(int(rows[-1]) + 1, n_docs)

    def term_evidence(self, row: int, first: int, second: int) -> tuple[Ids, Floats]:
        """Return the known terms of a document and log p(t|first) − log p(t|second), by the model without it."""
        terms = self.X.indices[self.X.indptr[row] : self.X.indptr[row + 1]]
        both = [self._log_ratio(row, c, terms) for c in (first, second)]
        return terms, both[0] - both[1]

    def _log_ratio(self, row: int, c: int, terms: Ids) -> Floats:
        """log(1 + n_ct / (n_c γ (n_t − 1))) of these terms, with n_ct and n_c counted without the document."""
        in_class = float(self.copies[row]) if self.targets[row] == c else 0.0
        start, stop = self.class_df.indptr[c : c + 2]
        class_terms, values = self.class_df.indices[start:stop], self.class_df.data[start:stop]
        index = np.minimum(np.searchsorted(class_terms, terms), max(len(class_terms) - 1, 0))
        inside = (
            np.where(class_terms[index] == terms, values[index], 0.0) - in_class
            if len(class_terms)
            else np.zeros(len(terms))
        )
        total = self.class_totals[c] - in_class * len(terms)
        logs: Floats = log1p(inside / (max(total, 1.0) * self.strength * (self.df[terms] - 1)))
        return logs

    def _weights(self) -> Sparse | Floats:
        """log(1 + n_ct / (n_c γ (n_t − 1))) (n_terms, n_classes), for documents of other classes than c."""
        table = self.class_df
        by_cell = np.repeat(np.maximum(self.class_totals, 1.0), np.diff(table.indptr))
        logs = log1p(table.data / (by_cell * self.strength * np.maximum(self.df[table.indices] - 1, 1.0)))
        weights = csr_array((logs, table.indices, table.indptr), table.shape).T
        if table.shape[0] * table.shape[1] <= DENSE_CELLS:
            return np.ascontiguousarray(weights.toarray())
        return csr_array(weights)

    def _scores(self, weights: Sparse | Floats, rows: NDArray[np.integer]) -> Floats:
        documents = self.X[rows]
        scores: Floats
        if issparse(weights):
            scores = (documents @ weights).toarray()
        else:
            scores = product(documents, weights)
        targets = self.targets[rows]
        prior = log(np.maximum(self.class_docs, 1e-300))
        scores += prior
        scores[np.arange(len(rows)), targets] = self._own_scores(rows)
        scores[:, self.class_docs == 0] = -np.inf
        scores -= log(max(self.X.shape[0] - 1, 1))
        scores /= np.sqrt(np.maximum(np.diff(documents.indptr), 1))[:, None]
        return scores

    def _own_scores(self, rows: NDArray[np.integer]) -> Floats:
        """The score of each document for its own class, counted without the document."""
        starts, lengths = self.X.indptr[rows], np.diff(self.X.indptr)[rows]
        entries = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        targets = self.targets[rows]
        copies = self.copies[rows]
        total = np.repeat(np.maximum(self.class_totals[targets] - copies * lengths, 1.0), lengths)
        rest = self.df[self.X.indices[entries]] - 1
        logs = log1p((self.own_df[entries] - np.repeat(copies, lengths)) / (total * self.strength * rest))
        sums = np.bincount(np.repeat(np.arange(len(rows)), lengths), logs, minlength=len(rows))
        left = self.others_of_class[rows]
        # a class of one document is unknown without it
        return np.where(left > 0, sums + log(np.maximum(left, 1)), -np.inf)


def _cells(table: Sparse, rows: Ids, columns: NDArray[np.integer]) -> Floats:
    """The cells table[rows, columns] of a csr_array with sorted indices; all of the cells must be stored."""
    if table.shape[0] * table.shape[1] <= DENSE_CELLS:
        dense: Floats = table.toarray()[rows, columns]
        return dense
    width = table.shape[1]
    keys = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr)) * width + table.indices
    values: Floats = table.data[np.searchsorted(keys, rows * width + columns)]
    return values


def _without_terms(X: Sparse, gone: NDArray[np.bool_]) -> Sparse:
    """X without the entries of the columns `gone`; the shape stays the same."""
    remaining = ~gone[X.indices]
    ends = np.concatenate(([0], np.cumsum(remaining)))[X.indptr]
    return csr_array((X.data[remaining], X.indices[remaining], ends), shape=X.shape)
