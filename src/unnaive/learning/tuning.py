"""Decisions tuned on held-out scores: thresholds per class, labels per document, shares.

`weight` is that of each document (n_docs,), None if all are 1; a document of weight 2 counts as two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import choose
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids
from unnaive.data.folds import folds, split_folds
from unnaive.learning.decisions import SCALES, Decision, Proportional, Thresholds, TopK
from unnaive.linear.links import LINKS

SIZES = (10, 30, 100)  # classes are grouped by number of documents, up to these
SHRINK = 5  # weight of the size group's threshold, in documents
LEAST_DOCUMENTS, LEAST_TOGETHER = 3, 10  # documents that a class, and a size group, needs for a threshold
LEAST_F1 = 0.3  # minimum F1 at the threshold
FEW_CELLS = 10_000  # scores up to which all are sorted
LEVELS = 33  # thresholds that are tried before scores are sorted
BLOCK = 1 << 20  # scores that are worked on at once


def scut(
    scores: Floats, Y: Any, *, on: str = "scores", at_least_one: bool = False, sizes: Sequence[int] = SIZES,
    weight: Floats | None = None,
) -> Thresholds:  # fmt: skip
    """Thresholds with the best F1 of each class on held-out scores, shrunk towards that of classes of similar size.

    t = (n·t_c + 5·t_s) / (n + 5), n the number of documents of the class, t_c its best threshold, t_s the threshold
    with the best micro-averaged F1 of the classes of similar size (under 10 documents, 30, 100, or more; sizes=() for
    one group): rare classes have lower held-out scores than frequent ones, whose threshold they would never reach. A
    class with n < 3, or with an F1 below .3 at its best threshold, gets t_s: without this fallback, one bad class
    dominates the micro average. If the classes of a size have fewer than ten documents together, or an F1 below .3, t_s
    is the threshold of all classes. Scores must come from documents that the model was not trained on (`out_of_fold`),
    and be probabilities if `on` says so.

    Yang (2001), A study of thresholding strategies for text categorization.

    >>> scut(np.array([[9.0], [8.0], [4.0], [1.0]]), np.array([[1], [1], [1], [0]])).values
    (2.5,)
    """
    scale = SCALES[choose(list(SCALES), on, "scale of thresholds")]
    values = np.ascontiguousarray(scale(scores).T)  # (n_classes, n_docs), so that the scores of a class are neighbours
    truth = csr_array(csr_array(Y).T).astype(np.bool_).toarray()

    def cells(classes: Ids) -> ClassCells:
        times = None if weight is None else np.tile(weight, len(classes))
        if len(classes) == len(values):
            return values.ravel(), truth.ravel(), 0, times
        return values[classes].ravel(), truth[classes].ravel(), 0, times

    return Thresholds(shrunk_thresholds(cells, weighted_class_sizes(Y, weight), sizes), on, at_least_one)


# scores, whether each is of a true class, the number of true ones without a score, and the weight of each
ClassCells = tuple[Floats, NDArray[Any], float, Floats | None]


def weighted_class_sizes(Y: Any, weight: Floats | None) -> Floats:
    """The number of documents of each class (n_classes,), those of weight 2 counted twice."""
    truth = csr_array(Y) != 0
    return np.asarray(truth.sum(axis=0) if weight is None else weight @ truth, np.float64).ravel()


def shrunk_thresholds(cells: Callable[[Ids], ClassCells], n_docs: Floats, sizes: Sequence[int]) -> tuple[float, ...]:
    """The thresholds of `scut` (n_classes,) for n_docs held-out documents; `cells` returns those of some classes."""
    everywhere, _ = best_cut(*cells(np.arange(len(n_docs))))
    thresholds = np.full(len(n_docs), everywhere)
    kind = np.searchsorted(sizes, n_docs, side="right")
    for value in np.unique(kind):
        alike = np.flatnonzero(kind == value)
        common, f1 = best_cut(*cells(alike))
        if n_docs[alike].sum() >= LEAST_TOGETHER and f1 >= LEAST_F1:
            thresholds[alike] = common
    for c in np.flatnonzero(n_docs >= LEAST_DOCUMENTS):
        threshold, f1 = best_cut(*cells(np.array([c])))
        if f1 >= LEAST_F1:
            thresholds[c] = (n_docs[c] * threshold + SHRINK * thresholds[c]) / (n_docs[c] + SHRINK)
    return tuple(thresholds.tolist())


def best_cut(
    scores: Floats, truth: NDArray[Any], missed: float = 0, weight: Floats | None = None
) -> tuple[float, float]:
    """The threshold with the best F1, halfway to the next lower score, and that F1; the highest in a tie.

    scores, truth: (n,). Without positives, the threshold is the highest score. `missed` positives have no score, and no
    threshold reaches them.

    >>> best_cut(np.array([0.9, 0.6, 0.2]), np.array([1, 1, 0]))
    (0.4, 1.0)
    """
    if not len(scores):
        return 0.0, 0.0
    truth = truth != 0
    if not truth.any():
        return float(scores.max()), 0.0
    positives = missed + float(truth.sum() if weight is None else weight[truth].sum())
    if len(scores) > FEW_CELLS:
        kept = scores >= _lowest_possible_cut(scores, truth, positives, weight)
        scores, truth, weight = scores[kept], truth[kept], None if weight is None else weight[kept]
    order = np.argsort(-scores, kind="stable")
    ranked, right = scores[order], truth[order]
    taken = np.arange(1, len(order) + 1) if weight is None else np.cumsum(weight[order])
    hits = np.cumsum(right if weight is None else right * weight[order])
    f1 = 2 * hits / (taken + positives)
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # no threshold separates equal scores
    last = int(np.argmax(f1))
    lower = ranked[last + 1] if last + 1 < len(ranked) else -np.inf
    middle = lower + (ranked[last] - lower) / 2 if np.isfinite(lower) else ranked[last]
    return float(middle if middle > lower else ranked[last]), float(f1[last])


def _lowest_possible_cut(scores: Floats, truth: NDArray[np.bool_], positives: float, weight: Floats | None) -> float:
    """A score with no threshold below it that could have the best F1, so that lower scores need not be sorted.

    F1 = 2·hits / (taken + positives), and hits are at most the H positives with a score. If some threshold has the F1
    f, a threshold with a higher one takes at most 2·H / f − positives. f is the best of LEVELS quantiles of the scores
    of positives. The best threshold is halfway to the next lower score, which is kept too.
    """
    reached = scores[truth]
    levels = np.unique(np.quantile(reached, np.linspace(0.0, 1.0, LEVELS), method="lower"))
    n_above = np.zeros(len(levels) + 1)
    for start in range(0, len(scores), BLOCK):
        part = slice(start, start + BLOCK)
        n_above += np.bincount(
            np.searchsorted(levels, scores[part], side="right"),
            None if weight is None else weight[part],
            minlength=len(n_above),
        )
    n_hits = np.bincount(
        np.searchsorted(levels, reached, side="right"), None if weight is None else weight[truth], len(n_above)
    )
    taken, hits = (sizes[::-1].cumsum()[::-1][1:] for sizes in (n_above, n_hits))  # by levels, ascending
    f1 = float((2 * hits / (taken + positives)).max())
    beyond = np.flatnonzero(taken > (2 * hits[0] / f1 - positives) * (1 + 1e-9)) if f1 > 0 else np.zeros(0, np.int64)
    if len(beyond):
        return float(levels[beyond[-1]])
    return float(scores.max(where=scores < levels[0], initial=-np.inf))


def rcut(scores: Floats, Y: Any, weight: Floats | None = None) -> TopK:
    """The k with the best micro-averaged F1 on held-out scores; the smallest in a tie.

    >>> rcut(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), np.array([[1, 1, 0], [0, 1, 1]]))
    TopK(k=2)
    """
    truth = csr_array(Y)
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    rows, columns = rows[truth.data != 0], truth.indices[truth.data != 0]
    times = None if weight is None else weight[rows]
    correct = np.bincount(_ranks(scores, rows, columns), times, minlength=scores.shape[1]).cumsum()
    assigned = (len(scores) if weight is None else weight.sum()) * np.arange(1, scores.shape[1] + 1)
    return TopK(int(np.argmax(2 * correct / (assigned + correct[-1]))) + 1)


def _ranks(scores: Floats, rows: Ids, columns: Ids) -> Ids:
    """The rank of each of these classes in the scores of its row, from 0; of equal scores, the first column is first.

    >>> _ranks(np.array([[3.0, 9.0, 3.0]]), np.array([0, 0, 0]), np.array([0, 1, 2])).tolist()
    [1, 0, 2]
    """
    ranks = np.empty(len(rows), np.int64)
    step = max(1, BLOCK // max(1, scores.shape[1]))
    for start in range(0, len(rows), step):
        row, column = rows[start : start + step], columns[start : start + step]
        table, own = scores[row], scores[row, column][:, None]
        earlier = np.arange(scores.shape[1]) < column[:, None]
        ranks[start : start + step] = (table > own).sum(axis=1) + ((table == own) & earlier).sum(axis=1)
    return ranks


def pcut(Y: Any, *, factor: float = 1.0, weight: Floats | None = None) -> Proportional:
    """The share of training documents in each class, times `factor`: below 1 for precision, above for recall.

    >>> pcut(np.array([[1, 0], [1, 1]])).rates
    (1.0, 0.5)
    """
    n_docs = csr_array(Y).shape[0] if weight is None else float(weight.sum())
    shares = factor * weighted_class_sizes(Y, weight) / max(n_docs, 1)
    return Proportional(tuple(shares.tolist()))


def scut_or_rcut(scores: Floats, Y: Any, link: str, weight: Floats | None = None) -> Decision:
    """The better of the two on held-out scores, by the mean of micro- and macro-averaged F1; scut in a tie.

    Each is evaluated on parts of the documents that it was not tuned on, then tuned on all. Thresholds win if scores
    are comparable across documents (margins, relative scores); the same number of labels for every document wins if
    scores grow with its length, as in the multinomial model.

    >>> scores = np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 8.0], [8.0, 9.0]] * 3)   # long documents have high scores
    >>> scut_or_rcut(scores, np.array([[1, 0], [0, 1]] * 6), "log-odds")
    TopK(k=1)
    """
    truth = csr_array(Y)
    fold = folds(truth, min(5, truth.shape[0]))

    def mean_f1(name: str) -> float:
        right, sizes = np.zeros(truth.shape[1]), weighted_class_sizes(truth, weight)
        for tuned_on, judged in split_folds(fold, int(fold.max()) + 1):
            times = None if weight is None else weight[tuned_on]
            predicted = TUNINGS[name](scores[tuned_on], truth[tuned_on], link, times).decide(scores[judged])
            judged_weight = None if weight is None else weight[judged]
            right += weighted_class_sizes((truth[judged] != 0).multiply(predicted != 0), judged_weight)
            sizes = sizes + weighted_class_sizes(predicted, judged_weight)
        return float(2 * right.sum() / max(sizes.sum(), 1) + (2 * right / np.maximum(sizes, 1)).mean()) / 2

    return TUNINGS["rcut" if mean_f1("rcut") > mean_f1("scut") else "scut"](scores, Y, link, weight)


TUNINGS: dict[str, Callable[[Floats, Any, str, Floats | None], Decision]] = {
    "best": scut_or_rcut,
    # if scores are not comparable across documents, thresholds are relative to the best score of each
    "scut": lambda scores, Y, link, weight: scut(
        scores, Y, on="scores" if LINKS[link].share is None else "relative", weight=weight
    ),
    "rcut": lambda scores, Y, link, weight: rcut(scores, Y, weight),
    "pcut": lambda scores, Y, link, weight: pcut(Y, weight=weight),
}
