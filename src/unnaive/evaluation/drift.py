"""Whether new texts are like the old ones: a classifier two-sample test, class shares, and the terms that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import folds, out_of_fold
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighting import presence
from unnaive.evaluation.significance import holm
from unnaive.learning.fit_calibration import fit_temperature
from unnaive.models.held_out_scores import softmax_scores
from unnaive.text.vocabulary import Vocabulary

FEWEST_TEXTS = 20  # on each side
ALPHA = 0.05
MOST_TEST = 20_000  # documents of each side for the two-sample test: more would not change its verdict
N_FOLDS = 5
DRAWS = 200


@dataclass(frozen=True)
class TwoSampleTest:
    """How well a classifier tells held-out new texts from held-out old ones.

    auc   the chance that a new text gets a higher score than an old one, .5 if they are alike; low, high: 95 % interval
    p     of so high an auc if the two are alike
    """

    auc: float
    low: float
    high: float
    p: float

    @property
    def differs(self) -> bool:
        """Whether the two differ at the 5 % level."""
        return self.p < ALPHA


@dataclass(frozen=True)
class ClassShare:
    """The share of a class in the old data and, estimated, in the new; low, high: 95 % interval of the latter."""

    name: str
    old: float
    new: float
    low: float
    high: float

    @property
    def changed(self) -> bool:
        """Whether the old share is outside of the interval."""
        return not self.low <= self.old <= self.high


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


def two_sample_test(old: Sparse, new: Sparse, *, seed: int = 0) -> TwoSampleTest:
    """Train on half of both to tell old from new, and judge on the other half.

    The halves share no document, so under the hypothesis that both come from one source held-out scores are
    exchangeable, and the Mann–Whitney test on them is valid. The interval of the area is DeLong's. Lopez-Paz and Oquab
    (2017), Revisiting classifier two-sample tests.
    """
    X = csr_array(vstack([_some(old, seed), _some(new, seed)]))
    codes = np.repeat([0, 1], [min(old.shape[0], MOST_TEST), min(new.shape[0], MOST_TEST)])
    training = folds(one_label_matrix(codes, 2), 2, seed=seed) == 0
    softmax_member = softmax_scores
    scores = softmax_member(X[training], codes[training], 2, X[~training])
    lead = scores[:, 1] - scores[:, 0]
    return area_test(lead[codes[~training] == 0], lead[codes[~training] == 1])


def _some(X: Sparse, seed: int) -> Sparse:
    if X.shape[0] <= MOST_TEST:
        return X
    return X[np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:MOST_TEST])]


def area_test(negative: Floats, positive: Floats) -> TwoSampleTest:
    """The area under the ROC curve with DeLong's interval, and the one-sided Mann–Whitney p.

    >>> test = area_test(np.array([0.1, 0.4, 0.5]), np.array([0.3, 0.6, 0.7]))    # 7 of 9 pairs are in order
    >>> round(test.auc, 4)
    0.7778
    """
    from scipy.stats import mannwhitneyu, norm, rankdata

    n, m = len(negative), len(positive)
    ranks = rankdata(np.concatenate([negative, positive]))
    of_positive = (ranks[n:] - rankdata(positive)) / n  # share of the negatives below each positive, ties half
    of_negative = 1 - (ranks[:n] - rankdata(negative)) / m
    auc = float(of_positive.mean())
    variance = _variance(of_positive) / m + _variance(of_negative) / n
    half = float(norm.ppf(0.975)) * float(np.sqrt(variance))
    p = float(mannwhitneyu(positive, negative, alternative="greater").pvalue)
    return TwoSampleTest(auc, max(0.0, auc - half), min(1.0, auc + half), p)


def _variance(values: Floats) -> float:
    return float(np.var(values, ddof=1)) if len(values) > 1 else 0.0


def class_shares(
    old: Sparse, codes: NDArray[np.integer], classes: Sequence[str], new: Sparse, *, seed: int = 0
) -> tuple[ClassShare, ...]:
    """The shares of the classes in new documents, by EM on the priors, with a bootstrap interval.

    A calibrated classifier of the old data gives p(c|x) under the old shares; p(c|x)·new(c)/old(c), normalised, is the
    probability under the new ones, and their mean the next estimate of the shares, until nothing changes. Saerens,
    Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori probabilities. It assumes
    that texts of a class are as they were.
    """
    own: Ids = np.asarray(codes, np.int64)
    old_shares = np.bincount(own, minlength=len(classes)) / len(own)
    probabilities = _calibrated_probabilities(old, own, len(classes), new, seed)
    shares = new_priors(probabilities, old_shares)
    generator = np.random.default_rng(seed)
    n_new = new.shape[0]
    drawn = [new_priors(probabilities[generator.integers(0, n_new, n_new)], old_shares, shares) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    rows = zip(classes, old_shares, shares, np.minimum(low, shares), np.maximum(high, shares), strict=True)
    return tuple(ClassShare(name, *map(float, values)) for name, *values in rows)


def _calibrated_probabilities(old: Sparse, codes: Ids, n_classes: int, new: Sparse, seed: int) -> Floats:
    """p(c|x) of new documents (n_new, n_classes): softmax regression, its temperature fitted out of fold."""
    member = softmax_scores
    Y = one_label_matrix(codes, n_classes)

    def score(train: Ids, held_out: Ids) -> Floats:
        return member(old[train], codes[train], n_classes, old[held_out])

    held_out = out_of_fold(score, Y, n_folds=min(N_FOLDS, len(codes)), seed=seed)
    temperature = fit_temperature("softmax", held_out, Y, exclusive=True)
    return temperature.probabilities("softmax", member(old, codes, n_classes, new))


def new_priors(
    probabilities: Floats, old: Floats, start: Floats | None = None, *, tol: float = 1e-6, max_iter: int = 500
) -> Floats:
    """The fixed point of Saerens' EM; the likelihood of the shares never falls.

    Two classes that the classifier tells for certain: the shares are what it counts.

    >>> new_priors(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5])).round(3)
    array([0.75, 0.25])
    """
    shares = (old if start is None else start).copy()
    for _ in range(max_iter):
        ratio = np.divide(shares, old, out=np.zeros_like(shares), where=old > 0)
        weighted = probabilities * ratio
        weighted /= np.maximum(weighted.sum(axis=1, keepdims=True), 1e-300)
        after = weighted.mean(axis=0)
        moved = float(np.abs(after - shares).max())
        shares = after
        if moved < tol:
            break
    return shares


def changed_terms(
    old: Sparse, new: Sparse, vocabulary: Vocabulary, *, limit: int = 30
) -> tuple[tuple[ChangedTerm, ...], int]:
    """The terms whose share of documents changed most surely, and how many terms were tested.

    Fisher's exact test of each term, two-sided by doubling the smaller tail, corrected by Holm's method over all terms
    that occur at all: with the correction, even one term named by chance is a matter of one audit in twenty.
    """
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
