"""P(state) of a class variable from document counts, as the networks estimate it: with one pseudo-count each."""

from __future__ import annotations

import numpy as np

from unnaive.base.elementary import log
from unnaive.base.types import Floats

NO_REST = 1e-300  # probability of "another class" if all documents have the class: its log-odds stay finite


def state_prior(totals: Floats, *, exclusive: bool = True) -> Floats:
    """(n + 1) / Σ (n + 1) over the states with documents (n_states,), and 0 for classes without documents.

    exclusive  whether the states are the classes; otherwise they are the rest and one class

    >>> state_prior(np.array([3.0, 1.0, 0.0])).round(2)
    array([0.67, 0.33, 0.  ])
    """
    seen = totals > 0
    prior: Floats = np.where(seen, (totals + 1) / (totals.sum() + seen.sum()), 0.0)
    if not exclusive and not seen[0]:
        prior[0] = NO_REST
    return prior


def log_state_prior(totals: Floats, *, exclusive: bool = True) -> Floats:
    """The logarithm of `state_prior`: a class without documents has −∞, so it is never predicted."""
    with np.errstate(divide="ignore"):
        return log(state_prior(totals, exclusive=exclusive))
