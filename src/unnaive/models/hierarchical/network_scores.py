"""How well a network fits: log-likelihood, conditional log-likelihood, and both with the price of parameters.

Functions of a fitted network (hidden_tree.py, hidden_naive_bayes.py) and cases, of its first member. Friedman, Geiger
and Goldszmidt (1997), in Karčiauskas (2002), section 1.1.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.types import Floats

AnyNetwork = HiddenTree | HiddenNaiveBayes


def log_likelihood(network: AnyNetwork, cases: Cases) -> float:
    """LL = Σ_i log P(f_i, c_i)."""
    log_features = network.log_features(cases.rows)
    return conditional_log_likelihood(network, cases) + float((cases.positive + cases.negative) @ log_features)


def conditional_log_likelihood(network: AnyNetwork, cases: Cases) -> float:
    """CLL = Σ_i log P(c_i | f_i)."""
    inside: Floats = network.member_posteriors(cases.rows)[0]
    return float(cases.positive @ np.log(inside) + cases.negative @ np.log1p(-inside))


def description_length(network: AnyNetwork, cases: Cases) -> float:
    """MDL = log N / 2 · parameters − LL; the smaller, the better."""
    return _price(network, cases) - log_likelihood(network, cases)


def conditional_description_length(network: AnyNetwork, cases: Cases) -> float:
    """CMDL = log N / 2 · parameters − CLL, CLL being a sum over cases.

    The thesis prints N · CLL; with CLL as it defines it, a sum, that would weigh every case N times.
    """
    return _price(network, cases) - conditional_log_likelihood(network, cases)


def _price(network: AnyNetwork, cases: Cases) -> float:
    return float(np.log(max(cases.total, 1)) / 2 * network.n_parameters)


NETWORK_SCORES: dict[str, Callable[[AnyNetwork, Cases], float]] = {
    "LL": log_likelihood,
    "CLL": conditional_log_likelihood,
    "MDL": description_length,
    "CMDL": conditional_description_length,
}
