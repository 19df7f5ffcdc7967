"""Predictions from the best classes of documents only, for models that need not score thousands of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import exp
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Ids, Label, Sparse
from unnaive.learning.calibration import Temperature
from unnaive.learning.decisions import Argmax, Decision, Thresholds, TopK
from unnaive.linear.links import LINKS, probabilities
from unnaive.linear.scorer import Scorer
from unnaive.linear.top_scores import TopScores

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


@dataclass(frozen=True, eq=False)
class TopLabels:
    """The best classes of documents and the predicted ones among them: the same as from the scores of all classes.

    n_classes  the number of classes
    top        the cells: classes with their scores, the best of each document first
    values     the value of each cell: a probability if the model has them, else the score (n_cells,)
    given      whether the class of the cell is predicted for its document (n_cells,)
    known      number of known terms in the document (n_docs,)
    """

    n_classes: int
    top: TopScores
    values: Floats
    given: NDArray[np.bool_]
    known: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.top)

    def decisions(self) -> Sparse:
        """The predicted labels as a 0/1 csr_array (n_docs, n_classes)."""
        documents, classes = self.top.documents[self.given], self.top.classes[self.given]
        ones = np.ones(len(classes), np.int64)
        table = csr_array((ones, (documents, classes)), shape=(len(self), self.n_classes))
        table.sort_indices()
        return table

    def label_sets(self, classes: Sequence[Label]) -> list[tuple[Label, ...]]:
        """The predicted labels of each document, the one with the highest score first."""
        sizes = np.bincount(self.top.documents[self.given], minlength=len(self))
        names = [classes[c] for c in self.top.classes[self.given].tolist()]
        ends = np.cumsum(sizes).tolist()
        return [tuple(names[end - size : end]) for end, size in zip(ends, sizes.tolist(), strict=True)]

    def first_cells(self) -> Ids:
        """The first cell of each document (n_docs,): the best predicted one or, if none is predicted, the best."""
        cells = np.flatnonzero(self.given)
        first = self.top.starts[:-1].copy()
        documents, at = np.unique(self.top.documents[cells], return_index=True)
        first[documents] = cells[at]
        return first

    def best_cells(self, k: int) -> Ids:
        """The cells of at most k classes of each document (n_docs, ≤ k): that of `first_cells`, then by value."""
        first = self.first_cells()
        values = np.minimum(self.values, np.finfo(np.float64).max)
        values[first] = np.inf
        order = np.lexsort((self.top.classes, -values, self.top.documents))
        return np.asarray(order[self.top.starts[:-1, None] + np.arange(min(k, self.n_classes))])


def find_top_labels(fitted: FittedModel, documents: Any, k: int) -> TopLabels | None:
    """The k best classes of documents and the predicted ones; None if that needs the scores of all classes."""
    if not tells_by_best(fitted):
        return None
    decision, scale = fitted.decision, _exclusive_scale(fitted)
    above = np.asarray(decision.values) if isinstance(decision, Thresholds) else None
    most = max(k, decision.k) if isinstance(decision, TopK) else k
    result = fitted.reader.top_and_known(documents, most, above=above, scale=scale or None)
    if result is None:
        return None
    top, n_known = result
    return TopLabels(len(fitted.classes), top, _values(fitted, top, scale), decided_cells(decision, top), n_known)


def decided_cells(decision: Decision, top: TopScores) -> NDArray[np.bool_]:
    """Which cells are predicted (n_cells,), for a decision that uses single scores or the best."""
    if isinstance(decision, Thresholds):
        return np.asarray(top.scores >= np.asarray(decision.values)[top.classes])
    return np.asarray(top.ranks < (decision.k if isinstance(decision, TopK) else 1))


def tells_by_best(fitted: FittedModel) -> bool:
    """Whether labels and probabilities can be computed without the scores of all classes."""
    if type(fitted.scorer).top_scores is Scorer.top_scores or np.isnan(_exclusive_scale(fitted)):
        return False
    decision = fitted.decision
    if isinstance(decision, Thresholds):
        return decision.on == "scores" and not decision.at_least_one
    return isinstance(decision, (Argmax, TopK))


def _exclusive_scale(fitted: FittedModel) -> float:
    """The factor of scores in p = e^s / Σ e^s; 0 if there is no sum, NaN if p needs all classes."""
    if not fitted.probabilistic:
        return 0.0
    if fitted.scorer.link not in ("softmax", "log-odds"):
        return np.nan
    calibration = fitted.calibration
    if calibration is None:
        return 1.0 if not fitted.multilabel or LINKS[fitted.scorer.link].exclusive else 0.0
    if not isinstance(calibration, Temperature):
        return np.nan
    return 1 / calibration.value if calibration.exclusive else 0.0


def _values(fitted: FittedModel, top: TopScores, scale: float) -> Floats:
    """The probability of each cell, or its score (n_cells,)."""
    if not fitted.probabilistic:
        return top.scores
    if scale:
        return np.asarray(exp(scale * top.scores - top.log_total[top.documents]))
    if fitted.calibration is not None:
        return fitted.calibration.probabilities(fitted.scorer.link, top.scores[:, None])[:, 0]
    return probabilities(fitted.scorer.link, top.scores, exclusive=False)
