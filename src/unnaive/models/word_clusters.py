"""Naive Bayes on clusters of words: words that speak of the classes alike become one feature.

Baker and McCallum (1998), "Distributional clustering of words for text classification". A cluster has the class
distribution of its words together, so that rare words borrow the estimate of their neighbours. It is the first
of the feature clusterings that the hierarchical thesis reviews.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.linear import Linear
from unnaive.core.selection import information_gain, top_terms
from unnaive.core.weighting import Weighting
from unnaive.errors import UnnaiveError
from unnaive.models.naive_bayes import multinomial
from unnaive.types import Floats, Ids, Sparse


def cluster_naive_bayes(
    X: Sparse,
    Y: Sparse,
    *,
    clusters: int = 200,
    terms: int | None = None,
    alpha: float = 1.0,
    scheme: str = "multiclass",
    sample_weight: NDArray[Any] | None = None,
) -> Linear:
    """Multinomial naive Bayes whose features are clusters of terms: X (n_docs, n_terms), Y (n_docs, n_classes).

    clusters  how many features there are in the end
    terms     cluster only so many terms, the best by information gain, and ignore the others; None: all that occur
    alpha     additive smoothing of the clusters' counts: p(k|c) = (N_ck + α) / (N_c• + α·clusters)
    scheme    "multiclass", or "one-vs-rest": log-odds of each class against the documents without it

    score = log p(c) + Σ_t n_t log p(cluster of t | c): all terms of a cluster have one weight.

    >>> X = csr_array([[2, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1]])     # terms 0, 1 and 2, 3 go together
    >>> model = cluster_naive_bayes(X, csr_array([[1, 0], [1, 0], [0, 1], [0, 1]]), clusters=2)
    >>> np.exp(model.weights()).round(3)                                           # (4 + 1) / (4 + 2), 1 / 6
    array([[0.833, 0.833, 0.167, 0.167],
           [0.167, 0.167, 0.833, 0.833]])
    """
    if clusters < 1 or (terms is not None and terms < 1):
        raise UnnaiveError(f"clusters={clusters} and terms={terms} must be from 1 up")
    counts = Counts.of(X, Y, sample_weight)
    kept = _ranked_terms(counts, terms)
    cluster_of = cluster_words(counts.class_terms[:, kept].toarray().T, clusters)
    n_clusters = int(cluster_of.max(initial=0)) + 1
    joined = csr_array((np.ones(len(kept)), (kept, cluster_of)), shape=(counts.n_terms, n_clusters))
    rule = multinomial(Counts.of(csr_array(X) @ joined, Y, sample_weight), alpha=alpha, scheme=scheme)
    weights = np.zeros((counts.n_classes, counts.n_terms))
    weights[:, kept] = rule.weights()[:, cluster_of]
    known = np.zeros(counts.n_terms)
    known[kept] = 1.0
    return Linear(weights, rule.bias, weighting=Weighting(idf=known), link=rule.link)


def _ranked_terms(counts: Counts, terms: int | None) -> Ids:
    """Terms that occur, the most informative first."""
    ranked: Ids = top_terms(information_gain(counts), counts.n_terms if terms is None else terms)
    return ranked[np.asarray(counts.terms)[ranked] > 0]


def cluster_words(counts: Floats, clusters: int) -> Ids:
    """The cluster of each word (n_words,), numbered from 0, of at most `clusters`.

    `counts` (n_words, n_classes) are the occurrences of each word in each class, the most informative word first. The
    first words are clusters by themselves; then every next word becomes one more, and the two clusters whose merging
    loses least are merged. The loss is the average divergence to the mean of the two,

    P(a)·KL(P(C|a) ‖ P(C|a∨b)) + P(b)·KL(P(C|b) ‖ P(C|a∨b)),   which is   f(a) + f(b) − f(a + b)   up to a factor,

    with f(v) = Σ_c v_c log v_c − v_• log v_• of the counts v, since the distribution of a cluster is that of its sums.

    >>> cluster_words(np.array([[4.0, 0], [0, 4], [2, 0], [0, 1]]), 2)
    array([0, 1, 0, 1])
    """
    n_words, size = len(counts), min(clusters, len(counts))
    sums = np.asarray(counts[:size], np.float64).copy()
    members: list[list[int]] = [[word] for word in range(size)]
    parts = _purity(sums)
    loss = np.full((size, size), np.inf)
    for one in range(size):
        loss[one, :one] = _loss(sums, parts, one)[:one]
    newcomers = range(size, n_words)
    for word in newcomers:
        merged, gone = _cheapest(loss, sums, parts, np.asarray(counts[word], np.float64))
        if merged == size:  # the new word itself joins a cluster
            members[gone].append(word)
            sums[gone] += counts[word]
            changed = [gone]
        else:
            members[merged] += members[gone]
            sums[merged] += sums[gone]
            members[gone], sums[gone] = [word], counts[word]
            changed = [merged, gone]
        parts[changed] = _purity(sums[changed])
        for one in changed:
            row = _loss(sums, parts, one)
            loss[one, :one], loss[one + 1 :, one] = row[:one], row[one + 1 :]
    found = np.empty(n_words, np.int64)
    for number, words in enumerate(members):
        found[words] = number
    return found


def _cheapest(loss: Floats, sums: Floats, parts: Floats, word: Floats) -> tuple[int, int]:
    """The two clusters to merge; (size, cluster) where the new word joins a cluster. Ties: the first pair."""
    size = len(sums)
    joining = _purity(word[None])[0] + parts - _purity(sums + word)
    nearest = int(np.argmin(joining))
    place = int(np.argmin(loss)) if size > 1 else 0
    if size == 1 or joining[nearest] < loss.flat[place]:
        return size, nearest
    later, earlier = divmod(place, size)
    return earlier, later


def _loss(sums: Floats, parts: Floats, one: int) -> Floats:
    """What merging cluster `one` with each other loses (n_clusters,)."""
    lost: Floats = parts[one] + parts - _purity(sums + sums[one])
    return lost


def _purity(sums: Floats) -> Floats:
    """f(v) = Σ_c v_c log v_c − v_• log v_• of each row: 0 for a cluster of one class, else below."""
    total = sums.sum(axis=1)
    inside: Floats = (sums * np.log(np.where(sums > 0, sums, 1.0))).sum(axis=1)
    purity: Floats = inside - total * np.log(np.where(total > 0, total, 1.0))
    return purity
