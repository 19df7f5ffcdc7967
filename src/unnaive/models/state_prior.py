"""P(state) of a class variable from document counts, as the networks estimate it: with one pseudo-count each."""

from __future__ import annotations

import numpy as np

from unnaive.base.types import Floats

UNSEEN = 1e-300  # probability of a state without documents, so that it is never predicted


def state_prior(totals: Floats) -> Floats:
    """(n + 1) / Σ (n + 1) over the states with documents (n_states,); the others are never predicted.

    >>> state_prior(np.array([3.0, 1.0, 0.0])).round(2)
    array([0.67, 0.33, 0.  ])
    """
    seen = totals > 0
    return np.asarray(np.where(seen, (totals + 1) / (totals.sum() + seen.sum()), UNSEEN))
