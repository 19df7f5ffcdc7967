"""Features grouped by what their cluster still tells of the class: ClusterFeaturesAvg and ClusterFeaturesOr.

tree_shape.py calls these for every node that has more features than it may. Karčiauskas (2002), sections 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import xlogy

from unnaive.models.hierarchical.cases import Cases
from unnaive.types import Floats, Ids

TIE = 1e-12  # criteria closer than this are equal: sums in another order differ by less

Cluster = list[int]


def information(shares: Floats, inside: float) -> Floats:
    """I(X, C) = Σ_x P(x) Σ_c P(c|x) log P(c|x)/P(c), in nats, for each variable.

    `shares` (3, k) has P(X=1), P(C=1|X=1) and P(C=1|X=0); `inside` is P(C=1), taken from the data, because the average
    of two clusters no longer marginalises to it.

    >>> information(np.array([[0.5, 0.5], [1.0, 0.5], [0.0, 0.5]]), 0.5)
    array([0.69314718, 0.        ])
    """
    present, if_present, if_absent = shares
    told: Floats = present * _divergence(if_present, inside) + (1 - present) * _divergence(if_absent, inside)
    return told


def _divergence(share: Floats, base: float) -> Floats:
    """KL(share ‖ base) of two binary distributions; 0 log 0 = 0, and 0 where the base itself is certain."""
    if base <= 0 or base >= 1:
        return np.zeros_like(share)
    divergence: Floats = xlogy(share, share / base) + xlogy(1 - share, (1 - share) / (1 - base))
    return divergence


def feature_information(cases: Cases, features: Sequence[int]) -> Floats:
    """I(F, C) of each of `features` (k,)."""
    return information(_shares(cases, cases.rows[:, list(features)].astype(np.float64)), cases.inside)


def _shares(cases: Cases, present: Floats) -> Floats:
    """P(X=1), P(C=1|X=1), P(C=1|X=0) of variables that are `present` (n_rows, k) → (3, k)."""
    return _shares_of_counts(cases, cases.sides @ present)


def _shares_of_counts(cases: Cases, present: Floats) -> Floats:
    """The same from the weight of X=1 outside and inside the class (2, k); a state that never occurs gets the prior."""
    inside, total, some = cases.inside, cases.total, present.sum(axis=0)
    if_present = np.divide(present[1], some, out=np.full(some.shape, inside), where=some > 0)
    if_absent = np.divide(
        cases.positive.sum() - present[1], total - some, out=np.full(some.shape, inside), where=some < total
    )
    return np.stack([some / total, if_present, if_absent])


def clusters_by_average(cases: Cases, features: Sequence[int], n_clusters: int, alpha: float) -> list[Cluster]:
    """ClusterFeaturesAvg: a merged cluster's probabilities are averages weighted by size (figures 3.6 to 3.8)."""
    order = by_information(cases, features)
    shares = _shares(cases, cases.rows[:, order].astype(np.float64))  # (3, clusters)

    def merged_information(first: Ids, second: Ids, sizes: Floats) -> Floats:
        return information(_weighted(shares, first, second, sizes), cases.inside)

    def merge(first: int, second: int, sizes: Floats) -> None:
        nonlocal shares
        both = _weighted(shares, np.array([first]), np.array([second]), sizes)
        shares = np.concatenate([np.delete(shares, [first, second], axis=1), both], axis=1)

    return _agglomerated(order, n_clusters, alpha, lambda: information(shares, cases.inside), merged_information, merge)


def _weighted(shares: Floats, first: Ids, second: Ids, sizes: Floats) -> Floats:
    """Probabilities of merged pairs: the mean of both sides, each by its size."""
    share = sizes[first] / (sizes[first] + sizes[second])
    return shares[:, first] * share + shares[:, second] * (1 - share)


def clusters_by_or(cases: Cases, features: Sequence[int], n_clusters: int, alpha: float) -> list[Cluster]:
    """ClusterFeaturesOr: a cluster is present where any of its features is (figures 3.9 and 3.10)."""
    order = by_information(cases, features)
    present = cases.rows[:, order].astype(np.float64)  # (rows, clusters)

    def own_information() -> Floats:
        return information(_shares(cases, present), cases.inside)

    def merged_information(first: Ids, second: Ids, sizes: Floats) -> Floats:
        # |A or B| = |A| + |B| − |A and B|, for all pairs from one product on each side
        both = np.stack([present.T @ (present * side[:, None]) for side in cases.sides])
        alone = np.diagonal(both, axis1=1, axis2=2)
        either = alone[:, first] + alone[:, second] - both[:, first, second]
        return information(_shares_of_counts(cases, either), cases.inside)

    def merge(first: int, second: int, sizes: Floats) -> None:
        nonlocal present
        either = np.maximum(present[:, first], present[:, second])
        present = np.column_stack([np.delete(present, [first, second], axis=1), either])

    return _agglomerated(order, n_clusters, alpha, own_information, merged_information, merge)


def _agglomerated(
    order: list[int],
    n_clusters: int,
    alpha: float,
    own_information: Callable[[], Floats],
    merged_information: Callable[[Ids, Ids, Floats], Floats],
    merge: Callable[[int, int, Floats], None],
) -> list[Cluster]:
    """Merge the pair with the least modified loss until `n_clusters` are left (figure 3.6, step 4).

    loss = (I(X_i) + I(X_j) − I(X_i ∪ X_j)) · k + α (|X_i| + |X_j|) / k,   k = N / clusters
    """
    clusters = [[feature] for feature in order]
    while len(clusters) > n_clusters:
        first, second = np.triu_indices(len(clusters), 1)
        sizes = np.array([len(members) for members in clusters], np.float64)
        own, mean_size = own_information(), len(order) / len(clusters)
        lost = own[first] + own[second] - merged_information(first, second, sizes)
        loss = lost * mean_size + alpha * (sizes[first] + sizes[second]) / mean_size
        best = first_least(loss)
        i, j = int(first[best]), int(second[best])
        merge(i, j, sizes)
        clusters = joined(clusters, i, j)
    return clusters


def by_information(cases: Cases, features: Sequence[int]) -> list[int]:
    """`features`, those that tell most of the class first."""
    gains = feature_information(cases, features)
    return [features[place] for place in np.argsort(-gains, kind="stable")]


def joined(clusters: list[Cluster], first: int, second: int) -> list[Cluster]:
    """The clusters with two of them made one, which goes last."""
    rest = [members for place, members in enumerate(clusters) if place not in (first, second)]
    return [*rest, clusters[first] + clusters[second]]


def first_least(values: Floats) -> int:
    """The first place whose value is the least, up to rounding: ties are real, so they must not hang on noise."""
    least = values.min()
    return int(np.argmax(values <= least + TIE * max(1.0, abs(least))))
