"""log, log1p, exp and expm1 in numpy, by the same operations as _elementary.h: the specification, and the fallback.

After fdlibm (Sun Microsystems, 1993), without branches: the error is below one unit in the last place. numpy's own
functions use other instructions on other processors; these use only additions, multiplications and divisions, whose
results IEEE 754 defines to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from unnaive.base.types import Floats

LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ONE_OVER_LN2 = 1.44269504088896338700e00
WHOLE = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number in the low bits
MANTISSA, HALF_ROOT = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0x3FE6A09E00000000)  # the upper bits of √½
RAISED = np.uint64(0x3FF0000000000000) - HALF_ROOT
POWER_52 = np.uint64(0x4330000000000000)  # the bits of 2^52
EXPONENT, BIAS = np.uint64(52), np.uint64(1023 << 52)


def _quietly(function: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """Without numpy's warnings about the branches that are computed and not chosen."""

    @wraps(function)
    def quiet(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return function(x)

    return quiet


def _split_power(x: Floats) -> tuple[Floats, Floats]:
    """(k, m − 1) of x = 2^k · m with √½ ≤ m < √2, of positive normal numbers."""
    raised = x.view(np.uint64) + RAISED
    rest = ((raised & MANTISSA) + HALF_ROOT).view(np.float64) - 1.0
    return ((raised >> EXPONENT) | POWER_52).view(np.float64) - (4503599627370496.0 + 1023.0), rest


def _log_of_parts(k: Floats, f: Floats, correction: Floats | float) -> Floats:
    """log(1 + f) + k · log 2 + correction."""
    half, s = 0.5 * f * f, f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = z * (
        6.666666666666735130e-01
        + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    result: Floats = s * (half + (odd + even)) + (k * LN2_LOW + correction) - half + f + k * LN2_HIGH
    return result


def _power_of_two(k: Floats) -> Floats:
    """2^k of whole numbers −1022 ≤ k ≤ 1023."""
    return (((k + WHOLE).view(np.uint64) << EXPONENT) + BIAS).view(np.float64)


def _whole_part(x: Floats) -> Floats:
    return (x + WHOLE) - WHOLE


@_quietly
def log(x: Floats) -> Floats:
    """log x of an array; −∞ at 0, NaN below."""
    tiny = x < 2.0**-1022
    k, rest = _split_power(np.where(tiny, x * 2.0**54, x))
    found = np.where(x == np.inf, x, _log_of_parts(k - np.where(tiny, 54.0, 0.0), rest, 0.0))
    return np.where(x > 0.0, found, np.where(x == 0.0, -np.inf, np.nan))


@_quietly
def log1p(x: Floats) -> Floats:
    """log(1 + x) of an array, exact where x is tiny."""
    u = 1.0 + x
    k, rest = _split_power(u)
    lost = np.where(k >= 2.0, 1.0 - (u - x), x - (u - 1.0)) / u  # what rounding took from 1 + x
    near = (x > -0.29289) & (x < 0.41421)  # there k is 0, and x is exact
    correction = np.where(near | (k >= 54.0), 0.0, lost)
    found = _log_of_parts(np.where(near, 0.0, k), np.where(near, x, rest), correction)
    found = np.where((x < 2.0**-54) & (x > -(2.0**-54)), x, found)
    found = np.where(x == np.inf, x, found)
    return np.where(x > -1.0, found, np.where(x == -1.0, -np.inf, np.nan))


@_quietly
def exp(given: Floats) -> Floats:
    """e^x of an array."""
    x = np.where(given < 710.0, given, 710.0)
    x = np.where(x > -750.0, x, -750.0)
    k = _whole_part(x * ONE_OVER_LN2)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    z = r * r
    c = r - z * (
        1.66666666666666019037e-01
        + z
        * (
            -2.77777777770155933842e-03
            + z * (6.61375632143793436117e-05 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))
        )
    )
    found = 1.0 + (r * c / (2.0 - c) - low + high)
    half = _whole_part(k * 0.5)  # in two steps, so that a subnormal result is rounded once
    return np.where(given == given, found * _power_of_two(half) * _power_of_two(k - half), given)


@_quietly
def expm1(given: Floats) -> Floats:
    """e^x − 1 of an array, exact where x is tiny."""
    x = np.where(given < 710.0, given, 710.0)
    x = np.where(x > -60.0, x, -60.0)
    k = _whole_part(x * ONE_OVER_LN2)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    lost, half = (high - r) - low, 0.5 * r
    z = r * half
    q = 1.0 + z * (
        -3.33333333333331316428e-02
        + z
        * (
            1.58730158725481460165e-03
            + z * (-7.93650757867487942473e-05 + z * (4.00821782732936239552e-06 + z * -2.01099218183624371326e-07))
        )
    )
    t = 3.0 - q * half
    e = z * ((q - t) / (6.0 - r * t))
    d = (r * (e - lost) - lost) - z
    doubled, inverse = _power_of_two(k - 1.0), _power_of_two(np.where(k > 0.0, 0.0 - k, k))
    found = ((r - d) + 1.0) * 2.0 * doubled - 1.0
    found = np.where((k >= 20.0) & (k <= 56.0), ((r - (d + inverse)) + 1.0) * 2.0 * doubled, found)
    found = np.where((k >= 2.0) & (k < 20.0), ((1.0 - inverse) - (d - r)) * 2.0 * doubled, found)
    found = np.where(k == 1.0, np.where(r < -0.25, -2.0 * (d - (r + 0.5)), 1.0 + 2.0 * (r - d)), found)
    found = np.where(k == -1.0, 0.5 * (r - d) - 0.5, found)
    found = np.where(k == 0.0, r - (r * e - z), found)
    return np.where(given == given, found, given)
