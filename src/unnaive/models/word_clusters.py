"""Naive Bayes on word clusters: words with similar class distributions become one feature.

Baker and McCallum (1998), "Distributional clustering of words for text classification". A cluster has the class
distribution of all its words, so that rare words use the estimate of similar words. It is the first
of the feature clusterings that the hierarchical thesis reviews.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.base.elementary import log
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.linear.term_selection import information_gain, top_k
from unnaive.models.estimator import CountsModel, class_weight_setting, scheme_setting
from unnaive.models.naive_bayes import LINK_OF_SCHEME, log_prior, log_prior_odds

DECIMALS = 13  # decimals of a loss, in nats per word of the corpus: smaller differences are rounding noise


class WordClusterNB(CountsModel):
    """Multinomial naive Bayes whose features are clusters of terms with similar class distributions.

    score = log p(c) + Σ_t n_t log p(k_t|c),   p(k|c) = (N_ck + α) / (N_c• + α·clusters),   k_t the cluster of term t

    All terms of a cluster have one weight. For one-vs-rest the score is log p(c)/p(c̄) + Σ_t n_t log
    p(k_t|c)/p(k_t|c̄). Clusters are recomputed from all counts when documents are added or removed.

    >>> X, y = [[2, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1]], ["a", "a", "b", "b"]
    >>> np.exp(WordClusterNB(clusters=2).fit(X, y).scorer_.weights()).round(3)     # (4 + 1) / (4 + 2), 1 / 6
    array([[0.833, 0.833, 0.167, 0.167],
           [0.167, 0.167, 0.833, 0.833]])
    """

    traits = Traits("word-clusters", "naive Bayes on word clusters", "counts", poor_score=True)

    clusters: int = setting("Maximum number of clusters.", default=200, at_least=1)
    terms: int | None = setting(
        "Number of terms to cluster, by information gain; None for all.",
        default=None,
        at_least=1,
    )
    alpha: float = setting("Additive smoothing of the counts of clusters.", default=1.0, above=0, below=np.inf)
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """weight[c, t] = log p(k_t|c), less log p(k_t|c̄) for one-vs-rest."""
        refuse_full_table(counts.n_classes, counts.n_terms, self.traits.title)
        scheme, words = self.scheme_for(exclusive), _ranked_terms(counts, self.terms)
        inside, overall = counts.class_terms[:, words].toarray(), counts.terms[words]
        cluster_of = cluster_words(_by_class(inside, overall), self.clusters)
        sums, totals = (_sum_clusters(values, cluster_of) for values in (inside, overall[None]))
        logs, bias = self._log_prob(sums), log_prior(counts, "data")
        if scheme == "one-vs-rest":
            logs, bias = logs - self._log_prob(totals - sums), log_prior_odds(counts, "data")
        weights, is_used = np.zeros((counts.n_classes, counts.n_terms)), np.zeros(counts.n_terms)
        weights[:, words], is_used[words] = logs[:, cluster_of], 1.0
        weighting = Weighting(idf=None if is_used.all() else is_used)
        return Linear(weights, bias, weighting=weighting, link=LINK_OF_SCHEME[scheme])

    def _log_prob(self, sums: Floats) -> Floats:
        """log p(k|c) from occurrences of each cluster in each class (n_classes, n_clusters)."""
        smoothed = np.maximum(sums, 0) + self.alpha
        logs: Floats = log(smoothed) - log(smoothed.sum(axis=1, keepdims=True))
        return logs


def _ranked_terms(counts: Counts, terms: int | None) -> Ids:
    """Terms that occur, in descending order of information."""
    ranked: Ids = top_k(information_gain(counts), counts.n_terms if terms is None else terms)
    return ranked[np.asarray(counts.terms)[ranked] > 0]


def _by_class(inside: Floats, overall: Floats) -> Floats:
    """Occurrences of each word by class, and in the last column those outside of all classes (n_words, n_classes + 1).

    Without the last column a single class would have no complement.
    """
    rest = np.maximum(overall - inside.sum(axis=0), 0)
    return np.vstack([inside, rest]).T.astype(np.float64)


def _sum_clusters(values: Floats, cluster_of: Ids) -> Floats:
    """The sum of the columns of each cluster (n_rows, n_clusters)."""
    sums = np.zeros((int(cluster_of.max(initial=0)) + 1, len(values)))
    np.add.at(sums, cluster_of, values.T)
    return sums.T


def cluster_words(counts: Floats, clusters: int) -> Ids:
    """The cluster of each word (n_words,), numbered from 0, of at most `clusters`.

    `counts` (n_words, n_classes) are the occurrences of each word in each class, most informative words first. The
    first words form clusters by themselves; then each further word becomes a cluster, and the two clusters whose
    merging loses least are merged. The loss is the average divergence to the mean of the two,

    P(a)·KL(P(C|a) ‖ P(C|a∨b)) + P(b)·KL(P(C|b) ‖ P(C|a∨b)),   which is   f(a) + f(b) − f(a + b)   up to a factor,

    with f(v) = Σ_c v_c log v_c − v_• log v_• of the counts v, since the distribution of a cluster is that of its sums.

    >>> cluster_words(np.array([[4.0, 0], [0, 4], [2, 0], [0, 1]]), 2)
    array([0, 1, 0, 1])
    """
    counts = np.asarray(counts, np.float64) / (counts.sum() or 1.0)
    n_words, size = len(counts), min(clusters, len(counts))
    sums = counts[:size].copy()
    members: list[list[int]] = [[word] for word in range(size)]
    parts = _purity(sums)
    loss = np.full((size, size), np.inf)
    for cluster in range(size):
        loss[cluster, :cluster] = _loss(sums, parts, cluster)[:cluster]
    for word in range(size, n_words):
        merged, removed = _cheapest(loss, sums, parts, counts[word])
        if merged == size:  # the new word itself joins a cluster
            members[removed].append(word)
            sums[removed] += counts[word]
            changed = [removed]
        else:
            members[merged] += members[removed]
            sums[merged] += sums[removed]
            members[removed], sums[removed] = [word], counts[word]
            changed = [merged, removed]
        parts[changed] = _purity(sums[changed])
        for cluster in changed:
            row = _loss(sums, parts, cluster)
            loss[cluster, :cluster], loss[cluster + 1 :, cluster] = row[:cluster], row[cluster + 1 :]
    result = np.empty(n_words, np.int64)
    for number, words in enumerate(members):
        result[words] = number
    return result


def _cheapest(loss: Floats, sums: Floats, parts: Floats, word: Floats) -> tuple[int, int]:
    """The two clusters to merge; (size, cluster) if the new word joins a cluster. Ties go to the first pair."""
    size = len(sums)
    joining = np.round(_purity(word[None])[0] + parts - _purity(sums + word), DECIMALS)
    nearest = int(np.argmin(joining))
    index = int(np.argmin(loss)) if size > 1 else 0
    if size == 1 or joining[nearest] < loss.flat[index]:
        return size, nearest
    later, earlier = divmod(index, size)
    return earlier, later


def _loss(sums: Floats, parts: Floats, cluster: int) -> Floats:
    """The loss of merging `cluster` with each other cluster (n_clusters,)."""
    lost: Floats = np.round(parts[cluster] + parts - _purity(sums + sums[cluster]), DECIMALS)
    return lost


def _purity(sums: Floats) -> Floats:
    """f(v) = Σ_c v_c log v_c − v_• log v_• of each row: 0 for a cluster of one class, else negative."""
    total = sums.sum(axis=1)
    inside: Floats = (sums * log(np.where(sums > 0, sums, 1.0))).sum(axis=1)
    purity: Floats = inside - total * log(np.where(total > 0, total, 1.0))
    return purity
