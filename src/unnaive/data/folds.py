"""Cross-validation folds, and out-of-fold scores: each document is scored by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData, count_noun
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids

STRATUM = 40  # a class with this many documents is spread evenly over the folds


def folds(Y: Any, n_folds: int, *, seed: int = 0, group: Ids | None = None) -> Ids:
    """Assign a fold to each document (n_docs,), shuffled and stratified by label set.

    Documents are assigned in the order of their rarest class, so that rare classes are spread over the folds. Documents
    of one `group` (n_docs,), such as copies, are in the fold of the first of them.

    >>> np.bincount(folds(np.ones((10, 1)), 5))
    array([2, 2, 2, 2, 2])
    >>> folds(np.ones((4, 1)), 2, group=np.array([5, 3, 5, 3])).tolist()
    [0, 1, 0, 1]
    """
    rarest, number = rarest_classes(Y), None
    if group is not None:
        first, number = first_of_groups(group)
        if len(first) < n_folds <= len(rarest):
            raise BadData(
                f"{count_noun(len(rarest), 'document')} cannot be split into {n_folds} folds, since copies share a "
                f"fold and without them only {len(first)} are left; choose a number up to {len(first)}"
            )
        rarest = rarest[first]
    check_n_folds(len(rarest), n_folds)
    shuffled = np.random.default_rng(seed).permutation(len(rarest))
    dealt = np.empty(len(rarest), np.int64)
    dealt[shuffled[np.argsort(rarest[shuffled], kind="stable")]] = np.arange(len(rarest)) % n_folds
    return dealt if number is None else dealt[number]


def first_of_groups(group: Ids) -> tuple[Ids, Ids]:
    """(the first document of each group, ascending (n_groups,), the number of each document's group (n_docs,)).

    >>> [part.tolist() for part in first_of_groups(np.array([7, 3, 7, 5]))]
    [[0, 1, 3], [0, 1, 0, 2]]
    """
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[number]


def block_folds(group: Ids, n_folds: int, order: Ids | None = None) -> Ids:
    """Assign a fold to each document (n_docs,): every group, in the given order, is cut into runs of similar length.

    With the order of `SharedPassages`, documents that quote each other or are near copies share a fold, except where a
    run is cut. Otherwise a model that has learnt one of them would be more certain of the other than of a new document.
    Groups start at different folds, so that the small ones are not all in the first.

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
    """The strata of the folds: the rarest class of each document (n_docs,); all rare classes together form one stratum.

    Also returns the number of that pooled stratum, or −1: it needs two classes, and STRATUM documents in total. If a
    class of 8 documents were spread evenly, 6 or 7 of them would always be in training when one is held out. For a new
    document, chance decides how many of its class the training set has, one fewer on average. Probabilities and
    prediction sets fitted on such held-out documents would be too confident. In large classes one document makes no
    difference.

    >>> strata, pooled = fold_strata(np.repeat(np.eye(3), [50, 27, 28], axis=0))
    >>> strata.tolist() == [2] * 50 + [1] * 55, pooled
    (True, 1)
    """
    return pool_rare_classes(rarest_classes(Y))


def pool_rare_classes(strata: Ids, fewer_than: int = STRATUM) -> tuple[Ids, int]:
    """The strata with all of fewer documents joined, and the number of the joined one, or −1.

    >>> strata, pooled = pool_rare_classes(np.repeat([0, 1, 2], [27, 50, 28]))
    >>> strata.tolist() == [2] * 27 + [1] * 50 + [2] * 28, pooled
    (True, 2)
    """
    sizes = np.bincount(strata)
    few = np.flatnonzero((sizes > 0) & (sizes < fewer_than))
    if len(few) < 2 or sizes[few].sum() < STRATUM:
        return strata, -1
    pooled = int(few.max())
    return np.where(np.isin(strata, few), pooled, strata), pooled


def shuffle_blocks(order: Ids, block: Ids, chosen: NDArray[np.bool_], *, seed: int = 0) -> Ids:
    """Shuffle the chosen documents among their positions in `order` (n_docs,), keeping those of a block together.

    >>> shuffle_blocks(np.arange(6), np.array([0, 1, 2, 1, 3, 4]), np.arange(6) < 5).tolist()
    [1, 3, 0, 4, 2, 5]
    """
    positions = np.flatnonzero(chosen[order])
    key = np.random.default_rng(seed).permutation(len(block))[block[order[positions]]]
    shuffled = order.copy()
    shuffled[positions] = order[positions][np.argsort(key, kind="stable")]
    return shuffled


def rarest_classes(Y: Any) -> Ids:
    """The rarest class of each document (n_docs,), classes numbered from the rarest on; unlabelled documents come last.

    >>> rarest_classes(np.array([[1, 1], [1, 0], [0, 0]])).tolist()
    [0, 1, 2]
    """
    truth = csr_array(Y)
    by_size = np.argsort(np.argsort((truth != 0).sum(axis=0), kind="stable"))
    rarest = np.full(truth.shape[0], truth.shape[1])
    np.minimum.at(rarest, np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)), by_size[truth.indices])
    return rarest


def check_n_folds(n_docs: int, n_folds: int) -> None:
    """Raise an error unless n_folds is from 2 to n_docs."""
    if not 2 <= n_folds <= n_docs:
        raise BadData(
            f"{count_noun(n_docs, 'document')} cannot be split into {n_folds} folds; choose from 2 up "
            "to the number of documents"
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

    `score(train, held_out)` gets two arrays of row numbers and returns the scores of the held-out rows by a model
    trained on the training rows. `fold` is the fold of each document (n_docs,); if it is missing, `folds` assigns them.

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
    """Yield (rows outside the fold, rows inside it) for each fold that is not empty."""
    for number in range(n_folds):
        held_out = np.flatnonzero(fold == number)
        if len(held_out):
            yield np.flatnonzero(fold != number), held_out
