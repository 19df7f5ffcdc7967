"""Generalised iterative scaling: conditional maximum likelihood, one pass over the documents an iteration.

Darroch and Ratcliff (1972) as in the maxent-bridge paper: no bias, no prior, and a feature (class, term) that never
occurs is absent, which is to say that its weight is 0 and stays so. iterating.py decides when to stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.core.cells import CellDocuments, Cells, aligned_zeros
from unnaive.core.linear import Linear
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData
from unnaive.models.bridge import to_naive_bayes
from unnaive.models.iterating import Step
from unnaive.types import Floats, Sparse

SMALLEST = 1e-300  # expected counts are kept above it: a posterior of 0 would ask for an infinite step


class Scaling:
    """GIS on documents Z (n_docs, n_terms) ≥ 0 of classes `targets` (n_docs,), with weights of documents.

    λ_ct += log(N_ct / E_ct) / f,   N_ct = Σ_{d in c} w_d z_dt,   E_ct = Σ_d w_d p(c|d) z_dt,   f = max_d Σ_t z_dt

    over the (c, t) with N_ct > 0; f = 1 for documents of unit length. The likelihood never falls. A class without
    documents is left out. With `prior` p(c|d) ∝ N_c exp Σ_t z_dt λ_ct: absent features then leave the share of a class
    as it is, not all classes alike, which matters where one is rare.

    >>> Z = csr_array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> scaling = Scaling(Z, np.array([0, 0, 1]), 2, np.ones(3), Weighting(norm="l1"))
    >>> [round(step.log_likelihood, 3) for step in scaling.steps(tol=1e-5, max_iter=3)]
    [-0.693, -0.501, -0.41, -0.355]
    """

    def __init__(
        self,
        Z: Sparse,
        targets: NDArray[Any],
        n_classes: int,
        weight: Floats,
        weighting: Weighting,
        start: Linear | None = None,
        *,
        prior: bool = False,
    ) -> None:
        if Z.nnz and Z.data.min() < 0:
            raise BadData("GIS needs features from 0 on, and some are below; train with features='normalised'")
        labels = csr_array((weight, (targets, np.arange(len(targets)))), shape=(n_classes, Z.shape[0]))
        observed = csr_array((labels @ Z).T)
        observed.eliminate_zeros()
        self.cells = Cells.of(observed)
        self.observed = self.cells.gathered(observed)
        self.absent = np.flatnonzero(~self.cells.active)
        self.documents = CellDocuments.of(Z, self.cells)
        self.weighting = weighting
        self.targets, self.weight = targets.astype(np.int32), np.asarray(weight, np.float64)
        masses = np.bincount(targets, weights=weight, minlength=n_classes)
        with np.errstate(divide="ignore"):
            self.offset = np.log(masses / masses.sum() if prior else np.sign(masses))
        self.in_bayes_form = weighting.norm == "l1" and not prior
        self.longest = float(max(Z.sum(axis=1).max(initial=0.0), SMALLEST))
        self.first = aligned_zeros(len(self.observed)) if start is None else self._weights_of(start)

    def steps(self, *, tol: float, max_iter: int) -> Iterator[Step]:
        """The start, then every iteration, until the mean log-likelihood rises by less than `tol` or max_iter is up."""
        weights, before, total = self.first, -np.inf, float(self.weight.sum())
        for iteration in range(max_iter + 1):
            sums, expected = self.documents.expectations(weights, self.targets, self.weight, self.offset)
            yield Step(iteration, sums / total, weights)
            if sums / total - before < tol:
                return
            before = sums / total
            weights = self._updated(weights, expected)

    def model(self, point: Floats) -> Linear:
        """λ as a scorer; without `prior` in naive Bayes form, so that an unknown document gets ϑ(c).

        That is for documents of unit length; of others λ says nothing where no term is known.
        """
        maxent = Linear(self.cells.spread(point), self.offset, weighting=self.weighting)
        return to_naive_bayes(maxent) if self.in_bayes_form else maxent

    def prepared(self, Z: Sparse) -> CellDocuments:
        """Documents in the form that `scores` takes."""
        return CellDocuments.of(Z, self.cells)

    def scores(self, documents: CellDocuments, point: Floats) -> Floats:
        """Σ_t z_t λ_ct of every class (n_docs, n_classes)."""
        return documents.scores(point) + self.offset

    def _updated(self, weights: Floats, expected: Floats) -> Floats:
        np.maximum(expected, SMALLEST, out=expected)
        np.divide(self.observed, expected, out=expected)
        expected[self.absent] = 1.0
        np.log(expected, out=expected)
        if self.longest != 1.0:
            expected /= self.longest
        return np.add(weights, expected, out=expected)

    def _weights_of(self, start: Linear) -> Floats:
        """λ of a model at the active cells, up to the one constant that puts absent cells at 0."""
        arcs = csr_array(start.arcs.T) if issparse(start.arcs) else csr_array(np.asarray(start.arcs).T)
        level = start.bias if start.class_background is None else start.bias + start.class_background
        usual = level[np.isfinite(level)].mean() if np.isfinite(level).any() else 0.0
        by_class = np.where(np.isfinite(level), level - usual, 0.0)
        classes = np.concatenate([np.tile(np.arange(self.cells.shape[1]), len(self.cells.rows)), self.cells.classes])
        out = aligned_zeros(len(self.observed))
        out[:] = (self.cells.gathered(arcs) + by_class[classes]) * self.cells.active
        return out
