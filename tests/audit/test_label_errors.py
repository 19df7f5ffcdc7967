"""Suspected label errors: planted ones come first, at both depths; the estimate counts them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.audit.label_errors import (
    LabelEvidence,
    estimate_errors,
    leave_one_out_evidence,
    out_of_fold_evidence,
)
from unnaive.audit.leave_one_out import LeaveOneOut
from unnaive.core.targets import one_label_matrix


def planted(seed=0, n_docs=300, n_classes=3, wrong=20):
    """Documents of ten words, seven of their class and three of all; the first `wrong` have another label."""
    generator = np.random.default_rng(seed)
    truth = np.arange(n_docs) % n_classes
    own = truth[:, None] * 20 + generator.integers(0, 20, (n_docs, 7))
    terms = np.concatenate([own, 60 + generator.integers(0, 20, (n_docs, 3))], axis=1)
    X = csr_array((np.ones(terms.size), terms.ravel(), np.arange(n_docs + 1) * 10), (n_docs, 80))
    X.sum_duplicates()
    given = truth.copy()
    given[:wrong] = (truth[:wrong] + 1) % n_classes
    return X, given, truth, n_classes


def both_depths(X, given, n_classes):
    yield out_of_fold_evidence(X, given, n_classes)
    yield leave_one_out_evidence(LeaveOneOut.of(X, given, n_classes))


def test_planted_errors_come_first_with_the_true_label_proposed():
    X, given, truth, n_classes = planted()
    for found in both_depths(X, given, n_classes):
        first = found.ranking()[:20]
        assert set(first) == set(range(20))
        assert (found.rival[first] == truth[first]).all()
        # over eight such data sets the estimate was 18.9 to 22.5
        assert estimate_errors(found, n_classes).number == pytest.approx(20, abs=3)


def test_the_estimate_has_an_interval_around_it():
    X, given, _, n_classes = planted()
    found = estimate_errors(out_of_fold_evidence(X, given, n_classes), n_classes)
    # 20 of 300 drawn anew: a binomial with standard deviation 4.3, so about 8.5 either way, more for the thresholds
    assert 8 <= found.low < 20 < found.high <= 32


def test_same_numbers_again_and_another_seed_changes_folds_only_slightly():
    X, given, _, n_classes = planted()
    one, same = (out_of_fold_evidence(X, given, n_classes, seed=0).log_given for _ in range(2))
    np.testing.assert_array_equal(one, same)


def test_leave_one_out_in_blocks_is_the_same(monkeypatch):
    X, given, _, n_classes = planted()
    model = LeaveOneOut.of(X, given, n_classes)
    whole = leave_one_out_evidence(model)
    monkeypatch.setattr("unnaive.audit.leave_one_out.BLOCK_CELLS", 21)
    parts = leave_one_out_evidence(model)
    np.testing.assert_allclose(parts.log_given, whole.log_given, atol=1e-12)
    np.testing.assert_array_equal(parts.rival, whole.rival)


def test_probabilities_are_those_of_a_softmax():
    """With two classes the given one and its rival share all of the probability."""
    X, given, _, _ = planted(n_classes=2)
    for found in both_depths(X, given, 2):
        np.testing.assert_allclose(np.exp(found.log_given) + np.exp(found.log_rival), 1.0, atol=1e-9)


def test_nothing_is_said_where_nothing_is_known():
    X = csr_array(np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]]))
    codes = np.array([0, 0, 1, 0, 2, 1])  # document 3 has no terms, document 4 is alone in its class
    for found in both_depths(X, codes, 3):
        assert found.judged.tolist() == [True, True, True, False, False, True]
        assert not set(found.ranking()) & {3, 4}
        assert found.suspicion[3] == found.suspicion[4] == 0


def test_confident_counting_by_hand():
    """Class 0 is given p .9, .8, .1 (mean .6), class 1 .7, .7 (mean .7).

    Of class 0 two are surely right (.9 and .8 ≥ .6) and one is surely of class 1 (.9 ≥ .7): a third of 3 documents.
    """
    p_given = np.array([0.9, 0.8, 0.1, 0.7, 0.7])
    given = np.array([0, 0, 0, 1, 1])
    found = LabelEvidence(given, 1 - given, np.log(p_given), np.log(1 - p_given), np.ones(5, bool))
    assert estimate_errors(found, 2).number == pytest.approx(1)
    weaker = LabelEvidence(
        given, 1 - given, np.log([0.9, 0.8, 0.4, 0.7, 0.7]), np.log([0.1, 0.2, 0.6, 0.3, 0.3]), np.ones(5, bool)
    )
    assert estimate_errors(weaker, 2).number == 0  # .6 is less sure than class 1 usually is


@pytest.mark.slow
def test_many_classes_never_hold_documents_times_classes():
    """20,000 documents × 2,000 classes: 320 MB at once; blocks and arrays of the documents stay far below."""
    import tracemalloc

    generator = np.random.default_rng(0)
    n_docs, n_classes = 20_000, 2_000
    codes = generator.integers(0, n_classes, n_docs)
    terms = np.sort((codes[:, None] * 7 + generator.integers(0, 30, (n_docs, 12))) % 20_000, axis=1)
    X = csr_array((np.ones(terms.size), terms.ravel(), np.arange(n_docs + 1) * 12), (n_docs, 20_000))
    X.sum_duplicates()
    tracemalloc.start()
    leave_one_out_evidence(LeaveOneOut.of(X, codes, n_classes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 160e6  # a block of 2²² scores is 34 MB, of which four are held while one is worked on
    assert one_label_matrix(codes, n_classes).shape == (n_docs, n_classes)
