"""Stand-ins for names of scipy.sparse, which is imported on the first call of one of them.

The import takes longer than loading a model and predicting a text, which need no sparse matrix.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["csc_array", "csr_array", "hstack", "import_sparse", "issparse", "vstack"]


def import_sparse() -> Any:
    """Import and return scipy.sparse."""
    return import_module("scipy.sparse")


if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array, hstack, issparse, vstack
else:

    class _Stand(type):
        """Metaclass of a stand-in for a class of scipy.sparse.

        Calling the stand-in creates an instance of the real class.
        """

        def __call__(cls, *values: Any, **options: Any) -> Any:
            return getattr(import_sparse(), cls.__name__)(*values, **options)

        def __instancecheck__(cls, value: Any) -> bool:
            module = sys.modules.get("scipy.sparse")  # without the import there are no instances
            return module is not None and isinstance(value, getattr(module, cls.__name__, ()))

    class csr_array(metaclass=_Stand):
        """scipy.sparse.csr_array."""

    class csc_array(metaclass=_Stand):
        """scipy.sparse.csc_array."""

    def issparse(value: Any) -> bool:
        """Whether the value is a SciPy sparse array or matrix."""
        check = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
        return check is not None and check(value)

    def hstack(*values: Any, **options: Any) -> Any:
        """scipy.sparse.hstack."""
        return import_sparse().hstack(*values, **options)

    def vstack(*values: Any, **options: Any) -> Any:
        """scipy.sparse.vstack."""
        return import_sparse().vstack(*values, **options)
