"""Estimate whether recent texts are still like those that the model has learnt; no text is stored for this."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.types import Floats, Label
from unnaive.learning.fitted import FittedModel

WINDOW = 2_000  # number of recent texts
CELLS = 1 << 18  # maximum number of scores kept, 2 MB; with very many classes, fewer texts
FEWEST = 50  # fewer texts say nothing about shares


class RecentScores:
    """The scores of recent texts in a ring buffer; the texts are not stored."""

    def __init__(self) -> None:
        self._classes: tuple[Label, ...] = ()
        self._rows: Floats = np.zeros((0, 0))
        self._noted = 0

    def note(self, classes: tuple[Label, ...], scores: Floats) -> None:
        """Store scores (n_texts, n_classes) in place of the oldest; clears the buffer if the classes have changed."""
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
        """A copy of the stored rows, in no particular order."""
        return self._rows[: min(self._noted, len(self._rows))].copy()


@dataclass(frozen=True)
class DriftGauge:
    """Class shares among the documents learnt, and estimated class shares among recent texts (n_classes,)."""

    learnt: Floats
    recent: Floats
    n_texts: int

    @property
    def distance(self) -> float:
        """½ Σ_c |recent_c − learnt_c|: the share of texts that would have to change class.

        0 if the shares are equal.
        """
        return float(np.abs(self.recent - self.learnt).sum() / 2)


def measure_drift(fitted: FittedModel, scores: Floats) -> DriftGauge | None:
    """The drift of texts with these scores; None if it cannot be estimated.

    This needs exclusive classes, probabilities, and the number of documents of each class learnt. The share of a class
    is estimated by its mean probability, so doubtful labels count in part. The mean is corrected by its error on the
    held-out documents of training (`ConformalScores.mean_p`); without held-out documents it is as good as the
    calibration. A change of shares appears somewhat smaller than it is; EM on the shares would correct that, but needs
    the documents, which `audit --new-data` has.
    """
    statistic = fitted.statistic
    if statistic is None or fitted.multilabel or not fitted.probabilistic or len(scores) < FEWEST:
        return None
    class_docs = np.asarray(statistic.class_docs, np.float64)
    if scores.shape[1] != len(class_docs) or not class_docs.sum() > 0:
        return None
    learnt, recent = class_docs / class_docs.sum(), fitted.probabilities(scores).mean(axis=0)
    usual = None if fitted.conformal is None else fitted.conformal.mean_p
    if usual is not None:
        recent = np.maximum(learnt + recent - usual, 0.0)
        recent /= recent.sum()
    return DriftGauge(learnt, recent, len(scores))
