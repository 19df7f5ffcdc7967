"""Whether new texts are like the old ones: the summary for an audit, and the terms that changed.

two_sample.py tests whether both come from one source, class_shares.py estimates the class shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.weighting import presence
from unnaive.evaluation.class_shares import ClassShare
from unnaive.evaluation.related_documents import first_of_copies
from unnaive.evaluation.significance import holm
from unnaive.evaluation.two_sample import TwoSampleTest
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # minimum number of texts on each side
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
    adjusted = np.array(holm(fisher_p(n_old, n_new, before[there], after[there]).tolist()))
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


def fisher_p(n_old: int, n_new: int, before: Ids, after: Ids) -> Floats:
    """The two-sided exact p of terms that are in `before` of n_old and in `after` of n_new documents (all (n_terms,)).

    Most terms are rare, and many have the same two numbers: each pair of them is tested once.

    >>> fisher_p(5, 5, np.array([0, 5]), np.array([5, 0]))         # 2 · 1/C(10, 5)
    array([0.0079..., 0.0079...])
    """
    from scipy.stats import hypergeom

    width = int(np.max(after, initial=0)) + 1
    pairs, pair_of = np.unique(np.asarray(before, np.int64) * width + after, return_inverse=True)
    old, new = np.divmod(pairs, width)
    low = hypergeom.cdf(new, n_old + n_new, old + new, n_new)
    high = hypergeom.sf(new - 1, n_old + n_new, old + new, n_new)
    return np.asarray(np.fmin(1.0, 2 * np.fmin(low, high))[pair_of])
