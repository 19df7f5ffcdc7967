"""Dense products, dot products and symmetric systems: those of numpy; the same bits with and without native code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive.data import products
from unnaive.data.products import dot, matmul
from unnaive.data.symmetric import cholesky, eigh, solve_positive

SIZES = st.integers(0, 37)
KINDS = st.sampled_from([np.float32, np.float64])


def in_python(compute: Callable[[], Any]) -> Any:
    """The same without native code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "NATIVE", None)
        return compute()


def is_the_same(compute: Callable[[], Any]) -> bool:
    native, reference = np.asarray(compute()), np.asarray(in_python(compute))
    return (
        native.dtype == reference.dtype and native.shape == reference.shape and native.tobytes() == reference.tobytes()
    )


@given(SIZES, st.integers(0, 600), SIZES, KINDS, st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_products_of_any_layout(m: int, k: int, n: int, kind: Any, layout: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    left, right = chance.normal(size=(m, k)).astype(kind), chance.normal(size=(k, n)).astype(kind)
    left = np.asfortranarray(left) if layout & 1 else left
    right = np.asfortranarray(right) if layout & 2 else right
    if layout & 4:
        left, right = left[:, ::-1], right[::-1]
    assert is_the_same(lambda: matmul(left, right))
    close = {"rtol": 1e-3, "atol": 1e-3} if kind == np.float32 else {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(matmul(left, right), left @ right, **close)
    assert matmul(left, right).dtype == kind


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_vectors_and_dot_products(k: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    table, vector = chance.normal(size=(5, k)), chance.normal(size=k)
    for compute in (lambda: matmul(table, vector), lambda: matmul(vector, table.T), lambda: dot(table[0], vector)):
        assert is_the_same(compute)
    np.testing.assert_allclose(matmul(table, vector), table @ vector, atol=1e-12)
    np.testing.assert_allclose(dot(table[0], vector), table[0] @ vector, atol=1e-12)


def test_stacks_are_broadcast_and_written_into_strided_arrays() -> None:
    chance = np.random.default_rng(0)
    stack, table = chance.normal(size=(3, 4, 6)), chance.normal(size=(6, 5))
    np.testing.assert_allclose(matmul(stack, table), stack @ table, atol=1e-12)
    out = np.full((3, 4, 10), np.nan)[:, :, ::2]
    assert matmul(stack, table, out=out) is out
    assert (out == matmul(stack, table)).all()
    assert is_the_same(lambda: matmul(stack, table))


def test_whole_numbers_are_exact() -> None:
    chance = np.random.default_rng(0)
    left, right = chance.integers(0, 1000, (9, 700)), chance.integers(0, 1000, (700, 9))
    assert (matmul(left, right) == left @ right).all()


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="shapes of a product"):
        matmul(np.ones((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 65, 150])
def test_symmetric_systems_are_solved(n: int) -> None:
    chance = np.random.default_rng(n)
    rows = chance.normal(size=(n, n + 3))
    A, B = rows @ rows.T + 0.1 * np.eye(n), chance.normal(size=(n, 4))
    np.testing.assert_allclose(A @ solve_positive(A, B), B, atol=1e-9)
    np.testing.assert_allclose(solve_positive(A, B[:, 0]), solve_positive(A, B)[:, 0], atol=1e-12)
    np.testing.assert_allclose(cholesky(A) @ cholesky(A).T, A, atol=1e-10)
    assert is_the_same(lambda: solve_positive(A, B))


def test_a_matrix_without_full_rank_has_a_finite_solution() -> None:
    assert np.isfinite(solve_positive(np.ones((3, 3)), np.ones(3))).all()


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("kind", ["dense", "diagonal", "rank-one", "equal", "zero"])
def test_eigenvectors(n: int, kind: str) -> None:
    chance = np.random.default_rng(n)
    rows = chance.normal(size=(n, n))
    A = {
        "dense": rows + rows.T,
        "diagonal": np.diag(rows[0]),
        "rank-one": np.outer(rows[0], rows[0]),
        "equal": np.eye(n),
        "zero": np.zeros((n, n)),
    }[kind]
    values, vectors = eigh(A)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A), atol=1e-12 * n)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12 * n)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-11 * n)
    assert is_the_same(lambda: eigh(A)[1])
