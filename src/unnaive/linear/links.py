"""Links give a score its meaning: from scores to probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unnaive.base.elementary import exp, expm1, log, log1p, logaddexp
from unnaive.base.errors import UnnaiveError
from unnaive.base.log_functions import log_softmax
from unnaive.base.settings import EXPORTS
from unnaive.base.types import Floats


@dataclass(frozen=True)
class Link:
    """The meaning of a score.

    `log_odds` maps scores to log-odds of each class, elementwise and increasing, so that ranking by score and by
    probability agree and nothing saturates; None if scores are not probabilistic. `exclusive` is true if classes
    exclude each other: scores are log joint probabilities ("softmax"), or log-odds of each class whose p are divided by
    their sum ("one-of-all": p_c ∝ σ(s_c), which saturates, unlike a softmax). `share` is for links without a useful
    threshold at even odds, because scores grow with the length of the document or are not odds: a multilabel decision
    then accepts the classes that reach this share of the document's best score. `exports` are the exports that compute
    it; the others refuse it.
    """

    name: str
    log_odds: Callable[[Floats], Floats] | None
    exclusive: bool = False
    share: float | None = None
    exports: tuple[str, ...] = ()


def _noisy_or_log_odds(scores: Floats) -> Floats:
    """p = 1 − e^(−s), so p/(1−p) = e^s − 1; for large s the logarithm is s itself."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(scores > 30, scores, log(expm1(np.minimum(scores, 30))))


def _as_they_are(scores: Floats) -> Floats:
    return scores


NEAR_BEST = 0.9  # near the best F1 on the tags of the built-in tickets and on Reuters

LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("softmax", _as_they_are, exclusive=True, exports=EXPORTS),
        Link("log-odds", _as_they_are, exports=EXPORTS),
        Link("one-of-all", lambda scores: -logaddexp(0.0, -scores), exclusive=True, exports=EXPORTS),
        Link("noisy-or", _noisy_or_log_odds, share=NEAR_BEST, exports=EXPORTS),
        Link("cosine", None, share=NEAR_BEST, exports=EXPORTS),
        Link("margin", None, exports=EXPORTS),
    )
}


def joint_log_probabilities(link: str, scores: Floats) -> Floats:
    """log p of each class and the document, up to a constant of the document (n_docs, n_classes).

    The joint log-likelihood of naive Bayes; for classes scored one by one, their log-odds: given that exactly one class
    is right, p_i ∝ odds_i.
    """
    log_odds = LINKS[link].log_odds
    if log_odds is None:
        raise UnnaiveError(f"{link} scores are not probabilities; use decision_function, or calibrate the model first")
    return log_odds(scores)


def log_probabilities(link: str, scores: Floats, *, exclusive: bool) -> Floats:
    """log p of each class for each document (n_docs, n_classes).

    `exclusive`: exactly one class is right; then p is a softmax of the log-odds. Otherwise each class is
    independent of the others: p = odds / (1 + odds).

    >>> np.exp(log_probabilities("log-odds", np.array([[0.0, 0.0]]), exclusive=False))
    array([[0.5, 0.5]])
    """
    odds = joint_log_probabilities(link, scores)
    if exclusive or LINKS[link].exclusive:
        nothing = ~np.isfinite(odds.max(axis=1))
        odds = np.where(nothing[:, None], 0.0, odds)  # no class has any evidence: all are equal
        shares: Floats = log_softmax(odds)
        return shares
    with np.errstate(over="ignore"):
        alone: Floats = -logaddexp(0.0, -odds)
    return alone


def probabilities(link: str, scores: Floats, *, exclusive: bool) -> Floats:
    """p of each class for each document; see `log_probabilities`."""
    if link == "noisy-or" and not exclusive:
        return -expm1(-scores)  # exact even if p is tiny
    return exp(log_probabilities(link, scores, exclusive=exclusive))


def clear_lead(link: str, n_classes: int, p: float) -> float:
    """The lead of the best score over every other that guarantees a probability of at least p, for exclusive classes.

    1 − p = Σ_other e^−lead / (1 + Σ_other e^−lead) < (n_classes − 1) e^−lead; ∞ if a lead guarantees nothing.

    >>> round(clear_lead("softmax", 2, 1 - np.exp(-10)), 9), clear_lead("one-of-all", 2, 0.9)
    (10.0, inf)
    """
    if LINKS[link].log_odds is not _as_they_are:
        return np.inf
    return float(log(max(1, n_classes - 1)) - log1p(-p))


def relative(scores: Floats) -> Floats:
    """Each document's scores divided by their maximum; unchanged if the maximum is not positive.

    Scores that are sums over tokens (noisy-or) grow with the length of the document; a common threshold makes sense
    only after this.

    >>> relative(np.array([[1.0, 4.0], [-1.0, -2.0]]))
    array([[ 0.25,  1.  ],
           [-1.  , -2.  ]])
    """
    top = scores.max(axis=1, keepdims=True)
    return scores / np.where(top > 0, top, 1.0)


def comparable_scores(link: str, scores: Floats) -> Floats:
    """Scores that can be ranked across documents as well as across classes (n_docs, n_classes).

    Log joint probabilities grow with the length of the document, so within a class they rank documents by length.
    Posterior log-odds log p(c|d)/p(c̄|d) = s_c − log Σ_{other} e^s do not, and they do not saturate as probabilities
    do. Scores of other links are comparable already.

    >>> comparable_scores("softmax", np.log([[0.2, 0.2], [0.001, 0.003]])).round(2)
    array([[ 0. ,  0. ],
           [-1.1,  1.1]])
    """
    if not LINKS[link].exclusive or scores.shape[1] < 2:
        return scores
    scores = joint_log_probabilities(link, scores)
    log_p = log_softmax(scores)
    with np.errstate(divide="ignore"):
        log_rest = log1p(-exp(log_p))
    best = scores.argmax(axis=1)[:, None]  # 1 − p would cancel for these: sum the other classes instead
    others = log_p.copy()
    np.put_along_axis(others, best, -np.inf, axis=1)
    np.put_along_axis(log_rest, best, _log_sum(others), axis=1)
    odds: Floats = log_p - log_rest
    return odds


def _log_sum(logs: Floats) -> Floats:
    """log Σ e^x of each row (n, 1); −∞ if all are −∞."""
    largest = logs.max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        total: Floats = shift + log(exp(logs - shift).sum(axis=1, keepdims=True))
    return total
