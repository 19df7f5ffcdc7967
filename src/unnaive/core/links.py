"""Links give a score its meaning: from the scores of a Linear to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.core.logs import log_softmax
from unnaive.errors import UnnaiveError
from unnaive.types import Floats


@dataclass(frozen=True)
class Link:
    """What a score says.

    `log_odds` maps scores to log-odds of each class, elementwise and increasing, so that ranking by score and by
    probability agree and nothing saturates; None when scores are not probabilistic. `exclusive` is true where
    scores are log joint probabilities of classes that exclude each other. `share` is for links whose even odds say
    little, because scores grow with the length of the document or have no such point: then of several labels those are
    accepted that reach this share of the document's best score.
    """

    name: str
    log_odds: Callable[[Floats], Floats] | None
    exclusive: bool = False
    share: float | None = None


def _noisy_or_log_odds(scores: Floats) -> Floats:
    """p = 1 − e^(−s), so p/(1−p) = e^s − 1; for large s the logarithm is s itself."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(scores > 30, scores, np.log(np.expm1(np.minimum(scores, 30))))


NEAR_BEST = 0.9  # the best F1, or near it, on the tags of the built-in tickets and on Reuters

LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("softmax", lambda scores: scores, exclusive=True),
        Link("log-odds", lambda scores: scores),
        Link("noisy-or", _noisy_or_log_odds, share=NEAR_BEST),
        Link("cosine", None, share=NEAR_BEST),
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
    """Which of several labels a document gets where no threshold was tuned (n_docs, n_classes).

    Classes that are more likely than not or, where scores have no odds, above 0; where the link has a `share`, those
    that come so close to the document's best score. A document that says nothing, with scores of 0, gets no label.

    >>> accepted("log-odds", np.array([[0.3, -2.0]])), accepted("noisy-or", np.array([[0.1, 0.02], [0.0, 0.0]]))
    (array([[ True, False]]), array([[ True, False],
           [False, False]]))
    """
    share, to_log_odds = LINKS[link].share, LINKS[link].log_odds
    if share is not None:
        return relative(scores) >= share
    if LINKS[link].exclusive:
        return probabilities(link, scores, exclusive=True) > 0.5
    return (scores if to_log_odds is None else to_log_odds(scores)) > 0


def relative(scores: Floats) -> Floats:
    """Each document's scores divided by their maximum; a document whose maximum is not positive is left as it is.

    Scores that are sums over tokens (noisy-or) grow with the length of the document; one threshold for all
    documents makes sense only after this.

    >>> relative(np.array([[1.0, 4.0], [-1.0, -2.0]]))
    array([[ 0.25,  1.  ],
           [-1.  , -2.  ]])
    """
    top = scores.max(axis=1, keepdims=True)
    return scores / np.where(top > 0, top, 1.0)


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
