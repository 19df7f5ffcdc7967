"""Samples of documents, each class with its share: what is searched on, and what solvers learn from of very many."""

from __future__ import annotations

import numpy as np

from unnaive.base.types import Ids


def sample_rows(rows: Ids, targets: Ids, most: int, random: np.random.Generator) -> Ids:
    """At most so many of the rows, each class with its share and at least one, in their order."""
    if len(rows) <= most:
        return rows
    shuffled = rows[random.permutation(len(rows))]
    order = shuffled[np.argsort(targets[shuffled], kind="stable")]
    sizes = np.bincount(targets[rows])
    rank = np.arange(len(rows)) - np.repeat(np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    share = (rank + 0.5) / np.repeat(sizes[sizes > 0], sizes[sizes > 0])
    kept = np.argsort(np.where(rank == 0, -1.0, share), kind="stable")[: max(most, int((sizes > 0).sum()))]
    return np.sort(order[kept])
