"""Naive Bayes scores of every document by the model that never saw it, exactly, from counts: total minus document.

Terms are counted once a document (presence). Class probabilities are Jelinek–Mercer mixtures with the corpus,

    p(t|c) ∝ n_ct / n_c + γ n_t        n_ct documents of class c with t, n_c = Σ_t n_ct, n_t = Σ_c n_ct

with γ = β / ((1 − β) N), N = Σ_t n_t, a constant of the collection. Without document d of length L the term t of d has
n_t − 1 in the corpus and, in the class of d, n_ct − 1 of n_c − L; other classes are as they were. The normaliser is the
same for all classes, and so is γ (n_t − 1): divided by it, the score of a class is a sum over the terms that it has,

    score(d, c) = log prior(c) + Σ_t log(1 + n_ct / (n_c γ (n_t − 1)))

whose weights are the same for every document but in its own class. So one sparse product gives the rivals' scores of
all documents, and one pass over the documents' terms their own. Terms that no other document has are unknown to the
model without it, and left out. Scores are divided by √length, because naive Bayes is the surer the longer the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import product
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighting import presence

BETA = 0.7  # the share of the corpus in the mixture, measured best with few documents a class
BLOCK_CELLS = 1 << 22  # documents × classes that are held at a time
DENSE_CELLS = 1 << 24  # classes × terms up to which weights are kept dense, where the product is fastest


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The counts of all documents, and from them the scores of each without it.

    >>> X = csr_array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1]])
    >>> model = LeaveOneOut.of(X, np.array([0, 0, 1, 1]), 2)
    >>> model.scores(np.array([3])).round(2)   # without it, class 0 has term 0 in both of its documents, class 1 never
    array([[ 0.4 , -0.34]])
    """

    X: Sparse  # presence (n_docs, n_terms), terms of a single document left out
    targets: Ids
    class_docs: Ids
    class_totals: Floats
    class_df: Sparse  # (n_classes, n_terms)
    df: Floats
    own_df: Floats  # of each entry of X, documents with its term in the class of its document
    strength: float  # γ

    @classmethod
    def of(cls, X: Sparse, targets: NDArray[np.integer], n_classes: int, *, beta: float = BETA) -> LeaveOneOut:
        """Count documents X (n_docs, n_terms) of classes `targets` (n_docs,)."""
        X = presence(csr_array(X))
        occurrences = np.bincount(X.indices, minlength=X.shape[1])
        X = _without_terms(X, occurrences < 2)
        df: Floats = np.where(occurrences < 2, 0, occurrences).astype(np.float64)
        Y = one_label_matrix(np.asarray(targets), n_classes)
        class_df = csr_array(Y.T.astype(np.float64) @ X)
        class_df.sort_indices()
        totals = np.asarray(class_df.sum(axis=1), np.float64)
        strength = beta / ((1 - beta) * max(float(df.sum()), 1.0))
        class_docs = np.bincount(targets, minlength=n_classes)
        codes = np.asarray(targets, np.int64)
        own_df = _cells(class_df, np.repeat(codes, np.diff(X.indptr)), X.indices)
        return cls(X, codes, class_docs, totals, class_df, df, own_df, strength)

    @property
    def lengths(self) -> Floats:
        """Known terms of each document (n_docs,)."""
        lengths: Floats = np.diff(self.X.indptr).astype(np.float64)
        return lengths

    def scores(self, rows: NDArray[np.integer]) -> Floats:
        """Scores (len(rows), n_classes) of these documents, each by the model without it, over √length."""
        return self._scores(self._weights(), rows)

    def blocks(self, progress: Callable[[int, int], None] | None = None) -> Iterator[tuple[Ids, Floats]]:
        """(rows, their scores), some documents at a time: never all documents × classes."""
        weights = self._weights()
        n_docs, step = self.X.shape[0], max(1, BLOCK_CELLS // len(self.class_docs))
        for start in range(0, n_docs, step):
            rows = np.arange(start, min(start + step, n_docs))
            yield rows, self._scores(weights, rows)
            if progress is not None:
                progress(int(rows[-1]) + 1, n_docs)

    def term_evidence(self, row: int, first: int, second: int) -> tuple[Ids, Floats]:
        """(terms, log p(t|first) − log p(t|second)) of a document's known terms, by the model without it."""
        terms = self.X.indices[self.X.indptr[row] : self.X.indptr[row + 1]]
        both = [self._log_ratio(row, c, terms) for c in (first, second)]
        return terms, both[0] - both[1]

    def _log_ratio(self, row: int, c: int, terms: Ids) -> Floats:
        """log(1 + n_ct / (n_c γ (n_t − 1))) without the document."""
        own = float(self.targets[row] == c)
        start, stop = self.class_df.indptr[c : c + 2]
        known, values = self.class_df.indices[start:stop], self.class_df.data[start:stop]
        place = np.minimum(np.searchsorted(known, terms), max(len(known) - 1, 0))
        inside = np.where(known[place] == terms, values[place], 0.0) - own if len(known) else np.zeros(len(terms))
        total = self.class_totals[c] - own * len(terms)
        logs: Floats = np.log1p(inside / (max(total, 1.0) * self.strength * (self.df[terms] - 1)))
        return logs

    def _weights(self) -> Sparse | Floats:
        """log(1 + n_ct / (n_c γ (n_t − 1))) (n_terms, n_classes), for classes that the document is not of."""
        table = self.class_df
        by_cell = np.repeat(np.maximum(self.class_totals, 1.0), np.diff(table.indptr))
        logs = np.log1p(table.data / (by_cell * self.strength * np.maximum(self.df[table.indices] - 1, 1.0)))
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
        own = self.targets[rows]
        prior = np.log(np.maximum(self.class_docs, 1e-300))
        scores += prior
        scores[np.arange(len(rows)), own] = self._own_scores(rows)
        scores[:, self.class_docs == 0] = -np.inf
        scores -= np.log(max(self.X.shape[0] - 1, 1))
        scores /= np.sqrt(np.maximum(np.diff(documents.indptr), 1))[:, None]
        return scores

    def _own_scores(self, rows: NDArray[np.integer]) -> Floats:
        """The score of each document's own class, from which it is taken out."""
        starts, lengths = self.X.indptr[rows], np.diff(self.X.indptr)[rows]
        entries = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))
        own = self.targets[rows]
        total = np.repeat(np.maximum(self.class_totals[own] - lengths, 1.0), lengths)
        rest = self.df[self.X.indices[entries]] - 1
        logs = np.log1p((self.own_df[entries] - 1) / (total * self.strength * rest))
        sums = np.bincount(np.repeat(np.arange(len(rows)), lengths), logs, minlength=len(rows))
        left = self.class_docs[own] - 1
        # a class of one document is unknown without it
        return np.where(left > 0, sums + np.log(np.maximum(left, 1)), -np.inf)


def _cells(table: Sparse, rows: Ids, columns: NDArray[np.integer]) -> Floats:
    """table[rows, columns] of a sorted csr_array, in which all of them are stored."""
    if table.shape[0] * table.shape[1] <= DENSE_CELLS:
        dense: Floats = table.toarray()[rows, columns]
        return dense
    width = table.shape[1]
    keys = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr)) * width + table.indices
    found: Floats = table.data[np.searchsorted(keys, rows * width + columns)]
    return found


def _without_terms(X: Sparse, gone: NDArray[np.bool_]) -> Sparse:
    """X without the entries of some columns; the columns stay, empty."""
    kept = ~gone[X.indices]
    ends = np.concatenate(([0], np.cumsum(kept)))[X.indptr]
    return csr_array((X.data[kept], X.indices[kept], ends), shape=X.shape)
