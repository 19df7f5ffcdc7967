"""Measures of scores as rankings: breakeven, 11-point precision, AUC; measures.py gives them names.

Scores are dense (n_docs, n_classes), larger is better; Y is sparse 0/1 of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, choose
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.evaluation.tally import Tally, check_same_shape, indicator_matrix
from unnaive.linear.links import relative

NORMALISATIONS: dict[str, Callable[[Floats], Floats]] = {"none": lambda scores: scores, "per-document": relative}


def check_scores(Y: Any, scores: Any) -> tuple[Sparse, Floats]:
    """Check Y and scores; NaN among the scores is an error, since it has no rank."""
    truth, values = check_same_shape(indicator_matrix(Y), np.asarray(scores, dtype=np.float64))
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values).any(axis=1))[0])
        raise BadData(f"the scores of document {row} contain NaN; give a number for every class")
    return truth, values


def r_precision(scores: Floats, positives: Floats) -> float:
    """Breakeven point of one ranking: the precision among its first R, where R is the number of positives.

    There precision equals recall. `scores` holds all scores, `positives` those of the true documents. If the cut falls
    into a tie, this is the expectation over random orders of the tied documents:
    (hits above + remaining positions · share of positives among the tied) / R. NaN without positives.

    >>> r_precision(np.array([0.9, 0.8, 0.3]), np.array([0.9, 0.3]))
    0.5
    >>> r_precision(np.array([0.5, 0.5, 0.5, 0.5]), np.array([0.5]))
    0.25
    """
    wanted = len(positives)
    if wanted == 0:
        return float("nan")
    cut = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    places = wanted - np.count_nonzero(scores > cut)
    share = np.count_nonzero(positives == cut) / np.count_nonzero(scores == cut)
    return float((np.count_nonzero(positives > cut) + places * share) / wanted)


def by_class(truth: Sparse, scores: Floats) -> Iterator[tuple[Floats, Floats]]:
    """For each class: the scores of all documents and those of its true ones."""
    columns, rows = np.ascontiguousarray(scores.T), truth.tocsc()
    for c, column in enumerate(columns):
        yield column, column[rows.indices[rows.indptr[c] : rows.indptr[c + 1]]]


def breakeven(Y: Any, scores: Any, *, normalise: str = "none") -> Floats:
    """Breakeven point of each class (n_classes,), NaN for a class without true documents.

    `normalise="per-document"` first divides each document's scores by their maximum, which makes scores that grow
    with the length of the document comparable.
    """
    truth, values = check_scores(Y, scores)
    return np.array([r_precision(*pair) for pair in by_class(truth, normalise_scores(values, normalise))])


def normalise_scores(scores: Floats, how: str) -> Floats:
    """The scores under one of NORMALISATIONS."""
    return NORMALISATIONS[choose(list(NORMALISATIONS), how, "normalisation")](scores)


def weighted_mean(points: Floats, sizes: Ids) -> float:
    """Σ size·point / Σ size; a class without documents has no weight, whatever its point."""
    return float(np.nan_to_num(points) @ sizes / sizes.sum()) if sizes.sum() else float("nan")


def breakeven_micro(Y: Any, scores: Any, *, normalise: str = "none") -> float:
    """Breakeven point of all (document, class) decisions pooled under one threshold."""
    truth, values = check_scores(Y, scores)
    values = normalise_scores(values, normalise)
    return r_precision(values.ravel(), values[truth.nonzero()])


def mean_defined(values: Floats) -> float:
    """Mean of the values that are numbers; NaN if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def class_order(scores: Floats) -> Ids:
    """The classes of each document, best first, ties by class index; (n_docs, n_classes)."""
    return np.argsort(-scores, axis=1, kind="stable")


def top_classes(order: Ids, k: int, n_classes: int) -> Sparse:
    """The first k classes of each document as a 0/1 csr_array; like decisions.TopK(k), for a known order.

    order  the classes of each document, best first (n_docs, at least min(k, n_classes))
    """
    n_docs, width = order.shape[0], min(k, n_classes)
    if order.shape[1] < width:
        raise BadData(
            f"only the {order.shape[1]} best classes of each document are known; ask for at most as many, not {k}"
        )
    ones = np.ones(n_docs * width, dtype=np.int64)
    return csr_array((ones, order[:, :width].ravel(), np.arange(n_docs + 1) * width), shape=(n_docs, n_classes))


def tally_at(Y: Any, order: Ids, k: int) -> Tally:
    """The tally if every document gets its first k classes (F1@k)."""
    return Tally.of(Y, top_classes(order, k, Y.shape[1]))


def positive_ranks(Y: Any, order: Ids) -> tuple[Ids, Ids]:
    """Ranks (1 is best) of the true classes, ascending within each document, and the start of each document's ranks.

    ranks[begin[d] : begin[d + 1]] belong to document d.
    """
    truth = indicator_matrix(Y)
    rank_of = np.empty(order.shape, dtype=np.int32)
    np.put_along_axis(rank_of, order, np.arange(1, order.shape[1] + 1, dtype=np.int32)[None, :], axis=1)
    rows, columns = truth.nonzero()
    ranks = rank_of[rows, columns].astype(np.int64)
    return ranks[np.lexsort((ranks, rows))], truth.indptr.astype(np.int64)


def eleven_point(Y: Any, order: Ids) -> Floats:
    """Average 11-point precision of each document that has labels, over its ranked classes.

    Interpolated precision at recall r is the highest precision at any recall ≥ r, taken at r = 0, .1, …, 1 and
    averaged. With m true classes at ranks r_1 < … < r_m, precision at recall i/m is i/r_i. With m = 1 it is 1/rank.

    >>> eleven_point([[0, 1, 0]], class_order(np.array([[0.5, 0.3, 0.2]])))
    array([0.5])
    """
    ranks, begin = positive_ranks(Y, order)
    sizes = np.diff(begin)
    points = np.full(len(sizes), np.nan)
    for m in np.unique(sizes[sizes > 0]):  # process documents with equally many labels together
        documents = np.flatnonzero(sizes == m)
        precision = np.arange(1, m + 1) / ranks[begin[documents][:, None] + np.arange(m)]
        best_from = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        levels = np.maximum(-(-np.arange(11) * m // 10), 1) - 1  # smallest i with i/m ≥ r, in integers
        points[documents] = best_from[:, levels].mean(axis=1)
    return points[sizes > 0]


def reciprocal_ranks(Y: Any, order: Ids) -> Floats:
    """1 / rank of the best true class, of each document that has labels."""
    ranks, begin = positive_ranks(Y, order)
    return 1.0 / ranks[begin[:-1][np.diff(begin) > 0]]


def auc(Y: Any, scores: Any) -> Floats:
    """Area under the ROC curve of each class against the rest (n_classes,).

    NaN where either side is empty, and for a class that the model does not know (all scores −∞): it has no ranking.

    This is the probability that a true document outscores another, with ties counting one half:
    (Σ_positives (#below + #tied/2) − P²/2) / (P·N), with #below and #tied counted among all documents; P²/2 is
    the contribution of pairs of positives.

    >>> auc([[1, 0], [0, 1], [1, 0]], [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]])
    array([0.75, 0.75])
    """
    truth, values = check_scores(Y, scores)
    return np.array([auc_of(*pair) for pair in by_class(truth, values)])


def auc_of(scores: Floats, positives: Floats) -> float:
    """Area under the ROC curve of one ranking."""
    wanted, others = len(positives), len(scores) - len(positives)
    if not wanted or not others:
        return float("nan")
    ascending = np.sort(scores)
    if ascending[-1] == -np.inf:
        return float("nan")
    positives = np.sort(positives)  # sorted, so that successive look-ups hit the cache
    midranks = np.searchsorted(ascending, positives) + np.searchsorted(ascending, positives, side="right")
    return float((midranks.sum() / 2 - wanted**2 / 2) / (wanted * others))


def precision_recall(scores: Floats, positives: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision and recall of one ranking at each distinct threshold, highest first, and the thresholds.

    >>> precision_recall(np.array([0.9, 0.8, 0.3]), np.array([0.9, 0.3]))
    (array([1. , 0.5 , 0.66666667]), array([0.5, 0.5, 1. ]), array([0.9, 0.8, 0.3]))
    """
    cuts, chosen = np.unique(-scores, return_counts=True)
    hits = np.searchsorted(np.sort(-positives), cuts, side="right")
    recall = hits / len(positives) if len(positives) else np.zeros(len(cuts))
    return hits / np.cumsum(chosen), recall, -cuts
