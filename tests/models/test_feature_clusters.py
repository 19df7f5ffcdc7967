"""Feature clusters against the thesis's pseudo-code written out in loops; the trees that grow from them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from unnaive.base.errors import UnknownName
from unnaive.models.hierarchical.cases import Cases, codes_of, distinct_rows
from unnaive.models.hierarchical.feature_clusters import (
    clusters_by_average,
    clusters_by_dependence,
    clusters_by_or,
    feature_information,
    independence,
)
from unnaive.models.hierarchical.tree_shape import Node, features_below, node_names, shape_tree


def random_documents(seed, n_docs=300, n_features=9):
    """Features that depend on the class and on each other."""
    random = np.random.default_rng(seed)
    inside = random.random(n_docs) < 0.3
    topic = random.random((n_docs, 3)) < np.where(inside, 0.7, 0.2)[:, None]
    rate = 0.1 + 0.6 * topic[:, random.integers(0, 3, n_features)] * random.random(n_features)
    return (random.random((n_docs, n_features)) < rate).astype(np.int8), inside


def mutual_information(p, if_present, if_absent, base):
    total = 0.0
    for weight, share in ((p, if_present), (1 - p, if_absent)):
        for q, b in ((share, base), (1 - share, 1 - base)):
            if q > 0:
                total += weight * q * np.log(q / b)
    return total


def shares(present, inside):
    return present.mean(), inside[present].mean(), inside[~present].mean()


def plain_clusters(rows, inside, n_clusters, alpha, kind):
    """Figures 3.6 to 3.10, step by step."""
    base, n = inside.mean(), rows.shape[1]
    gains = [mutual_information(*shares(rows[:, i] > 0, inside), base) for i in range(n)]
    clusters = [
        (members, shares(rows[:, members[0]] > 0, inside))
        for members in ([int(i)] for i in np.argsort(-np.array(gains), kind="stable"))
    ]

    def merged(one, other):
        members = one[0] + other[0]
        if kind == "or":
            return members, shares(rows[:, members].any(axis=1), inside)
        a, b = len(one[0]), len(other[0])
        return members, tuple((a * x + b * y) / (a + b) for x, y in zip(one[1], other[1], strict=True))

    while len(clusters) > n_clusters:
        k, best = n / len(clusters), None
        for i, j in combinations(range(len(clusters)), 2):
            both = merged(clusters[i], clusters[j])
            lost = sum(mutual_information(*clusters[c][1], base) for c in (i, j)) - mutual_information(*both[1], base)
            loss = lost * k + alpha * len(both[0]) / k
            if best is None or loss < best[0] - 1e-12:
                best = (loss, i, j, both)
        _, i, j, both = best
        clusters = [one for place, one in enumerate(clusters) if place not in (i, j)] + [both]
    return [members for members, _ in clusters]


def expression(clusters, p, gains, alpha):
    """Expression 3.1."""
    pairs = [(i, j) for members in clusters for i, j in combinations(members, 2)]
    mean = sum(p[i, j] for i, j in pairs) / len(pairs) if pairs else 0.0
    return mean - alpha / len(clusters) * sum(gains[i] / len(members) for members in clusters for i in members)


def plain_dependence(p, gains, n_clusters, alpha):
    """Figures 3.11 and 3.12, step by step, on features already in order."""
    clusters = [[i] for i in range(len(gains))]
    while len(clusters) > n_clusters:
        best = None
        for i, j in combinations(range(len(clusters)), 2):
            tried = [one for place, one in enumerate(clusters) if place not in (i, j)] + [clusters[i] + clusters[j]]
            value = expression(tried, p, gains, alpha)
            if best is None or value < best[0] - 1e-12:
                best = (value, tried)
        clusters = best[1]
    for _ in gains:
        now, best = expression(clusters, p, gains, alpha), None
        for feature in range(len(gains)):
            home = next(place for place, members in enumerate(clusters) if feature in members)
            if len(clusters[home]) == 1:
                continue
            for target in range(len(clusters)):
                if target != home:
                    tried = [[f for f in members if f != feature] for members in clusters]
                    tried[target] = [*tried[target], feature]
                    value = expression(tried, p, gains, alpha)
                    if best is None or value < best[0] - 1e-12:
                        best = (value, tried)
        if best is None or best[0] >= now - 1e-12:
            break
        clusters = best[1]
    return clusters


def as_sets(clusters):
    return [sorted(members) for members in clusters]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize(("kind", "function"), [("avg", clusters_by_average), ("or", clusters_by_or)])
def test_merging_follows_the_pseudo_code(seed, alpha, kind, function):
    rows, inside = random_documents(seed)
    got = function(Cases.of(rows, inside), range(rows.shape[1]), 3, alpha)
    assert as_sets(got) == as_sets(plain_clusters(rows, inside, 3, alpha, kind))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 1.0, 170.0])
def test_dependence_follows_the_pseudo_code(seed, alpha):
    rows, inside = random_documents(seed)
    cases = Cases.of(rows, inside)
    order = np.argsort(-feature_information(cases, range(rows.shape[1])), kind="stable")
    p, gains = independence(cases, order.tolist()), feature_information(cases, order.tolist())
    expected = [[int(order[i]) for i in members] for members in plain_dependence(p, gains, 4, alpha)]
    assert as_sets(clusters_by_dependence(cases, range(rows.shape[1]), 4, alpha)) == as_sets(expected)


def test_independence_is_the_chi_squared_test_given_the_class():
    rows, inside = random_documents(1)
    p = independence(Cases.of(rows, inside), [0, 1, 2])
    from scipy.stats import chi2

    statistic = 0.0
    for side in (inside, ~inside):
        table = np.array([[np.sum((rows[side, 0] == a) & (rows[side, 1] == b)) for b in (0, 1)] for a in (0, 1)])
        statistic += chi2_contingency(table, correction=False).statistic
    assert p[0, 1] == pytest.approx(chi2.sf(statistic, 2), rel=1e-9)
    assert np.array_equal(p, p.T)
    assert (np.diagonal(p) == 0).all()


def test_unconditional_independence_is_pearson_s_test_of_two_features():
    rows, inside = random_documents(3)
    p = independence(Cases.of(rows, inside), [0, 1, 2], conditional=False)
    for i, j in combinations(range(3), 2):
        table = [[((rows[:, i] == a) & (rows[:, j] == b)).sum() for b in (0, 1)] for a in (0, 1)]
        assert p[i, j] == pytest.approx(chi2_contingency(table, correction=False).pvalue, rel=2e-7)
    given, blind = (
        shape_tree(Cases.of(rows, inside), clustering=name, branching=3, alpha=0.0)
        for name in ("dep", "dep-unconditional")
    )
    assert given != blind


def test_weights_are_repetitions():
    rows, inside = random_documents(2, n_docs=80)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    again = np.repeat(np.arange(80), weight)
    for clustering in ("avg", "or", "dep"):
        settings = {"clustering": clustering, "branching": 3, "alpha": 0.1}
        weighted = shape_tree(Cases.of(rows, inside, weight.astype(float)), **settings)
        assert weighted == shape_tree(Cases.of(rows[again], inside[again]), **settings)


@pytest.mark.parametrize("clustering", ["avg", "or", "dep"])
@pytest.mark.parametrize("branching", [2, 3, 7, 16])
def test_every_feature_hangs_once_and_no_node_has_too_many(clustering, branching):
    rows, inside = random_documents(3, n_features=15)
    tree = shape_tree(Cases.of(rows, inside), clustering=clustering, branching=branching, alpha=0.05)
    assert sorted(features_below(tree)[-1]) == list(range(15))
    assert all(len(node.features) + len(node.hidden) <= branching for node in tree)
    assert sorted(child for node in tree for child in node.hidden) == list(range(len(tree) - 1))
    assert all(child < number for number, node in enumerate(tree) for child in node.hidden)


@pytest.mark.parametrize("clustering", ["avg", "or", "dep"])
def test_few_features_hang_on_the_class_itself(clustering):
    rows, inside = random_documents(3, n_features=5)
    tree = shape_tree(Cases.of(rows, inside), clustering=clustering, branching=7, alpha=0.05)
    assert tree == (Node((0, 1, 2, 3, 4), ()),)


@pytest.mark.parametrize("clustering", ["avg", "or", "dep"])
@pytest.mark.parametrize("spoil", ["constant", "duplicate", "one positive", "no positive", "all positive"])
def test_degenerate_data_still_makes_a_tree(clustering, spoil):
    rows, inside = random_documents(4)
    if spoil == "constant":
        rows[:, 0], rows[:, 1] = 0, 1
    elif spoil == "duplicate":
        rows[:, 1:5] = rows[:, [0]]
    else:
        inside = np.full(len(inside), spoil == "all positive")
        inside[0] = spoil != "no positive"
    tree = shape_tree(Cases.of(rows, inside), clustering=clustering, branching=3, alpha=0.05)
    assert sorted(features_below(tree)[-1]) == list(range(rows.shape[1]))


def test_unknown_clustering_lists_those_there_are():
    rows, inside = random_documents(0)
    with pytest.raises(UnknownName, match="avg, dep, dep-unconditional, or"):
        shape_tree(Cases.of(rows, inside), clustering="and", branching=3, alpha=0.0)


@pytest.mark.parametrize("n_features", [3, 33, 65, 130])
@pytest.mark.parametrize("least", [0, -1])
def test_distinct_rows_are_those_of_numpy(n_features, least):
    rows = np.random.default_rng(n_features).integers(least, 2, (50, n_features)).astype(np.int8)
    rows[25:] = rows[:25]
    distinct, which = distinct_rows(rows)
    assert np.array_equal(distinct[which], rows)
    assert len(distinct) == len(np.unique(rows, axis=0))
    if least == 0:
        assert np.array_equal(distinct, np.unique(rows, axis=0))
        assert (np.diff(codes_of(distinct[:, :3])) >= 0).all()


def test_no_rows_and_no_features_are_fine():
    assert distinct_rows(np.empty((0, 3), np.int8))[0].shape == (0, 3)
    distinct, which = distinct_rows(np.empty((4, 0), np.int8))
    assert distinct.shape == (1, 0)
    assert which.tolist() == [0, 0, 0, 0]


def test_names_are_distinct_and_numbered_from_the_class():
    tree = (Node((0,), ()), Node((1,), ()), Node((), (0, 1)), Node((2,), (2,)))
    names = node_names(tree, ["a", "hidden1", "c"], "c")
    assert names == ("a", "hidden1", "c", "hidden2", "hidden3", "hidden1'", "class c")


@pytest.mark.parametrize("seed", range(20))
def test_fractional_weights_give_no_nan(seed):
    """Sums of weights pass their totals by a rounding error: a share of 1 + 2e-16 had no logarithm."""
    rng = np.random.default_rng(seed)
    X = (rng.random((30, 6)) < 0.6).astype(np.int8)
    X[:, 0] = 1  # in every document
    cases = Cases.of(X, rng.random(30) < 0.4, rng.random(30))
    found = feature_information(cases, range(6))
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(0, abs=1e-12)
