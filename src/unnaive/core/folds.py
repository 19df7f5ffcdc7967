"""Folds of documents, and scores of every document by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.errors import BadData, count_noun
from unnaive.sparse import csr_array
from unnaive.types import Floats


def folds(Y: Any, n_folds: int, *, seed: int = 0, blocked: bool = False) -> NDArray[np.int64]:
    """A fold for each document (n_docs,): shuffled, the documents of every label set spread evenly.

    Documents are dealt out in the order of their rarest class, so that rare classes are not all in one fold. `blocked`
    leaves them in the order in which they came, so that a fold is a run of the documents of each class: what stands
    together, a thread or a day, is often alike, and a model that has learnt the one is surer of the other than it will
    be of new documents.

    >>> np.bincount(folds(np.ones((10, 1)), 5))
    array([2, 2, 2, 2, 2])
    """
    truth = csr_array(Y)
    if not 2 <= n_folds <= truth.shape[0]:
        raise BadData(
            f"{count_noun(truth.shape[0], 'document')} cannot make {n_folds} folds; choose from 2 up to the documents"
        )
    by_size = np.argsort(np.argsort((truth != 0).sum(axis=0), kind="stable"))
    rarest = np.full(truth.shape[0], truth.shape[1])  # unlabelled documents last
    np.minimum.at(rarest, np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)), by_size[truth.indices])
    if blocked:
        return _blocks(rarest, n_folds)
    shuffled = np.random.default_rng(seed).permutation(truth.shape[0])
    dealt = np.empty(truth.shape[0], np.int64)
    dealt[shuffled[np.argsort(rarest[shuffled], kind="stable")]] = np.arange(truth.shape[0]) % n_folds
    return dealt


def _blocks(group: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each document: each group is cut into runs of equal length, small groups begin at different folds."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    start = np.searchsorted(ordered, ordered)
    size = np.searchsorted(ordered, ordered, side="right") - start
    fold = np.empty(len(group), np.int64)
    fold[order] = ((np.arange(len(group)) - start) * n_folds // size + ordered) % n_folds
    return fold


def out_of_fold(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats],
    Y: Any,
    *,
    n_folds: int = 5,
    seed: int = 0,
    blocked: bool = False,
) -> Floats:
    """Scores (n_docs, n_classes) of every document by a model that has not seen it.

    `score(train, held_out)` is handed two arrays of row numbers, and returns the scores of the held-out rows by a model
    of the training rows; what a model and a document are is its affair.

    >>> out_of_fold(lambda train, held_out: np.ones((len(held_out), 1)) * len(train), np.ones((4, 1)), n_folds=2)[:2]
    array([[2.],
           [2.]])
    """
    truth = csr_array(Y)
    scores = np.empty(truth.shape)
    for train, held_out in split_folds(folds(truth, n_folds, seed=seed, blocked=blocked), n_folds):
        scores[held_out] = score(train, held_out)
    return scores


def split_folds(fold: NDArray[np.int64], n_folds: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The rows outside of each fold, and those in it."""
    for number in range(n_folds):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
