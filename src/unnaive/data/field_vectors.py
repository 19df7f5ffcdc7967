"""FieldVectors: the columns of counts that encode the numbers of a vector field, and the value of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.base.sparse import csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.text.sections import field_key, vector_lengths
from unnaive.text.vector_units import find_power_terms, marker_term, power_terms
from unnaive.text.vocabulary import Vocabulary

BEYOND = 6  # powers of two above the largest in training: numbers up to about 64 times as large are represented
NEVER = 1 << 20  # not a power
LEAST_SPAN = 7  # powers below the largest that are always represented, even if training does not have them


@dataclass(frozen=True, eq=False)
class FieldVectors:
    """Columns that encode the numbers of a vector field.

    name     the name of the field in terms
    columns  the columns, ascending (n_columns,)
    units    what a column adds to each number: ±2^k for one number, 0 for the marker (n_columns, n_dims)
    marker   the index in `columns` of the marker, which says that the document has a vector
    """

    name: str
    columns: Ids
    units: Sparse
    marker: int

    @property
    def n_dims(self) -> int:
        """How many numbers a vector has."""
        return int(self.units.shape[1])

    @classmethod
    def over(cls, vocabulary: Vocabulary, key: str, n_dims: int) -> FieldVectors | None:
        """The vector columns of a vocabulary; None if no document has a vector.

        >>> found = FieldVectors.over(Vocabulary(["ball", "v=(2)", "v=0+-1", "v=1-3"]), "v", 2)
        >>> found.columns.tolist(), found.units.toarray().tolist(), found.marker
        ([1, 2, 3], [[0.0, 0.0], [0.5, 0.0], [0.0, -8.0]], 0)
        """
        terms = find_power_terms(vocabulary.terms, key, n_dims)
        marker = int(vocabulary.ids([marker_term(key, n_dims)])[0])
        if marker < 0:
            return None
        columns = np.append(terms.places, marker)
        order = np.argsort(columns, kind="stable")
        values = np.append(np.ldexp(terms.signs.astype(np.float64), terms.powers), 0.0)[order]
        dims = np.append(terms.dims, 0)[order]
        rows = np.flatnonzero(values)
        units = csr_array((values[rows], (rows, dims[rows])), shape=(len(columns), n_dims))
        return cls(key, columns[order].astype(np.int64), units, int(np.flatnonzero(values == 0)[0]))


def vector_keys(fields: Sequence[str] | None) -> tuple[tuple[str, int], ...]:
    """The vector fields by their names in terms, with the number of dimensions.

    >>> vector_keys(("body:text", "my topic:vector(384)"))
    (('my_topic', 384),)
    """
    return tuple((field_key(name), length) for name, length in vector_lengths(fields).items())


def columns_of_words(n_columns: int, vectors: Sequence[FieldVectors]) -> Ids | None:
    """The columns that do not encode vector fields; None for all."""
    return np.setdiff1d(np.arange(n_columns), np.concatenate([part.columns for part in vectors])) if vectors else None


def missing_power_terms(vocabulary: Vocabulary, keys: Sequence[tuple[str, int]]) -> Vocabulary:
    """The terms of powers of two that new documents may have and that are missing in the vocabulary."""
    terms: list[str] = []
    for key, n_dims in keys:
        found_terms = find_power_terms(vocabulary.terms, key, n_dims)
        if not len(found_terms.places):
            continue
        highest, lowest = np.full(n_dims, -NEVER), np.full(n_dims, NEVER)
        np.maximum.at(highest, found_terms.dims, found_terms.powers)
        np.minimum.at(lowest, found_terms.dims, found_terms.powers)
        lowest = np.minimum(lowest, highest - LEAST_SPAN)
        # a dimension that is 0 in all documents has no powers
        highest = np.where(lowest < -NEVER // 2, lowest - 1, highest + BEYOND)
        terms += power_terms(key, n_dims, lowest.tolist(), highest.tolist())
    return Vocabulary(terms)
