"""log, log1p, exp and expm1: close to exact, the native code equals the reference, and shapes are kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unnaive.base import elementary, elementary_reference

NAMES = ("log", "log1p", "exp", "expm1")
BORDERS = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, 1.0, -1.0, 2.0, 0.5, 709.78,
    709.79, -708.4, -745.13, -745.14, -0.29289, -0.2929, 0.41421, 0.41422, 1e-17, -1e-17, 37.5, 38.8, -38.9, 0.34657,
    -0.34658, 1.0397, -1.0397,
]  # fmt: skip


def drawn(n: int) -> np.ndarray:
    """Values of all sizes, with those at which a branch begins."""
    chance = np.random.default_rng(0)
    normal = chance.normal(size=(6, n))
    sizes = np.sign(normal[0]) * 2.0 ** (normal[1] * 300).clip(-1070, 1020)
    return np.concatenate([BORDERS, sizes, normal[2], normal[3] * 100, 1 + normal[4] * 1e-8, chance.random(n)])


def is_same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a.view(np.uint64) == b.view(np.uint64)) | (np.isnan(a) & np.isnan(b))


@pytest.mark.skipif(elementary.NATIVE is None, reason="built without a compiler")
@pytest.mark.parametrize("name", NAMES)
def test_native_code_has_the_bits_of_the_reference(name: str) -> None:
    x = drawn(20_000)
    for length in (0, 1, 2, 3, 7, 8, 9, len(x)):
        assert is_same(getattr(elementary, name)(x[:length]), getattr(elementary_reference, name)(x[:length])).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="numpy has no more exact functions here")
def test_the_error_is_below_one_unit_in_the_last_place(name: str) -> None:
    x = drawn(20_000)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.longdouble))
        rounded = exact.astype(np.float64)
        found = getattr(elementary, name)(x)
        units = np.abs(found - exact) / np.spacing(np.abs(rounded))
    finite = np.isfinite(rounded) & np.isfinite(found)
    assert units[finite].max() < 1
    assert is_same(found[~finite], rounded[~finite]).all()


def test_exact_values_are_exact() -> None:
    assert elementary.log(np.array([1.0, 0.0, np.inf])).tolist() == [0.0, -np.inf, np.inf]
    assert elementary.exp(np.array([0.0, -0.0, -np.inf, np.inf])).tolist() == [1.0, 1.0, 0.0, np.inf]
    assert np.signbit(elementary.log1p(-0.0))
    assert np.signbit(elementary.expm1(-0.0))
    assert np.isnan(elementary.log(-1.0))
    assert np.isnan(elementary.log1p(-1.5))


@pytest.mark.parametrize("native", [True, False])
def test_any_shape_order_and_type_is_taken(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(elementary, "NATIVE", None)
    table = np.arange(24.0).reshape(4, 6)
    for x in (
        table,
        table.T,
        table[:, ::2],
        table[::-1],
        table[0, ::3],
        np.asfortranarray(table),
        table[:0],
        table.reshape(2, 3, 4),
    ):
        found = elementary.exp(x)
        assert found.shape == x.shape
        np.testing.assert_allclose(found, np.exp(x), rtol=2e-16)
    assert type(elementary.exp(1)) is np.float64
    assert elementary.exp(np.array([1, 2], np.int32)).dtype == np.float64
    own = table.copy()
    own.flags.writeable = False
    assert elementary.exp(own).flags.writeable


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_are_written_in_place(order: str) -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)
    expected = elementary.exp(table.copy())
    assert elementary.exp(table, out=table) is table or order == "F"
    assert (table == expected).all()
    strided = np.ones((3, 4))[:, ::2]
    elementary.log(strided, out=strided)
    assert (strided == 0).all()


@given(st.lists(st.floats(-800, 800), min_size=1, max_size=6))
def test_sums_of_exponentials_are_those_of_numpy(values: list[float]) -> None:
    scores = np.array([values])
    np.testing.assert_allclose(
        elementary.logsumexp(scores, axis=1), np.logaddexp.reduce(scores, axis=1), rtol=1e-14, atol=1e-14
    )
    a, b = scores[0], scores[0][::-1]
    np.testing.assert_allclose(elementary.logaddexp(a, b), np.logaddexp(a, b), rtol=1e-15, atol=1e-15)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(elementary.logistic(a), 1 / (1 + np.exp(-a)), rtol=4e-16, atol=1e-300)


def test_infinite_scores() -> None:
    scores = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    assert elementary.logsumexp(scores, axis=1).tolist() == [-np.inf, 0.0]
    assert elementary.logaddexp(-np.inf, -np.inf) == -np.inf
    assert elementary.logaddexp(np.inf, np.array([np.inf, 1.0])).tolist() == [np.inf, np.inf]
