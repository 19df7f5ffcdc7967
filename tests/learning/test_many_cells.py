"""What is fitted to scores of many documents and classes, and asked of many documents, reads them once or in blocks.

The growth of the time is measured by benchmarks/label_cost.py; here, memory and counts of calls.
"""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random as random_table

from unnaive.data.shared_passages import SharedPassages
from unnaive.learning import fit_calibration
from unnaive.learning.class_limits import DataSize
from unnaive.learning.fit_calibration import fit_platt, fit_temperature
from unnaive.linear.linear import Linear
from unnaive.models.higher_order.path_scorer import PathScorer
from unnaive.models.maxent.learner import MaxEnt
from unnaive.models.neighbours import NearestNeighbours


def one_label_each(n_docs, n_classes, seed=0):
    classes = np.random.default_rng(seed).integers(0, n_classes, n_docs)
    return csr_array((np.ones(n_docs), classes, np.arange(n_docs + 1)), shape=(n_docs, n_classes))


def peak_bytes(function):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit", [fit_temperature, fit_platt])
def test_a_line_that_is_fitted_in_blocks_is_that_of_all_cells(fit, weighted, monkeypatch):
    random = np.random.default_rng(0)
    scores = random.normal(size=(90, 4)) * 3
    Y = csr_array((scores + random.normal(size=scores.shape) > 2).astype(int))
    weight = random.random(90) if weighted else None
    whole = fit("log-odds", scores, Y, exclusive=False, weight=weight)
    monkeypatch.setattr(fit_calibration, "BLOCK", 7)
    found = fit("log-odds", scores, Y, exclusive=False, weight=weight)
    names = ("value", "offset") if fit is fit_temperature else ("slopes", "offsets")
    for name in names:
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-6)


def test_a_temperature_of_several_labels_needs_a_fraction_of_the_scores(monkeypatch):
    monkeypatch.setattr(fit_calibration, "BLOCK", 1 << 12)
    scores = np.random.default_rng(0).normal(size=(4_000, 100)) - 3
    Y = csr_array(scores > -2)
    fit = lambda: fit_temperature("log-odds", scores, Y, exclusive=False)  # noqa: E731
    fit()
    assert peak_bytes(fit) < 1.2 * scores.nbytes  # it was six times the scores


def test_a_chain_of_passages_is_one_run_in_the_order_of_its_strength():
    """Of 0–1–2–3–4, the pair 3–4 is joined first, then 2–3, …: runs grow at their beginning."""
    chain = np.arange(4)
    assert SharedPassages(6, chain, chain + 1, chain).order().tolist() == [0, 1, 2, 3, 4, 5]
    assert SharedPassages(6, chain, chain + 1, -chain).order().tolist() == [0, 1, 2, 3, 4, 5]
    strong = SharedPassages(6, np.array([0, 1, 0]), np.array([3, 4, 4]), np.array([9, 8, 1]))
    assert strong.order().tolist() == [0, 3, 1, 4, 2, 5]


def test_neighbours_are_arranged_by_term_once():
    X = csr_array(random_table(50, 30, density=0.2, random_state=0))
    scorer = NearestNeighbours(k=3).learn(X, one_label_each(50, 4)).scorer
    before = scorer.scores(X[:5])
    by_term = scorer._by_term
    assert np.array_equal(scorer.scores(X[:5]), before)
    assert scorer._by_term is by_term


def test_paths_to_one_class_do_not_need_all_classes():
    n_docs, n_terms, n_classes = 500, 400, 2_000
    X = csr_array(random_table(n_docs, n_terms, density=0.02, random_state=0))
    linear = Linear(np.zeros((1, n_terms)), np.zeros(1))
    scorer = PathScorer.of(linear, X, one_label_each(n_docs, n_classes))
    assert peak_bytes(lambda: scorer.path_evidence(3, 7, 3)) < n_docs * n_classes  # an eighth of a table of documents
    table = scorer.labels.toarray()
    sums = X.T @ table
    evidence = scorer.path_evidence(3, 7, 3)
    dense = X.toarray()
    expected = dense[:, 3] @ dense * sums[:, 7] - (dense[:, 3] * table[:, 7]) @ dense**2
    expected[3] = 0
    assert evidence.paths == pytest.approx(expected.sum())
    assert evidence.occurrences == int(table[dense[:, 3] > 0, 7].sum())


@pytest.mark.parametrize(("n_docs", "n_terms"), [(500, 4_000), (4_000, 500), (2_000, 2_000)])
def test_the_memory_of_maximum_entropy_is_estimated(n_docs, n_terms):
    """Within a factor of 1.5 from L-BFGS with all of its pairs; the estimate was a fifth of it for many documents."""
    n_classes = 20
    X = csr_array(random_table(n_docs, n_terms, density=20 / n_terms, random_state=0))
    model = MaxEnt(max_iter=15)
    peak = peak_bytes(lambda: model.learn(X, one_label_each(n_docs, n_classes)))
    held = 8 * n_classes * model.class_cost(DataSize(n_docs, n_terms, X.nnz, n_classes), exclusive=True).held
    assert held / 1.5 < peak < 1.25 * held
