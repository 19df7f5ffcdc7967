"""Splits of documents into training and test rows: stratified at random, or in folds; single- and multi-label.

A split is a pair of arrays of row numbers. The same seed gives the same splits, and within one random split the
training rows of a smaller share are a subset of those of a larger one, so that a learning curve grows one set of
documents. Documents of one group, such as copies, are on the same side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.base.types import Ids, Sparse
from unnaive.data.folds import first_of_groups, folds


def strata(Y: Sparse) -> Ids:
    """The stratum of each document (n_docs,): its rarest class, ties by index; the number of classes if it has none.

    In single-label data this is its class. In multilabel data a random split would lose the rare classes, so a document
    counts for the class that needs it most (iterative stratification, in one pass).

    >>> strata(csr_array([[1, 0], [1, 1], [0, 0]]))
    array([0, 1, 2])
    """
    Y = csr_array(Y)
    present = csr_array(((Y.data != 0).astype(np.int64), Y.indices, Y.indptr), shape=Y.shape)
    sizes = np.asarray(present.sum(axis=0)).ravel()
    rank = np.empty(Y.shape[1], np.int64)
    by_size = np.lexsort((np.arange(len(sizes)), sizes))
    rank[by_size] = np.arange(len(sizes))
    rarest = np.full(Y.shape[0], Y.shape[1], np.int64)
    rows, columns = present.nonzero()
    np.minimum.at(rarest, rows, rank[columns])
    return np.append(by_size, Y.shape[1])[rarest]


def stratified_split(
    Y: Sparse, train_share: float, *, seed: int, split: int = 0, group: Ids | None = None
) -> tuple[Ids, Ids]:
    """(train, test) rows, sorted: `train_share` (0 to 1) of the documents, and as nearly as possible of each stratum.

    Every stratum first gets a training document, and a test document if it has at least two. With `group` (n_docs,)
    this is a split of the groups, each of which has the stratum of its first document.

    >>> train, test = stratified_split(csr_array([[1, 0]] * 8 + [[0, 1]] * 2), 0.5, seed=0)
    >>> len(train), len(test), int((train >= 8).sum())
    (5, 5, 1)
    """
    if not 0 < train_share < 1:
        raise BadData(f"a share of {train_share} for training leaves no documents on one side; give 0 < share < 1")
    first, number = first_of_groups(np.arange(Y.shape[0]) if group is None else group)
    stratum = strata(Y)[first]
    order = training_order(stratum, np.random.default_rng([seed, split]))
    n_train = max(round(len(order) * train_share), len(np.unique(stratum)))
    is_training = np.zeros(len(order), bool)
    is_training[order[:n_train]] = True
    return np.flatnonzero(is_training[number]), np.flatnonzero(~is_training[number])


def training_order(stratum: Ids, random: np.random.Generator) -> Ids:
    """Ids in the order in which they become training documents: every prefix has its share of every stratum.

    Document number i of a shuffled stratum of n gets the position (i + u)/n, u random for the stratum: systematic
    sampling. The first documents of all strata come before all others, the last ones after them.
    """
    shuffled = random.permutation(len(stratum))
    ordered = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    _, sizes = np.unique(stratum, return_counts=True)
    size = np.repeat(sizes, sizes)
    rank = np.arange(len(ordered)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    when = (rank + np.repeat(random.random(len(sizes)), sizes)) / size
    when[rank == size - 1] = 2.0
    when[rank == 0] = -1.0
    return ordered[np.lexsort((size, when))]


def fold_splits(Y: Sparse, n_folds: int, *, seed: int, group: Ids | None = None) -> Iterator[tuple[Ids, Ids]]:
    """(train, test) rows of each fold, stratified by class; documents of one `group` (n_docs,) share a fold."""
    fold = folds(Y, n_folds, seed=seed, group=group)
    for part in range(n_folds):
        yield np.flatnonzero(fold != part), np.flatnonzero(fold == part)


def fixed_split(parts: NDArray[Any]) -> tuple[Ids, Ids]:
    """(train, test) rows if the collection defines them."""
    train, test = np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test")
    if not len(train) or not len(test):
        there = ", ".join(sorted({str(part) for part in parts})) or "nothing"
        raise BadData(
            f"the data has the parts {there}, not train and test; rename them, or choose another kind of split"
        )
    return train, test
