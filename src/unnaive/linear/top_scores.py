"""TopScores: the best classes of documents and their scores, if the scores of all classes would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import logsumexp
from unnaive.base.types import Floats, Ids


@dataclass(frozen=True, eq=False)
class TopScores:
    """Some classes of each document with their scores, the best first; the first class in a tie.

    starts     index of the first cell of each document, and the end of the last (n_docs + 1,)
    classes    class indices (n_cells,)
    scores     scores of these classes (n_cells,)
    log_total  log Σ e^(scale · score) over all classes of each document (n_docs,); zeros without a scale
    """

    starts: Ids
    classes: Ids
    scores: Floats
    log_total: Floats

    @classmethod
    def of(cls, scores: Floats, k: int, above: Floats | None = None, scale: float | None = None) -> TopScores:
        """From all scores (n_docs, n_classes): the k best of each document and those that reach `above` (n_classes,).

        >>> top = TopScores.of(np.array([[1.0, 3.0, 2.0]]), 1, above=np.array([0.5, 9.0, 9.0]))
        >>> top.classes.tolist(), top.scores.tolist()
        ([1, 0], [3.0, 1.0])
        """
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order, axis=1)
        selected = np.zeros(scores.shape, np.bool_)
        selected[:, :k] = True
        if above is not None:
            selected |= ranked >= above[order]
        total = np.zeros(len(scores)) if scale is None else logsumexp(scale * scores, axis=1)
        return cls(row_starts(selected.sum(axis=1)), order[selected], ranked[selected], total)

    @classmethod
    def of_cells(cls, documents: Ids, classes: Ids, scores: Floats, log_total: Floats) -> TopScores:
        """From cells in any order; `log_total` has a number for each document."""
        order = np.lexsort((classes, -scores, documents))
        return cls(
            row_starts(np.bincount(documents, minlength=len(log_total))), classes[order], scores[order], log_total
        )

    @classmethod
    def joined(cls, parts: Sequence[TopScores]) -> TopScores:
        """Concatenate several parts of the documents."""
        sizes = [np.diff(part.starts) for part in parts]
        none = np.zeros(0, np.int64)
        return cls(
            row_starts(np.concatenate([none, *sizes])),
            np.concatenate([none, *(part.classes for part in parts)]),
            np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
            np.concatenate([np.zeros(0), *(part.log_total for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.log_total)

    @property
    def documents(self) -> Ids:
        """The document of each cell (n_cells,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def ranks(self) -> Ids:
        """The number of cells of the same document before each cell (n_cells,)."""
        return np.arange(len(self.classes)) - self.starts[self.documents]

    def take(self, rows: Ids) -> TopScores:
        """The cells of some documents."""
        sizes = np.diff(self.starts)[rows]
        starts = row_starts(sizes)
        cells = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return TopScores(starts, self.classes[cells], self.scores[cells], self.log_total[rows])

    def best(self, k: int) -> Ids:
        """The k best classes of each document (n_docs, k); every document must have at least k."""
        return np.asarray(self.classes[self.starts[:-1, None] + np.arange(k)])


def row_starts(sizes: NDArray[np.int64]) -> Ids:
    """The start of each row of these sizes, and the end of the last.

    >>> row_starts(np.array([2, 0, 1]))
    array([0, 2, 2, 3])
    """
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
