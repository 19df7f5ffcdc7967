"""Shrink a label tree: drop the weights nearest to 0, then the terms without weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Ids
from unnaive.models.label_tree.scorer import LabelTreeScorer

BITS = 32  # bits of a weight


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
