"""Measures for thousands of labels: precision of the best k, also weighted for rare labels.

The labels of a document are incomplete, and rare labels are missing most often. Propensity-scored measures
weight a hit by the inverse probability that its label was assigned (Jain, Prabhu and Varma, 2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.elementary import log
from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Sparse

LabelRanking = NDArray[Any]  # (n_docs, at least k) label indices, best first


def precision_at(best: LabelRanking, Y: Sparse, k: int) -> float:
    """The mean share of the best k labels that are right: P@k = mean_d 1/k Σ_{i ≤ k} Y[d, best_i].

    If there are fewer labels than k, the remaining positions are misses.

    >>> precision_at(np.array([[0, 1], [2, 0]]), csr_array([[1, 0, 0], [1, 0, 1]]), 2)
    0.75
    """
    return float(_hits(best, Y, k).sum() / (k * len(best))) if len(best) else 0.0


def propensities(sizes: NDArray[Any], n_docs: int, a: float = 0.55, b: float = 1.5) -> Floats:
    """The probability that each right label is assigned: p_l = 1/(1 + c·(n_l + b)^−a), c = (log n − 1)·(b + 1)^a.

    sizes (n_labels,): n_l of the n = n_docs training documents have label l. a and b are the defaults of Jain et al.
    for collections without their own.

    >>> propensities(np.array([4, 1]), 4).round(3)
    array([0.8  , 0.721])
    """
    c = (log(max(float(n_docs), 3.0)) - 1) * (b + 1) ** a
    return np.asarray(1 / (1 + c * (sizes + b) ** -a))


def propensity_scored_precision_at(best: LabelRanking, Y: Sparse, propensity: Floats, k: int) -> float:
    """PSP@k: Σ_d Σ_{i ≤ k} Y[d, best_i]/p(best_i), relative to the best possible ranking.

    >>> Y = csr_array([[1, 0, 0], [0, 0, 1]])
    >>> propensity_scored_precision_at(np.array([[0], [1]]), Y, np.array([0.5, 0.5, 0.25]), 1)   # 2 of 2 + 4
    0.3333333333333333
    """
    gains = _hits(best, Y, k) / propensity[best[:, :k]]
    labels = csr_array(Y)
    reachable = 0.0
    for row in range(labels.shape[0]):
        worth = 1 / propensity[labels.indices[labels.indptr[row] : labels.indptr[row + 1]]]
        reachable += float(np.sort(worth)[::-1][:k].sum())
    return float(gains.sum() / reachable) if reachable else 0.0


def _hits(best: LabelRanking, Y: Sparse, k: int) -> Floats:
    """1 if document d has the label ranked i-th (n_docs, k), or (n_docs, n_labels) if there are fewer."""
    if best.shape[0] != Y.shape[0] or best.shape[1] < min(k, Y.shape[1]):
        raise BadData(
            f"rankings of shape {best.shape} came for {Y.shape[0]} documents; give {k} labels or more for each"
        )
    truth = csr_array(Y)
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    have = rows.astype(np.int64) * truth.shape[1] + truth.indices
    wanted = np.arange(len(best))[:, None] * truth.shape[1] + best[:, :k]
    return np.isin(wanted, have).astype(np.float64)
