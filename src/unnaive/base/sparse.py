"""The names of scipy.sparse, which is imported when one of them is first called.

The import takes longer than to load a model and to predict a text with it, for which no sparse matrix is needed.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["csc_array", "csr_array", "hstack", "import_sparse", "issparse", "vstack"]


def import_sparse() -> Any:
    """scipy.sparse."""
    return import_module("scipy.sparse")


if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array, hstack, issparse, vstack
else:

    class _Stand(type):
        """Of a class that stands for the one of its name in scipy.sparse: it makes that one's instances."""

        def __call__(cls, *values: Any, **options: Any) -> Any:
            return getattr(import_sparse(), cls.__name__)(*values, **options)

        def __instancecheck__(cls, one: Any) -> bool:
            known = sys.modules.get("scipy.sparse")  # who never imported it has no instance
            return known is not None and isinstance(one, getattr(known, cls.__name__, ()))

    class csr_array(metaclass=_Stand):
        """scipy.sparse.csr_array."""

    class csc_array(metaclass=_Stand):
        """scipy.sparse.csc_array."""

    def issparse(one: Any) -> bool:
        """Whether it is a sparse array or matrix of SciPy."""
        check = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
        return check is not None and check(one)

    def hstack(*values: Any, **options: Any) -> Any:
        """scipy.sparse.hstack."""
        return import_sparse().hstack(*values, **options)

    def vstack(*values: Any, **options: Any) -> Any:
        """scipy.sparse.vstack."""
        return import_sparse().vstack(*values, **options)
