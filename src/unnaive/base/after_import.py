"""Run a hook once another package has been imported: at once if it already is, otherwise when that import happens.

This registers our estimators with scikit-learn, MLflow, eli5 and others without importing any of them.
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
    """A meta path finder that wraps the loader of each awaited module, so that the hooks run after it has loaded."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Hook]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the other finders' spec with a loader that also calls the hooks.

        None if no hook awaits this module.
        """
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
            if module.__name__ != spec.name:  # a zip file's loader is shared by several modules
                return
            loader.__dict__.pop("exec_module", None)
            for hook in self.waiting.pop(spec.name, []):
                hook(module)

        loader.exec_module = execute_and_call  # type: ignore[method-assign]


WAITING = WaitingHooks()


def after_import(name: str, hook: Hook) -> None:
    """Call `hook(module)` once the module of this name has been imported."""
    if name in sys.modules:
        hook(import_module(name))  # blocks until another thread has finished importing it
        return
    if WAITING not in sys.meta_path:
        sys.meta_path.insert(0, WAITING)
    WAITING.waiting.setdefault(name, []).append(hook)


def join_when_imported(joined: Mapping[str, str]) -> None:
    """For each package, once it is imported, call `join(package)` in the module that registers our estimators with it.

    If the package's internals have changed, warn and continue: its import never fails because of us.
    """
    for package, module in joined.items():
        after_import(package, partial(_join, module))


def _join(module: str, package: ModuleType) -> None:
    from unnaive.base.errors import UnnaiveWarning

    try:
        import_module(module).join(package)
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem}"
        warnings.warn(
            f"this version of {package.__name__} does not recognise unnaive's estimators: {reason}",
            UnnaiveWarning,
            stacklevel=2,
        )
