"""Cluster the features of a class, so that each cluster shares a hidden variable; tree_shape.py calls this.

Three criteria of Karčiauskas (2002): the information about the class that a cluster keeps, its features averaged
(section 3.5) or joined by "or" (3.6), and how dependent its features are given the class (3.7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unnaive.base.elementary import exp
from unnaive.base.log_functions import xlogy
from unnaive.base.types import Floats, Ids
from unnaive.data.products import matmul
from unnaive.models.hierarchical.cases import Cases

TIE = 1e-12  # criteria closer than this are equal: the order of summation changes them by less

Cluster = list[int]


def information(shares: Floats, inside: float) -> Floats:
    """I(X, C) = Σ_x P(x) Σ_c P(c|x) log P(c|x)/P(c), in nats, for each variable.

    `shares` (3, k) has P(X=1), P(C=1|X=1) and P(C=1|X=0); `inside` is P(C=1), taken from the data, because averaged
    clusters do not marginalise to it.

    >>> information(np.array([[0.5, 0.5], [1.0, 0.5], [0.0, 0.5]]), 0.5)
    array([0.69314718, 0.        ])
    """
    present, if_present, if_absent = shares
    nats: Floats = present * _divergence(if_present, inside) + (1 - present) * _divergence(if_absent, inside)
    return nats


def _divergence(share: Floats, base: float) -> Floats:
    """KL(share ‖ base) of two binary distributions; 0 log 0 = 0, and 0 if the base itself is certain."""
    if base <= 0 or base >= 1:
        return np.zeros_like(share)
    divergence: Floats = xlogy(share, share / base) + xlogy(1 - share, (1 - share) / (1 - base))
    return divergence


def feature_information(cases: Cases, features: Sequence[int]) -> Floats:
    """I(F, C) of each of `features` (k,)."""
    return information(_shares(cases, cases.rows[:, list(features)].astype(np.float64)), cases.inside)


def _shares(cases: Cases, present: Floats) -> Floats:
    """P(X=1), P(C=1|X=1), P(C=1|X=0) of variables that are `present` (n_rows, k) → (3, k)."""
    return _shares_of_counts(cases, matmul(cases.sides, present))


def _shares_of_counts(cases: Cases, present: Floats) -> Floats:
    """The same from the weight of X=1 outside and inside the class (2, k); a state that never occurs gets the prior."""
    inside, total, some = cases.inside, cases.total, present.sum(axis=0)
    if_present = np.divide(present[1], some, out=np.full(some.shape, inside), where=some > 0)
    if_absent = np.divide(
        cases.positive.sum() - present[1], total - some, out=np.full(some.shape, inside), where=some < total
    )
    # sums of fractional weights may pass their totals by a rounding error, and a share above 1 has no logarithm
    shares: Floats = np.clip(np.stack([some / total, if_present, if_absent]), 0.0, 1.0)
    return shares


def clusters_by_average(cases: Cases, features: Sequence[int], n_clusters: int, alpha: float) -> list[Cluster]:
    """ClusterFeaturesAvg: a merged cluster's probabilities are averages weighted by size (figures 3.6 to 3.8)."""
    order = sort_by_information(cases, features)
    shares = _shares(cases, cases.rows[:, order].astype(np.float64))  # (3, clusters)

    def merged_information(first: Ids, second: Ids, sizes: Floats) -> Floats:
        return information(_weighted_mean(shares, first, second, sizes), cases.inside)

    def merge(first: int, second: int, sizes: Floats) -> None:
        nonlocal shares
        both = _weighted_mean(shares, np.array([first]), np.array([second]), sizes)
        shares = np.concatenate([np.delete(shares, [first, second], axis=1), both], axis=1)

    return _agglomerate(order, n_clusters, alpha, lambda: information(shares, cases.inside), merged_information, merge)


def _weighted_mean(shares: Floats, first: Ids, second: Ids, sizes: Floats) -> Floats:
    """Probabilities of merged pairs: the mean of both, weighted by size."""
    share = sizes[first] / (sizes[first] + sizes[second])
    return shares[:, first] * share + shares[:, second] * (1 - share)


def clusters_by_or(cases: Cases, features: Sequence[int], n_clusters: int, alpha: float) -> list[Cluster]:
    """ClusterFeaturesOr: a cluster is present if any of its features is (figures 3.9 and 3.10)."""
    order = sort_by_information(cases, features)
    present = cases.rows[:, order].astype(np.float64)  # (rows, clusters)

    def own_information() -> Floats:
        return information(_shares(cases, present), cases.inside)

    def merged_information(first: Ids, second: Ids, sizes: Floats) -> Floats:
        # |A or B| = |A| + |B| − |A and B|, for all pairs from one product on each side
        both = np.stack([matmul(present.T, present * side[:, None]) for side in cases.sides])
        alone = np.diagonal(both, axis1=1, axis2=2)
        either = alone[:, first] + alone[:, second] - both[:, first, second]
        return information(_shares_of_counts(cases, either), cases.inside)

    def merge(first: int, second: int, sizes: Floats) -> None:
        nonlocal present
        either = np.maximum(present[:, first], present[:, second])
        present = np.column_stack([np.delete(present, [first, second], axis=1), either])

    return _agglomerate(order, n_clusters, alpha, own_information, merged_information, merge)


def _agglomerate(
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
        information, mean_size = own_information(), len(order) / len(clusters)
        lost = information[first] + information[second] - merged_information(first, second, sizes)
        loss = lost * mean_size + alpha * (sizes[first] + sizes[second]) / mean_size
        best = first_minimum(loss)
        i, j = int(first[best]), int(second[best])
        merge(i, j, sizes)
        clusters = join_clusters(clusters, i, j)
    return clusters


def sort_by_information(cases: Cases, features: Sequence[int]) -> list[int]:
    """Sort `features` by descending information about the class."""
    gains = feature_information(cases, features)
    return [features[index] for index in np.argsort(-gains, kind="stable")]


def join_clusters(clusters: list[Cluster], first: int, second: int) -> list[Cluster]:
    """Merge two clusters; the merged one comes last."""
    rest = [members for index, members in enumerate(clusters) if index not in (first, second)]
    return [*rest, clusters[first] + clusters[second]]


def first_minimum(values: Floats) -> int:
    """The first index with the smallest value, up to rounding: ties are real and must not depend on rounding."""
    least = values.min()
    return int(np.argmax(values <= least + TIE * max(1.0, abs(least))))


def clusters_by_dependence(
    cases: Cases, features: Sequence[int], n_clusters: int, alpha: float, *, conditional: bool = True
) -> list[Cluster]:
    """ClusterFeaturesDep: group dependent features, isolate informative ones (figures 3.11 and 3.12).

    Minimises (3.1), the mean p_ij within clusters less α/|A| Σ_i I(F_i, C)/|cluster of i|, first by merging and then by
    moving single features.
    """
    order = sort_by_information(cases, features)
    distance = independence(cases, order, conditional=conditional)
    gains = feature_information(cases, order)
    clusters = _merge_by_dependence(distance, gains, n_clusters, alpha)
    return [[order[member] for member in members] for members in _improve_clusters(clusters, distance, gains, alpha)]


def independence(cases: Cases, features: Sequence[int], *, conditional: bool = True) -> Floats:
    """p_ij: the probability that F_i and F_j are independent, by a χ² test; given the class if `conditional`.

    X² = Σ_abc (x_abc − E)²/E with E = x_a+c · x_+bc / x_++c; cells with E = 0 are ignored. There are two degrees of
    freedom; without the class c there is one. (k, k), zero diagonal.
    """
    present = cases.rows[:, list(features)].astype(np.float64)
    statistic = np.zeros((len(features), len(features)))
    for side in cases.sides if conditional else [cases.sides.sum(axis=0)]:
        statistic += _chi_squared(matmul(present.T, present * side[:, None]), float(side.sum()))
    p: Floats = exp(-statistic / 2) if conditional else normal_tails(np.sqrt(statistic))
    np.fill_diagonal(p, 0.0)
    return p


# Press et al. (1992), section 6.2: erfc(z) = t·exp(−z² + polynomial(t)), t = 1/(1 + z/2), relative error below 1.2e-7
ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368)


def normal_tails(x: Floats) -> Floats:
    """The chance of a normal deviate beyond ±x, which is that of a χ² above x² with one degree of freedom.

    >>> normal_tails(np.array([0.0, 1.959963985])).round(6)
    array([1.  , 0.05])
    """
    t = 1 / (1 + x / np.sqrt(8))
    series = np.zeros_like(x)
    for coefficient in ERFC:
        series = coefficient + t * series
    tails: Floats = t * exp(-x * x / 2 - 1.26551223 + t * series)
    return tails


def _chi_squared(both: Floats, total: float) -> Floats:
    """Σ over the four cells of every pair, from the number of cases with both present (k, k) among `total`."""
    if total <= 0:
        return np.zeros_like(both)
    alone = np.diagonal(both)
    deviation = (both - np.outer(alone, alone) / total) ** 2  # the same in all four cells
    inverse = np.zeros_like(both)
    for rows in (alone, total - alone):
        for columns in (alone, total - alone):
            expected = np.outer(rows, columns) / total
            inverse += np.divide(1.0, expected, out=np.zeros_like(both), where=expected > 0)
    statistic: Floats = deviation * inverse
    return statistic


def _merge_by_dependence(distance: Floats, gains: Floats, n_clusters: int, alpha: float) -> list[Cluster]:
    """Step 3 of figure 3.11; `between[a, b]` is the sum of p_ij over i in a, j in b, so a merge adds rows."""
    clusters = [[index] for index in range(len(gains))]
    between, within, pairs = distance.copy(), 0.0, 0.0
    while len(clusters) > n_clusters:
        first, second = np.triu_indices(len(clusters), 1)
        sizes = np.array([len(members) for members in clusters], np.float64)
        sums = np.array([gains[members].sum() for members in clusters])
        new_pairs = pairs + sizes[first] * sizes[second]
        mean = sums / sizes
        spread = mean.sum() - mean[first] - mean[second] + (sums[first] + sums[second]) / (sizes[first] + sizes[second])
        value = (within + between[first, second]) / new_pairs - alpha * spread / (len(clusters) - 1)
        best = first_minimum(value)
        i, j = int(first[best]), int(second[best])
        within, pairs = within + between[i, j], float(new_pairs[best])
        between = _join_sums(between, i, j)
        clusters = join_clusters(clusters, i, j)
    return clusters


def _join_sums(between: Floats, first: int, second: int) -> Floats:
    """Sums of distances between clusters after a merge; the merged one comes last."""
    keep = np.delete(np.arange(len(between)), [first, second])
    joined = between[first, keep] + between[second, keep]
    out = np.zeros((len(keep) + 1, len(keep) + 1))
    out[:-1, :-1] = between[np.ix_(keep, keep)]
    out[-1, :-1] = out[:-1, -1] = joined
    return out


def _improve_clusters(clusters: list[Cluster], distance: Floats, gains: Floats, alpha: float) -> list[Cluster]:
    """ImproveClustering: move the feature that lowers (3.1) most, at most N times (figure 3.12)."""
    home = np.zeros(len(gains), np.int64)
    for number, members in enumerate(clusters):
        home[members] = number
    current = _objective(home, len(clusters), distance, gains, alpha)
    for _ in gains:
        values = _after_each_move(home, len(clusters), distance, gains, alpha)
        feature, target = np.unravel_index(first_minimum(values.ravel()), values.shape)
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
    """E_2m: expression 3.1 if feature i moved to cluster m (n_features, n_clusters); inf if that is not allowed."""
    member = np.eye(n_clusters)[home]  # (features, clusters)
    sizes, sums, to_cluster = member.sum(axis=0), matmul(gains, member), matmul(distance, member)
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
