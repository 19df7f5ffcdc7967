"""Vectors as terms: each number is a sum of signed powers of two, one term per power, so that counts are integers.

A number keeps 8 significant bits, as in bfloat16, in the non-adjacent form, which has the fewest powers: .75 in
dimension 17 is +2^0 − 2^-2, the units "17+0" and "17--2"; a number takes about three units. The first unit, e.g.
"(384)", marks a vector of 384 numbers. A function that is linear in the numbers is linear in the terms, and no term
depends on other documents.

Reitwiesner (1960), Binary arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, Ids
from unnaive.text.sections import FIXED, UNIT

SIGNIFICANT = 8  # significant bits of a number
LEAST_POWER, LARGEST_POWER = -64, 64  # smaller numbers become 0; larger numbers are not allowed
ROWS_AT_ONCE = 256
NAMED_AT_ONCE = 16  # powers whose unit names are made at a time
_POWER = re.compile(r"(\d{1,7})([+-])(-?\d{1,3})")


def write_vectors(rows: Floats) -> list[str]:
    """The units of each vector of `rows` (n_rows, n_dims), joined by UNIT.

    >>> [units.split(UNIT) for units in write_vectors(np.array([[0.75, 0.0, -2.0], [0.0, 0.0, 0.0]]))]
    [['(3)', '0+0', '0--2', '2-1'], ['(3)']]
    """
    units: list[str] = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        units += _write_rows(np.asarray(rows[start : start + ROWS_AT_ONCE], np.float64))
    return units


def _write_rows(rows: Floats) -> list[str]:
    n_dims = rows.shape[1]
    part, power = np.frexp(rows)
    whole = np.rint(part * (1 << SIGNIFICANT)).astype(np.int16)
    whole[power < LEAST_POWER] = 0
    size = np.abs(whole)
    bits, negatives = signed_bits()
    bit = bits[size]  # (n_rows, n_dims, most bits of a number)
    used = bit >= 0
    negative = (negatives[size] ^ (whole < 0)[:, :, None])[used]
    powers = (power[:, :, None] - SIGNIFICANT + bit)[used]
    dims = np.broadcast_to(np.arange(n_dims)[:, None], used.shape)[used]
    lowest = int(powers.min(initial=0)) // NAMED_AT_ONCE * NAMED_AT_ONCE
    n_powers = (int(powers.max(initial=0)) - lowest) // NAMED_AT_ONCE * NAMED_AT_ONCE + NAMED_AT_ONCE
    names = _unit_names(n_dims, lowest, n_powers)[dims, powers - lowest, negative.astype(np.int8)].tolist()
    ends = np.cumsum(used.sum(axis=(1, 2))).tolist()
    marker = f"({n_dims})"
    return [UNIT.join([marker, *names[start:end]]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def read_vector_units(units: Sequence[str]) -> list[float]:
    """The numbers that the units of a vector encode, the marker first; `write_vectors` gives the same units again.

    >>> read_vector_units(["(3)", "0+0", "0--2", "2-1"])
    [0.75, 0.0, -2.0]
    """
    numbers = [0.0] * int(units[0].strip("()"))
    for match in map(_POWER.fullmatch, units[1:]):
        if match is not None:
            numbers[int(match[1])] += (1 if match[2] == "+" else -1) * 2.0 ** int(match[3])
    return numbers


@lru_cache(maxsize=1)
def signed_bits() -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """(bits, whether they are subtracted) of whole numbers up to 2^SIGNIFICANT in non-adjacent form, highest first.

    Both have the shape (2^SIGNIFICANT + 1, most bits of a number); bits that are not used are −1.

    >>> [array[7].tolist() for array in signed_bits()]  # 7 = 8 − 1
    [[3, 0, -1, -1, -1], [False, True, False, False, False]]
    """
    sizes = range((1 << SIGNIFICANT) + 1)
    bits = np.full((len(sizes), SIGNIFICANT // 2 + 1), -1, np.int8)
    negatives = np.zeros(bits.shape, np.bool_)
    for size in sizes:
        half, carried = size >> 1, size + (size >> 1)
        differs = half ^ carried  # the bits that are added are those of 3n/2, the bits that are subtracted those of n/2
        used = [bit for bit in reversed(range(SIGNIFICANT + 2)) if differs >> bit & 1]
        bits[size, : len(used)] = used
        negatives[size, : len(used)] = [bool(half >> bit & 1) for bit in used]
    return bits, negatives


@lru_cache(maxsize=4)
def _unit_names(n_dims: int, lowest: int, n_powers: int) -> NDArray[Any]:
    """The unit names by dimension, power (from `lowest` on) and sign (n_dims, n_powers, 2)."""
    powers = range(lowest, lowest + n_powers)
    names = [[[f"{dim}+{power}", f"{dim}-{power}"] for power in powers] for dim in range(n_dims)]
    return np.array(names, dtype=object)


class PowerTerms(NamedTuple):
    """The terms of a vector field in a list of terms: their positions, dimensions, signs and powers."""

    places: Ids
    dims: Ids
    signs: NDArray[Any]
    powers: NDArray[Any]


def find_power_terms(terms: Sequence[str], key: str, n_dims: int) -> PowerTerms:
    """Find the terms that encode powers of two in the vectors of a field.

    >>> find_power_terms(["ball", "v=(2)", "v=0+-1", "v=1-3"], "v", 2)
    PowerTerms(places=array([2, 3]), dims=array([0, 1]), signs=array([ 1, -1]), powers=array([-1,  3]))
    """
    start = key + FIXED
    rows = [
        (column, int(match[1]), 1 if match[2] == "+" else -1, int(match[3]))
        for column, term in enumerate(terms)
        if term.startswith(start) and (match := _POWER.fullmatch(term, len(start)))
    ]
    table = np.array([row for row in rows if row[1] < n_dims], np.int64).reshape(-1, 4)
    return PowerTerms(*table.T)


def marker_term(key: str, n_dims: int) -> str:
    """The term that marks the presence of a vector.

    >>> marker_term("v", 3)
    'v=(3)'
    """
    return f"{key}{FIXED}({n_dims})"


def power_terms(key: str, n_dims: int, lowest: Sequence[int], highest: Sequence[int]) -> list[str]:
    """The marker, and the terms of all powers from `lowest` to `highest` of each dimension (n_dims,).

    >>> power_terms("v", 1, [-1], [0])
    ['v=(1)', 'v=0+-1', 'v=0--1', 'v=0+0', 'v=0-0']
    """
    spans = zip(lowest, highest, strict=True)
    return [marker_term(key, n_dims)] + [
        f"{key}{FIXED}{dim}{sign}{power}"
        for dim, (low, high) in enumerate(spans) for power in range(low, high + 1) for sign in "+-"
    ]  # fmt: skip
