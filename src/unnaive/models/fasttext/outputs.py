"""Outputs of a fastText model → scores, fastText's decision and its probabilities: in NumPy, like the kernel."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unnaive.base.types import Floats, Ids, Singles

STEPS = np.arange(513, dtype=np.float32) * np.float32(16) / np.float32(512) - np.float32(8)
SIGMOIDS = (1.0 / (1.0 + np.exp(-STEPS).astype(np.float64))).astype(np.float32)


def fasttext_log(p: Singles) -> Singles:
    """log(p + 1e-5), rounded to float32: fastText never takes the logarithm of 0."""
    return np.log(p.astype(np.float64) + 1e-5).astype(np.float32)


def table_sigmoid(x: Singles) -> Singles:
    """The logistic function as fastText reads it from its table of 512 steps over [−8, 8].

    >>> table_sigmoid(np.array([-9, 0.02, 0.04, 9], np.float32)).round(4)
    array([0.    , 0.5   , 0.5078, 1.    ], dtype=float32)
    """
    places = ((np.clip(np.nan_to_num(x), -8, 8) + np.float32(8)) * np.float32(32)).astype(np.int64)
    return np.where(x >= -8, np.where(x > 8, np.float32(1), SIGMOIDS[places]), np.float32(0))


@dataclass(frozen=True, eq=False)
class Outputs:
    """The meaning of the outputs of a model.

    loss      "softmax", "ova", "ns" or "hs"
    children  of hierarchical softmax, the two children of every inner node (n_labels − 1, 2); the last is the root
    places    the class of each label (n_labels,)
    """

    loss: str
    children: NDArray[np.int32]
    places: Ids

    def log_values(self, raw: Singles) -> Singles:
        """The values by which fastText ranks labels (n_texts, n_labels): log-probabilities in float32."""
        if self.loss == "hs":
            return self._leaf_scores(raw)
        if self.loss == "softmax":
            odds = np.exp((raw - raw.max(axis=1, keepdims=True)).astype(np.float64)).astype(np.float32)
            return fasttext_log(odds / np.cumsum(odds, axis=1, dtype=np.float32)[:, -1:])
        return fasttext_log(table_sigmoid(raw))

    def _leaf_scores(self, raw: Singles) -> Singles:
        n = raw.shape[1]
        scores = np.zeros((len(raw), 2 * n - 1), np.float32)
        for node in range(n - 2, -1, -1):
            share = (1.0 / (1 + np.exp(-raw[:, node])).astype(np.float64)).astype(np.float32)
            left, right = self.children[node]
            scores[:, left] = scores[:, n + node] + fasttext_log((1.0 - share.astype(np.float64)).astype(np.float32))
            scores[:, right] = scores[:, n + node] + fasttext_log(share)
        return scores[:, :n]

    def winners(self, raw: Singles) -> Ids:
        """The label that fastText predicts for each text; the last of equal ones, for a tree as in `top`."""
        values = self.log_values(raw)
        return np.asarray(values.shape[1] - 1 - np.argmax(values[:, ::-1], axis=1))

    def scores(self, raw: Singles) -> Floats:
        """Scores by class (n_texts, n_classes); fastText's decision has the highest score."""
        values = (self._leaf_scores(raw) if self.loss == "hs" else raw).astype(np.float64)
        out = np.empty_like(values)
        out[:, self.places] = values
        rows, best = np.arange(len(out)), self.places[self.winners(raw)]
        others = out.copy()
        others[rows, best] = -np.inf
        most = others.max(axis=1)
        out[rows, best] = np.where(out[rows, best] > most, out[rows, best], np.nextafter(most, np.inf))
        return out

    def top(self, raw: Singles, k: int, threshold: float) -> tuple[list[int], list[float]]:
        """The k best labels of one text with fastText's probabilities, without those below `threshold`."""
        values = self.log_values(raw[None])[0]
        least = fasttext_log(np.array([threshold], np.float32))[0]
        labels = np.flatnonzero(values >= least) if self.loss == "hs" else np.flatnonzero(self._passes(raw, threshold))
        order = heapq.nlargest(len(labels) if k < 0 else k, labels.tolist(), key=lambda label: (values[label], label))
        return order, [float(np.exp(values[label])) for label in order]

    def _passes(self, raw: Singles, threshold: float) -> NDArray[np.bool_]:
        if self.loss == "softmax":
            odds = np.exp((raw - raw.max()).astype(np.float64)).astype(np.float32)
            return np.asarray(odds / np.cumsum(odds, dtype=np.float32)[-1] >= np.float32(threshold))
        return np.asarray(table_sigmoid(raw) >= np.float32(threshold))
