"""Whether new texts are like the old ones: the summary for an audit, and the terms that changed.

two_sample.py tests whether both come from one source, class_shares.py estimates the class shares.
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
    """A term with its shares of old and new documents; p of the exact test, corrected for the number of terms."""

    term: str
    old: float
    new: float
    p: float


@dataclass(frozen=True)
class Drift:
    """The comparison of new data with old data."""

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
    """The terms whose document share changed most significantly, and the number of terms tested; copies count once.

    Fisher's exact test for each term, two-sided by doubling the smaller tail, with Holm's correction over all terms
    that occur: with it, at most one audit in twenty names any term by chance.
    """
    old, new = old[first_of_copies(old)], new[first_of_copies(new)]
    n_old, n_new = old.shape[0], new.shape[0]
    before = np.asarray(presence(old).sum(axis=0)).astype(np.int64)
    after = np.asarray(presence(new).sum(axis=0)).astype(np.int64)
    there = np.flatnonzero(before + after > 0)
    tail = fisher_p(n_old, n_new)
    adjusted = np.array(holm([tail(int(before[t]), int(after[t])) for t in there]))
    order = np.lexsort((there, -np.abs(after[there] / n_new - before[there] / n_old), adjusted))
    chosen = [term for term in order[:limit] if adjusted[term] < ALPHA]
    changed = tuple(
        ChangedTerm(
            vocabulary.terms[there[k]],
            float(before[there[k]] / n_old),
            float(after[there[k]] / n_new),
            float(adjusted[k]),
        )
        for k in chosen
    )
    return changed, len(there)


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
