"""Rocchio: a tf-idf centroid for each class, compared by cosine.

`Rocchio` divides each document by its tf-idf length, as Joachims does. That length depends on idf, and idf on all
documents, so a new document changes the contribution of the old ones: the model learns from documents and is retrained.
`RocchioCounts` does not normalise documents; then a centroid is idf times a sum of counts, and updating, merging
and forgetting are exact, but accuracy is lower if lengths vary much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.elementary import log
from unnaive.base.errors import BadData
from unnaive.base.settings import Settings, setting
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import ROUNDING, Counts
from unnaive.data.weighting import Weighting
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.models.estimator import CountsModel, DocumentsModel, class_weight_setting


def _log_idf(df: Floats, n_docs: float) -> Floats:
    """log(n / df); 0 for a term that no document has, or all, up to rounding: a norm would magnify it."""
    some = (df > 0) & (df < (1 - ROUNDING) * n_docs)
    return log(np.where(some, n_docs / np.where(some, df, 1.0), 1.0))


IDFS: dict[str, Callable[[Floats, float], Floats | None]] = {
    "log": _log_idf,
    "smooth": lambda df, n_docs: log((1 + n_docs) / (1 + df)) + 1,
    "none": lambda df, n_docs: None,
}


class _RocchioSettings(Settings):
    """The settings of both classes."""

    beta: float = setting("Weight of the class's own documents.", default=16.0, above=0, below=np.inf)
    gamma: float = setting("Weight of all other documents, which is subtracted.", default=4.0, at_least=0, below=np.inf)
    tf: str = setting("Term frequency: n or presence.", default="raw", choices=("raw", "binary"))
    idf: str = setting("Inverse document frequency: log n/df, smoothed, or none.", default="log", choices=tuple(IDFS))
    class_weight: Any = class_weight_setting()


class Rocchio(_RocchioSettings, DocumentsModel):
    """Centroids of tf-idf documents of length 1, compared by cosine; needs all documents at once.

    c_i = max(0, β · mean of z in class i − γ · mean of z in the rest), of length 1;  z = tf ∘ idf / ‖tf ∘ idf‖,
    score = cosine(z, c_i). A class without documents, and a document of unknown terms, score 0. Joachims (1997), 3.1.

    >>> model = Rocchio().fit([[2, 0, 1], [0, 3, 1]], ["sport", "politics"])
    >>> model.scores([[1, 0, 0], [0, 0, 5]])    # the last term is everywhere, so it says nothing
    array([[0., 1.],
           [0., 0.]])
    """

    traits = Traits(
        "rocchio", "Rocchio, documents of length 1", "documents", probabilistic=False, generative=False, poor_score=True
    )

    tf: str = setting("Term frequency: n, 1 + log n, or presence.", default="raw", choices=("raw", "log", "binary"))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """The centroids of X (n_docs, n_terms) with labels Y (n_docs, n_classes)."""
        return Learnt(self.centroids(X, Y, sample_weight))

    def centroids(self, X: Sparse, Y: Sparse, weight: Floats | None = None) -> Linear:
        """The centroids as a linear model."""
        weighting = Weighting(self.tf, _idf(Counts.of(X, Y, weight), self.idf), "l2")
        return _centroids(Counts.of(weighting.apply(X), Y, weight), weighting, self.beta, self.gamma)


class RocchioCounts(_RocchioSettings, CountsModel):
    """Centroids of documents that are not normalised: sums, so updating, merging and forgetting are exact.

    Otherwise like Rocchio. tf "raw" sums occurrences, "binary" documents; other weightings are not sums of
    counts.

    >>> RocchioCounts().fit([[2, 0, 1], [0, 3, 1]], ["sport", "politics"]).predict([[1, 0, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "rocchio-counts",
        "Rocchio from counts, exact online",
        "counts",
        probabilistic=False,
        generative=False,
        poor_score=True,
    )

    tf: str = setting("Term frequency: n or presence.", default="raw", choices=("raw", "binary"))

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """The centroids, from sums of counts times idf."""
        weighting = Weighting(self.tf, _idf(counts, self.idf), "l2")
        return _centroids(_in_idf(counts, self.tf, weighting.idf), weighting, self.beta, self.gamma)


def _idf(counts: Counts, name: str) -> Floats | None:
    return IDFS[name](np.asarray(counts.df, np.float64), float(counts.n_docs))


def _in_idf(counts: Counts, tf: str, idf: Floats | None) -> Counts:
    """The same statistic with sums of tf · idf instead of occurrences."""
    table, totals = (counts.class_terms, counts.terms) if tf == "raw" else (counts.class_df, counts.df)
    factor = np.ones(counts.n_terms) if idf is None else idf
    scaled = csr_array((table.data * factor[table.indices], table.indices, table.indptr), shape=table.shape)
    return Counts(counts.n_docs, counts.class_docs, scaled, counts.class_df, totals * factor, counts.df)


def _centroids(sums: Counts, weighting: Weighting, beta: float, gamma: float) -> Linear:
    """The centroids; where a class has no occurrence of a term, the value is negative and is clipped to 0."""
    if not np.isfinite(gamma / beta):
        raise BadData(f"the ratio of gamma ({gamma}) to beta ({beta}) overflows; give a larger beta")
    table = sums.class_terms
    sizes = np.diff(table.indptr)
    inside = np.repeat(np.maximum(sums.class_docs, 1e-300), sizes)
    elsewhere = np.repeat(np.asarray(sums.n_docs - sums.class_docs, np.float64), sizes)
    rest = np.where(elsewhere > 0, (sums.terms[table.indices] - table.data) / np.where(elsewhere > 0, elsewhere, 1), 0)
    centroid = np.maximum(table.data / inside - gamma / beta * rest, 0.0)  # it is normalised to length 1 later
    rows = np.repeat(np.arange(sums.n_classes), sizes)
    lengths = np.sqrt(np.bincount(rows, weights=centroid**2, minlength=sums.n_classes))
    unit = centroid / np.where(lengths > 0, lengths, 1.0)[rows]
    weights = csr_array((unit, table.indices, table.indptr), shape=table.shape)
    return Linear(weights, np.zeros(sums.n_classes), weighting=weighting, link="cosine")
