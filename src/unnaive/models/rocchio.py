"""Rocchio: a tf-idf centroid for each class, compared by cosine. Exact where its statistic is a sum, honest where not.

`rocchio` divides each document by its tf-idf length, as Joachims does. That length depends on idf, and idf on all
documents, so a new document changes what the old ones contribute: it learns from documents and is trained anew.
`rocchio_counts` leaves documents at their length; then a centroid is idf times a sum of counts, and updating, merging
and forgetting are exact, at a price in accuracy where lengths vary much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.linear import Linear
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData, choose
from unnaive.types import Floats, Sparse


def _log_idf(df: Floats, n_docs: float) -> Floats:
    """log(n / df); a term that no document has weighs nothing."""
    return np.where(df > 0, np.log(max(n_docs, 1.0) / np.where(df > 0, df, 1.0)), 0.0)


IDFS: dict[str, Callable[[Floats, float], Floats | None]] = {
    "log": _log_idf,
    "smooth": lambda df, n_docs: np.log((1 + n_docs) / (1 + df)) + 1,
    "none": lambda df, n_docs: None,
}


def rocchio(
    X: Sparse,
    Y: Sparse,
    *,
    beta: float = 16.0,
    gamma: float = 4.0,
    tf: str = "raw",
    idf: str = "log",
    sample_weight: NDArray[Any] | None = None,
) -> Linear:
    """Centroids of documents of length 1: c_i = max(0, β · mean of z in class i − γ · mean of z rest), of length 1.

    z = tf ∘ idf / ‖tf ∘ idf‖, score = cosine(z, c_i). X (n_docs, n_terms) counts, Y (n_docs, n_classes) 0/1. A class
    without documents, and a document of unknown terms, score 0. Joachims (1997), section 3.1.

    >>> model = rocchio(csr_array([[2, 0, 1], [0, 3, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> model.scores(csr_array([[1, 0, 0], [0, 0, 5]]))    # the last term is everywhere, so it says nothing
    array([[1., 0.],
           [0., 0.]])
    """
    raw = Counts.of(X, Y, sample_weight)
    weighting = Weighting(tf, _idf(raw, idf), "l2")
    return _centroids(Counts.of(weighting.apply(X), Y, sample_weight), weighting, beta, gamma)


def rocchio_counts(
    counts: Counts, *, beta: float = 16.0, gamma: float = 4.0, tf: str = "raw", idf: str = "log"
) -> Linear:
    """Centroids of documents as long as they are: a function of sums, hence exact online; else as `rocchio`.

    tf: "raw" sums occurrences, "binary" documents; other weightings of a document are no sums of its counts.

    >>> X, Y = csr_array([[2, 0, 1], [0, 3, 1]]), csr_array([[1, 0], [0, 1]])
    >>> rocchio_counts(Counts.of(X, Y)).scores(csr_array([[1, 0, 0]]))
    array([[1., 0.]])
    """
    choose(["raw", "binary"], tf, "term frequency that is a sum of counts")
    weighting = Weighting(tf, _idf(counts, idf), "l2")
    return _centroids(_in_idf(counts, tf, weighting.idf), weighting, beta, gamma)


def _idf(counts: Counts, name: str) -> Floats | None:
    table = IDFS[choose(list(IDFS), name, "inverse document frequency")]
    return table(np.asarray(counts.df, np.float64), float(counts.n_docs))


def _in_idf(counts: Counts, tf: str, idf: Floats | None) -> Counts:
    """The same statistic with sums of tf · idf in the place of occurrences."""
    table, totals = (counts.class_terms, counts.terms) if tf == "raw" else (counts.class_df, counts.df)
    factor = np.ones(counts.n_terms) if idf is None else idf
    scaled = csr_array((table.data * factor[table.indices], table.indices, table.indptr), shape=table.shape)
    return Counts(counts.n_docs, counts.class_docs, scaled, counts.class_df, totals * factor, counts.df)


def _centroids(sums: Counts, weighting: Weighting, beta: float, gamma: float) -> Linear:
    """Off the arcs a centroid is −γ · (something ≥ 0), which the cut at 0 removes: memory follows the arcs."""
    if not (beta > 0 and gamma >= 0 and np.isfinite(beta) and np.isfinite(gamma / beta)):
        raise BadData(f"beta is {beta} and gamma {gamma}; give a positive beta and a gamma from 0 on")
    table = sums.class_terms
    sizes = np.diff(table.indptr)
    inside = np.repeat(np.maximum(sums.class_docs, 1e-300), sizes)
    elsewhere = np.repeat(np.asarray(sums.n_docs - sums.class_docs, np.float64), sizes)
    rest = np.where(elsewhere > 0, (sums.terms[table.indices] - table.data) / np.where(elsewhere > 0, elsewhere, 1), 0)
    centroid = np.maximum(table.data / inside - gamma / beta * rest, 0.0)  # its length is 1 in the end
    rows = np.repeat(np.arange(sums.n_classes), sizes)
    lengths = np.sqrt(np.bincount(rows, weights=centroid**2, minlength=sums.n_classes))
    unit = centroid / np.where(lengths > 0, lengths, 1.0)[rows]
    arcs = csr_array((unit, table.indices, table.indptr), shape=table.shape)
    return Linear(arcs, np.zeros(sums.n_classes), weighting=weighting, link="cosine")
