"""Make the arrays of a value read-only: writing into one by mistake then raises an error instead of corrupting a model.

FittedModel protects its contents when it is created, loaded or unpickled; `lazy_property` protects what it caches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, TypeVar

import numpy as np

from unnaive.base.sparse import issparse

__all__ = ["own", "read_only"]

T = TypeVar("T")
PLAIN = {str, int, float, bool, bytes, type(None)}  # lists that contain only these types are skipped


def read_only(value: T) -> T:
    """Make every array inside the value read-only and return the value itself; nothing is copied.

    The function follows fields of dataclasses, sparse matrices and objects of this package, and items of lists, tuples
    and dicts. If an array is a view, its base arrays are protected too: a read-only view is no protection while its
    base is writable. An array that the caller still holds must be copied first (`own`); otherwise the caller's array
    would become read-only.

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
    """Return a sparse matrix or an array, copied if it shares memory with any of `others`.

    >>> theirs = np.arange(3)
    >>> own(theirs, theirs) is theirs, own(theirs, np.arange(3)) is theirs
    (False, True)
    """
    theirs = [array for other in others for array in _arrays(other)]
    shared = any(np.may_share_memory(mine, array) for mine in _arrays(value) for array in theirs)
    return value.copy() if shared else value  # type: ignore[attr-defined]


def _protect(array: Any) -> None:
    """Clear the writeable flag of an array and of every array that it is a view of."""
    while isinstance(array, np.ndarray):
        array.flags.writeable = False
        array = array.base


def _parts(value: Any) -> Iterable[Any]:
    """The parts of a value, as a copy: another thread may add a lazily computed property meanwhile."""
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
    """The arrays of a sparse matrix, or the array itself; empty for any other value."""
    if issparse(value):
        return [part for part in tuple(vars(value).values()) if isinstance(part, np.ndarray)]
    return [value] if isinstance(value, np.ndarray) else []
