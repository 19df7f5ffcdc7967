"""A property that is computed on first access and cached; its arrays become read-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unnaive.base.read_only import read_only

__all__ = ["lazy_property"]

if TYPE_CHECKING:
    from functools import cached_property as lazy_property
else:

    class lazy_property:
        """functools.cached_property without a lock, as Python 3.12 has it.

        Up to Python 3.11, cached_property holds one lock for all instances of a class while it computes: one model's
        first prediction waits for another's, and a child that is forked meanwhile deadlocks. Without the lock, two
        threads may compute a value twice. All callers share the cached value, so its arrays are read-only.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self._name = function.__name__
            self.__doc__ = function.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = read_only(self._function(instance))
            return value
