"""Methods that the higher-order paper names beside its own and did not measure, by the formulas of their authors.

- Witten–Bell and Good–Turing smoothing of P(t|c) in multinomial naive Bayes (Chen and Goodman 1998; Peng et al. 2004)
- naive Bayes of independent Poisson frequencies (Kim et al. 2006)
- latent semantic indexing (Deerwester et al. 1990) before a support vector machine

Each takes training documents X (n_docs, n_terms) with labels Y (n_docs, n_classes) and test documents, and returns the
class of each test document.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.weighting import Weighting
from unnaive.papers.hinge import predict_by_pairs

KATZ = 5  # counts above are not discounted
DIMENSIONS = 100


def witten_bell(counts: Floats) -> Floats:
    """P(t|c) = n / (N + T) if n > 0, else T / (Z (N + T)); T terms are seen in the class and Z are not.

    >>> witten_bell(np.array([[3.0, 1.0, 0.0]])).round(3)
    array([[0.5  , 0.167, 0.333]])
    """
    total = counts.sum(axis=1, keepdims=True)
    seen = (counts > 0).sum(axis=1, keepdims=True)
    unseen = np.maximum(counts.shape[1] - seen, 1)
    return _normalised(np.where(counts > 0, counts, seen / unseen) / (total + seen))


def good_turing(counts: Floats) -> Floats:
    """P(t|c) = d_n · n / N for n up to 5, n / N above; what is left is spread evenly over unseen terms.

    d_r = (r*/r − a) / (1 − a), r* = (r + 1) n_{r+1} / n_r, a = 6 n_6 / n_1, n_r the terms of the class that occur r
    times (Katz 1987); 1 where these are too few for a value in (0, 1].

    >>> good_turing(np.array([[9.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0]])).round(3)   # 1* = 2/3
    array([[0.643, 0.143, 0.048, 0.048, 0.048, 0.036, 0.036]])
    """
    smoothed: Floats = np.stack([_good_turing_of_class(row) for row in counts])
    return smoothed


def _good_turing_of_class(counts: Floats) -> Floats:
    times = np.bincount(counts.astype(np.int64), minlength=KATZ + 2)
    common = (KATZ + 1) * times[KATZ + 1] / max(times[1], 1)
    discounted = counts.copy()
    for r in range(1, KATZ + 1):
        if times[r] and common < 1:
            share = ((r + 1) * times[r + 1] / times[r] / r - common) / (1 - common)
            discounted[counts == r] *= share if 0 < share <= 1 else 1.0
    left = max(counts.sum() - discounted.sum(), 1.0)
    unseen = counts == 0
    discounted[unseen] = left / max(unseen.sum(), 1)
    return np.asarray(_normalised(discounted[None])[0])


def _normalised(values: Floats) -> Floats:
    shares: Floats = values / values.sum(axis=1, keepdims=True)
    return shares


def predict_multinomial(smooth: Callable[[Floats], Floats], X: Sparse, Y: Sparse, documents: Sparse) -> Ids:
    """argmax of log P(c) + Σ_t n_t log P(t|c)."""
    logs = np.log(smooth((Y.T @ X).toarray().astype(np.float64)))
    return _best(documents @ logs.T + _log_prior(Y))


def predict_poisson(X: Sparse, Y: Sparse, documents: Sparse) -> Ids:
    """argmax of log P(c) + Σ_t (n_t log λ_ct − λ_ct), λ_ct = (N_ct + 1) / (D_c + 1) the mean frequency in the class."""
    means = ((Y.T @ X).toarray() + 1.0) / (np.asarray(Y.sum(axis=0))[:, None] + 1.0)
    return _best(documents @ np.log(means).T - means.sum(axis=1) + _log_prior(Y))


def predict_by_latent_semantics(X: Sparse, Y: Sparse, documents: Sparse) -> Ids:
    """A linear support vector machine (C = 1) on the 100 largest dimensions of tf·idf documents of unit length."""
    frequent = np.maximum(np.asarray((X > 0).sum(axis=0)).ravel(), 1)
    weighting = Weighting("raw", np.log(X.shape[0] / frequent), "l2")
    train, test = csr_array(weighting.apply(X)), csr_array(weighting.apply(documents))
    dimensions = min(DIMENSIONS, min(train.shape) - 1)
    _, _, axes = svds(train, k=dimensions, v0=np.ones(min(train.shape)))
    return predict_by_pairs(csr_array(train @ axes.T), csr_array(Y).indices, csr_array(test @ axes.T), 1.0)


def _log_prior(Y: Sparse) -> Floats:
    prior: Floats = np.log(np.asarray(Y.sum(axis=0)) / Y.shape[0])
    return prior


def _best(scores: Floats) -> Ids:
    winners: Ids = scores.argmax(axis=1)
    return winners


RELATED: dict[str, Callable[[Sparse, Sparse, Sparse], Ids]] = {
    "Witten–Bell": lambda X, Y, documents: predict_multinomial(witten_bell, X, Y, documents),
    "Good–Turing": lambda X, Y, documents: predict_multinomial(good_turing, X, Y, documents),
    "Poisson": predict_poisson,
    "LSI + SVM": predict_by_latent_semantics,
}
