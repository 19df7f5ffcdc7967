"""Mixtures of diagnostic networks: against enumeration, literal leave-one-out, laws, storage."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.errors import BadData, BadModel, UnnaiveError
from unnaive.models.diagnostic import Cases, DiagnosticMixture, choose_members, diagnostic_mixture

SCHEMES = ("multiclass", "one-vs-rest")


def random_documents(seed=0, n_docs=120, n_terms=6, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_docs)
    X = (random.random((n_docs, n_terms)) < 0.1 + 0.7 * random.random((n_classes, n_terms))[y]).astype(int)
    return csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y])


def cases_of(X, Y, alpha=1.0):
    return Cases(X.toarray() > 0, Y.indices.astype(np.int64), np.ones(X.shape[0]), Y.shape[1], alpha)


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
    cases = cases_of(X, Y)
    codes = cases.codes((0, 2))
    got = cases.left_out(codes, 4)
    for d in range(30):
        others = np.delete(np.arange(30), d)
        same = others[codes[others] == codes[d]]
        own = np.count_nonzero(cases.states[same] == cases.states[d])
        assert got[d] == pytest.approx((own + cases.prior[cases.states[d]]) / (len(same) + 1))


def test_members_are_added_while_the_likelihood_rises():
    X, Y = random_documents(n_docs=300)
    cases = cases_of(X, Y)

    def likelihood(members):
        chances = [cases.left_out(cases.codes(one), 1 << len(one)) for one in members]
        return np.log(np.mean(chances, axis=0)).sum()

    chosen = choose_members(cases, 8, 3)
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
    again = DiagnosticMixture.from_arrays(*model.to_arrays())
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
        DiagnosticMixture.from_arrays(arrays | {name: value}, settings)
    with pytest.raises(BadModel, match="do not fit together"):
        DiagnosticMixture.from_arrays(arrays, settings | {"link": "log-odds"})


def test_bad_settings_are_refused():
    X, Y = random_documents()
    with pytest.raises(UnnaiveError, match="parents=13"):
        diagnostic_mixture(X, Y, parents=13)
    with pytest.raises(BadData, match="one-vs-rest"):
        diagnostic_mixture(X, csr_array(np.ones((X.shape[0], 3))))
