"""Cases, the input for the network of one class: distinct rows of its features, with the weight inside and outside it.

feature_clusters.py shapes a tree from them, em.py fits its tables to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, Ids

FeatureRows = NDArray[np.int8]

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Cases:
    """Documents by their features: each distinct row once, with the number of documents inside and outside the class.

    rows      presence of each feature, distinct rows (n_rows, n_features)
    positive  documents of the class with that row    (n_rows,)
    negative  documents outside it                    (n_rows,)

    >>> Cases.of(np.array([[1, 0], [1, 0], [0, 1]], np.int8), np.array([True, False, False])).positive
    array([0., 1.])
    """

    rows: FeatureRows
    positive: Floats
    negative: Floats

    @classmethod
    def of(cls, rows: FeatureRows, inside: NDArray[np.bool_], weight: Floats | None = None) -> Cases:
        """Cases of documents `rows` (n_docs, n_features); `inside` (n_docs,) marks those of the class."""
        if weight is None:
            weight = np.ones(len(rows))
        counted = weight > 0
        rows, inside, weight = rows[counted], inside[counted], weight[counted]
        distinct, row_of = distinct_rows(rows)
        return cls(
            distinct,
            sums_by(row_of, np.where(inside, weight, 0.0)),
            sums_by(row_of, np.where(inside, 0.0, weight)),
        )

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self.rows.shape[1])

    @property
    def sides(self) -> Floats:
        """Weight of each row outside and inside the class (2, n_rows)."""
        return np.stack([self.negative, self.positive])

    @property
    def inside(self) -> float:
        """The share of the class, P(C=1)."""
        return float(self.positive.sum() / self.total) if self.total else 0.0

    @property
    def total(self) -> float:
        """Weight of all cases."""
        return float(self.positive.sum() + self.negative.sum())


def sums_by(index: Ids, values: Floats) -> Floats:
    """Sum the values of each index.

    >>> sums_by(np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]))
    array([1., 5.])
    """
    sums: Floats = np.bincount(index, weights=values).astype(np.float64)
    return sums


def distinct_rows(rows: FeatureRows) -> tuple[FeatureRows, Ids]:
    """The distinct rows in lexicographic order, and for each row the index of its distinct row.

    Bits are packed into 64-bit words first: sorting numbers is several times faster than sorting rows.

    >>> distinct_rows(np.array([[1, 0], [0, 1], [1, 0]], np.int8))
    (array([[0, 1],
           [1, 0]], dtype=int8), array([1, 0, 1]))
    """
    words = _words(rows)
    if words.shape[1] == 1:
        _, first, which = np.unique(words[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, which = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return rows[first], which.reshape(-1)


def _words(rows: FeatureRows) -> NDArray[Any]:
    """Rows as big-endian bits, which sort like the rows; two bits for each value if some are unknown."""
    bits = (
        rows if rows.size == 0 or rows.min() >= 0 else np.stack([rows == UNKNOWN, rows == 1], 2).reshape(len(rows), -1)
    )
    pack_networks = np.packbits(bits > 0, axis=1)
    width = max(8, -(-pack_networks.shape[1] // 8) * 8)
    padded = np.zeros((len(rows), width), np.uint8)
    padded[:, : pack_networks.shape[1]] = pack_networks
    return padded.view(">u8").astype(np.uint64)


def codes_of(rows: FeatureRows) -> Ids:
    """A row of bits as a number, the first column the highest bit; (n_rows, n) → (n_rows,).

    >>> codes_of(np.array([[1, 0], [1, 1]], np.int8))
    array([2, 3])
    """
    places = 1 << np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
    return rows.astype(np.int64) @ places
