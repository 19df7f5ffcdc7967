"""Cluster labels with similar documents into groups of equal size, by repeated balanced k-means with two means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Ids, Sparse
from unnaive.data.weighting import NORMS

ROUNDS = 20  # most rounds of reassigning labels to two means


def label_centroids(Z: Sparse, Y: Sparse, weight: NDArray[np.float64]) -> Sparse:
    """The mean of each label's documents Z (n_docs, n_terms), scaled to length 1 (n_labels, n_terms)."""
    repeated = csr_array((np.repeat(weight, np.diff(Y.indptr)), Y.indices, Y.indptr), shape=Y.shape)
    sums = csr_array(repeated.T @ Z)
    lengths = np.maximum(NORMS["l2"](sums.data, sums.indptr), 1e-300)
    return csr_array((sums.data / np.repeat(lengths, np.diff(sums.indptr)), sums.indices, sums.indptr), sums.shape)


def halve(centroids: Sparse, rng: np.random.Generator) -> tuple[Ids, Ids]:
    """Split labels into two groups of equal size (or off by one) by their cosine to the groups' means.

    Each round puts into the first group the half of the labels that are closest to its mean relative to the other mean
    (Prabhu et al., 2018, Parabel); it ends when no label changes its group.

    >>> centroids = csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> [sorted(group.tolist()) for group in halve(centroids, np.random.default_rng(0))]
    [[0, 2], [1, 3]]
    """
    n, (_, centroids) = centroids.shape[0], compact_columns(centroids)
    first, second = rng.choice(n, 2, replace=False)
    direction = np.asarray((centroids[[first], :] - centroids[[second], :]).toarray()[0])
    before: Any = None
    for _ in range(ROUNDS):
        order = np.argsort(-(centroids @ direction), kind="stable")
        inside = np.zeros(n, np.bool_)
        inside[order[: (n + 1) // 2]] = True
        if before is not None and bool((inside == before).all()):
            break
        before = inside
        mean_inside, mean_outside = (_mean(centroids, rows) for rows in (inside, ~inside))
        direction = mean_inside - mean_outside
    groups = np.flatnonzero(before), np.flatnonzero(~before)
    return groups if groups[0][0] < groups[1][0] else groups[::-1]


def compact_columns(table: Sparse) -> tuple[Ids, Sparse]:
    """The columns with a nonzero cell, and the table restricted to them.

    >>> columns, table = compact_columns(csr_array([[0, 5, 0], [0, 0, 0]]))
    >>> columns, table.toarray()
    (array([1]), array([[5],
           [0]]))
    """
    used = np.zeros(table.shape[1], np.bool_)
    used[table.indices] = True
    columns = np.flatnonzero(used)
    column = (np.cumsum(used) - 1).astype(np.int32)
    return columns, csr_array((table.data, column[table.indices], table.indptr), shape=(table.shape[0], len(columns)))


def _mean(centroids: Sparse, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    total = np.asarray(centroids.T @ rows.astype(np.float64))
    return total / max(float(np.sqrt(np.square(total).sum())), 1e-300)


def cluster_labels(centroids: Sparse, n_groups: list[int], seed: int) -> tuple[Ids, list[Ids]]:
    """(the labels in the order of the tree's leaves, the borders of each level's groups in that order).

    n_groups  number of groups of each level, increasing powers of two; the labels themselves are the last level

    >>> centroids = csr_array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> order, ends = cluster_labels(centroids, [2], seed=0)
    >>> order.tolist(), [one.tolist() for one in ends]
    ([0, 2, 1, 3], [[0, 2, 4], [0, 1, 2, 3, 4]])
    """
    rng = np.random.default_rng(seed)
    groups, levels = [np.arange(centroids.shape[0])], []
    for n_wanted in n_groups:
        while len(groups) < n_wanted:
            halves = [
                [group[part] for part in halve(centroids[group], rng)] if len(group) > 1 else [group]
                for group in groups
            ]  # fmt: skip
            split = [part for pair in halves for part in pair]
            if len(split) == len(groups):
                break
            groups = split
        levels.append(np.cumsum([0, *map(len, groups)]))
    # groups of a lower level lie inside those of a higher level, so the last order holds for all levels
    return np.concatenate(groups), [*levels, np.arange(centroids.shape[0] + 1)]
