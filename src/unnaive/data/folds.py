"""Folds of documents, and scores of every document by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids

STRATUM = 40  # documents of a class that is spread evenly over folds


def folds(Y: Any, n_folds: int, *, seed: int = 0) -> Ids:
    """A fold for each document (n_docs,): shuffled, the documents of every label set spread evenly.

    Documents are dealt out in the order of their rarest class, so that rare classes are not all in one fold.

    >>> np.bincount(folds(np.ones((10, 1)), 5))
    array([2, 2, 2, 2, 2])
    """
    rarest = rarest_classes(Y)
    check_n_folds(len(rarest), n_folds)
    shuffled = np.random.default_rng(seed).permutation(len(rarest))
    dealt = np.empty(len(rarest), np.int64)
    dealt[shuffled[np.argsort(rarest[shuffled], kind="stable")]] = np.arange(len(rarest)) % n_folds
    return dealt


def block_folds(group: Ids, n_folds: int, order: Ids | None = None) -> Ids:
    """A fold for each document (n_docs,): every group, in the given order, is cut into runs of like length.

    With the order of `SharedPassages`, documents that quote each other or are near copies are in one fold, but for the
    few where a run is cut: a model that has learnt the one is surer of the other than it will be of new documents.
    Groups begin at different folds, so that the small ones are not all in the first.

    >>> block_folds(np.zeros(6, np.int64), 3, np.array([0, 2, 1, 3, 4, 5])).tolist()
    [0, 1, 0, 1, 2, 2]
    """
    number = np.unique(group, return_inverse=True)[1]
    order = np.arange(len(number)) if order is None else order
    order = order[np.argsort(number[order], kind="stable")]
    ordered = number[order]
    start = np.searchsorted(ordered, ordered)
    size = np.searchsorted(ordered, ordered, side="right") - start
    fold = np.empty(len(group), np.int64)
    fold[order] = ((np.arange(len(group)) - start) * n_folds // size + ordered) % n_folds
    return fold


def fold_strata(Y: Any) -> tuple[Ids, int]:
    """What folds spread evenly: the rarest class of each document (n_docs,); those of few documents are one stratum.

    Also which number that stratum has, −1 where there is none: it takes two classes, and STRATUM documents together.
    Spread evenly, a class of 8 documents has 6 or 7 to learn from wherever one of it is held out; a new document finds
    of its class what chance has made it, one fewer on average. Probabilities and sets that were fitted on such held-out
    documents promise too much. Among many documents one more is nothing.

    >>> strata, pooled = fold_strata(np.repeat(np.eye(3), [50, 27, 28], axis=0))
    >>> strata.tolist() == [2] * 50 + [1] * 55, pooled
    (True, 1)
    """
    rarest = rarest_classes(Y)
    sizes = np.bincount(rarest)
    few = np.flatnonzero((sizes > 0) & (sizes < STRATUM))
    if len(few) < 2 or sizes[few].sum() < STRATUM:
        return rarest, -1
    pooled = int(few.max())
    return np.where(np.isin(rarest, few), pooled, rarest), pooled


def shuffle_blocks(order: Ids, block: Ids, chosen: NDArray[np.bool_], *, seed: int = 0) -> Ids:
    """The order (n_docs,) with the chosen documents shuffled in their places, those of a block next to each other.

    >>> shuffle_blocks(np.arange(6), np.array([0, 1, 2, 1, 3, 4]), np.arange(6) < 5).tolist()
    [1, 3, 0, 4, 2, 5]
    """
    place = np.flatnonzero(chosen[order])
    key = np.random.default_rng(seed).permutation(len(block))[block[order[place]]]
    shuffled = order.copy()
    shuffled[place] = order[place][np.argsort(key, kind="stable")]
    return shuffled


def rarest_classes(Y: Any) -> Ids:
    """The class of each document (n_docs,) with fewest documents, numbered from the rarest on; unlabelled come last.

    >>> rarest_classes(np.array([[1, 1], [1, 0], [0, 0]])).tolist()
    [0, 1, 2]
    """
    truth = csr_array(Y)
    by_size = np.argsort(np.argsort((truth != 0).sum(axis=0), kind="stable"))
    rarest = np.full(truth.shape[0], truth.shape[1])
    np.minimum.at(rarest, np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)), by_size[truth.indices])
    return rarest


def check_n_folds(n_docs: int, n_folds: int) -> None:
    """An error unless so many documents can make so many folds."""
    if not 2 <= n_folds <= n_docs:
        raise BadData(
            f"{count_noun(n_docs, 'document')} cannot make {n_folds} folds; choose from 2 up to the documents"
        )


def out_of_fold(
    score: Callable[[Ids, Ids], Floats],
    Y: Any,
    *,
    n_folds: int = 5,
    seed: int = 0,
    fold: Ids | None = None,
) -> Floats:
    """Scores (n_docs, n_classes) of every document by a model that has not seen it.

    `score(train, held_out)` is handed two arrays of row numbers, and returns the scores of the held-out rows by a model
    of the training rows; what a model and a document are is its affair. `fold` has the fold of each document (n_docs,)
    where they are not to be dealt out by `folds`.

    >>> out_of_fold(lambda train, held_out: np.ones((len(held_out), 1)) * len(train), np.ones((4, 1)), n_folds=2)[:2]
    array([[2.],
           [2.]])
    """
    truth = csr_array(Y)
    check_n_folds(truth.shape[0], n_folds)
    scores = np.empty(truth.shape)
    dealt = folds(truth, n_folds, seed=seed) if fold is None else fold
    for train, held_out in split_folds(dealt, n_folds):
        scores[held_out] = score(train, held_out)
    return scores


def split_folds(fold: Ids, n_folds: int) -> Iterator[tuple[Ids, Ids]]:
    """The rows outside of each fold, and those in it; a fold without rows is left out."""
    for number in range(n_folds):
        held_out = np.flatnonzero(fold == number)
        if len(held_out):
            yield np.flatnonzero(fold != number), held_out
