"""Module paths of version 0.2: each still imports, with a DeprecationWarning that names the new path.

Deprecated in 0.3; they will be gone in 0.4.
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
    """An import finder and loader: the old name becomes another name of the module at the new place."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for a path that moved; None for all others."""
        return ModuleSpec(fullname, self, is_package=True) if fullname in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module at the new place under the old name; the warning points at the importing line."""
        new = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} has moved to {new}; the old path goes with version 0.4",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[module.__name__] = import_module(new)


def install() -> None:
    """Ask this finder first: others would find a second copy, since the parent of an old path is the new package."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())  # not derived: importlib.abc takes 10 ms
