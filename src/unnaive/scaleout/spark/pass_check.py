"""Refuse rows that change between passes: the documents of a further pass must have the sums of the first one.

A fingerprint is a linear function of the sums over documents, modulo 2⁶⁴: every class and every term has a random odd
factor, and a document adds the product of those of its classes and terms. The driver computes it from the counts of the
first pass, and the executors from the documents of the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.types import Floats, Sparse
from unnaive.data.counts import UNITS, Counts

SEED = 0x5EED
COLUMNS = "low long, high long"  # the lower and the upper half of a fingerprint, whose sums fit in 64 bits

Words = NDArray[np.uint64]


def random_factors(n: int, seed: int) -> Words:
    """An odd factor for each class or term (n,)."""
    return np.random.default_rng((SEED, seed)).integers(0, 1 << 64, n, np.uint64, endpoint=False) | np.uint64(1)


def as_units(values: Floats) -> Words:
    """Weights of documents, or sums of them, in units."""
    return np.rint(np.asarray(values, np.float64) * UNITS).astype(np.int64).astype(np.uint64)


class Fingerprints:
    """The fingerprints of documents with these numbers of classes and terms."""

    def __init__(self, n_classes: int, n_terms: int) -> None:
        self.of_class, self.of_term = random_factors(n_classes, 0), random_factors(n_terms + 1, 1)

    def of_documents(self, X: Sparse, Y: Sparse, weight: Floats) -> int:
        """The fingerprint of counted documents X (n_docs, n_terms) with labels Y (n_docs, n_classes)."""
        terms = _row_sums(X, self.of_term[:-1]) + self.of_term[-1]
        return int((as_units(weight) * terms * _row_sums(Y, self.of_class)).sum(dtype=np.uint64))

    def of_counts(self, counts: Counts) -> int:
        """The fingerprint of all documents that were counted."""
        by_class = _row_sums(counts.class_terms, self.of_term[:-1], UNITS)
        by_class += as_units(counts.class_docs) * self.of_term[-1]
        return int((by_class * self.of_class).sum(dtype=np.uint64))


def _row_sums(table: Sparse, factors: Words, units: int = 1) -> Words:
    """Σ_j table_ij · factors_j modulo 2⁶⁴ for each row i, with the values as multiples of 1/units."""
    rows = table.tocsr()
    whole = np.rint(np.asarray(rows.data, np.float64) * units).astype(np.int64).astype(np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(whole * factors[rows.indices], dtype=np.uint64)])
    return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])


def split_fingerprint(fingerprint: int) -> tuple[int, int]:
    """The values of COLUMNS."""
    return fingerprint & 0xFFFFFFFF, fingerprint >> 32


def check_same_documents(table: Any, fingerprints: Fingerprints, counts: Counts) -> None:
    """Raise an error if the fingerprints of the rows of `table` do not add up to that of the counts."""
    row = table.agg({"low": "sum", "high": "sum"}).collect()[0]
    low, high = (int(row[f"sum({name})"] or 0) for name in ("low", "high"))
    if (low + (high << 32)) % (1 << 64) != fingerprints.of_counts(counts):
        raise BadData(
            "the rows of the DataFrame changed while they were read: a second pass found other documents than the "
            "first; save them as a table and train on that"
        )
