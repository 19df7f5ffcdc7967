"""The bridge between maximum entropy and naive Bayes: one model with two parametrisations, converted in log space.

Juan, Vilar and Ney (2007), "Bridging the Gap between Naive Bayes and Maximum Entropy Text Classification", eq. 17–21.
Documents have unit length (Σ_t x_t = 1), so a bias and a constant added to all weights of a class are the same thing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from unnaive.base.elementary import exp, log, logsumexp
from unnaive.base.errors import UnnaiveError
from unnaive.base.types import Floats
from unnaive.linear.linear import Linear


def to_naive_bayes(maxent: Linear) -> Linear:
    """The naive Bayes model with the same posteriors as a maximum-entropy model with weights λ.

    ϑ(c, t) = exp λ_ct / Σ_c′t′ exp λ_c′t′,   ϑ(c) = Σ_t ϑ(c, t),   ϑ(t|c) = ϑ(c, t) / ϑ(c)       (eq. 19–21)

    bias = log ϑ(c) (n_classes,), weights = log ϑ(t|c) (n_classes, n_terms). A document without known terms gets the
    priors ϑ(c); every other document gets the posteriors of λ. All computations are in logs, since λ reaches tens of
    thousands.

    >>> from scipy.sparse import csr_array
    >>> from unnaive.data.weighting import Weighting
    >>> maxent = Linear(np.log([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2), weighting=Weighting(norm="l1"))
    >>> bayes = to_naive_bayes(maxent)
    >>> np.exp(bayes.bias), np.exp(bayes.weights())
    (array([0.5, 0.5]), array([[0.25, 0.75],
           [0.5 , 0.5 ]]))
    """
    _check_unit_length(maxent)
    offset = maxent.bias + _or_zeros(maxent.class_offset, maxent.n_classes)
    class_mass = _class_log_sums(maxent)
    joint = class_mass + offset
    return replace(maxent, bias=joint - logsumexp(joint), class_offset=-class_mass)


def to_maxent(naive_bayes: Linear) -> Linear:
    """The maximum-entropy model with the same posteriors as naive Bayes: λ_ct = log ϑ(c) + log ϑ(t|c), no bias.

    λ is determined up to a constant added to all of it, which does not affect posteriors: `to_naive_bayes` inverts this
    map exactly, and this map inverts `to_naive_bayes` up to that constant. λ does not define the posterior of a
    document without known terms; it is defined as the prior, which the naive Bayes form gives: use that for scoring.

    >>> from unnaive.data.weighting import Weighting
    >>> prior, given = np.log([0.5, 0.5]), np.log([[0.25, 0.75], [0.5, 0.5]])
    >>> maxent = to_maxent(Linear(given, prior, weighting=Weighting(norm="l1")))
    >>> np.exp(maxent.weights())
    array([[0.125, 0.375],
           [0.25 , 0.25 ]])
    """
    _check_unit_length(naive_bayes)
    possible = np.isfinite(naive_bayes.bias)
    offset = np.where(possible, naive_bayes.bias, 0.0) + _or_zeros(naive_bayes.class_offset, naive_bayes.n_classes)
    # an impossible class stays impossible
    return replace(naive_bayes, bias=np.where(possible, 0.0, -np.inf), class_offset=offset)


def _check_unit_length(model: Linear) -> None:
    if model.weighting.norm != "l1" or model.link != "softmax":
        raise UnnaiveError(
            "the bridge between naive Bayes and maximum entropy needs documents of unit length and exclusive "
            "classes, which this model does not have; train it with features='normalised' on single-label data"
        )


def _or_zeros(background: Floats | None, size: int) -> Floats:
    return np.zeros(size) if background is None else background


def _class_log_sums(model: Linear) -> Floats:
    """log Σ_t exp(arcs[c, t] + term_offset[t]) (n_classes,), one class at a time, since arcs may be sparse."""
    return np.array([_row_log_sum(model, c) for c in range(model.n_classes)])


def _row_log_sum(model: Linear, c: int) -> float:
    if not issparse(model.sparse_weights) or model.term_offset is not None:
        row = model.sparse_weights[[c]].toarray()[0] if issparse(model.sparse_weights) else model.sparse_weights[c]
        return float(logsumexp(row + _or_zeros(model.term_offset, model.n_terms)))
    seen = model.sparse_weights.data[model.sparse_weights.indptr[c] : model.sparse_weights.indptr[c + 1]]
    if len(seen) == model.n_terms:
        return float(logsumexp(seen))
    # cells without an arc contribute exp(0) each
    top = max(float(seen.max(initial=0.0)), 0.0)
    return float(log(exp(seen - top).sum() + (model.n_terms - len(seen)) * exp(-top)) + top)
