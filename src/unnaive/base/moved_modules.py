"""Module paths of version 0.2: each can still be imported, with a DeprecationWarning that names the new path.

The old paths are deprecated in 0.3 and will be removed in 0.4.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "unnaive.audit": "unnaive.curation.audit",
    "unnaive.audit.audit": "unnaive.curation.audit.audit",
    "unnaive.audit.findings": "unnaive.curation.audit.findings",
    "unnaive.audit.material": "unnaive.curation.audit.material",
    "unnaive.core": "unnaive.data",
    "unnaive.core.counts": "unnaive.data.counts",
    "unnaive.core.linear": "unnaive.linear.linear",
    "unnaive.core.settings": "unnaive.base.settings",
    "unnaive.decisions": "unnaive.learning.decisions",
    "unnaive.errors": "unnaive.base.errors",
    "unnaive.fitted": "unnaive.learning.fitted",
    "unnaive.labelling": "unnaive.curation.labelling",
    "unnaive.labelling.record": "unnaive.curation.labelling.record",
    "unnaive.labelling.session": "unnaive.curation.labelling.session",
    "unnaive.labelling.simulate": "unnaive.curation.labelling.simulate",
    "unnaive.reading": "unnaive.io",
    "unnaive.reading.collections": "unnaive.io.collections",
    "unnaive.reading.corpus": "unnaive.io.corpus",
    "unnaive.reading.tickets": "unnaive.io.tickets",
    "unnaive.receipts": "unnaive.classifier.receipts",
    "unnaive.spark.session": "unnaive.scaleout.spark.session",
}


class MovedModules:
    """An import finder and loader that binds the module at the new path to the old name as well."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a path that moved, None for every other path."""
        return ModuleSpec(fullname, self, is_package=True) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates an empty module; `exec_module` replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        """Bind the module at the new path to the old name; the warning points at the importing line."""
        new = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} has moved to {new}; version 0.4 will remove the old path",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[module.__name__] = import_module(new)


def install() -> None:
    """Put this finder first.

    The others would load a second copy, since the parent of an old path is the new package.
    """
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())  # not a subclass of importlib.abc, whose import takes 10 ms
