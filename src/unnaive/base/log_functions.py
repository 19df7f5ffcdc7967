"""Functions of logarithms in numpy: every run needs them, and importing SciPy takes longer than predicting."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.base.elementary import exp, log
from unnaive.base.types import Floats

FEW = 16  # columns


def log_softmax(scores: Floats) -> Floats:
    """log of e^s / Σ e^s along the last axis; −∞ stays −∞ if any score of its row is finite.

    >>> np.exp(log_softmax(np.array([[1000.0, 1000.0, -np.inf]])))
    array([[0.5, 0.5, 0. ]])
    """
    shifted = scores - scores.max(axis=-1, keepdims=True)
    shares: Floats = shifted - log(exp(shifted).sum(axis=-1, keepdims=True))
    return shares


def xlogy(x: Any, y: Any) -> Floats:
    """x · log y, defined as 0 where x is 0.

    >>> xlogy(np.array([0.0, 2.0]), np.array([0.0, np.e]))
    array([0., 2.])
    """
    with np.errstate(divide="ignore"):  # log 0 is −∞, also inside the product
        product: Floats = x * log(np.where(np.equal(x, 0), 1.0, y))
    return product


def softmax_rows(scores: Floats) -> Floats:
    """Probabilities (n_docs, n_classes) of scores, which are overwritten; a score of −∞ has probability 0.

    >>> softmax_rows(np.array([[1000.0, 1000.0, -np.inf]]))
    array([[0.5, 0.5, 0. ]])
    """
    scores -= row_max(scores)
    exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def row_max(scores: Floats) -> Floats:
    """The maximum of each row (n_rows, 1); with few columns, eight times as fast as numpy.

    >>> row_max(np.array([[1.0, 3.0], [2.0, -np.inf]])).tolist()
    [[3.0], [2.0]]
    """
    largest: Floats = scores.max(axis=1) if scores.shape[1] > FEW else np.ascontiguousarray(scores.T).max(axis=0)
    return largest[:, None]
