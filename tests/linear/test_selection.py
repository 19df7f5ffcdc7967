"""Selection: closed forms against scikit-learn and SciPy term by term, and by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2_contingency
from sklearn.feature_selection import chi2 as sklearn_chi2
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score

from unnaive.base.errors import UnnaiveError
from unnaive.data.counts import Counts
from unnaive.linear.term_selection import SELECTIONS, chi2, information_gain, mutual_information, top_k


def single_label(seed, n_docs=90, n_terms=25, n_classes=4):
    """Term 0 is in no document, term 1 in all; class 3 is rare."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n_docs, n_terms))
    X[:, 0], X[:, 1] = 0, 2
    y = rng.choice(n_classes, n_docs, p=[0.4, 0.3, 0.25, 0.05])
    return X, y, Counts.of(csr_array(X), csr_array(np.eye(n_classes, dtype=int)[y]))


def table_chi2(present, y):
    table = np.array([[np.sum((present == v) & (y == k)) for v in (False, True)] for k in np.unique(y)])
    return 0.0 if 0 in table.sum(axis=0) else chi2_contingency(table, correction=False).statistic


@pytest.mark.parametrize("seed", range(4))
def test_gain_is_the_mutual_information_of_presence_and_class(seed):
    X, y, counts = single_label(seed)
    expected = [mutual_info_score(present, y) for present in (X > 0).T]
    np.testing.assert_allclose(information_gain(counts), expected, atol=1e-14)
    peer = mutual_info_classif(csr_array(X > 0), y, discrete_features=True)
    np.testing.assert_allclose(information_gain(counts), peer, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_gain_per_class_is_that_of_class_against_rest(seed):
    X, y, counts = single_label(seed)
    expected = [[mutual_info_score(present, y == k) for present in (X > 0).T] for k in range(4)]
    np.testing.assert_allclose(information_gain(counts, per_class=True), expected, atol=1e-14)


def test_gain_with_several_labels_is_the_sum_of_divergences_by_class():
    rng = np.random.default_rng(5)
    B, Y = rng.random((60, 12)) < 0.3, rng.random((60, 5)) < 0.3
    expected = np.zeros(12)
    for c in range(5):
        for t in range(12):
            for x in (True, False):
                p, q = np.mean(B[Y[:, c], t] == x), np.mean(B[:, t] == x)
                expected[t] += Y[:, c].mean() * (p * np.log(p / q) if p else 0)
    found = information_gain(Counts.of(csr_array(B.astype(int)), csr_array(Y.astype(int))))
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert (found >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_chi2_is_pearsons_of_the_whole_table_and_of_class_against_rest(seed):
    X, y, counts = single_label(seed)
    np.testing.assert_allclose(chi2(counts), [table_chi2(present, y) for present in (X > 0).T], atol=1e-10)
    expected = [[table_chi2(present, y == k) for present in (X > 0).T] for k in range(4)]
    np.testing.assert_allclose(chi2(counts, per_class=True), expected, atol=1e-10)


def test_chi2_and_that_of_scikit_learn_which_leaves_out_the_absent_cells():
    X, y, counts = single_label(0)
    theirs, _ = sklearn_chi2((X > 0).astype(int), y)
    np.testing.assert_allclose(chi2(counts) * (1 - counts.df / counts.n_docs), np.nan_to_num(theirs), atol=1e-10)


def test_mutual_information_is_pointwise():
    X, y, counts = single_label(1)
    B = X > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.array([np.log((B & (y == k)[:, None]).mean(0) / (B.mean(0) * (y == k).mean())) for k in range(4)])
    expected[np.isnan(expected)] = -np.inf  # a term or a class that is not there
    np.testing.assert_allclose(mutual_information(counts, per_class=True), expected, atol=1e-14)
    np.testing.assert_allclose(mutual_information(counts), expected.max(axis=0), atol=1e-14)


@pytest.mark.parametrize("name", SELECTIONS)
def test_terms_in_all_documents_or_in_none_say_nothing(name):
    _, _, counts = single_label(2)
    values = SELECTIONS[name](counts)
    assert values[1] == pytest.approx(0, abs=1e-15)
    assert values[0] in (0, -np.inf)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("name", SELECTIONS)
def test_nothing_counted_gives_nothing(name, per_class):
    values = SELECTIONS[name](Counts.zero(2, 3), per_class)
    assert values.shape == ((2, 3) if per_class else (3,))
    assert not np.isnan(values).any()


def test_weights_count_as_documents():
    X, y, _ = single_label(3)
    weight = np.arange(90) % 3
    Y = np.eye(4, dtype=int)[y]
    weighted = Counts.of(csr_array(X), csr_array(Y), weight / 7)
    repeated = np.repeat(np.arange(90), weight)
    whole = Counts.of(csr_array(X[repeated]), csr_array(Y[repeated]))
    np.testing.assert_allclose(information_gain(weighted), information_gain(whole), atol=1e-14)
    np.testing.assert_allclose(information_gain(weighted, True), information_gain(whole, True), atol=1e-14)
    np.testing.assert_allclose(chi2(weighted)[2:], chi2(whole)[2:] / 7, atol=1e-12)


def test_a_table_per_class_that_would_not_fit_is_refused():
    for selection in SELECTIONS.values():
        with pytest.raises(UnnaiveError, match="5000 classes × 300000 terms"):
            selection(Counts.zero(5_000, 300_000), True)


def test_top_k_best_first_ties_by_id():
    gains = np.array([0.1, 0.3, 0.2, 0.3, 0.0])
    assert top_k(gains, 3).tolist() == [1, 3, 2]
    assert top_k(gains, 99).tolist() == [1, 3, 2, 0, 4]
    assert top_k(gains, 1, names=["e", "d", "c", "b", "a"]).tolist() == [3]


def test_top_k_rounding_is_a_tie_and_minus_infinity_is_never_taken():
    gains = np.array([-np.inf, 0.3 - 1e-17, 0.3, 0.3 + 4e-16, -np.inf])
    assert top_k(gains, 5).tolist() == [1, 2, 3]
    assert top_k(np.zeros(3), 2).tolist() == [0, 1]
    assert top_k(np.full(2, -np.inf), 1).tolist() == []
