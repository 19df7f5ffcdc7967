"""Whether a model is a value: all arrays that can be reached from it, and whether one can be written to."""

from __future__ import annotations

from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

CLOSED = (str, bytes, int, float, type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def reachable_arrays(value: Any) -> Iterator[tuple[str, Any]]:
    """Every array that attributes, items and keys lead to, derived ones too, with the way to it."""
    seen: dict[int, Any] = {}  # the objects too, so that no number is given twice
    waiting = [("model", value)]
    while waiting:
        way, part = waiting.pop()
        if isinstance(part, CLOSED) or id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, np.ndarray):
            yield way, part
        elif isinstance(part, dict):
            waiting += [(f"{way}[{key!r}]", item) for key, item in part.items()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += [(f"{way}[{index}]", item) for index, item in enumerate(part)]
        else:
            waiting += [(f"{way}.{name}", item) for name, item in getattr(part, "__dict__", {}).items()]
            for kind in type(part).__mro__:
                slots = kind.__dict__.get("__slots__", ())
                names = (slots,) if isinstance(slots, str) else slots
                waiting += [(f"{way}.{name}", getattr(part, name)) for name in names if hasattr(part, name)]


def writeable(array: Any) -> str | None:
    """How an array could be written to: by itself, or by what it is a view of; None for one that cannot."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return "an array that is writeable"
        array = array.base
    if array is None or isinstance(array, bytes):
        return None
    buffer = memoryview(array)
    # what the native modules allocate is handed to one array, and nothing else refers to it
    alone = type(buffer.obj).__name__ == "nb_ndarray"
    return None if buffer.readonly or alone else f"a writeable {type(buffer.obj).__name__}"


def writeable_arrays(value: Any) -> dict[str, str]:
    """Those that can be written to, by the way to them."""
    is_writeable = {way: writeable(array) for way, array in reachable_arrays(value)}
    assert is_writeable, "no array was found at all"
    return {way: how for way, how in is_writeable.items() if how is not None}
