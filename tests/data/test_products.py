"""Native products and passes against scipy.sparse, which is their specification."""

import platform

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from unnaive.data import products
from unnaive.data.products import add_tf_idf, product, transposed_product
from unnaive.data.weighting import Weighting
from unnaive.models.maxent import gis
from unnaive.models.maxent.gis import ActiveCells, CellDocuments, aligned_zeros

native = pytest.mark.skipif(products.NATIVE is None, reason="built without a compiler")


def documents(n_docs, n_terms, density, seed):
    rng = np.random.default_rng(seed)
    return csr_array(random_array((n_docs, n_terms), density=density, rng=rng, format="csr"))


def by_hand(X, W):
    """X @ W and Xᵀ @ R are such sums: term after term, a product and then a sum, each of them rounded."""
    out = np.zeros((X.shape[0], W.shape[1]))
    for row in range(X.shape[0]):
        for k in range(X.indptr[row], X.indptr[row + 1]):
            out[row] += X.data[k] * W[X.indices[k]]
    return out


@native
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 30), st.integers(1, 40), st.integers(1, 45), st.floats(0, 1), st.integers(0, 2**32))
def test_products_are_sums_in_order_and_those_of_scipy_bit_for_bit(n_docs, n_terms, width, density, seed):
    X, rng = documents(n_docs, n_terms, density, seed), np.random.default_rng(seed)
    W, R = rng.normal(size=(n_terms, width)), rng.normal(size=(n_docs, width))
    np.testing.assert_array_equal(product(X, W), by_hand(X, W))
    np.testing.assert_array_equal(transposed_product(X, R), by_hand(csr_array(X.T), R))
    if platform.machine() in ("x86_64", "AMD64"):  # elsewhere SciPy is compiled to round a product and a sum once
        np.testing.assert_array_equal(product(X, W), X @ W)
        np.testing.assert_array_equal(transposed_product(X, R), X.T @ R)


@native
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 20), st.integers(1, 40), st.integers(1, 45), st.floats(0, 1), st.integers(0, 2**32))
def test_tf_idf_scores_are_those_of_weighted_documents(n_docs, n_terms, width, density, seed):
    X, rng = documents(n_docs, n_terms, density, seed), np.random.default_rng(seed)
    X.data = rng.choice([0.0, 0.5, 1.0, 2.0, 255.0, 256.0, 1e6], X.nnz)
    columns = np.flatnonzero(rng.random(n_terms) < 0.6)
    weighting = Weighting("log", rng.random(len(columns)) + 0.5, "l2")
    place = np.full(n_terms, -1, np.int32)
    place[columns] = np.arange(len(columns))
    for kind in (np.float32, np.float64):
        weights = rng.normal(size=(len(columns), width)).astype(kind)
        out = np.ones((n_docs, width))
        assert add_tf_idf(X, place, weighting.idf, weights, out)
        expected = 1 + weighting.apply(X[:, columns]) @ weights.astype(np.float64)
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)  # measured below 1e-14


@native
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_both_sizes_of_row_starts_are_read(dtype):
    X = documents(20, 30, 0.2, seed=1)
    X.indptr = X.indptr.astype(dtype)
    W = np.ones((30, 7))
    np.testing.assert_array_equal(product(X, W), X @ W)


def test_other_numbers_and_other_orders_of_memory_go_another_way():
    X, W = documents(20, 30, 0.2, seed=1), np.asfortranarray(np.random.default_rng(0).normal(size=(30, 5)))
    np.testing.assert_array_equal(product(X, W), by_hand(X, W))
    np.testing.assert_allclose(product(X.astype(np.float32), W), X @ W, atol=1e-6)
    np.testing.assert_allclose(product(X, W.astype(np.float32)), X @ W, atol=1e-6)
    np.testing.assert_allclose(
        transposed_product((X > 0).astype(np.int64), np.ones((20, 1))), (X > 0).sum(axis=0)[:, None]
    )


def test_shapes_that_do_not_fit_are_an_error_and_not_a_read_out_of_bounds():
    X = documents(20, 30, 0.2, seed=1)
    for function, rows in ((product, 29), (product, 31), (transposed_product, 19), (transposed_product, 21)):
        with pytest.raises(ValueError, match=r"[Dd]imension|matmul|mismatch"):
            function(X, np.ones((rows, 4)))
    np.testing.assert_allclose(product(X, np.ones(30)), X.sum(axis=1))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 30), st.integers(1, 25), st.integers(1, 24), st.floats(0, 1), st.integers(0, 2**32))
def test_a_pass_expects_what_dense_arithmetic_expects(n_docs, n_terms, n_classes, density, seed):
    """By a full table of weights that are 0 off the cells; full rows, lists and both together."""
    X, rng = documents(n_docs, n_terms, density, seed), np.random.default_rng(seed)
    targets = rng.integers(n_classes, size=n_docs).astype(np.int32)
    pattern = csr_array(rng.random((n_terms, n_classes)) < rng.random((n_terms, 1)))
    cells = ActiveCells.of(pattern)
    table = csr_array(pattern * rng.normal(size=pattern.shape))
    weights, weight, offset = cells.gather(table), rng.random(n_docs), rng.normal(size=n_classes)
    found, expected = CellDocuments.of(X, cells).expectations(weights, targets, weight, offset)

    scores = X @ table.toarray() + offset
    posteriors = np.exp(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
    assert found == pytest.approx(weight @ np.log(posteriors[np.arange(n_docs), targets]), rel=1e-10, abs=1e-12)
    full = cells.to_table(expected).toarray().T
    np.testing.assert_allclose(full, (X.T @ (posteriors * weight[:, None])) * pattern.toarray(), atol=1e-12)


@native
def test_without_the_native_pass_the_result_is_the_same(monkeypatch):
    X, rng = documents(50, 60, 0.2, seed=3), np.random.default_rng(3)
    cells = ActiveCells.of(csr_array(rng.random((60, 9)) < 0.3))
    weights = rng.normal(size=len(cells.active)) * cells.active
    arguments = (weights, rng.integers(9, size=50).astype(np.int32), np.ones(50), np.zeros(9))
    docs = CellDocuments.of(X, cells)
    likelihood, expected = docs.expectations(*arguments)
    monkeypatch.setattr(products, "NATIVE", None)
    slowly, slow_expected = docs.expectations(*arguments)
    assert likelihood == pytest.approx(slowly, rel=1e-13)
    np.testing.assert_allclose(expected, slow_expected, atol=1e-13)


@native
@pytest.mark.parametrize("kind", ["counts", "shares", "large counts", "fractions", "nothing"])
@pytest.mark.parametrize("n_classes", [2, 9, 20, 43])
def test_documents_that_can_be_packed_and_others_expect_the_same_as_in_numpy(monkeypatch, kind, n_classes):
    """Counts over a sum are packed as counts and a scale; a count of 4,096 or a fraction keeps all values."""
    rng = np.random.default_rng(n_classes)
    X = csr_array(rng.poisson(0.3, size=(70, 50)).astype(float) * (kind != "nothing"))
    X.eliminate_zeros()
    if kind == "shares":
        X.data /= np.repeat(np.maximum(X.sum(axis=1), 1), np.diff(X.indptr))
    elif kind == "large counts":
        X.data[3] = 4096
    elif kind == "fractions":
        X.data *= rng.random(X.nnz)
    cells = ActiveCells.of(csr_array(rng.random((50, n_classes)) < rng.random((50, 1))))
    weights = 0.1 * rng.normal(size=len(cells.active)) * cells.active
    offset = np.where(np.arange(n_classes) == 1, -np.inf, rng.normal(size=n_classes))
    arguments = (weights, np.zeros(70, np.int32), rng.random(70), offset)
    monkeypatch.setattr(gis, "CHUNK_CELLS", 16 * n_classes)
    docs = CellDocuments.of(X, cells)
    found = [docs.expectations(*arguments, threads=threads) for threads in (1, 3)]
    monkeypatch.setattr(products, "NATIVE", None)
    likelihood, expected = docs.expectations(*arguments)
    assert found[0][0] == pytest.approx(likelihood, rel=1e-13)
    np.testing.assert_allclose(found[0][1], expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found[1][1], found[0][1])


def test_the_weights_begin_with_a_cache_line():
    assert all(aligned_zeros(size).ctypes.data % 64 == 0 for size in (1, 100, 10_000))


@pytest.mark.parametrize("width", [1, 7, 20])
def test_products_by_several_threads_are_those_of_one(monkeypatch, width):
    monkeypatch.setattr(products, "WORTH_THREADS", 0)
    rng = np.random.default_rng(width)
    X = csr_array(rng.random((40, 60)) * (rng.random((40, 60)) < 0.2))
    tall, wide = rng.normal(size=(60, width)), rng.normal(size=(40, width))
    for threads in (1, 2, 3, 64):
        both = products.ThinProducts.of(X, threads)
        np.testing.assert_array_equal(both.product(tall), products.product(X, tall))
        np.testing.assert_array_equal(both.transposed_product(wide), products.transposed_product(X, wide))


@native
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_moved_columns_are_those_of_scipy(index):
    drawn = np.random.default_rng(2)
    table = random_array((12, 70), density=0.2, format="csr", rng=drawn)
    order = drawn.permutation(70)
    place = np.argsort(order).astype(np.int32)
    columns, cells = products.NATIVE.move_columns(table.indptr.astype(index), table.indices.astype(np.int32), place)
    wanted = table[:, order]
    wanted.sort_indices()
    assert np.array_equal(columns, wanted.indices)
    assert np.array_equal(table.data[cells], wanted.data)


@native
@pytest.mark.parametrize(
    ("starts", "columns", "place"),
    [([0, 2], [0, 2], [0, 1]), ([0, 3], [0, 1], [0, 1]), ([0, 1], [0, 1], [0, 1]), ([1, 2], [0, 1], [0, 1]),
     ([0, 2], [0, -1], [0, 1]), ([0, 2], [0, 1], [0, 2]), ([], [], [])],
)  # fmt: skip
def test_columns_of_a_broken_matrix_are_not_moved(starts, columns, place):
    parts = (np.array(part, np.int32) for part in (starts, columns, place))
    with pytest.raises(ValueError, match="matrix"):
        products.NATIVE.move_columns(*parts)
