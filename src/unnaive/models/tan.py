"""Tree-augmented naive Bayes (TAN): every feature may lean on one other besides the class, by a Chow–Liu tree.

Friedman, Geiger and Goldszmidt (1997), "Bayesian network classifiers", section 4. A neighbour of the hierarchical
networks, with no hidden variable: everything is counted, nothing iterated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.core.counts import Counts
from unnaive.core.logs import xlogy
from unnaive.core.selection import class_gain, information_gain, top_terms
from unnaive.errors import UnnaiveError, choose
from unnaive.models.feature_trees import FeatureTrees
from unnaive.models.paths import presence
from unnaive.types import Floats, Ids, Sparse


def tan(
    X: Sparse,
    Y: Sparse,
    *,
    features: int = 200,
    prior_cases: float = 5.0,
    scheme: str = "multiclass",
    sample_weight: NDArray[Any] | None = None,
) -> FeatureTrees:
    """Naive Bayes over presence, with a tree of dependences between the best terms.

    features     terms used, by information gain: over all classes ("multiclass") or for each class ("one-vs-rest")
    prior_cases  N⁰, how many made-up cases pull P(feature | parent, class) towards P(feature); 5 in the paper

    score = log P(c) + Σ_i log P(x_i | x_parent(i), c); with "one-vs-rest" its log-odds, a tree for each class.

    >>> X = csr_array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> tan(X, csr_array([[1, 0], [1, 0], [0, 1], [0, 1]])).scores(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    if features < 1 or prior_cases <= 0:
        raise UnnaiveError(f"features={features} and prior_cases={prior_cases} must both be above 0")
    present = presence(X)
    counts = Counts.of(present, csr_array(Y), sample_weight)
    weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
    by_term = csc_array(present)
    grown = [
        (best, *grown_tree(csr_array(by_term[:, best]), members, weight, prior_cases))
        for members, best in _problems(csc_array(Y), counts, features, scheme)
    ]
    terms, parents, logs, prior = (np.stack(part) for part in zip(*grown, strict=True))
    link = "log-odds" if scheme == "one-vs-rest" else "softmax"
    return FeatureTrees(terms, parents, logs, prior, int(present.shape[1]), link)


Members = list[NDArray[np.bool_]]


def _problems(labels: Sparse, counts: Counts, k: int, scheme: str) -> Iterator[tuple[Members, Ids]]:
    """For each tree the documents of each state of its class, and the terms it is over."""
    inside = (labels[:, [c]].toarray()[:, 0] > 0 for c in range(counts.n_classes))
    if scheme == "multiclass":
        yield list(inside), top_terms(information_gain(counts), k)
        return
    for c, members in enumerate(inside):
        yield [~members, members], top_terms(class_gain(counts, c), k)


def grown_tree(own: Sparse, members: Members, weight: Floats, prior_cases: float) -> tuple[Ids, Floats, Floats]:
    """The tree over the presence of features `own` (n_docs, k), given the documents of each state of the class.

    Returns parents (k,), log P(own | parent, state) (states, k, 2, 2) and log P(state) (states,).
    """
    both = np.stack([_together(own[inside], weight[inside]) for inside in members])  # (states, k, k)
    totals = np.array([weight[inside].sum() for inside in members])
    parents = spanning_tree(conditional_information(both, totals))
    logs = np.log(_conditionals(both, totals, parents, prior_cases))
    return parents, logs, np.log((totals + 1) / (totals.sum() + len(totals)))


def _together(own: Sparse, weight: Floats) -> Floats:
    """Weight of documents that have both of two features, for all pairs (k, k)."""
    weighted = csr_array((own.data * np.repeat(weight, np.diff(own.indptr)), own.indices, own.indptr), own.shape)
    together: Floats = (own.T @ weighted).toarray()
    return together


def conditional_information(both: Floats, totals: Floats) -> Floats:
    """I(F_i; F_j | C) = Σ_abc P(a, b, c) log P(a, b | c) / (P(a|c) P(b|c)), in nats (k, k).

    `both` (states, k, k): weight of documents with both features in each state, on the diagonal with the one; `totals`
    (states,): of all documents.
    """
    information = np.zeros(both.shape[1:])
    for with_both, total in zip(both, totals, strict=True):
        if total > 0:
            alone = np.diagonal(with_both)
            for own, one in ((True, alone), (False, total - alone)):
                for other, two in ((True, alone), (False, total - alone)):
                    cell = _cell(with_both, alone, total, own, other)
                    expected = np.outer(one, two) / total
                    information += xlogy(cell, np.divide(cell, expected, out=np.ones_like(cell), where=expected > 0))
    return information / max(float(totals.sum()), 1e-300)


def _cell(both: Floats, alone: Floats, total: float, own: bool, other: bool) -> Floats:
    """Weight of documents where feature i is present or not and feature j is or not (k, k)."""
    if own:
        cell = both if other else alone[:, None] - both
    else:
        cell = alone[None, :] - both if other else total - alone[:, None] - alone[None, :] + both
    return np.maximum(cell, 0)  # fractional weights may leave a trace below zero


def spanning_tree(strength: Floats) -> Ids:
    """The tree of largest total strength, as the parent of each node; node 0 is the root, with −1 (Prim).

    >>> spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0]], float))
    array([-1,  0,  1])
    """
    n = len(strength)
    parent = np.full(n, -1, np.int64)
    best, source = strength[0].copy(), np.zeros(n, np.int64)
    best[0] = -np.inf
    for _ in range(n - 1):
        new = int(np.argmax(best))
        parent[new] = source[new]
        closer = (strength[new] > best) & np.isfinite(best)
        best[closer], source[closer] = strength[new][closer], new
        best[new] = -np.inf
    return parent


def _conditionals(both: Floats, totals: Floats, parents: Ids, prior_cases: float) -> Floats:
    """P(own = a | parent = b, state) (states, k, b, a), pulled towards P(own = a) by `prior_cases`.

    The root's parent is a feature that is always absent.
    """
    k = np.arange(len(parents))
    alone = np.diagonal(both, axis1=1, axis2=2)  # (states, k)
    root = parents < 0
    over = np.where(root, 0.0, alone[:, parents])
    with_both = np.where(root, 0.0, both[:, k, parents])
    present = np.stack([alone - with_both, with_both], axis=2)  # own present, by state of the parent
    given = np.stack([totals[:, None] - over, over], axis=2)
    share = np.clip((alone.sum(axis=0) + 1) / (totals.sum() + 2), 1e-12, 1 - 1e-12)
    p = (present + prior_cases * share[:, None]) / (given + prior_cases)
    return np.stack([1 - p, p], axis=3)
