"""log, exp and what follows from them, with the same bits on every processor.

numpy computes log and exp by other instructions on AVX2 and AVX-512, and the C library with or without fused
multiply-add, so the last bit of a result depends on the processor: a model file would, too. Models, decisions and
answers use these functions; they are as accurate (below one unit in the last place) and about as fast. They compute in
float64 and print no warnings: log 0 is −∞, and the logarithm of a negative number is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive.base import elementary_reference
from unnaive.base.types import Floats

try:
    import unnaive.base._elementary as _elementary

    NATIVE: Any = _elementary
except ImportError:  # built without a compiler
    NATIVE = None


def log(x: Any, out: Floats | None = None) -> Floats:
    """The natural logarithm of each value, of any shape; written to `out` if it is not None, which may be x.

    >>> log(np.array([1.0, np.e, 0.0])).tolist()
    [0.0, 1.0, -inf]
    """
    return _apply("log", elementary_reference.log, x, out)


def log1p(x: Any, out: Floats | None = None) -> Floats:
    """log(1 + x), exact where x is tiny.

    >>> float(log1p(1e-20))
    1e-20
    """
    return _apply("log1p", elementary_reference.log1p, x, out)


def exp(x: Any, out: Floats | None = None) -> Floats:
    """e^x of each value.

    >>> exp(np.array([0.0, -np.inf, 2.0])).round(12).tolist()
    [1.0, 0.0, 7.389056098931]
    """
    return _apply("exp", elementary_reference.exp, x, out)


def expm1(x: Any, out: Floats | None = None) -> Floats:
    """e^x − 1, exact where x is tiny.

    >>> float(expm1(1e-20))
    1e-20
    """
    return _apply("expm1", elementary_reference.expm1, x, out)


def power(x: Any, exponent: float) -> Floats:
    """x^exponent of values ≥ 0, for an exponent above 0; by products and roots if it is a multiple of ½ up to 4.

    >>> power(np.array([0.0, 4.0]), 1.5).tolist(), float(power(4.0, 0.3).round(6))
    ([0.0, 8.0], 1.515717)
    """
    values = np.asarray(x, np.float64)
    whole, rest = divmod(exponent, 1.0)
    if exponent > 4 or rest not in (0.0, 0.5):
        return exp(exponent * log(values))
    result = np.sqrt(values) if rest else np.ones(values.shape)
    for _ in range(int(whole)):
        result = result * values
    return result


def logaddexp(a: Any, b: Any) -> Floats:
    """log(e^a + e^b), whose arguments are broadcast.

    >>> logaddexp(0.0, np.array([0.0, 1000.0, -np.inf])).round(4)
    array([6.931e-01, 1.000e+03, 0.000e+00])
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is not used
        apart = np.where(a == b, 0.0, -np.abs(a - b))
    result: Floats = np.maximum(a, b) + log1p(exp(apart))
    return result


def logsumexp(scores: Floats, axis: int | None = None, *, keepdims: bool = False) -> Floats:
    """log Σ e^s along an axis, or of all values; −∞ if all are.

    >>> round(float(logsumexp(np.array([1000.0, 1000.0]))), 6)
    1000.693147
    """
    top = scores.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    total: Floats = log(exp(scores - top).sum(axis=axis, keepdims=True)) + top
    return total if keepdims else total.reshape(()) if axis is None else total.squeeze(axis)


def logistic(x: Any) -> Floats:
    """1 / (1 + e^−x), exact where it is tiny.

    >>> logistic(np.array([0.0, -1000.0, np.inf])).tolist()
    [0.5, 0.0, 1.0]
    """
    share = exp(-np.abs(np.asarray(x, np.float64)))
    result: Floats = np.where(np.less(x, 0), share, 1.0) / (1.0 + share)
    return result


def _apply(name: str, reference: Callable[[Floats], Floats], x: Any, out: Floats | None) -> Floats:
    values = np.asarray(x, np.float64)
    if values.ndim > 1 and values.flags.f_contiguous and not values.flags.c_contiguous:
        return _apply(name, reference, values.T, None if out is None else out.T).T
    direct = out is not None and out.flags.c_contiguous and out.dtype == np.float64 and out.shape == values.shape
    result = out if direct and out is not None else np.empty(values.shape)
    flat, target = np.ravel(values), result.reshape(-1)  # ravel copies what has gaps in memory
    if NATIVE is None:
        target[:] = reference(flat)
    else:
        getattr(NATIVE, name)(flat, target)
    if out is None:
        return result[()]
    if not direct:
        out[...] = result
    return out
