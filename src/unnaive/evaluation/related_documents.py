"""Find copies, and documents that share passages: folds and tests must keep them together.

A document whose copy a model has learnt gets a more certain score than a new one, and two copies are not two
observations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Ids, Sparse
from unnaive.data.shared_passages import SharedPassages, find_copies, find_shared_passages
from unnaive.data.weighting import presence

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

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 3]])   # two have the same terms
    >>> find_related(X).copies.tolist()
    [0, 0, 1]
    """
    X = presence(X, np.int32)
    X.sort_indices()
    one_group = np.zeros(X.shape[0], np.int64)
    same, shared = find_copies(X, one_group), find_shared_passages(X, one_group)
    near = _similarity(X, shared.first, shared.second) >= COPY_SIMILARITY
    alike = SharedPassages(X.shape[0], shared.first[near], shared.second[near], shared.shared[near])
    return RelatedDocuments((same + alike).groups(), (same + shared).groups())


def _similarity(X: Sparse, first: Ids, second: Ids) -> np.ndarray:
    """Jaccard similarity of the terms of pairs of documents; X (n_docs, n_terms) of ones."""
    both = np.asarray(X[first].multiply(X[second]).sum(axis=1)).ravel()
    sizes = np.diff(X.indptr)
    return np.asarray(both / np.maximum(sizes[first] + sizes[second] - both, 1))


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

    >>> from scipy.sparse import csr_array
    >>> first_of_copies(csr_array([[1, 1, 1, 1, 1, 0], [2, 1, 1, 1, 1, 0], [0, 1, 0, 0, 0, 3]])).tolist()
    [0, 2]
    """
    return np.sort(np.unique(find_related(X).copies, return_index=True)[1])
