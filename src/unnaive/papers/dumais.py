"""The methods of Dumais, Platt, Heckerman and Sahami (1998), whose results slide 56 b of the textbook collects.

A binary classifier for each of the 118 categories of ModApte. Words of the title and of the body are different terms,
unstemmed. Terms are selected for each category by mutual information and are present or absent: 50 for naive Bayes,
300 for decision trees and the linear support vector machine. Find Similar weights all terms by tf·idf.

    P(f | leaf)   (n + α) / (N + Σ α), α = 10 · the share of a leaf's path in a uniform joint distribution
    Find Similar  Jaccard(x, m) = x·m / (x·x + m·m − x·m), m the mean of the category's documents
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from scipy.special import gammaln

from unnaive.base.types import Floats, Sparse
from unnaive.data.counts import Counts
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.papers.data import prepare
from unnaive.papers.paper_run import PaperRun

SAMPLE_SIZE = 10.0  # equivalent sample size of the prior of a tree
PARAMETER_PRIOR = 0.1  # by which the prior probability of a tree falls with each parameter, that is, each leaf more

Booleans = NDArray[np.bool_]


class TitlesAndBodies(NamedTuple):
    """Counts X of words of titles, then of bodies, and labels Y, of training and test documents."""

    X: Sparse
    Y: Sparse
    test: Sparse
    truth: Sparse
    classes: tuple[str, ...]


@lru_cache(maxsize=1)
def titles_and_bodies(run: PaperRun) -> TitlesAndBodies:
    """ModApte with all 118 categories, 9,603 and 3,299 documents; 3 of the categories have no training document."""
    parts = [prepare(run, "reuters", "unstemmed", view=f"modapte-{part}") for part in ("title", "body")]
    data = parts[1]
    X = csr_array(hstack([part.X for part in parts], format="csr"))
    train, test = data.rows("train"), data.rows("test")
    return TitlesAndBodies(X[train], data.Y[train], X[test], data.Y[test], data.classes)


@lru_cache(maxsize=2)
def best_terms(run: PaperRun, n_terms: int) -> list[NDArray[np.int64]]:
    """For each category the terms with the highest mutual information, by presence in the training documents."""
    data = titles_and_bodies(run)
    gains = information_gain(Counts.of(data.X, data.Y), per_class=True)
    return [np.sort(top_k(gain, n_terms)) for gain in gains]


def similarity_to_means(X: Sparse, Y: Sparse, documents: Sparse) -> Floats:
    """Jaccard similarity of tf·idf weights to the mean of each class (n_docs, n_classes).

    >>> X, Y = csr_array([[2, 0], [0, 1], [0, 1]]), csr_array([[1, 0], [0, 1], [0, 1]])
    >>> similarity_to_means(X, Y, csr_array([[2, 0], [1, 0]])).round(2)
    array([[1.  , 0.  ],
           [0.67, 0.  ]])
    """
    frequent = np.maximum((X > 0).sum(axis=0), 1)
    idf = np.log(X.shape[0] / frequent)
    weighted, queries = X * idf, csr_array(documents * idf)
    means = (Y.T @ weighted).toarray() / np.maximum(Y.sum(axis=0), 1)[:, None]
    products = queries @ means.T
    lengths = np.asarray(queries.power(2).sum(axis=1))[:, None] + (means**2).sum(axis=1)
    similarities: Floats = np.divide(
        products, lengths - products, out=np.zeros_like(products), where=lengths > products
    )
    return similarities


def tree_probabilities(X: Booleans, member: Booleans, documents: Booleans) -> Floats:
    """P(member) of each document by a tree of greedy splits that raise the posterior probability of the tree (n_docs,).

    >>> X = np.repeat([[True, False], [False, False], [False, True]], 20, axis=0)
    >>> tree_probabilities(X, X[:, 0], X[[0, 20, 40]]).round(2)
    array([0.9 , 0.06, 0.06])
    """
    probabilities = np.empty(len(documents))
    leaves = [(np.arange(len(X)), np.arange(len(documents)), SAMPLE_SIZE)]
    while leaves:
        rows, wanted, size = leaves.pop()
        inside, n = member[rows].sum(), len(rows)
        present = X[rows]
        with_term, with_both = present.sum(axis=0), present[member[rows]].sum(axis=0)
        gains = (
            _log_evidence(with_both, with_term, size / 2)
            + _log_evidence(inside - with_both, n - with_term, size / 2)
            - _log_evidence(inside, n, size)
            + np.log(PARAMETER_PRIOR)
        )
        best = int(gains.argmax())
        if gains[best] <= 0:
            probabilities[wanted] = (inside + size / 2) / (n + size)
            continue
        split, asked = present[:, best], documents[wanted, best]
        leaves += [(rows[split], wanted[asked], size / 2), (rows[~split], wanted[~asked], size / 2)]
    return probabilities


def _log_evidence(inside: Floats | int, n: Floats | int, size: float) -> Floats:
    """log ∫ θ^inside (1−θ)^(n−inside) Beta(θ; size/2, size/2) dθ."""
    evidence: Floats = (
        gammaln(size) - gammaln(size + n) + gammaln(size / 2 + inside) + gammaln(size / 2 + n - inside)
    ) - 2 * gammaln(size / 2)
    return evidence
