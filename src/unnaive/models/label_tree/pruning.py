"""A tree of labels made smaller: the weights nearest to 0 are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from unnaive.models.label_tree.scorer import LabelTreeScorer

BITS = 32  # of a weight


def keep_largest(scorer: LabelTreeScorer, n: int) -> LabelTreeScorer:
    """The tree with the `n` weights of largest magnitude, in 32 bits; of equal ones those of the first nodes."""
    weights = scorer.weights
    kept = np.zeros(weights.nnz, np.bool_)
    kept[np.argsort(-np.abs(weights.data), kind="stable")[:n]] = True
    ends = np.concatenate([[0], np.cumsum(kept)])[weights.indptr].astype(np.int32)
    parts = weights.data[kept].astype(np.float32), weights.indices[kept].astype(np.int32), ends
    return replace(scorer, weights=csr_array(parts, shape=weights.shape))
