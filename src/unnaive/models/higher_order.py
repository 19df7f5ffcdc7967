"""Higher-order smoothing (HOS) and higher-order naive Bayes (HONB): probabilities from the paths that paths.py counts.

Poyraz, Kilimci and Ganiz (2012), "A Novel Semantic Smoothing Method Based on Higher Order Paths for Text
Classification"; HONB after Ganiz, George and Pottenger (2011). Both end in an ordinary Linear.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from unnaive.core.linear import Linear
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData, UnnaiveError, choose
from unnaive.models.paths import FirstPass, SecondPass, class_paths, class_paths_as_published, term_paths

Floats = NDArray[np.float64]
Sparse = Any  # scipy.sparse.csr_array, which ships no types

LEAST = 1e-12  # probabilities stay inside [LEAST, 1 − LEAST]: a first-order estimate alone has zeros
NORMALISERS = ("total", "class")
PATHS = ("exact", "paper")
EVENTS = ("bernoulli", "multinomial")
PATH_WEIGHTS = ("binary", "log", "tfidf")


def higher_order_smoothing(
    X: Sparse,
    Y: Sparse,
    *,
    beta: float = 0.5,
    paths: str = "exact",
    weights: str = "binary",
    normaliser: str = "total",
    events: str = "bernoulli",
    scheme: str = "multiclass",
) -> Linear:
    """Naive Bayes whose term probabilities also draw on terms that co-occur with those of the class.

    P(t|c) = (1 − β)·P_so(t|c) + β·P_fo(t|c)                                                        (eq. 11)
    P_fo   = F_tc / Σ_t F_tc                               first order: occurrence in documents of the class
    P_so   = (1 + φ_tc) / (2 + Σ φ)                        second order: paths from term to class     (eq. 10)

    β = 0 is second order alone, β = 1 first order alone. `normaliser="total"` sums φ over all terms and classes, as
    eq. 10 reads; "class" takes both parts as (1 + n_tc)/(2 + Σ_t n_tc). `paths="paper"` counts as the published
    Algorithm 1 does, doubles included. `weights` other than "binary" let paths carry log-tf or tf-idf products.
    With `events="multinomial"` both parts sum to one in each class and scoring uses term counts. With
    `scheme="one-vs-rest"` the complement's paths are those of all classes less the class's: φ is linear in Y.

    >>> X = csr_array([[1, 1, 0], [0, 1, 1]])
    >>> model = higher_order_smoothing(X, csr_array([[1, 0], [0, 1]]))
    >>> (model.weights()[:, 0] > np.log(1e-9)).all()     # term 0 has mass in class 1, where it never occurred
    np.True_
    """
    _check(beta, paths, weights, normaliser, events)
    Z = path_weighting(weights, X).apply(X)
    labels = csr_array(hstack([Y, np.ones((Y.shape[0], 1))])) if scheme == "one-vs-rest" else csr_array(Y)
    one = FirstPass.of(Z, labels)
    if paths == "paper":
        second = class_paths_as_published(Z, labels)
    else:
        second = class_paths(one, SecondPass.of(Z, labels, one.first))
    estimate = _multinomial_estimate if events == "multinomial" else _bernoulli_estimate
    if scheme == "multiclass":
        return _scorer(estimate(one.first, second, beta, normaliser), one.class_docs, events)
    return _one_vs_rest(one, second, events, lambda first, paths: estimate(first, paths, beta, normaliser))


def higher_order_naive_bayes(X: Sparse, Y: Sparse, *, scheme: str = "multiclass") -> Linear:
    """Bernoulli naive Bayes that counts paths within the documents of each class instead of documents.

    P(t|c) = (1 + φ(t, D_c)) / (2 + φ(D_c)),  priors from documents       (eq. 8, Ganiz et al. 2011)

    φ(t, D_c) are the second-order paths among the class's documents that contain t, φ(D_c) all of them.

    >>> X = csr_array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> model = higher_order_naive_bayes(X, csr_array([[1, 0], [1, 0], [0, 1]]))
    >>> np.exp(model.weights()).round(2)   # odds of P = 2/3 where one path passes all terms; of 1/2 without paths
    array([[2., 2., 2.],
           [1., 1., 1.]])
    """
    if scheme != "multiclass":
        raise UnnaiveError(
            "higher-order naive Bayes is for exclusive classes, and these documents have other than one label each; "
            "use higher-order smoothing for multi-label data"
        )
    B = Weighting("binary").apply(X)
    members = csr_array(Y).T.tocsr()
    probability = np.empty((Y.shape[1], X.shape[1]))
    for c in range(Y.shape[1]):
        rows = members.indices[members.indptr[c] : members.indptr[c + 1]]
        containing, total = term_paths(B[rows])
        probability[c] = (1 + containing) / (2 + total)
    return _scorer(probability.T, np.asarray(Y.sum(axis=0), np.float64), "bernoulli")


def path_weighting(name: str, X: Sparse) -> Weighting:
    """How a cell n of X enters a path: "binary" presence, "log" 1 + log n, "tfidf" (1 + log n)·log(1 + n_docs/df)."""
    choose(list(PATH_WEIGHTS), name, "weight of paths")
    if name != "tfidf":
        return Weighting(name)
    df = np.bincount(csr_array(X).indices, minlength=X.shape[1])
    return Weighting("log", idf=np.log1p(X.shape[0] / np.maximum(df, 1)))


def _check(beta: float, paths: str, weights: str, normaliser: str, events: str) -> None:
    if not 0 <= beta <= 1:
        raise BadData(f"beta is {beta}, but it is the share of first-order paths; give a number from 0 to 1")
    choose(list(PATHS), paths, "way to count paths")
    choose(list(PATH_WEIGHTS), weights, "weight of paths")
    choose(list(NORMALISERS), normaliser, "normaliser")
    choose(list(EVENTS), events, "event model")


def _bernoulli_estimate(first: Floats, second: Floats, beta: float, normaliser: str) -> Floats:
    """P(t|c) by eq. 10 and 11 (n_terms, n_classes)."""
    if normaliser == "class":
        return (1 - beta) * _plus_one(second, second.sum(axis=0)) + beta * _plus_one(first, first.sum(axis=0))
    return (1 - beta) * _plus_one(second, second.sum()) + beta * _shares(first)


def _multinomial_estimate(first: Floats, second: Floats, beta: float, normaliser: str) -> Floats:
    """P(t|c) with both orders as distributions over terms; `normaliser` has no say (n_terms, n_classes)."""
    return (1 - beta) * _shares(second + 1) + beta * _shares(first)


def _plus_one(table: Floats, total: Any) -> Floats:
    ratio: Floats = (1 + table) / (2 + total)
    return ratio


def _shares(table: Floats) -> Floats:
    """Each column divided by its sum; a class without documents spreads evenly."""
    totals = table.sum(axis=0)
    return np.where(totals > 0, table / np.where(totals > 0, totals, 1.0), 1.0 / max(1, len(table)))


def _scorer(probability: Floats, class_docs: Floats, events: str) -> Linear:
    with np.errstate(divide="ignore"):
        prior = np.log(class_docs) - np.log(class_docs.sum())
    weights, constant = _event_weights(probability, events)
    return Linear(weights, prior + constant, weighting=_event_weighting(events), link="softmax")


def _one_vs_rest(one: FirstPass, second: Floats, events: str, estimate: Any) -> Linear:
    """Log-odds of each class against its complement; the last column of every table is all documents."""
    positive = _event_weights(estimate(one.first[:, :-1], second[:, :-1]), events)
    rest = one.first[:, -1:] - one.first[:, :-1], np.maximum(second[:, -1:] - second[:, :-1], 0.0)
    negative = _event_weights(estimate(*rest), events)
    members, everyone = one.class_docs[:-1], one.class_docs[-1]
    with np.errstate(divide="ignore"):
        prior = np.log(members) - np.log(everyone - members)
    prior = np.clip(prior, -1e6, 1e6)  # a class of all documents, or of none
    bias = prior + positive[1] - negative[1]
    return Linear(positive[0] - negative[0], bias, weighting=_event_weighting(events), link="log-odds")


def _event_weights(probability: Floats, events: str) -> tuple[Floats, Floats]:
    """Weights (n_classes, n_terms) and the constant that absent terms add (n_classes,)."""
    p = np.clip(probability.T, LEAST, 1 - LEAST)
    if events == "multinomial":
        return np.log(p), np.zeros(len(p))
    absent = np.log1p(-p)
    return np.log(p) - absent, absent.sum(axis=1)


def _event_weighting(events: str) -> Weighting:
    return Weighting("raw" if events == "multinomial" else "binary")
