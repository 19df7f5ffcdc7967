"""P(state) of a class variable from numbers of documents, as the networks estimate it: one made-up case for each."""

from __future__ import annotations

import numpy as np

from unnaive.base.types import Floats

UNSEEN = 1e-300  # P of a state without documents: it is never the most probable one


def state_prior(totals: Floats) -> Floats:
    """(n + 1) / Σ (n + 1) over the states with documents (n_states,); others change nothing and are never chosen.

    >>> state_prior(np.array([3.0, 1.0, 0.0])).round(2)
    array([0.67, 0.33, 0.  ])
    """
    seen = totals > 0
    return np.asarray(np.where(seen, (totals + 1) / (totals.sum() + seen.sum()), UNSEEN))
