"""Call a function as soon as another package is imported: at once if it is there, else when somebody imports it.

So this package joins in with scikit-learn, MLflow, eli5 and others without importing any of them itself.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

Hook = Callable[[ModuleType], None]


class WaitingHooks:
    """An import finder that finds nothing itself: it has the loader of a module that is waited for call the hooks."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Hook]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that calls the hooks afterwards; None for all others."""
        if fullname not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self._call_after(spec)
                return spec  # type: ignore[no-any-return]
        return None

    def _call_after(self, spec: ModuleSpec) -> None:
        loader = spec.loader
        if loader is None or not hasattr(loader, "__dict__"):
            return
        execute = loader.exec_module

        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            if module.__name__ != spec.name:  # the loader of a zip file loads others too
                return
            loader.__dict__.pop("exec_module", None)
            for hook in self.waiting.pop(spec.name, []):
                hook(module)

        loader.exec_module = execute_and_call  # type: ignore[method-assign]


WAITING = WaitingHooks()


def after_import(name: str, hook: Hook) -> None:
    """Call `hook(module)` once the module of this name has been imported."""
    if name in sys.modules:
        hook(import_module(name))  # which waits where another thread is importing it
        return
    if WAITING not in sys.meta_path:
        sys.meta_path.insert(0, WAITING)
    WAITING.waiting.setdefault(name, []).append(hook)


def join_when_imported(joined: Mapping[str, str]) -> None:
    """For each package, when it is imported, call `join(package)` of the module that tells it about our estimators.

    A package whose inside has changed since is left as it is, with a warning: its import never fails because of us.
    """
    for package, module in joined.items():
        after_import(package, partial(_join, module))


def _join(module: str, package: ModuleType) -> None:
    from unnaive.base.errors import UnnaiveWarning

    try:
        import_module(module).join(package)
    except Exception as problem:
        what = f"{type(problem).__name__}: {problem}"
        warnings.warn(
            f"this version of {package.__name__} is not told about unnaive's estimators: {what}",
            UnnaiveWarning,
            stacklevel=2,
        )
