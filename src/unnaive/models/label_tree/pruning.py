"""Shrink a label tree: drop the weights nearest to 0, then the terms without weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Ids
from unnaive.learning.fitted import FittedModel
from unnaive.models.label_tree.scorer import LabelTreeScorer

BITS = 32  # bits of a weight


def shrink_label_tree(fitted: FittedModel, limit: int, size: Callable[[FittedModel], int]) -> FittedModel:
    """A tree of at most `limit` bytes: without the weights nearest to 0 and, if necessary, terms without weights."""
    scorer: Any = fitted.scorer

    def with_terms_of(n: int) -> FittedModel:
        small, terms = drop_unused_terms(keep_largest(scorer, n))
        vocabulary = None if fitted.vocabulary is None else fitted.vocabulary.take(terms)
        return replace(fitted, scorer=small, vocabulary=vocabulary)

    n = (limit - size(replace(fitted, scorer=keep_largest(scorer, 0)))) // 8  # a number and a column, of 4 bytes each
    while n > 0:
        small = replace(fitted, scorer=keep_largest(scorer, n))
        over = size(small) - limit
        if over <= 0:
            return small
        n -= -(-over // 8)
    low, high = 0, scorer.weights.nnz  # low fits, high does not
    while high - low > max(1, low // 500):
        middle = (low + high) // 2
        low, high = (middle, high) if size(with_terms_of(middle)) <= limit else (low, middle)
    if low:
        return with_terms_of(low)
    raise UnnaiveError(
        f"{limit:,} bytes are too few for a tree of {len(fitted.classes):,} labels, which needs "
        f"{size(with_terms_of(1)):,} with one weight; allow more"
    )


def shrink_alike(scorer: LabelTreeScorer, small: LabelTreeScorer, *, drop_terms: bool) -> tuple[LabelTreeScorer, Ids]:
    """A tree with as many weights as `small`; `drop_terms`: without terms that have none. Also the ids of its terms."""
    tree = keep_largest(scorer, small.weights.nnz)
    return drop_unused_terms(tree) if drop_terms else (tree, np.arange(scorer.n_terms))


def keep_largest(scorer: LabelTreeScorer, n: int) -> LabelTreeScorer:
    """The tree with the `n` weights of largest magnitude, in float32; ties go to the first nodes."""
    weights = scorer.weights
    is_large = np.zeros(weights.nnz, np.bool_)
    is_large[np.argsort(-np.abs(weights.data), kind="stable")[:n]] = True
    ends = np.concatenate([[0], np.cumsum(is_large)])[weights.indptr].astype(np.int32)
    parts = weights.data[is_large].astype(np.float32), weights.indices[is_large].astype(np.int32), ends
    return replace(scorer, weights=csr_array(parts, shape=weights.shape))


def drop_unused_terms(scorer: LabelTreeScorer) -> tuple[LabelTreeScorer, Ids]:
    """The tree over the terms that have a weight, and the ids of these terms.

    Scores change a little, because the dropped terms contributed to the length of a document.
    """
    terms = np.unique(scorer.weights.indices)
    new_column = np.zeros(scorer.n_terms, np.int32)
    new_column[terms] = np.arange(len(terms))
    weights, idf = scorer.weights, scorer.weighting.idf
    table = csr_array((weights.data, new_column[weights.indices], weights.indptr), shape=(weights.shape[0], len(terms)))
    weighting = replace(scorer.weighting, idf=None if idf is None else idf[terms])
    return replace(scorer, weights=table, weighting=weighting), terms.astype(np.int64)
