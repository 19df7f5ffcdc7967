"""Rules for the arrays of a model file: required names, types, ranges, and how their sizes must match.

A scorer declares its rules as a table; `check_rules` checks the arrays of a file against it before they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Arrays
from unnaive.data.arrays import PARTS, find_csr_problem

LARGEST = 1e75  # largest weight: the product of four is still finite, and training never reaches it
LARGEST_IDF = 1e6  # 1 + log of a number of documents is far below it
ABOVE_ZERO = 5e-324  # the smallest number above 0

ArraySize = int | str  # a number, the name of a size, or a name and a number: "terms", "terms+1"
TYPES = {
    "float": ("f4", "f8"),
    "whole": ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"),
    "short": ("i1", "i2"),
    "byte": ("u1",),
    "hash": ("u8",),
}
TYPES["number"] = TYPES["float"] + TYPES["whole"]


@dataclass(frozen=True)
class ArrayRule:
    """The requirements for one array.

    type      "float" (32 or 64 bits), "whole" (integers of any width), "number" (either), "short" (integers of 8 or 16
              bits), "byte" (uint8) or "hash" (uint64)
    shape     sizes as names or numbers; the first array that uses a name defines its size
    least     the smallest value
    most      the largest value; for indices use `below`: a size that every value must be less than
    optional  whether the array may be missing
    or_minus_infinity  whether −∞ is also allowed
    """

    type: str
    shape: tuple[ArraySize, ...]
    least: float = -LARGEST
    most: float = LARGEST
    below: ArraySize | None = None
    optional: bool = False
    or_minus_infinity: bool = False

    def find_problem(self, values: NDArray[Any], sizes: dict[str, int]) -> str | None:
        """Describe what is wrong with an array; None if it is valid. New sizes are added to `sizes`."""
        if values.dtype.str[1:] not in TYPES[self.type]:
            return f"has the type {values.dtype}"
        if values.ndim != len(self.shape):
            return f"has {values.ndim} dimensions instead of {len(self.shape)}"
        for size, expected in zip(values.shape, self.shape, strict=True):
            if isinstance(expected, str) and expected not in sizes and "+" not in expected:
                sizes[expected] = size
            if size != find_size(expected, sizes):
                return f"has the shape {list(values.shape)} instead of {[find_size(s, sizes) for s in self.shape]}"
        return self._find_range_problem(values, sizes)

    def _find_range_problem(self, values: NDArray[Any], sizes: dict[str, int]) -> str | None:
        if not values.size:
            return None
        most = self.most if self.below is None else find_size(self.below, sizes) - 1
        # plain Python numbers, so that uint64 and negative limits compare correctly
        low, high = values.min().item(), values.max().item()
        if self.or_minus_infinity and low == -np.inf:
            finite = values[values != -np.inf]
            low, high = (finite.min().item(), finite.max().item()) if finite.size else (0.0, 0.0)
        if not (self.least <= low and high <= most):  # also true for NaN, since every comparison with NaN is false
            return f"has values from {low} to {high} instead of from {self.least} to {most}"
        return None


@dataclass(frozen=True)
class TableRule:
    """The requirements for the three arrays of a sparse matrix; see ArrayRule.

    ones  whether the values may be missing because all of them are 1
    """

    rows: ArraySize
    columns: ArraySize
    type: str = "float"
    least: float = -LARGEST
    most: float = LARGEST
    optional: bool = False
    ones: bool = False


Rules = Mapping[str, ArrayRule | TableRule]


def find_size(size: ArraySize, sizes: Mapping[str, int]) -> int:
    """Resolve a size to a number.

    >>> find_size("terms+1", {"terms": 7}), find_size(2, {})
    (8, 2)
    """
    if isinstance(size, int):
        return size
    name, _, more = size.partition("+")
    return sizes[name] + int(more or 0)


def check_rules(arrays: Arrays, rules: Rules, **sizes: int) -> dict[str, int]:
    """Check arrays against their rules, raise ValueError if one is violated, and return all sizes.

    >>> rules = {"bias": ArrayRule("float", ("classes",)), "terms": ArrayRule("whole", ("k",), least=0, below="terms")}
    >>> check_rules({"bias": np.zeros(2), "terms": np.array([4, 0])}, rules, classes=2, terms=5)
    {'classes': 2, 'terms': 5, 'k': 2}
    >>> check_rules({"bias": np.zeros(2), "terms": np.array([4, 5])}, rules, classes=2, terms=5)
    Traceback (most recent call last):
    ValueError: its terms has values from 4 to 5 instead of from 0 to 4
    >>> check_rules({"bias": np.zeros(2)}, rules, classes=2, terms=5)
    Traceback (most recent call last):
    ValueError: it has no terms
    """
    expected = {name: rule for key, rule in rules.items() for name in _names(key, rule)}
    unknown = sorted(set(arrays) - set(expected))
    if unknown:
        raise ValueError(f"it has {unknown[0]}, which does not belong to it")
    for key, rule in rules.items():
        missing = [name for name in _names(key, rule) if name not in arrays]
        absent = len(missing) == len(_names(key, rule))
        only_ones = isinstance(rule, TableRule) and rule.ones and missing == [f"{key}.data"]
        if missing and not only_ones and not (absent and rule.optional):
            raise ValueError(f"it has no {missing[0]}")
        if absent:
            continue
        if isinstance(rule, ArrayRule):
            problem = rule.find_problem(arrays[key], sizes)
        else:
            problem = _find_table_problem(key, rule, arrays, sizes)
        if problem:
            raise ValueError(f"its {key} {problem}")
    return sizes


def _names(key: str, rule: ArrayRule | TableRule) -> list[str]:
    return [key] if isinstance(rule, ArrayRule) else [f"{key}.{part}" for part in PARTS]


def _find_table_problem(key: str, rule: TableRule, arrays: Arrays, sizes: dict[str, int]) -> str | None:
    indices, indptr = arrays[f"{key}.indices"], arrays[f"{key}.indptr"]
    data = arrays.get(f"{key}.data", np.broadcast_to(np.ones(1), indices.shape))
    problem = ArrayRule(rule.type, ("",), rule.least, rule.most).find_problem(data, {})
    if problem:
        return problem
    if isinstance(rule.rows, str) and rule.rows not in sizes and "+" not in rule.rows:
        sizes[rule.rows] = len(indptr) - 1 if indptr.ndim == 1 else 0
    return find_csr_problem(data, indices, indptr, (find_size(rule.rows, sizes), find_size(rule.columns, sizes)))


def check_keys(settings: Any, *names: str) -> None:
    """Raise ValueError unless a settings object from JSON has exactly these keys.

    >>> check_keys({"link": "softmax", "k": 3}, "link")
    Traceback (most recent call last):
    ValueError: its settings have k, which does not belong there
    """
    if not isinstance(settings, dict):
        raise ValueError("its settings are not a JSON object")  # not TypeError: the fault is in the file
    missing, unknown = sorted(set(names) - set(settings)), sorted(map(str, set(settings) - set(names)))
    if missing:
        raise ValueError(f"its settings have no {missing[0]}")
    if unknown:
        raise ValueError(f"its settings have {unknown[0]}, which does not belong there")


def read_whole(value: Any, name: str, *, least: int = 0, most: int = 1 << 40) -> int:
    """Return an integer from JSON within a range; raise ValueError for a fraction, a boolean or a value out of range.

    >>> read_whole(True, "k")
    Traceback (most recent call last):
    ValueError: its k is True, not an integer from 0 to 1099511627776
    """
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"its {name} is {str(value)[:40]}, not an integer from {least} to {most}")
    return value
