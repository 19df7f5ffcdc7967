"""Public names of a module that are imported from other modules on first use, so that importing it is fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of `module` (PEP 562): each name of `homes` is imported from its module when it is used.

    >>> lazy_names("unnaive.numbers", {"pi": "math"})("pi")
    3.141592653589793
    """

    def import_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return import_name
