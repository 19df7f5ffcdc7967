"""What every trained model is, linear or not: documents in, scores out, storable as arrays."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Scorer(Protocol):
    """The end of learning. Linear is the common one; networks, trees and neighbours have their own.

    `kind` names the class in model files; `link` gives scores their meaning (links.py).
    """

    kind: ClassVar[str]

    @property
    def link(self) -> str:
        """The name of the link of these scores."""

    @property
    def n_classes(self) -> int:
        """How many classes are scored."""

    @property
    def n_terms(self) -> int:
        """How many terms a document may have."""

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and JSON settings from which `from_arrays` makes an equal scorer."""

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; must trust nothing, since models come from files."""
