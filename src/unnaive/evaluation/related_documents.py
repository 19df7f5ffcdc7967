"""Find copies, and documents that share passages: folds and tests must keep them together.

A document whose copy a model has learnt gets a more certain score than a new one, and two copies are not two
observations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.shared_passages import find_shared_passages
from unnaive.data.weighting import presence

COPY_TERMS = 5  # minimum number of distinct terms of a copy: many people write "thanks, that works"
COPY_SIMILARITY = 0.8  # Jaccard similarity of terms above which documents that share a passage are copies


@dataclass(frozen=True, eq=False)
class RelatedDocuments:
    """Two groupings of documents, each a group number for every document (n_docs,).

    copies   documents with the same terms, or nearly so
    related  copies, and documents that share a passage; every group of copies is inside one of these
    """

    copies: Ids
    related: Ids


def find_related(X: Sparse) -> RelatedDocuments:
    """The groups of documents X (n_docs, n_terms): single linkage over copies and over shared passages.

    Documents of fewer than COPY_TERMS terms are not copies of any other.

    >>> X = csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 3]])   # two have the same terms
    >>> find_related(X).copies.tolist()
    [0, 0, 1]
    """
    X = presence(X, np.int32)
    X.sort_indices()
    n_docs = X.shape[0]
    first, second = _same_terms(X)
    shared = find_shared_passages(X, np.zeros(n_docs, np.int64))
    near = _similarity(X, shared.first, shared.second) >= COPY_SIMILARITY
    copies = _link(n_docs, np.concatenate([first, shared.first[near]]), np.concatenate([second, shared.second[near]]))
    related = _link(n_docs, np.concatenate([first, shared.first]), np.concatenate([second, shared.second]))
    return RelatedDocuments(copies, related)


def _same_terms(X: Sparse) -> tuple[Ids, Ids]:
    """Pairs (the first document with these terms, another one)."""
    seen: dict[bytes, int] = {}
    pairs = []
    for row in range(X.shape[0]):
        terms = X.indices[X.indptr[row] : X.indptr[row + 1]]
        if len(terms) >= COPY_TERMS:
            earliest = seen.setdefault(terms.tobytes(), row)
            if earliest != row:
                pairs.append((earliest, row))
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _similarity(X: Sparse, first: Ids, second: Ids) -> np.ndarray:
    """Jaccard similarity of the terms of pairs of documents; X (n_docs, n_terms) of ones."""
    both = np.asarray(X[first].multiply(X[second]).sum(axis=1)).ravel()
    sizes = np.diff(X.indptr)
    return np.asarray(both / np.maximum(sizes[first] + sizes[second] - both, 1))


def _link(n_docs: int, first: Ids, second: Ids) -> Ids:
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(n_docs, n_docs))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def group_folds(strata: Ids, group: Ids, n_folds: int, *, seed: int = 0) -> Ids:
    """Assign a fold to each document (n_docs,): groups are not divided, and each stratum is spread evenly over the
    folds.

    A group belongs to the stratum of its first document. Groups are shuffled and concatenated within their stratum, and
    a group goes to the fold in which it begins.

    >>> group_folds(np.zeros(6, np.int64), np.array([0, 0, 1, 2, 3, 3]), 2).tolist()
    [0, 0, 0, 0, 1, 1]
    """
    _, first, number, size = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    stratum = np.unique(strata[first], return_inverse=True)[1]
    order = np.lexsort((np.random.default_rng(seed).permutation(len(size)), stratum))
    total = np.bincount(stratum, size)
    end = np.cumsum(size[order])
    before = np.concatenate([[0.0], np.cumsum(total)[:-1]])
    fold = np.empty(len(size), np.int64)
    ordered = stratum[order]
    start = end - size[order] - before[ordered]
    # strata start at different folds, so that the small ones are not all in the first
    fold[order] = (start * n_folds // total[ordered] + ordered).astype(np.int64) % n_folds
    return fold[number]


def first_of_copies(X: Sparse) -> Ids:
    """The rows of X (n_docs, n_terms) without later copies of earlier ones, ascending.

    >>> first_of_copies(csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 3]])).tolist()
    [0, 2]
    """
    return np.sort(np.unique(find_related(X).copies, return_index=True)[1])
