"""The mistakes of an evaluation, those that the model was most confident of first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.evaluation.tally import indicator_matrix

if TYPE_CHECKING:
    from unnaive.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class Mistake:
    """A document that got a class it does not have, or missed one that it has.

    `confidence` is the probability of this error or, without probabilities, the lead of the wrong score.
    """

    row: int
    given: tuple[str, ...]
    true: tuple[str, ...]
    wrong: str
    missed: bool
    confidence: float


def find_mistakes(evaluation: Evaluation, limit: int) -> list[Mistake]:
    """The mistakes with the highest confidence, one for each document."""
    truth, predicted = indicator_matrix(evaluation.Y), indicator_matrix(evaluation.predictions)
    wrong = csr_array(abs(truth - predicted))
    wrong.eliminate_zeros()
    rows, columns = wrong.nonzero()
    if evaluation.top is None:
        confidence = _confidence(evaluation, truth)[rows, columns]
    else:
        confidence = _confidence_by_best(evaluation, rows, columns)
    order = np.lexsort((columns, rows, -confidence))
    worst = {int(rows[at]): int(at) for at in reversed(order)}  # the last one entered is the worst of its row
    ranked = sorted(worst.values(), key=lambda at: -confidence[at])[:limit]
    mistakes = []
    for at in ranked:
        row, wrong_class = int(rows[at]), evaluation.classes[columns[at]]
        assigned, true = (tuple(evaluation.classes[c] for c in table[[row]].indices) for table in (predicted, truth))
        mistakes.append(Mistake(row, assigned, true, wrong_class, wrong_class in true, float(confidence[at])))
    return mistakes


def _confidence(evaluation: Evaluation, truth: Sparse) -> Floats:
    """The confidence in each decision, if it is wrong (n_docs, n_classes)."""
    has_probabilities = evaluation.probabilities is not None
    values = evaluation.probabilities if has_probabilities else evaluation.scores
    if values is None:
        raise RuntimeError("this evaluation has only the best classes")
    true = truth.toarray() != 0
    if evaluation.exclusive:  # the lead of a wrong class over the true one; a missed class is the same mistake
        of_truth = np.where(true, values, -np.inf).max(axis=1, keepdims=True)
        return np.where(true, -np.inf, values if has_probabilities else values - of_truth)
    return np.where(true, 1 - values if has_probabilities else -values, values)


def _confidence_by_best(evaluation: Evaluation, rows: Ids, columns: Ids) -> Floats:
    """The confidence in these wrong decisions: p of a class assigned, 1 − p of one missed."""
    if evaluation.top is None:
        raise RuntimeError("this evaluation has the scores of all classes")
    cells, width = evaluation.top.top, len(evaluation.classes)
    keys = cells.documents * width + cells.classes
    order = np.argsort(keys)
    wanted = rows.astype(np.int64) * width + columns
    at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    p = np.where(keys[at] == wanted, evaluation.top.values[at], 0.0)  # p of a class outside the best is near 0
    truth = np.asarray(evaluation.Y[rows, columns]).ravel() != 0
    if evaluation.exclusive:
        return np.where(truth, -np.inf, p)
    return np.where(truth, 1 - p, p)
