"""Cells with vectors, such as embeddings of texts, → numbers; all must be finite, and vectors of the same length."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unnaive.base.types import Floats
from unnaive.data.fields.bad_values import BadRecord, BadValue, describe_value
from unnaive.text.fixed_point import LARGEST, STEPS, shown_vector, to_cells, write_vectors
from unnaive.text.sections import UNIT

LEAST = 0.5 / STEPS  # if all numbers are smaller, nothing is left of them in fixed point
LEAST_LENGTH = 4  # minimum length of lists that are recognised as vectors
_BETWEEN = re.compile(r"[\s,;]+")


def read_vector(value: Any) -> Floats:
    """The numbers of a cell (n_dims,): a list, an array, or text such as "[0.1, 0.2]".

    >>> read_vector("[0.1, 2]"), read_vector([1, 2])
    (array([0.1, 2. ]), array([1., 2.]))
    """
    parts = (
        [part for part in _BETWEEN.split(value.strip().strip("[](){}")) if part] if isinstance(value, str) else value
    )
    try:
        numbers = np.asarray(parts, np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(())
    if numbers.ndim != 1 or not len(numbers):
        raise BadValue(describe_value(value), "give a list of numbers")
    if not bool(np.isfinite(numbers).all()):
        raise BadValue("a vector with NaN or infinity", "leave such a cell empty")
    largest = float(np.abs(numbers).max())
    if largest > LARGEST:
        raise BadValue(f"a vector with a number of size {largest:.4g}, above {LARGEST:g}", "scale all vectors")
    if 0 < largest < LEAST:
        raise BadValue(f"a vector whose numbers are all below {LEAST:.1g}", "scale all vectors")
    return numbers


def holds_vectors(values: Sequence[Any]) -> bool:
    """Whether values are recognised as vectors: lists or arrays of numbers of the same length, at least LEAST_LENGTH.

    A cell of CSV has a list as text.

    >>> holds_vectors([[0.1, 0.2, 0.3, 0.5], None]), holds_vectors([[1, 2]]), holds_vectors([["a", "b", "c", "d"]])
    (True, False, False)
    >>> holds_vectors(["[0.1, 0.2, 0.3, 0.5]"])
    True
    """
    values = [_read_list(value) if isinstance(value, str) else value for value in values]
    filled = [value for value in values if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0]
    if (
        not filled
        or len(filled) < sum(value is not None for value in values)
        or len({len(vector) for vector in filled}) > 1
    ):
        return False
    return len(filled[0]) >= LEAST_LENGTH and all(isinstance(number, (float, np.number)) for number in filled[0])


def _read_list(text: str) -> Any:
    """The list that a cell of CSV has as text; any other text unchanged."""
    if not text.lstrip().startswith("["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def encode_vectors(
    values: Sequence[Any], name: str, length: int, is_missing: Callable[[Any], bool]
) -> list[str | None]:
    """The content of the section of each vector; None for an empty cell. All must have `length` numbers, 0 for any.

    >>> encode_vectors([[0.5], None], "v", 1, lambda value: value is None)
    ['1 numbers\\x1f AAAIQA==', None]
    """
    rows: list[Floats | None] = []
    for row, value in enumerate(values):
        place = f"record {row}" if len(values) > 1 else ""
        try:
            vector = None if is_missing(value) else read_vector(value)
        except BadValue as problem:
            message = f"field {name!r} is of kind vector, but a value is {problem.found}"
            raise BadRecord(message, problem.advice, row, place) from None
        if vector is not None:
            length = length or len(vector)
            if len(vector) != length:
                message = f"the vectors of field {name!r} have {length} numbers, but one has {len(vector)}"
                raise BadRecord(message, "embed all with one model", row, place)
        rows.append(vector)
    filled = [row for row in rows if row is not None]
    units = iter(write_vectors(to_cells(np.array(filled)))) if filled else iter(())
    return [None if row is None else f"{shown_vector(length)}{UNIT}{next(units)}" for row in rows]
