"""Features grouped by their dependence given the class: ClusterFeaturesDep and ImproveClustering.

tree_shape.py calls this for every node that has more features than it may. Karčiauskas (2002), section 3.7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.feature_clusters import (
    TIE,
    Cluster,
    by_information,
    feature_information,
    first_least,
    joined,
)
from unnaive.types import Floats, Ids


def clusters_by_dependence(cases: Cases, features: Sequence[int], n_clusters: int, alpha: float) -> list[Cluster]:
    """ClusterFeaturesDep: dependent features together, informative ones alone (figures 3.11 and 3.12).

    Minimises (3.1), the mean p_ij within clusters less α/|A| Σ_i I(F_i, C)/|cluster of i|, first by merging and then by
    moving single features.
    """
    order = by_information(cases, features)
    distance = independence(cases, order)
    gains = feature_information(cases, order)
    clusters = _merged_by_dependence(distance, gains, n_clusters, alpha)
    return [[order[member] for member in members] for members in _improved(clusters, distance, gains, alpha)]


def independence(cases: Cases, features: Sequence[int]) -> Floats:
    """p_ij: the probability that F_i and F_j are independent given the class, by a χ² test with 2 degrees of freedom.

    X² = Σ_abc (x_abc − E)²/E with E = x_a+c · x_+bc / x_++c; cells with E = 0 say nothing. (k, k), zero diagonal.
    """
    present = cases.rows[:, list(features)].astype(np.float64)
    statistic = np.zeros((len(features), len(features)))
    for side in cases.sides:
        statistic += _chi_squared(present.T @ (present * side[:, None]), float(side.sum()))
    p: Floats = chdtrc(2, statistic)
    np.fill_diagonal(p, 0.0)
    return p


def _chi_squared(both: Floats, total: float) -> Floats:
    """Σ over the four cells of every pair, from how often both are present (k, k) among `total` cases."""
    if total <= 0:
        return np.zeros_like(both)
    alone = np.diagonal(both)
    deviation = (both - np.outer(alone, alone) / total) ** 2  # the same in all four cells
    inverse = np.zeros_like(both)
    for one in (alone, total - alone):
        for other in (alone, total - alone):
            expected = np.outer(one, other) / total
            inverse += np.divide(1.0, expected, out=np.zeros_like(both), where=expected > 0)
    statistic: Floats = deviation * inverse
    return statistic


def _merged_by_dependence(distance: Floats, gains: Floats, n_clusters: int, alpha: float) -> list[Cluster]:
    """Step 3 of figure 3.11; `between[a, b]` is the sum of p_ij over i in a, j in b, so that a merge adds rows."""
    clusters = [[place] for place in range(len(gains))]
    between, within, pairs = distance.copy(), 0.0, 0.0
    while len(clusters) > n_clusters:
        first, second = np.triu_indices(len(clusters), 1)
        sizes = np.array([len(members) for members in clusters], np.float64)
        sums = np.array([gains[members].sum() for members in clusters])
        new_pairs = pairs + sizes[first] * sizes[second]
        mean = sums / sizes
        spread = mean.sum() - mean[first] - mean[second] + (sums[first] + sums[second]) / (sizes[first] + sizes[second])
        value = (within + between[first, second]) / new_pairs - alpha * spread / (len(clusters) - 1)
        best = first_least(value)
        i, j = int(first[best]), int(second[best])
        within, pairs = within + between[i, j], float(new_pairs[best])
        between = _joined_sums(between, i, j)
        clusters = joined(clusters, i, j)
    return clusters


def _joined_sums(between: Floats, first: int, second: int) -> Floats:
    """Sums of distances between clusters after a merge, the merged one last."""
    keep = np.delete(np.arange(len(between)), [first, second])
    joined = between[first, keep] + between[second, keep]
    out = np.zeros((len(keep) + 1, len(keep) + 1))
    out[:-1, :-1] = between[np.ix_(keep, keep)]
    out[-1, :-1] = out[:-1, -1] = joined
    return out


def _improved(clusters: list[Cluster], distance: Floats, gains: Floats, alpha: float) -> list[Cluster]:
    """ImproveClustering: move the feature that lowers (3.1) most, at most N times (figure 3.12)."""
    home = np.zeros(len(gains), np.int64)
    for number, members in enumerate(clusters):
        home[members] = number
    current = _objective(home, len(clusters), distance, gains, alpha)
    for _ in gains:
        values = _after_each_move(home, len(clusters), distance, gains, alpha)
        feature, target = np.unravel_index(first_least(values.ravel()), values.shape)
        if not values[feature, target] < current - TIE * max(1.0, abs(current)):
            break
        home[feature], current = target, float(values[feature, target])
    return [np.flatnonzero(home == number).tolist() for number in range(len(clusters))]


def _objective(home: Ids, n_clusters: int, distance: Floats, gains: Floats, alpha: float) -> float:
    """Expression 3.1 of a clustering."""
    together = home[:, None] == home[None, :]
    sizes = np.bincount(home, minlength=n_clusters)
    pairs = (sizes * (sizes - 1) / 2).sum()
    mean_distance = distance[together].sum() / 2 / pairs if pairs else 0.0
    return float(mean_distance - alpha / n_clusters * (gains / sizes[home]).sum())


def _after_each_move(home: Ids, n_clusters: int, distance: Floats, gains: Floats, alpha: float) -> Floats:
    """E_2m: expression 3.1 if feature i moved to cluster m (n_features, n_clusters); inf where it may not."""
    member = np.eye(n_clusters)[home]  # (features, clusters)
    sizes, sums, to_cluster = member.sum(axis=0), gains @ member, distance @ member
    left = sizes[home] - 1
    within = (to_cluster * member).sum() / 2
    pairs = (sizes * (sizes - 1)).sum() / 2
    new_within = within - (to_cluster * member).sum(axis=1)[:, None] + to_cluster
    new_pairs = pairs - left[:, None] + sizes[None, :]
    mean = sums / sizes
    remaining = np.divide(sums[home] - gains, left, out=np.zeros_like(gains), where=left > 0)
    receiving = (sums[None, :] + gains[:, None]) / (sizes[None, :] + 1)
    spread = mean.sum() - mean[home][:, None] - mean[None, :] + remaining[:, None] + receiving
    value: Floats = np.divide(new_within, new_pairs, out=np.zeros_like(new_within), where=new_pairs > 0)
    value -= alpha / n_clusters * spread
    value[(member > 0) | (left == 0)[:, None]] = np.inf
    return value
