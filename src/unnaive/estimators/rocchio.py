"""Rocchio as scikit-learn estimators; models/rocchio.py says what of it is exact online."""

from __future__ import annotations

from typing import ClassVar

from unnaive.estimators.base import CountsClassifier, WeightedDocumentsClassifier


class Rocchio(WeightedDocumentsClassifier):
    """Centroids of tf-idf documents of length 1, compared by cosine; needs all documents at once.

    beta, gamma  weight of the class's own documents, and of all others against it
    tf           "raw", "log" or "binary"
    idf          "log" (log n/df), "smooth" or "none"

    >>> Rocchio().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "rocchio"
    probabilistic: ClassVar[bool] = False

    def __init__(self, *, beta: float = 16.0, gamma: float = 4.0, tf: str = "raw", idf: str = "log") -> None:
        self.beta = beta
        self.gamma = gamma
        self.tf = tf
        self.idf = idf


class RocchioCounts(CountsClassifier):
    """Centroids of documents as long as they are: sums, so updating, merging and forgetting are exact.

    Parameters as in Rocchio; tf is "raw" or "binary".

    >>> RocchioCounts().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "rocchio-counts"
    probabilistic: ClassVar[bool] = False

    def __init__(self, *, beta: float = 16.0, gamma: float = 4.0, tf: str = "raw", idf: str = "log") -> None:
        self.beta = beta
        self.gamma = gamma
        self.tf = tf
        self.idf = idf
