"""Whether new texts are like the old ones: all that an audit says of it, and the terms that changed.

two_sample.py tests whether both come from one source, class_shares.py estimates the shares of the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unnaive.base.types import Sparse
from unnaive.data.weighting import presence
from unnaive.evaluation.class_shares import ClassShare
from unnaive.evaluation.related_documents import first_of_copies
from unnaive.evaluation.significance import holm
from unnaive.evaluation.two_sample import TwoSampleTest
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # on each side
ALPHA = 0.05


@dataclass(frozen=True)
class ChangedTerm:
    """A term with the share of old and of new documents that have it; p of the exact test, corrected for all terms."""

    term: str
    old: float
    new: float
    p: float


@dataclass(frozen=True)
class Drift:
    """All that is said of new data against old."""

    old_name: str
    new_name: str
    n_old: int
    n_new: int
    test: TwoSampleTest
    shares: tuple[ClassShare, ...]
    terms: tuple[ChangedTerm, ...]
    tested_terms: int


def changed_terms(
    old: Sparse, new: Sparse, vocabulary: Vocabulary, *, limit: int = 30
) -> tuple[tuple[ChangedTerm, ...], int]:
    """The terms whose share of documents changed most surely, and how many terms were tested; copies count once.

    Fisher's exact test of each term, two-sided by doubling the smaller tail, corrected by Holm's method over all terms
    that occur at all: with the correction, even one term named by chance is a matter of one audit in twenty.
    """
    old, new = old[first_of_copies(old)], new[first_of_copies(new)]
    n_old, n_new = old.shape[0], new.shape[0]
    before = np.asarray(presence(old).sum(axis=0)).astype(np.int64)
    after = np.asarray(presence(new).sum(axis=0)).astype(np.int64)
    there = np.flatnonzero(before + after > 0)
    tail = fisher_p(n_old, n_new)
    adjusted = np.array(holm([tail(int(before[t]), int(after[t])) for t in there]))
    order = np.lexsort((there, -np.abs(after[there] / n_new - before[there] / n_old), adjusted))
    chosen = [place for place in order[:limit] if adjusted[place] < ALPHA]
    found = tuple(
        ChangedTerm(
            vocabulary.terms[there[k]],
            float(before[there[k]] / n_old),
            float(after[there[k]] / n_new),
            float(adjusted[k]),
        )
        for k in chosen
    )
    return found, len(there)


def fisher_p(n_old: int, n_new: int) -> Callable[[int, int], float]:
    """The two-sided exact p of a term in a of n_old and b of n_new documents, as a function of a and b.

    >>> fisher_p(5, 5)(0, 5)         # 2 · 1/C(10, 5)
    0.0079...
    """
    from scipy.stats import hypergeom

    @lru_cache(maxsize=1 << 20)
    def p(before: int, after: int) -> float:
        having = before + after
        low = float(hypergeom.cdf(after, n_old + n_new, having, n_new))
        high = float(hypergeom.sf(after - 1, n_old + n_new, having, n_new))
        return min(1.0, 2 * min(low, high))

    return p
