"""Counts: sums over documents by hand, by brute force, and their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from unnaive.base.errors import BadData
from unnaive.data import class_sums
from unnaive.data.counts import Counts


def random_documents(seed, n_docs=30, n_terms=12, n_classes=4):
    """Counts and label sets, some documents empty, some without a label, some with several."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.6, (n_docs, n_terms)) * (rng.random((n_docs, 1)) < 0.9)
    Y = (rng.random((n_docs, n_classes)) < 0.3).astype(int)
    return csr_array(X), csr_array(Y)


def brute_force(X, Y, weight):
    """Counts document by document, with dense arrays."""
    X, Y = X.toarray(), Y.toarray()
    n_classes, n_terms = Y.shape[1], X.shape[1]
    class_terms, class_df = np.zeros((n_classes, n_terms)), np.zeros((n_classes, n_terms))
    for x, y, w in zip(X, Y, weight, strict=True):
        class_terms += w * np.outer(y, x)
        class_df += w * np.outer(y, x > 0)
    return {
        "n_docs": weight.sum(), "class_docs": weight @ Y, "class_terms": class_terms, "class_df": class_df,
        "terms": weight @ X, "df": weight @ (X > 0),
    }  # fmt: skip


def assert_close(counts, expected):
    for name, value in expected.items():
        found = getattr(counts, name)
        np.testing.assert_allclose(found.toarray() if hasattr(found, "toarray") else found, value, rtol=1e-13)


def test_by_hand():
    X = csr_array([[2, 0, 1], [0, 1, 0], [1, 1, 0]])
    Y = csr_array([[1, 0], [0, 1], [1, 1]])
    counts = Counts.of(X, Y)
    assert counts.n_docs == 3
    assert counts.class_docs.tolist() == [2, 2]
    assert counts.class_terms.toarray().tolist() == [[3, 1, 1], [1, 2, 0]]
    assert counts.class_df.toarray().tolist() == [[2, 1, 1], [1, 2, 0]]
    assert counts.terms.tolist() == [3, 2, 1], "the document of two classes is one document of the corpus"
    assert counts.df.tolist() == [2, 2, 1]
    assert (counts.class_totals.tolist(), counts.total) == ([5, 3], 6)
    assert (counts.n_classes, counts.n_terms) == (2, 3)


@pytest.mark.parametrize("seed", range(5))
def test_equals_brute_force(seed):
    X, Y = random_documents(seed)
    assert_close(Counts.of(X, Y), brute_force(X, Y, np.ones(30)))
    weight = np.random.default_rng(seed).random(30)
    assert_close(Counts.of(X, Y, weight), brute_force(X, Y, weight))


@pytest.mark.parametrize("share", [0, 1e9], ids=["by product", "by counting"])
@pytest.mark.parametrize("in_order", [False, True])
def test_both_ways_of_counting_equal_brute_force(share, in_order, monkeypatch):
    """Documents in the order of their classes or not; a class without documents; documents without a class."""
    monkeypatch.setattr(class_sums, "DENSE_SHARE", share)
    for seed in range(5):
        X, Y = random_documents(seed)
        Y = np.where(np.arange(4) < 3, Y.toarray(), 0)
        rows = np.lexsort(-Y.T) if in_order else np.arange(30)
        X, Y = X[rows], csr_array(Y[rows])
        for weight in (np.ones(30), np.arange(30) % 3, np.random.default_rng(seed).random(30)):
            assert_close(Counts.of(X, Y, weight), brute_force(X, Y, weight))
        single = csr_array(np.eye(4, dtype=int)[np.arange(30) // 10])
        for few in (X[:25], X[:0], X * 0):
            assert_close(
                Counts.of(few, single[: few.shape[0]]), brute_force(few, single[: few.shape[0]], np.ones(few.shape[0]))
            )


@pytest.mark.skipif(class_sums.NATIVE is None, reason="built without a compiler")
@pytest.mark.parametrize("threads", [1, 3])
def test_native_sums_equal_those_of_numpy(threads, monkeypatch):
    """Sets of labels, one label each, no label at all; zeros that are stored; every width of index."""
    monkeypatch.setattr(class_sums, "DENSE_SHARE", 1e9)
    monkeypatch.setattr(class_sums, "WORTH_THREADS", 0)
    for seed in range(20):
        X, Y = random_documents(seed, n_docs=60, n_terms=30 + seed)
        single = csr_array(np.eye(4, dtype=int)[np.random.default_rng(seed).integers(0, 3, 60)])
        for labels in (Y, single, Y * 0):
            narrow = csr_array((X.data.astype(np.int32), X.indices.astype(np.int32), X.indptr), shape=X.shape)
            wide = csr_array((narrow.data, narrow.indices, X.indptr.astype(np.int64)), shape=X.shape)
            expected = Counts.of(X.astype(np.int64), labels)  # 64-bit counts are summed by numpy
            for documents in (narrow, wide):
                assert Counts.of(documents, labels, threads=threads) == expected
    narrow.data[3] = 0
    assert Counts.of(narrow, Y).df.sum() == expected.df.sum() - 1


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("share", [0, 1e9], ids=["by product", "by counting"])
def test_sums_in_an_order_are_those_of_reordered_columns(native, share, monkeypatch):
    """Also with weights, labels of several classes, no label, and no document; columns of a row in any order."""
    monkeypatch.setattr(class_sums, "DENSE_SHARE", share)
    if not native:
        monkeypatch.setattr(class_sums, "NATIVE", None)
    for seed in range(10):
        X, Y = random_documents(seed, n_docs=60, n_terms=70)
        X = csr_array((X.data.astype(np.int32), X.indices.astype(np.int32), X.indptr), shape=X.shape)
        order = np.random.default_rng(seed).permutation(70)
        shuffled = X[:, order][:, np.argsort(order)]  # the same matrix, its rows in another order
        single = csr_array(np.eye(4, dtype=int)[np.arange(60) % 3])
        for labels, weight in ((Y, None), (single, None), (single * 0, None), (Y, np.arange(60) / 7)):
            expected = Counts.of(X[:, order], labels, weight)
            assert Counts.of(shuffled, labels, weight, order=order, threads=2) == expected
        assert Counts.of(X[:0], Y[:0], order=order) == Counts.of(X[:0], Y[:0])


@pytest.mark.skipif(class_sums.NATIVE is None, reason="built without a compiler")
def test_sums_that_outgrow_a_native_cell_are_summed_all_the_same(monkeypatch):
    monkeypatch.setattr(class_sums, "DENSE_SHARE", 1e9)
    X = csr_array(np.full((3, 1), 2**31 - 1, np.int32))
    assert Counts.of(X, csr_array([[1], [1], [1]])).class_terms.toarray().tolist() == [[3 * (2**31 - 1)]]
    many = csr_array(np.full((200, 1), 2**26 - 1, np.int32))
    assert Counts.of(many, csr_array(np.ones((200, 1)))).terms.tolist() == [200 * (2**26 - 1)]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.lists(st.booleans(), min_size=30, max_size=30))
def test_parts_add_up_and_come_off_again(seed, part):
    X, Y = random_documents(seed)
    rows, others = np.flatnonzero(part), np.flatnonzero(~np.array(part))
    a, b, whole = Counts.of(X[rows], Y[rows]), Counts.of(X[others], Y[others]), Counts.of(X, Y)
    assert a + b == whole
    assert b + a == whole
    assert whole - a == b
    assert whole - b - a == Counts.zero(4, 12)


def test_zero_is_neutral():
    counts = Counts.of(*random_documents(0))
    assert Counts.zero(4, 12) + counts == counts
    assert counts - Counts.zero(4, 12) == counts


def test_whole_weights_are_repetitions():
    X, Y = random_documents(1)
    weight = np.arange(30) % 3
    repeated = np.repeat(np.arange(30), weight)
    weighted = Counts.of(X, Y, weight.astype(float))
    assert weighted == Counts.of(X[repeated], Y[repeated])
    assert weighted.class_terms.dtype == np.int64


@pytest.mark.parametrize(
    ("values", "number"),
    [
        (np.array([1.0, 2.0], np.float32), np.int64),
        (np.array([True, True]), np.int64),
        (np.array([1, 2], np.uint8), np.int64),
        (np.array([0.5, 2.0]), np.float64),
        (np.array([1.0, 1e300]), np.float64),  # whole, but no count: would leave int64
    ],
)
def test_whole_numbers_are_integers_and_fractions_are_not(values, number):
    counts = Counts.of(csr_array((values, [0, 1], [0, 2]), shape=(1, 2)), csr_array([[1]]))
    assert counts.class_terms.dtype == number
    np.testing.assert_array_equal(counts.terms, values.astype(number))
    assert counts.df.tolist() == [1, 1]


def test_fractions_that_cancel_leave_nothing():
    rng = np.random.default_rng(3)
    X = csr_array(rng.random((200, 20)) * (rng.random((200, 20)) < 0.3))
    Y = csr_array(np.eye(3, dtype=int)[rng.integers(0, 3, 200)])
    weight = rng.random(200)
    whole, part = Counts.of(X, Y, weight), Counts.of(X[:150], Y[:150], weight[:150])
    rest = Counts.of(X[150:], Y[150:], weight[150:])
    assert whole - whole == Counts.zero(3, 20)
    assert_close(whole - part, {"terms": rest.terms, "class_terms": rest.class_terms.toarray()})


def test_taking_away_what_was_never_counted_is_refused():
    X, Y = random_documents(0)
    with pytest.raises(BadData, match="forget only documents that the model was trained on"):
        Counts.of(X[:5], Y[:5]) - Counts.of(X, Y)
    with pytest.raises(BadData, match="cannot be removed"):
        Counts.of(X / 2, Y) - Counts.of(X, Y)
    labelled, unlabelled = csr_array([[1, 0]]), csr_array((1, 2), dtype=int)
    with pytest.raises(BadData, match="cannot be removed"):  # the class would have a term that no document has
        Counts.of(csr_array([[2]]), labelled) - Counts.of(csr_array([[2]]), unlabelled)


def test_tables_of_different_sizes_do_not_add():
    with pytest.raises(BadData, match="2 classes × 3 terms and counts of 2 × 4 have different shapes"):
        Counts.zero(2, 3) + Counts.zero(2, 4)


def test_explicit_zeros_are_not_there():
    X = csr_array((np.array([0, 2]), [0, 1], [0, 2]), shape=(1, 2))
    counts = Counts.of(X, csr_array((np.array([1, 0]), [0, 1], [0, 2]), shape=(1, 2)))
    assert counts.df.tolist() == [0, 1]
    assert (counts.class_terms.nnz, counts.class_df.nnz) == (1, 1)
    assert counts.class_docs.tolist() == [1, 0]


def test_cells_are_sorted_and_input_is_left_alone():
    X, Y = random_documents(2)
    before = X.copy(), Y.copy()
    counts = Counts.of(X, Y)
    assert counts.class_terms.has_canonical_format
    assert counts.class_df.has_canonical_format
    assert all((a != b).nnz == 0 for a, b in zip(before, (X, Y), strict=True))


def test_no_classes_and_no_terms():
    assert Counts.of(csr_array([[1, 2]]), csr_array((1, 0), dtype=int)).terms.tolist() == [1, 2]
    assert Counts.of(csr_array((2, 0), dtype=int), csr_array([[1], [1]])).class_docs.tolist() == [2]


def test_no_documents():
    assert Counts.of(csr_array((0, 3), dtype=int), csr_array((0, 2), dtype=int)) == Counts.zero(2, 3)


@pytest.mark.parametrize("seed", range(3))
def test_placed_is_counting_with_the_columns_elsewhere(seed):
    X, Y = random_documents(seed)
    rng = np.random.default_rng(seed)
    terms, classes = rng.permutation(15)[:12], rng.permutation(6)[:4]
    wide_X, wide_Y = np.zeros((30, 15), int), np.zeros((30, 6), int)
    wide_X[:, terms], wide_Y[:, classes] = X.toarray(), Y.toarray()
    expected = Counts.of(csr_array(wide_X), csr_array(wide_Y))
    assert Counts.of(X, Y).placed(classes, terms, 6, 15) == expected


def test_grown_has_room_at_the_end():
    counts = Counts.of(*random_documents(0))
    grown = counts.grown(5, 14)
    assert grown.class_terms.shape == (5, 14)
    assert grown.take_terms(np.arange(12)).terms.tolist() == counts.terms.tolist()
    assert counts.grown(4, 12) is counts


def test_take_terms_is_counting_those_columns():
    X, Y = random_documents(0)
    ids = np.array([7, 0, 3])
    assert Counts.of(X, Y).take_terms(ids) == Counts.of(X[:, ids], Y)


def test_equality_is_by_value():
    X, Y = random_documents(0)
    assert Counts.of(X, Y) == Counts.of(X.astype(float), Y)
    assert Counts.of(X, Y) != Counts.of(X[1:], Y[1:])
    assert Counts.zero(1, 2) != Counts.zero(2, 1)
    assert Counts.zero(1, 2) != "counts"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counts.zero(1, 1))


@pytest.mark.parametrize("n_docs", [4, 4000])
def test_whole_numbers_that_would_wrap_around_are_summed_as_fractions(n_docs):
    largest = 2**31 - 1
    X, Y = csr_array(np.full((n_docs, 1), largest)), csr_array(np.ones((n_docs, 1), np.int64))
    counts = Counts.of(X, Y, np.full(n_docs, float(largest)))
    assert counts.terms[0] == pytest.approx(n_docs * float(largest) ** 2)
    assert counts.class_terms.toarray()[0, 0] == counts.terms[0]


def test_sums_beyond_every_float_are_refused():
    with pytest.raises(BadData, match="too large for a float"), np.errstate(over="ignore"):
        Counts.of(csr_array([[3.5], [3.5]]), csr_array([[1], [1]]), np.array([1e308, 1.0]))


@pytest.mark.parametrize("often", [True, False], ids=["in arrays", "by product"])
def test_sums_of_integers_are_exact_beyond_the_precision_of_floats(often):
    """2⁵³ + 1 is no float64: bincount gave 2⁵³, and Counts of two parts were not those of the whole."""
    n_terms = 2 if often else 100
    X = csr_array(([2**53, 1, 1, 1], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, n_terms), dtype=np.int64)
    Y = csr_array([[1], [1]])
    whole = Counts.of(X, Y)
    assert whole.terms[:2].tolist() == whole.class_terms[[0]].toarray()[0, :2].tolist() == [2**53 + 1, 2]
    assert whole == Counts.of(X[:1], Y[:1]) + Counts.of(X[1:], Y[1:])
    heavy = Counts.of(csr_array(np.array([[2**25, 1], [1, 1]], np.int32)), Y, np.array([2**30, 1]))
    assert heavy.terms.tolist() == [2**55 + 1, 2**30 + 1]


def test_small_probabilities_are_left_when_large_sums_are_forgotten():
    """Multiples of 2⁻²⁴ have no rounding error: 2⁻²⁴ beside a sum of 9,000 was taken for one and became 0."""
    X, Y = csr_array([[9000, 1, 1], [0, 1, 0], [0, 0, 1]]), csr_array([[1], [1], [1]])
    weight = np.array([1.0, 2.0**-24, 0.5])
    left = Counts.of(X, Y, weight) - Counts.of(X[2:], Y[2:], weight[2:])
    assert left == Counts.of(X[:2], Y[:2], weight[:2])
    both = Counts.of(X, Y, weight) - Counts.of(X[[0, 2]], Y[[0, 2]], weight[[0, 2]])
    assert both.terms.tolist() == [0.0, 2.0**-24, 0.0]
    tenths = np.array([0.1, 0.2, 0.3])  # these are rounded: what cancels is 0
    rest = Counts.of(X, Y, tenths) - Counts.of(X[[2, 1]], Y[[2, 1]], tenths[[2, 1]])
    assert rest.class_df.nnz == 3
