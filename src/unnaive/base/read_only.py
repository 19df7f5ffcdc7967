"""Arrays that belong to a value are read-only: what writes into one by mistake gets an error, not a damaged model.

FittedModel protects all that is inside it when it is made, loaded or unpickled, and `lazy_property` what it keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np

from unnaive.base.sparse import issparse

__all__ = ["own", "read_only"]

T = TypeVar("T")
PLAIN = {str, int, float, bool, bytes, type(None)}  # a list of nothing else is passed over


def read_only(value: T) -> T:
    """The value itself, every array inside it read-only from now on; nothing is copied.

    Inside are the fields of dataclasses, of sparse matrices and of objects of this package, and the items of lists,
    tuples and dicts. With an array, all arrays that it is a view of are protected too: a view that is read-only is no
    protection while its base can be written to. What a caller may still hold must be copied before (`own`), or the
    caller's own array would become read-only.

    >>> whole = np.arange(4)
    >>> half = read_only({"half": whole[:2]})["half"]
    >>> half.flags.writeable, whole.flags.writeable
    (False, False)
    """
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, np.ndarray):
            _protect(part)
        elif id(part) not in seen:
            seen.add(id(part))
            waiting.extend(_parts(part))
    return value


def own(value: T, *others: Any) -> T:
    """A sparse matrix or an array, copied if it shares memory with a matrix or an array among `others`.

    >>> theirs = np.arange(3)
    >>> own(theirs, theirs) is theirs, own(theirs, np.arange(3)) is theirs
    (False, True)
    """
    theirs = [array for other in others for array in _arrays(other)]
    shared = any(np.may_share_memory(mine, array) for mine in _arrays(value) for array in theirs)
    return value.copy() if shared else value  # type: ignore[attr-defined]


def _protect(array: Any) -> None:
    """Clear the flag of an array and of all arrays that it is a view of."""
    while isinstance(array, np.ndarray):
        array.flags.writeable = False
        array = array.base


def _parts(value: Any) -> Iterable[Any]:
    """What is inside a value, as a copy: other threads may meanwhile add a property that is computed lazily."""
    if isinstance(value, (list, tuple)):
        return () if PLAIN.issuperset(map(type, value)) else value
    if isinstance(value, dict):
        items = tuple(value.values())
        return () if PLAIN.issuperset(map(type, items)) else items
    return tuple(getattr(value, "__dict__", {}).values()) if _is_entered(value) else ()


def _is_entered(value: Any) -> bool:
    if isinstance(value, type):
        return False
    return issparse(value) or is_dataclass(value) or type(value).__module__.startswith("unnaive.")


def _arrays(value: Any) -> list[Any]:
    """The arrays of a sparse matrix, or the array itself; none of anything else."""
    if issparse(value):
        return [part for part in tuple(vars(value).values()) if isinstance(part, np.ndarray)]
    return [value] if isinstance(value, np.ndarray) else []
