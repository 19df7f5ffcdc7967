"""Mixtures of diagnostic networks: against enumeration, literal leave-one-out, laws, storage."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive import DiagnosticMixture
from unnaive.base.errors import BadData, BadModel, UnnaiveError
from unnaive.models.diagnostic import DiagnosticNetworks, ProbabilityTables, choose_members
from unnaive.models.distinct_cases import DistinctCases

SCHEMES = ("multiclass", "one-vs-rest")


def diagnostic_mixture(X, Y, *, sample_weight=None, **settings):
    return DiagnosticMixture(**settings).learn(X, Y, sample_weight=sample_weight).scorer


def random_documents(seed=0, n_docs=120, n_terms=6, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    X = (random.random((n_docs, n_terms)) < 0.1 + 0.7 * random.random((n_classes, n_terms))[y]).astype(int)
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y])


def tables_of(X, Y, alpha=1.0):
    rows, states = X.toarray().astype(np.int8), Y.indices.astype(np.int64)
    return ProbabilityTables(DistinctCases.of(rows, states, np.ones(X.shape[0]), Y.shape[1]), alpha)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_scores_are_the_mean_posterior_of_the_networks(scheme):
    X, Y = random_documents()
    model = diagnostic_mixture(X, Y, members=3, parents=3, scheme=scheme)
    scores = model.scores(X[:15])
    names = [f"w{i}" for i in range(6)]
    for c in range(3):
        networks = [model.network(c, names, ["a", "b", "c"], member) for member in range(len(model.members(c)))]
        state = c if scheme == "multiclass" else 1
        for d in range(15):
            row = X[[d]].toarray()[0]
            posteriors = []
            for network in networks:
                known = {name: int(row[int(name[1:])]) for name in network.nodes[:-1]}
                posteriors.append(network.probability({**known, network.nodes[-1]: state}) / network.probability(known))
            mean = np.mean(posteriors)
            expected = np.log(mean) if scheme == "multiclass" else np.log(mean / (1 - mean))
            assert scores[d, c] == pytest.approx(expected, abs=1e-9)


def test_left_out_is_a_table_without_the_document():
    X, Y = random_documents(n_docs=30)
    tables, states = tables_of(X, Y), Y.indices
    found = tables.left_out(tables.codes((0, 2)), 4)
    cases = {(*row, state): one for row, state, one in zip(tables.cases.rows, tables.cases.states, found, strict=True)}
    documents = X.toarray()
    for d in range(30):
        others = np.delete(np.arange(30), d)
        same = others[(documents[others][:, [0, 2]] == documents[d, [0, 2]]).all(axis=1)]
        own = np.count_nonzero(states[same] == states[d])
        expected = (own + tables.prior[states[d]]) / (len(same) + 1)
        assert cases[(*documents[d], states[d])] == pytest.approx(expected)


def test_members_are_added_while_the_likelihood_rises():
    X, Y = random_documents(n_docs=300)
    tables = tables_of(X, Y)

    def likelihood(members):
        chances = [tables.left_out(tables.codes(one), 1 << len(one)) for one in members]
        return tables.cases.weight @ np.log(np.mean(chances, axis=0))

    chosen = choose_members(tables, 8, 3)
    along = [likelihood(chosen[: n + 1]) for n in range(len(chosen))]
    assert len(chosen) > 1
    assert along == sorted(along)
    assert all(len(set(one)) == len(one) <= 3 for one in chosen)


def test_terms_that_say_nothing_leave_the_prior():
    X, Y = csr_array(np.ones((10, 2), int)), csr_array(np.eye(2, dtype=int)[[0] * 7 + [1] * 3])
    model = diagnostic_mixture(X, Y)
    assert [len(one.terms) for one in model.members(0)] == [0]
    share = (3 + 4 / 12) / 11  # P(class 1) = (3 + 1) / (10 + 2) is one made-up case among 10
    assert np.exp(model.scores(X))[0, 1] == pytest.approx(share)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_of_documents_is_irrelevant_and_storage_keeps_all(scheme):
    X, Y = random_documents()
    model = diagnostic_mixture(X, Y, scheme=scheme)
    order = np.random.default_rng(1).permutation(X.shape[0])
    shuffled = diagnostic_mixture(X[order], Y[order], scheme=scheme, sample_weight=np.ones(X.shape[0]))
    assert shuffled.scores(X) == pytest.approx(model.scores(X), abs=1e-9)
    again = DiagnosticNetworks.from_arrays(*model.to_arrays())
    assert np.array_equal(again.scores(X), model.scores(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("members", np.array([99])),
        ("n_parents", np.array([60])),
        ("terms", np.array([77])),
        ("tables", np.array([np.nan])),
        ("tables", np.array(["x"])),
    ],
)
def test_damaged_arrays_are_refused(name, value):
    X, Y = random_documents()
    arrays, settings = diagnostic_mixture(X, Y).to_arrays()
    with pytest.raises(BadModel, match="train it again"):
        DiagnosticNetworks.from_arrays(arrays | {name: value}, settings)
    with pytest.raises(BadModel, match="do not match"):
        DiagnosticNetworks.from_arrays(arrays, settings | {"link": "log-odds"})


def test_bad_settings_are_refused():
    X, Y = random_documents()
    with pytest.raises(UnnaiveError, match="parents of diagnostic came as 13; give a number from 1 and up to 12"):
        DiagnosticMixture(parents=13).fit(X, Y.indices)
    with pytest.raises(BadData, match="one-vs-rest"):
        DiagnosticMixture(scheme="multiclass").fit(X, np.ones((X.shape[0], 3), int))
