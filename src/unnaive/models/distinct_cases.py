"""The documents for SuperParent TAN and diagnostic mixtures: presence of a few terms, and the state of a class.

Identical documents are merged into one case with their total weight. So the order of documents is irrelevant, and a
weight acts like a number of copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.counts import Counts
from unnaive.data.targets import class_columns, single_labels
from unnaive.data.weighting import presence
from unnaive.linear.term_selection import class_gain, information_gain, top_k
from unnaive.models.hierarchical.cases import FeatureRows, distinct_rows, sums_by


@dataclass(frozen=True, eq=False)
class DistinctCases:
    """Distinct documents, sorted by state, then by row.

    rows      presence of each term                   (n_cases, k)
    states    the state of the class                  (n_cases,)
    weight    documents with that row and state       (n_cases,)
    n_states  number of exclusive classes; 2 for a class against the rest

    >>> cases = DistinctCases.of(np.array([[1, 0], [0, 1], [1, 0]], np.int8), np.array([1, 0, 1]), np.ones(3), 2)
    >>> cases.rows.tolist(), cases.states.tolist(), cases.weight.tolist()
    ([[0, 1], [1, 0]], [0, 1], [1.0, 2.0])
    """

    rows: FeatureRows
    states: Ids
    weight: Floats
    n_states: int

    @classmethod
    def of(cls, rows: FeatureRows, states: Ids, weight: Floats, n_states: int) -> DistinctCases:
        """Cases of documents `rows` (n_docs, k) with the state (n_docs,) and weight (n_docs,) of each."""
        counted = weight > 0
        distinct, row_of = distinct_rows(rows[counted])
        codes, case_of = np.unique(states[counted] * max(len(distinct), 1) + row_of, return_inverse=True)
        own_states, own_rows = np.divmod(codes, max(len(distinct), 1))
        return cls(distinct[own_rows], own_states, sums_by(case_of, weight[counted]), n_states)

    @property
    def totals(self) -> Floats:
        """Weight of the documents in each state (n_states,)."""
        return np.bincount(self.states, self.weight, self.n_states).astype(np.float64)


def learning_problems(
    X: Sparse, Y: Sparse, k: int, scheme: str, sample_weight: NDArray[Any] | None = None
) -> Iterator[tuple[Ids, DistinctCases]]:
    """The learning problems: one over all classes, or one for each class against the rest.

    Each has its k terms of highest information gain, and the cases over them.
    """
    present, labels = presence(X), csr_array(Y)
    weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    counts, by_term = Counts.of(present, labels, sample_weight), csc_array(present)

    def problem(terms: Ids, states: Ids, n_states: int) -> tuple[Ids, DistinctCases]:
        return terms, DistinctCases.of(by_term[:, terms].toarray().astype(np.int8), states, weight, n_states)

    if scheme == "multiclass":
        targets = single_labels(labels)
        if targets is None:
            raise BadData("some documents have no label, or several; train with scheme='one-vs-rest'")
        yield problem(top_k(information_gain(counts), k), targets, counts.n_classes)
        return
    for c, inside in enumerate(class_columns(labels)):
        yield problem(top_k(class_gain(counts, c), k), inside.astype(np.int64), 2)
