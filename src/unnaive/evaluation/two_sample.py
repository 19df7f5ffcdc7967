"""Test whether new texts come from the source of the old ones: a permutation test, and the AUC of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.evaluation.related_documents import RelatedDocuments, find_related, group_folds
from unnaive.models.held_out_scores import softmax_scores

ALPHA = 0.05
MOST_TEST = 20_000  # documents of each side; more would not change the verdict
PERMUTATIONS = 499
BATCH = 50  # permutations at a time; memory is this many numbers per term


@dataclass(frozen=True)
class TwoSampleTest:
    """Whether new texts differ from old ones, and by how much.

    auc   how well a classifier trained on one half of both separates new texts of the other half from old ones: the
          probability that a new text gets the higher score, .5 if they are alike; low, high: 95 % interval
    p     of the permutation test: the share of permutations whose means are at least as far apart; if the old
          texts have classes, twice the smaller of it and the p of the most changed class (Bonferroni over two tests)
    """

    auc: float
    low: float
    high: float
    p: float

    @property
    def differs(self) -> bool:
        """Whether the two differ at the 5 % level."""
        return self.p <= ALPHA


def add_class_evidence(test: TwoSampleTest, share_p: Sequence[float]) -> TwoSampleTest:
    """Combine the test with the p of class shares, each corrected for their number.

    A classifier of the classes detects a change of class shares much sooner than the mean of all words does.

    >>> add_class_evidence(TwoSampleTest(0.55, 0.5, 0.6, 0.2), [0.6, 0.01]).p
    0.02
    """
    return replace(test, p=min(1.0, 2 * min(test.p, *share_p))) if share_p else test


def two_sample_test(old: Sparse, new: Sparse, *, seed: int = 0) -> TwoSampleTest:
    """Test whether old (n_old, n_terms) and new (n_new, n_terms) counts come from one source.

    The statistic is ‖mean of new − mean of old‖² of tf-idf rows (maximum mean discrepancy with the linear kernel;
    Gretton et al. 2012), compared with PERMUTATIONS relabellings of the same documents. Copies within a side are one
    observation, and relabellings preserve how many documents of a group with shared passages are on each side; so
    the number of copies or replies is not evidence. The classifier's halves consist of whole groups of such documents.
    """
    old, new = _sample(old, seed), _sample(new, seed)
    X = csr_array(vstack([old, new]))
    X = take_columns(X, np.flatnonzero(document_frequency(X)))
    is_new = np.repeat([0, 1], [old.shape[0], new.shape[0]])
    related = find_related(X)
    p = permutation_p(tf_idf(X).apply(X), is_new, related, seed=seed)
    half = group_folds(is_new, related.related, 2, seed=seed)
    training, held_out = np.flatnonzero(half == 0), np.flatnonzero(half == 1)
    if len(np.unique(is_new[training])) < 2 or len(np.unique(is_new[held_out])) < 2:
        return TwoSampleTest(0.5, 0.0, 1.0, p)  # all texts of a side share passages: no halves can be made
    scores = softmax_scores(X[training], is_new[training], 2, X[held_out])
    auc, low, high = area(scores[:, 1] - scores[:, 0], is_new[held_out], related.copies[held_out])
    return TwoSampleTest(auc, low, high, p)


def _sample(X: Sparse, seed: int) -> Sparse:
    if X.shape[0] <= MOST_TEST:
        return X
    return X[np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:MOST_TEST])]


def permutation_p(Z: Sparse, is_new: Ids, related: RelatedDocuments, *, seed: int = 0) -> float:
    """The share of relabellings, including the given one, with means at least as far apart; Z (n_docs, n_features).

    Documents that are copies on one side are one unit, which keeps its weight. Units that share passages are one group.
    The labels of whole groups are exchanged with those of groups with the same number of units, then shuffled inside:
    all resulting labellings are equally probable if units come from one source, whether or not groups were drawn as a
    whole.
    """
    _, first, unit, weight = np.unique(
        2 * related.copies + is_new, return_index=True, return_inverse=True, return_counts=True
    )
    sums = csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=(len(first), len(unit))) @ Z
    labels, group = is_new[first].astype(np.float64), related.related[first]
    rng = np.random.default_rng(seed)
    observed, at_least, done = None, 1, 0
    while done < PERMUTATIONS:
        n = min(BATCH, PERMUTATIONS - done)
        drawn = np.column_stack([labels, *(shuffle_groups(labels, group, rng) for _ in range(n))])
        distance = _mean_distance(csr_array(sums), weight.astype(np.float64), drawn)
        observed = distance[0]
        at_least += int(np.sum(distance[1:] >= observed * (1 - 1e-9)))
        done += n
    return at_least / (PERMUTATIONS + 1)


def _mean_distance(sums: Sparse, weight: Floats, labels: Floats) -> Floats:
    """‖mean of label 1 − mean of label 0‖² for each column of labels (n_units, n_labellings)."""
    n_new = weight @ labels
    n_old = weight.sum() - n_new
    apart = sums.T @ (labels / n_new - (1 - labels) / n_old)
    distance: Floats = np.einsum("ij,ij->j", apart, apart)
    return distance


def shuffle_groups(labels: NDArray[np.float64], group: Ids, rng: np.random.Generator) -> NDArray[np.float64]:
    """Exchange the labels (n_units,) of whole groups between groups of equal size, and shuffle them inside each group.

    >>> labels = np.array([1.0, 0.0, 0.0, 1.0, 1.0])                # a pair of new ones is still a pair
    >>> shuffle_groups(labels, np.array([0, 1, 2, 3, 3]), np.random.default_rng(0))[3:].tolist()
    [1.0, 1.0]
    """
    size = np.bincount(group)[group]
    order = np.lexsort((group, size))
    shuffled = np.empty_like(labels)
    for n in np.unique(size).tolist():
        rows = order[size[order] == n]
        table = rng.permutation(labels[rows].reshape(-1, n))
        shuffled[rows] = (table if n == 1 else rng.permuted(table, axis=1)).ravel()
    return shuffled


def area(scores: Floats, is_new: Ids, copies: Ids) -> tuple[float, float, float]:
    """The area under the ROC curve with DeLong's 95 % interval, copies counted as one observation.

    Obuchowski (1997), Nonparametric analysis of clustered ROC curve data.

    >>> scores, is_new = np.array([0.1, 0.4, 0.5, 0.3, 0.6, 0.7]), np.array([0, 0, 0, 1, 1, 1])
    >>> round(area(scores, is_new, np.arange(6))[0], 4)    # 7 of 9 pairs are in order
    0.7778
    """
    from scipy.stats import norm, rankdata

    negative, positive = scores[is_new == 0], scores[is_new == 1]
    n, m = len(negative), len(positive)
    ranks = rankdata(np.concatenate([negative, positive]))
    of_positive = (ranks[n:] - rankdata(positive)) / n  # share of the negatives below each positive, ties half
    of_negative = 1 - (ranks[:n] - rankdata(negative)) / m
    auc = float(of_positive.mean())
    influence = np.empty(n + m)
    influence[is_new == 1] = (of_positive - auc) / np.sqrt(m * max(m - 1, 1))
    influence[is_new == 0] = (of_negative - auc) / np.sqrt(n * max(n - 1, 1))
    half = float(norm.ppf(0.975)) * float(np.sqrt(np.sum(np.bincount(copies, influence) ** 2)))
    return auc, max(0.0, auc - half), min(1.0, auc + half)
