"""Suspected label errors: planted ones come first, at both depths; the estimate counts them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from unnaive.curation.audit.label_errors import (
    count_errors,
    estimate_errors,
    leave_one_out_evidence,
    out_of_fold_evidence,
)
from unnaive.curation.audit.leave_one_out import LeaveOneOut
from unnaive.data.targets import one_label_matrix
from unnaive.learning.confidence_interval import wilson_interval


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
        # 13 of the surest 200, with a standard deviation of 3.5 or 5 in all: two of these
        assert estimate_errors(found).number == pytest.approx(20, abs=10)


def test_copies_with_the_same_wrong_label_are_found():
    """60 wrong labels: those of 20 texts that are there three times; a model that learnt a copy would agree."""
    X, given, truth, n_classes = planted()
    rows = np.concatenate([np.arange(300), np.arange(20), np.arange(20)])
    wrong = given[rows] != truth[rows]
    for found in both_depths(X[rows], given[rows], n_classes):
        assert found.disagrees[wrong].sum() >= 57
        assert estimate_errors(found).high >= 60


def test_the_interval_of_the_estimate_covers_the_planted_errors():
    """The surest 200 of 300 are looked at, 13 of them wrong on average; the interval should cover 19 times in 20."""
    covered = []
    for seed in range(20):
        X, given, _, n_classes = planted(seed)
        found = estimate_errors(leave_one_out_evidence(LeaveOneOut.of(X, given, n_classes)))
        covered.append(found.low <= 20 <= found.high)
    assert sum(covered) >= 19  # it covered in all of 100 such data sets


def test_classes_that_no_model_tells_apart_are_no_errors_of_the_data():
    """A third of the documents are of two classes with the same words, and half of these are taken for the other."""
    covered, disagreed = [], []
    for seed in range(20):
        X, given, _, _ = planted(seed, n_docs=900, wrong=45)
        twins = np.where(given == 2, 2 + np.random.default_rng(seed).integers(0, 2, 900), given)
        found = leave_one_out_evidence(LeaveOneOut.of(X, twins, 4))
        estimate = estimate_errors(found)
        covered.append(estimate.low <= 45 <= estimate.high)
        disagreed.append(found.disagrees.sum())
    assert sum(covered) >= 19  # it covered in 99 of 100 such data sets
    assert np.mean(disagreed) > 150  # 188 over 100 data sets: the 45 that are planted, and half of the 300 twins


def test_same_numbers_again_and_another_seed_changes_folds_only_slightly():
    X, given, _, n_classes = planted()
    one, same = (out_of_fold_evidence(X, given, n_classes, seed=0).log_given for _ in range(2))
    np.testing.assert_array_equal(one, same)


def test_leave_one_out_in_blocks_is_the_same(monkeypatch):
    X, given, _, n_classes = planted()
    model = LeaveOneOut.of(X, given, n_classes)
    whole = leave_one_out_evidence(model)
    monkeypatch.setattr("unnaive.curation.audit.leave_one_out.BLOCK_CELLS", 21)
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


def test_errors_are_counted_where_the_model_is_surest_by_hand():
    """Of 3,000 documents the surest 300 are looked at, 6 of them wrong: 60. Wilson: 6/300 lies in .0092 to .0429."""
    sure, wrong = np.linspace(1, 0.5, 3000), np.zeros(3000, bool)
    wrong[:300:50] = True
    wrong[2000:] = True
    found = count_errors(sure, wrong)
    assert found.number == pytest.approx(60)
    assert (found.low, found.high) == pytest.approx((27.59, 128.82), abs=0.01)
    assert count_errors(np.zeros(0), np.zeros(0, bool)).high == 0


def test_labels_of_one_class_replaced_by_another_are_counted_by_hand():
    """Of 600 predictions of a, a third has the label b and none of the 1,400 others; the model is surer of the others.

    A tenth of each is looked at: 60 of a, of which 20 are b: 200 wrong. The surest tenth of all has none of a.
    """
    predicted = np.repeat([0, 1], [600, 1400])
    wrong = (predicted == 0) & (np.arange(2000) % 3 == 0)
    sure = np.where(predicted == 0, 0.6, 0.9)
    found = count_errors(sure, wrong, predicted)
    assert found.number == pytest.approx(200)
    assert count_errors(sure, wrong).number == 0
    assert found.most == pytest.approx(2000 * wilson_interval(200, 2000)[1])


def test_labels_of_one_class_replaced_by_another_are_below_the_upper_end():
    """60 of the 300 documents of a class get the label of another."""
    covered = []
    for seed in range(10):
        X, _, truth, n_classes = planted(seed, n_docs=900, wrong=0)
        given = np.where((truth == 0) & (np.cumsum(truth == 0) <= 60), 1, truth)
        covered.append(estimate_errors(leave_one_out_evidence(LeaveOneOut.of(X, given, n_classes))).high >= 60)
    assert all(covered)


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
