"""Whether the texts that are asked about are still like those that the model learnt; no text is kept for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Floats, Label
from unnaive.learning.fitted import FittedModel

WINDOW = 2_000  # texts, the last ones
CELLS = 1 << 18  # scores kept at most, 2 MB: with very many classes fewer texts
FEWEST = 50  # texts: shares of fewer say nothing


class RecentScores:
    """The scores of the last texts, in a ring: one row of numbers for each, and nothing of the text."""

    def __init__(self) -> None:
        self._classes: tuple[Label, ...] = ()
        self._rows: Floats = np.zeros((0, 0))
        self._noted = 0

    def note(self, classes: tuple[Label, ...], scores: Floats) -> None:
        """Keep scores (n_texts, n_classes), and drop the oldest; all, where a class has come or gone."""
        if classes is not self._classes and classes != self._classes:
            self._classes, self._noted = classes, 0
            self._rows = np.zeros((max(1, min(WINDOW, CELLS // max(1, len(classes)))), len(classes)))
        size = len(self._rows)
        last = scores[-size:]
        at = self._noted % size
        first = min(len(last), size - at)
        self._rows[at : at + first] = last[:first]
        self._rows[: len(last) - first] = last[first:]
        self._noted += len(last)

    def scores(self) -> Floats:
        """A copy of the rows that are there, in no order."""
        return self._rows[: min(self._noted, len(self._rows))].copy()


@dataclass(frozen=True)
class DriftGauge:
    """Shares of the classes among the documents that were learnt and, estimated, among recent texts (n_classes,)."""

    learnt: Floats
    recent: Floats
    n_texts: int

    @property
    def distance(self) -> float:
        """½ Σ_c |recent_c − learnt_c|: the share of the texts that would have to change class; 0 where all is alike."""
        return float(np.abs(self.recent - self.learnt).sum() / 2)


def measure_drift(fitted: FittedModel, scores: Floats) -> DriftGauge | None:
    """The drift of texts with these scores; None where it cannot be told.

    It can where classes exclude each other, the model has probabilities and knows how many documents of each class it
    learnt. The share of a class is the mean of its probability, so that doubtful texts count for several classes.
    Probabilities may be off on the mean: by how much is seen on held-out documents of training, whose mean the model
    keeps (`ConformalScores.mean_p`), and taken off. Without held-out documents the share is as good as the
    probabilities. A change of the shares shows somewhat smaller than it is; EM on the shares would undo that, and needs
    the documents that `audit --against` has.
    """
    kept = fitted.statistic
    if kept is None or fitted.multilabel or not fitted.probabilistic or len(scores) < FEWEST:
        return None
    class_docs = np.asarray(kept.class_docs, np.float64)
    if scores.shape[1] != len(class_docs) or not class_docs.sum() > 0:
        return None
    learnt, recent = class_docs / class_docs.sum(), fitted.probabilities(scores).mean(axis=0)
    usual = None if fitted.conformal is None else fitted.conformal.mean_p
    if usual is not None:
        recent = np.maximum(learnt + recent - usual, 0.0)
        recent /= recent.sum()
    return DriftGauge(learnt, recent, len(scores))
