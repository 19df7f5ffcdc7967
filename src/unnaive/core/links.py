"""Links give a score its meaning: from the scores of a Linear to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.core.logs import log_softmax
from unnaive.errors import UnnaiveError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """What a score says.

    `log_odds` maps scores to log-odds of each class, elementwise and increasing, so that ranking by score and by
    probability agree and nothing saturates; None when scores are not probabilistic. `exclusive` is true where
    scores are log joint probabilities of classes that exclude each other.
    """

    name: str
    log_odds: Callable[[Floats], Floats] | None
    exclusive: bool = False


def _noisy_or_log_odds(scores: Floats) -> Floats:
    """p = 1 − e^(−s), so p/(1−p) = e^s − 1; for large s the logarithm is s itself."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(scores > 30, scores, np.log(np.expm1(np.minimum(scores, 30))))


LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("softmax", lambda scores: scores, exclusive=True),
        Link("log-odds", lambda scores: scores),
        Link("noisy-or", _noisy_or_log_odds),
        Link("cosine", None),
        Link("margin", None),
    )
}


def log_probabilities(link: str, scores: Floats, *, exclusive: bool) -> Floats:
    """log p of each class for each document (n_docs, n_classes).

    `exclusive`: exactly one class is right. Then independent per-class posteriors, given that exactly one is true, are
    p_i ∝ odds_i: a softmax of the log-odds. Otherwise each class stands alone: p = odds / (1 + odds).

    >>> np.exp(log_probabilities("log-odds", np.array([[0.0, 0.0]]), exclusive=False))
    array([[0.5, 0.5]])
    """
    log_odds = LINKS[link].log_odds
    if log_odds is None:
        raise UnnaiveError(f"{link} scores are not probabilities; use decision_function, or calibrate the model first")
    odds = log_odds(scores)
    if exclusive or LINKS[link].exclusive:
        nothing = ~np.isfinite(odds.max(axis=1))
        odds = np.where(nothing[:, None], 0.0, odds)  # no class has any evidence: all alike
        shares: Floats = log_softmax(odds)
        return shares
    with np.errstate(over="ignore"):
        alone: Floats = -np.logaddexp(0.0, -odds)
    return alone


def probabilities(link: str, scores: Floats, *, exclusive: bool) -> Floats:
    """p of each class for each document; see `log_probabilities`."""
    if link == "noisy-or" and not exclusive:
        return -np.expm1(-scores)  # exact also where p is tiny
    return np.exp(log_probabilities(link, scores, exclusive=exclusive))


def accepted(link: str, scores: Floats) -> NDArray[np.bool_]:
    """Which classes are more likely than not (n_docs, n_classes); where a score is no probability, those above 0.

    >>> accepted("log-odds", np.array([[0.3, -2.0]]))
    array([[ True, False]])
    """
    to_log_odds = LINKS[link].log_odds
    if LINKS[link].exclusive:
        return probabilities(link, scores, exclusive=True) > 0.5
    return (scores if to_log_odds is None else to_log_odds(scores)) > 0


def lead(link: str, scores: Floats) -> Floats:
    """By how much the second of two exclusive classes leads (n_docs,): log p₂/p₁, or the difference of the scores.

    Infinite leads, over a class that cannot be, are bounded: measures take finite numbers only.

    >>> lead("log-odds", np.array([[0.5, 2.0], [0.0, -np.inf]]))
    array([ 1.5e+000, -1.0e+100])
    """
    to_log_odds = LINKS[link].log_odds
    odds = scores if to_log_odds is None else to_log_odds(scores)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(odds[:, 1] - odds[:, 0], nan=0.0, posinf=1e100, neginf=-1e100)
