"""EM of hierarchical networks against enumeration of every hidden state, and its laws."""

from itertools import product

import numpy as np
import pytest

from unnaive.base.errors import UnnaiveError
from unnaive.models.hierarchical import em_to_class
from unnaive.models.hierarchical.cases import Cases
from unnaive.models.hierarchical.em import EmSearch, halving_rounds, run_em
from unnaive.models.hierarchical.em_from_class import FromClass, branches
from unnaive.models.hierarchical.em_to_class import ToClass
from unnaive.models.hierarchical.hidden_naive_bayes import HiddenNaiveBayes
from unnaive.models.hierarchical.hidden_networks import NETWORK_SCORES, conditional_log_likelihood, log_likelihood
from unnaive.models.hierarchical.hidden_tree import HiddenTree
from unnaive.models.hierarchical.tree_shape import Node

TREES = {
    "one node": (Node((0, 1, 2), ()),),
    "chain": (Node((3, 4), ()), Node((2,), (0,)), Node((0, 1), (1,))),
    "two on the class": (Node((1, 3), ()), Node((0, 4), ()), Node((2,), (0, 1))),
    "no feature on the class": (Node((0, 1), ()), Node((2, 3), ()), Node((), (0, 1))),
    # five and six hidden variables on one node go through two halves and a matrix product
    "five on the class": (*(Node((i,), ()) for i in range(5)), Node((5,), (0, 1, 2, 3, 4))),
    "six, two levels": (*(Node((i,), ()) for i in range(6)), Node((6,), (0, 1, 2, 3, 4, 5)), Node((7,), (6,))),
}


def random_cases(tree, seed, n_docs=60):
    random = np.random.default_rng(seed)
    n_features = sum(len(node.features) for node in tree)
    rows = (random.random((n_docs, n_features)) < random.uniform(0.1, 0.9, n_features)).astype(np.int8)
    inside = random.random(n_docs) < 0.2 + 0.6 * rows[:, 0]
    return Cases.of(rows, inside, random.integers(1, 4, n_docs).astype(float))


def completions(network, n_features, row, inside):
    """Every assignment of hidden states with its joint probability, features and class as given."""
    n_hidden = len(network.nodes) - n_features - 1
    for hidden in product((0, 1), repeat=n_hidden):
        assignment = (*row, *hidden, inside)
        yield assignment, network._joint(assignment)


def brute_force(network, cases):
    """Log-likelihood, and tables after one EM iteration, from the definition."""
    n = cases.n_features
    counts = [np.zeros_like(table) for table in network.tables]
    total = 0.0
    for inside, weights in ((0, cases.negative), (1, cases.positive)):
        for row, weight in zip(cases.rows.tolist(), weights, strict=True):
            if weight == 0:
                continue
            found = list(completions(network, n, row, inside))
            evidence = sum(p for _, p in found)
            total += weight * np.log(evidence)
            for assignment, p in found:
                for node, parents in enumerate(network.parents):
                    counts[node][(*(assignment[parent] for parent in parents), assignment[node])] += (
                        weight * p / evidence
                    )
    return total, counts


def estimates(counts):
    with np.errstate(invalid="ignore"):
        return counts[..., 1] / counts.sum(axis=-1)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_step_towards_the_class_is_the_one_by_enumeration(name, seed):
    tree, cases = TREES[name], random_cases(TREES[name], seed)
    problem = ToClass(tree, cases)
    tables = problem.start(np.random.default_rng(seed), 3)
    tables[-1] = np.random.default_rng(seed + 1).random(tables[-1].shape)
    before = HiddenTree.of(tree, cases, problem, tables)
    better, likelihood = problem.step(tables)
    after = HiddenTree.of(tree, cases, problem, better)
    names = [f"f{i}" for i in range(cases.n_features)]
    for start in range(3):
        total, counts = brute_force(before.network(names, "class", start), cases)
        log_features = (cases.positive + cases.negative) @ before.log_features(cases.rows)
        assert likelihood[start] + log_features == pytest.approx(total, abs=1e-9)
        got = after.network(names, "class", start)
        for table, count in zip(got.tables, counts, strict=True):
            expected = estimates(count)
            seen = count.sum(axis=-1) > 1e-9
            assert table[..., 1][seen] == pytest.approx(expected[seen], abs=1e-9)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_step_from_the_class_is_the_one_by_enumeration(name, seed):
    tree, cases = TREES[name], random_cases(TREES[name], seed)
    parts, better, likelihoods = [], [], np.zeros(2)
    for branch in branches(tree):
        problem = FromClass(branch, cases)
        tables = problem.start(np.random.default_rng(seed), 2)
        after, likelihood = problem.step(tables)
        parts.append((branch, tables))
        better.append((branch, after))
        likelihoods += likelihood
    names = [f"f{i}" for i in range(cases.n_features)]
    before, after = (HiddenNaiveBayes.of(tree, cases, some, 2) for some in (parts, better))
    for start in range(2):
        total, counts = brute_force(before.network(names, "class", start), cases)
        got = after.network(names, "class", start)
        for table, count in zip(got.tables, counts, strict=True):
            assert table[..., 1] == pytest.approx(estimates(count), abs=1e-9)
        if start == 0:
            assert log_likelihood(before, cases) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("name", TREES)
def test_likelihood_never_falls(name):
    tree, cases = TREES[name], random_cases(TREES[name], 3)
    problems = [ToClass(tree, cases), *(FromClass(branch, cases) for branch in branches(tree))]
    for problem in problems:
        tables = problem.start(np.random.default_rng(0), 5)
        likelihoods = []
        for _ in range(40):
            tables, likelihood = problem.step(tables)
            likelihoods.append(likelihood)
        assert (np.diff(likelihoods, axis=0) > -1e-9 * cases.total).all()


def test_chunks_of_starts_change_nothing(monkeypatch):
    tree, cases = TREES["six, two levels"], random_cases(TREES["six, two levels"], 4)
    whole = ToClass(tree, cases)
    tables = whole.start(np.random.default_rng(0), 7)
    monkeypatch.setattr(em_to_class, "CHUNK_BYTES", 1)
    single = ToClass(tree, cases)
    assert whole.chunk >= 7
    assert single.chunk == 1
    for ours, theirs in zip(whole.step(tables)[0], single.step(tables)[0], strict=True):
        assert np.array_equal(ours, theirs)


def test_halves_and_whole_agree(monkeypatch):
    tree, cases = TREES["six, two levels"], random_cases(TREES["six, two levels"], 5)
    problem = ToClass(tree, cases)
    tables = problem.start(np.random.default_rng(0), 2)
    halves = problem.step(tables)
    monkeypatch.setattr(em_to_class, "SPLIT", 99)
    whole = problem.step(tables)
    assert halves[1] == pytest.approx(whole[1], abs=1e-9)
    for ours, theirs in zip(halves[0], whole[0], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


def test_proposition_1_likelihood_and_conditional_likelihood_rank_networks_alike():
    tree, cases = TREES["chain"], random_cases(TREES["chain"], 6)
    problem = ToClass(tree, cases)
    networks = []
    for seed in range(12):
        tables = problem.start(np.random.default_rng(seed), 1)
        for _ in range(seed):
            tables, _ = problem.step(tables)
        networks.append(HiddenTree.of(tree, cases, problem, tables))
    joint = np.array([log_likelihood(one, cases) for one in networks])
    conditional = np.array([conditional_log_likelihood(one, cases) for one in networks])
    # P(features) is the same in all of them, so the difference is one constant
    assert joint - conditional == pytest.approx(np.full(12, joint[0] - conditional[0]), abs=1e-9)
    assert np.array_equal(np.argsort(joint), np.argsort(conditional))


def test_proposition_1_does_not_hold_for_arcs_from_the_class():
    tree, cases = TREES["chain"], random_cases(TREES["chain"], 6)
    gaps = []
    for seed in range(4):
        parts = [(b, FromClass(b, cases).start(np.random.default_rng(seed), 1)) for b in branches(tree)]
        network = HiddenNaiveBayes.of(tree, cases, parts, 1)
        gaps.append(log_likelihood(network, cases) - conditional_log_likelihood(network, cases))
    assert np.ptp(gaps) > 0.1


def test_description_lengths_by_hand():
    tree = (Node((0,), ()),)
    cases = Cases.of(np.array([[1], [1], [0], [0]], np.int8), np.array([True, True, True, False]))
    network = HiddenTree(tree, np.array([0.5]), (np.array([[[0.5, 1.0]]]),))
    scores = {name: score(network, cases) for name, score in NETWORK_SCORES.items()}
    conditional = 2 * np.log(0.5)  # two certain cases, two at one half
    joint = conditional + 4 * np.log(0.5)
    price = np.log(4) / 2 * 3  # P(F), P(C | F = 0), P(C | F = 1)
    expected = {"LL": joint, "CLL": conditional, "MDL": price - joint, "CMDL": price - conditional}
    assert scores == pytest.approx(expected, abs=1e-9)


def test_halving_keeps_the_better_and_ends_with_what_was_asked():
    assert (
        sum(
            starts * iterations
            for (iterations, _), starts in zip(halving_rounds(64, 1), (64, 32, 16, 8, 4, 2), strict=True)
        )
        == 384
    )
    assert list(halving_rounds(5, 2)) == [(1, 3), (2, 2)]
    assert list(halving_rounds(3, 3)) == []
    tree, cases = TREES["two on the class"], random_cases(TREES["two on the class"], 8)
    tables, likelihoods = run_em(ToClass(tree, cases), EmSearch(restarts=16, average=3), np.random.default_rng(0))
    assert likelihoods.shape == (3,)
    assert (np.diff(likelihoods) <= 0).all()
    assert all(len(table) == 3 for table in tables)
    assert ToClass(tree, cases).log_likelihood(tables) == pytest.approx(likelihoods, abs=1e-9)


def test_absolute_stopping_goes_on_longer_and_does_not_end_lower():
    tree, cases = TREES["chain"], random_cases(TREES["chain"], 9)
    count = {"per-case": 0, "absolute": 0}
    ends = {}
    for stopping in count:

        def tell(iteration, likelihoods, stopping=stopping):
            count[stopping] = iteration

        search = EmSearch(restarts=4, stopping=stopping)
        _, ends[stopping] = run_em(ToClass(tree, cases), search, np.random.default_rng(0), tell)
    assert count["absolute"] > count["per-case"]
    assert ends["absolute"][0] >= ends["per-case"][0]


@pytest.mark.parametrize("settings", [{"average": 0}, {"restarts": 4, "average": 5}, {"stopping": "never"}])
def test_impossible_searches_are_refused(settings):
    with pytest.raises(UnnaiveError):
        EmSearch(**settings)


def test_iterations_end_a_run():
    tree, cases = TREES["chain"], random_cases(TREES["chain"], 9)
    seen = []
    search = EmSearch(restarts=1, tol=0.0, stopping="absolute", max_iter=7)
    tables, likelihoods = run_em(ToClass(tree, cases), search, np.random.default_rng(0), lambda i, _: seen.append(i))
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert ToClass(tree, cases).log_likelihood(tables) == pytest.approx(likelihoods, abs=1e-12)
