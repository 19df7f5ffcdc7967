"""Decisions tuned on the best classes of held-out documents, if the scores of all classes do not fit in memory.

The rules are those of tuning.py. A class that is not among the TOP best of a document counts as never predicted for
it, and the document's labels of such classes count as missed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import folds, split_folds
from unnaive.learning.decisions import Decision, Thresholds, TopK
from unnaive.learning.top_labels import decided_cells
from unnaive.learning.tuning import SIZES, ClassCells, pcut, shrunk_thresholds, weighted_class_sizes
from unnaive.linear.scorer import Scorer
from unnaive.linear.top_scores import TopScores

MOST_CELLS = 1 << 25  # held-out scores of all classes in memory at once: 256 MB
TOP = 100  # best classes kept for a held-out document


def needs_top_scores(scorer: Scorer, n_docs: int) -> bool:
    """Whether held-out scores of all classes are too many, and the scorer can find the best without them."""
    return type(scorer).top_scores is not Scorer.top_scores and n_docs * scorer.n_classes > MOST_CELLS


def refuse_calibration(n_docs: int, n_classes: int) -> BadData:
    """The error of a calibration that would need the scores of all classes."""
    return BadData(
        f"calibration needs the scores of {n_docs:,} held-out documents for all {n_classes:,} classes, "
        "which are too many to keep in memory; train without --calibrate and --set optimise"
    )


def tune_top(tuning: str, top: TopScores, Y: Sparse, weight: Floats | None = None) -> Decision:
    """The decision tuned on the best classes of held-out documents with labels Y (n_docs, n_classes) and weights."""
    return TOP_TUNINGS[tuning](top, csr_array(Y), weight)


def scut_top(top: TopScores, Y: Sparse, weight: Floats | None = None) -> Thresholds:
    """Thresholds by `tuning.scut`, from the best classes.

    >>> top = TopScores.of(np.array([[9.0], [8.0], [4.0], [1.0]]), 1)
    >>> scut_top(top, csr_array([[1], [1], [1], [0]])).values
    (2.5,)
    """
    n_docs = weighted_class_sizes(Y, weight)
    order = np.argsort(top.classes, kind="stable")
    starts = np.searchsorted(top.classes[order], np.arange(Y.shape[1] + 1))
    scores, truth = top.scores[order], _is_true(top, Y)[order]
    times = None if weight is None else weight[top.documents[order]]
    in_top = np.bincount(top.classes[order], truth if times is None else truth * times, minlength=Y.shape[1])

    def cells(classes: Ids) -> ClassCells:
        sizes = np.diff(starts)[classes]
        first = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(first[-1]) + np.repeat(starts[classes] - first[:-1], sizes)
        missed = float((n_docs - in_top)[classes].sum())
        return scores[places], truth[places], missed, None if times is None else times[places]

    return Thresholds(shrunk_thresholds(cells, n_docs, SIZES), "scores")


def rcut_top(top: TopScores, Y: Sparse, weight: Floats | None = None) -> TopK:
    """The number of labels by `tuning.rcut`, at most the number of best classes.

    >>> rcut_top(TopScores.of(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]), 3), csr_array([[1, 1, 0], [0, 1, 1]]))
    TopK(k=2)
    """
    times = np.ones(Y.shape[0]) if weight is None else weight
    correct = np.bincount(top.ranks, _is_true(top, Y) * times[top.documents], minlength=1).cumsum()
    assigned = times.sum() * np.arange(1, len(correct) + 1)
    return TopK(int(np.argmax(2 * correct / (assigned + weighted_class_sizes(Y, weight).sum()))) + 1)


def scut_or_rcut_top(top: TopScores, Y: Sparse, weight: Floats | None = None) -> Decision:
    """The better of the two by `tuning.scut_or_rcut`, each evaluated on documents that it was not tuned on."""
    fold, times = folds(Y, min(5, Y.shape[0])), np.ones(Y.shape[0]) if weight is None else weight

    def mean_f1(tune: Callable[[TopScores, Sparse, Floats], Decision]) -> float:
        right, sizes = np.zeros(Y.shape[1]), weighted_class_sizes(Y, weight)
        for tuned_on, judged in split_folds(fold, int(fold.max()) + 1):
            part = top.take(judged)
            predicted = decided_cells(tune(top.take(tuned_on), Y[tuned_on], times[tuned_on]), part)
            assigned = predicted * times[judged][part.documents]
            right += np.bincount(part.classes, assigned * _is_true(part, Y[judged]), minlength=Y.shape[1])
            sizes = sizes + np.bincount(part.classes, assigned, minlength=Y.shape[1])
        return float(2 * right.sum() / max(sizes.sum(), 1) + (2 * right / np.maximum(sizes, 1)).mean()) / 2

    return (rcut_top if mean_f1(rcut_top) > mean_f1(scut_top) else scut_top)(top, Y, weight)


def _is_true(top: TopScores, Y: Sparse) -> Any:
    """Whether the document of each cell has its class, bool (n_cells,)."""
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr))
    return np.isin(top.documents * Y.shape[1] + top.classes, rows * Y.shape[1] + Y.indices)


TOP_TUNINGS: dict[str, Callable[[TopScores, Sparse, Floats | None], Decision]] = {
    "best": scut_or_rcut_top,
    "scut": scut_top,
    "rcut": rcut_top,
    "pcut": lambda top, Y, weight: pcut(Y, weight=weight),
}
