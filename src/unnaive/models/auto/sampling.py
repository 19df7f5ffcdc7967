"""Stratified samples of documents, for the search and for solvers on very large data."""

from __future__ import annotations

import numpy as np

from unnaive.base.types import Ids


def sample_rows(rows: Ids, targets: Ids, most: int, random: np.random.Generator) -> Ids:
    """A stratified sample of at most `most` rows, with at least one row of every class, in the order of `rows`."""
    if len(rows) <= most:
        return rows
    shuffled = rows[random.permutation(len(rows))]
    order = shuffled[np.argsort(targets[shuffled], kind="stable")]
    sizes = np.bincount(targets[rows])
    rank = np.arange(len(rows)) - np.repeat(np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    share = (rank + 0.5) / np.repeat(sizes[sizes > 0], sizes[sizes > 0])
    chosen = np.argsort(np.where(rank == 0, -1.0, share), kind="stable")[: max(most, int((sizes > 0).sum()))]
    return np.sort(order[chosen])


def draw_rows(n_docs: int, most: int, random_state: int) -> Ids:
    """A random sample of at most `most` of n_docs rows, ascending.

    The first rows would not do: rows are sorted by a hash of their words, so copies are neighbours.

    >>> draw_rows(3, 5, 0).tolist(), len(draw_rows(9, 5, 0))
    ([0, 1, 2], 5)
    """
    if n_docs <= most:
        return np.arange(n_docs)
    return np.sort(np.random.default_rng(random_state).permutation(n_docs)[:most])
