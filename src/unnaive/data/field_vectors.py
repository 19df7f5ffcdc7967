"""FieldVectors: the columns of counts that hold the numbers of a vector field, in fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Ids
from unnaive.text.fixed_point import vector_terms
from unnaive.text.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FieldVectors:
    """The columns of a vector field, as text/fixed_point.py defines their cells.

    name     the name of the field in terms
    columns  the marker, then one column for each number; ascending (1 + n_dims,)
    """

    name: str
    columns: Ids

    @property
    def n_dims(self) -> int:
        """How many numbers a vector has."""
        return len(self.columns) - 1

    @classmethod
    def over(cls, vocabulary: Vocabulary, key: str, n_dims: int) -> FieldVectors | None:
        """The vector columns of a vocabulary; None if no document has a vector.

        >>> found = FieldVectors.over(Vocabulary(["ball", "v=\\x1f", "v=\\x1f0", "v=\\x1f1", "vote"]), "v", 2)
        >>> found.columns.tolist(), found.n_dims, FieldVectors.over(Vocabulary(["ball"]), "v", 2)
        ([1, 2, 3], 2, None)
        """
        columns = vocabulary.ids(vector_terms(key, n_dims))
        return cls(key, columns) if int(columns.min()) >= 0 else None


def columns_of_words(n_columns: int, vectors: Sequence[FieldVectors]) -> Ids | None:
    """The columns that do not belong to vector fields; None for all."""
    return np.setdiff1d(np.arange(n_columns), np.concatenate([part.columns for part in vectors])) if vectors else None
