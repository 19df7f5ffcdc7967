"""Generalised iterative scaling: conditional maximum likelihood, one pass over the documents per iteration.

Darroch and Ratcliff (1972) as in the maxent-bridge paper: no bias, no prior, and a feature (class, term) that never
occurs is absent, that is, its weight stays 0. convergence.py decides when to stop.

Most terms occur in few classes, but most occurrences are of terms that all classes have. So the weights are one flat
array (`Cells`): a full row for each term that many classes have, then a list of cells for each other term.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.base.elementary import exp, log
from unnaive.base.errors import BadData
from unnaive.base.lazy import lazy_property
from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Sparse
from unnaive.data import products
from unnaive.data.products import dot
from unnaive.data.weighting import Weighting
from unnaive.linear.linear import Linear
from unnaive.models.maxent.bridge import to_naive_bayes
from unnaive.models.maxent.convergence import Step

SMALLEST = 1e-300  # minimum of expected counts: a posterior of 0 would need an infinite step


class Scaling:
    """GIS on documents Z (n_docs, n_terms) ≥ 0 of classes `targets` (n_docs,), with weights of documents.

    λ_ct += log(N_ct / E_ct) / f,   N_ct = Σ_{d in c} w_d z_dt,   E_ct = Σ_d w_d p(c|d) z_dt,   f = max_d Σ_t z_dt

    over the (c, t) with N_ct > 0; f = 1 for documents of unit length. The likelihood never falls. A class without
    documents is left out. With `prior`, p(c|d) ∝ N_c exp Σ_t z_dt λ_ct: a document without features then has the class
    shares as posterior, instead of a uniform one, which matters for rare classes. Results do not depend on `threads`.

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
        threads: int = 1,
    ) -> None:
        if Z.nnz and Z.data.min() < 0:
            raise BadData("GIS needs non-negative features, but some are negative; train with features='normalised'")
        labels = csr_array((weight, (targets, np.arange(len(targets)))), shape=(n_classes, Z.shape[0]))
        observed = csr_array((labels @ Z).T)
        observed.eliminate_zeros()
        self.cells = ActiveCells.of(observed)
        self.observed = self.cells.gather(observed)
        self.absent = np.flatnonzero(~self.cells.active)
        self.documents = CellDocuments.of(Z, self.cells)
        self.weighting, self.threads = weighting, threads
        self.targets, self.weight = targets.astype(np.int32), np.asarray(weight, np.float64)
        masses = np.bincount(targets, weights=weight, minlength=n_classes)
        with np.errstate(divide="ignore"):
            self.offset = log(masses / masses.sum() if prior else np.sign(masses))
        self.in_bayes_form = weighting.norm == "l1" and not prior
        self.longest = float(max(Z.sum(axis=1).max(initial=0.0), SMALLEST))
        self.first = aligned_zeros(len(self.observed)) if start is None else self._weights_of(start)

    def steps(self, *, tol: float, max_iter: int) -> Iterator[Step]:
        """Yield the start and every iteration, until the mean log-likelihood rises by less than `tol`, or max_iter."""
        weights, before, total = self.first, -np.inf, float(self.weight.sum())
        for iteration in range(max_iter + 1):
            sums, expected = self.documents.expectations(
                weights, self.targets, self.weight, self.offset, threads=self.threads
            )
            yield Step(iteration, sums / total, weights)
            if sums / total - before < tol:
                return
            before = sums / total
            weights = self._update(weights, expected)

    def model(self, point: Floats) -> Linear:
        """λ as a scorer; without `prior` in naive Bayes form, so that a document of unknown terms gets ϑ(c).

        This holds for documents of unit length; for others λ does not define the case without known terms.
        """
        maxent = Linear(self.cells.to_table(point), self.offset, weighting=self.weighting)
        return to_naive_bayes(maxent) if self.in_bayes_form else maxent

    def prepare(self, Z: Sparse) -> CellDocuments:
        """Convert documents for `scores`."""
        return CellDocuments.of(Z, self.cells)

    def scores(self, documents: CellDocuments, point: Floats) -> Floats:
        """Σ_t z_t λ_ct of every class (n_docs, n_classes)."""
        return documents.scores(point) + self.offset

    def _update(self, weights: Floats, expected: Floats) -> Floats:
        np.maximum(expected, SMALLEST, out=expected)
        np.divide(self.observed, expected, out=expected)
        expected[self.absent] = 1.0
        log(expected, out=expected)
        if not isclose(self.longest, 1.0, rel_tol=1e-12):  # rounding of unit-length rows is not worth a pass
            expected /= self.longest
        return np.add(weights, expected, out=expected)

    def _weights_of(self, start: Linear) -> Floats:
        """λ of a model at the active cells, shifted by a constant so that absent cells are 0."""
        arcs = (
            csr_array(start.sparse_weights.T)
            if issparse(start.sparse_weights)
            else csr_array(np.asarray(start.sparse_weights).T)
        )
        level = start.bias if start.class_offset is None else start.bias + start.class_offset
        usual = level[np.isfinite(level)].mean() if np.isfinite(level).any() else 0.0
        by_class = np.where(np.isfinite(level), level - usual, 0.0)
        classes = np.concatenate([np.tile(np.arange(self.cells.shape[1]), len(self.cells.rows)), self.cells.classes])
        out = aligned_zeros(len(self.observed))
        out[:] = (self.cells.gather(arcs) + by_class[classes]) * self.cells.active
        return out


CHUNK_CELLS = 1 << 15  # scores processed at a time: 256 kB of float64, which fits a second-level cache
FULL = 0.35  # a term that occurs in more than this share of the classes gets a full row


@dataclass(frozen=True, eq=False)
class ActiveCells:
    """The layout of the weights of active cells: n_table of them in full rows, then the lists.

    rows     terms with a full row (n_rows,)           starts   of each list in the second part (n_lists + 1,)
    lists    the other terms (n_lists,)                classes  of each listed cell (n_cells − n_table,)
    active   whether a cell occurs in the documents (n_cells,): a full row may have some that do not
    """

    shape: tuple[int, int]  # terms, classes
    rows: NDArray[np.intp]
    lists: NDArray[np.intp]
    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    active: NDArray[np.bool_]

    @classmethod
    def of(cls, pattern: Sparse) -> ActiveCells:
        """The cells of `pattern` (n_terms, n_classes), whatever their value.

        >>> ActiveCells.of(csr_array([[1, 1, 0], [0, 0, 1]])).active
        array([ True,  True, False,  True])
        """
        classes_of_term = np.diff(pattern.indptr)
        full = classes_of_term > FULL * pattern.shape[1]
        rows, lists = np.flatnonzero(full), np.flatnonzero(~full)
        mass = np.bincount(np.repeat(np.arange(len(full)), classes_of_term), np.abs(pattern.data), len(full))
        rows = rows[np.argsort(-mass[rows], kind="stable")]  # frequent terms are adjacent
        lists = lists[
            np.argsort(classes_of_term[lists], kind="stable")
        ]  # lists of equal length are adjacent, for branch prediction
        listed = pattern[lists]
        active = np.concatenate([(pattern[rows].toarray() != 0).ravel(), np.ones(listed.nnz, np.bool_)])
        return cls(pattern.shape, rows, lists, listed.indptr.astype(np.int64), listed.indices.astype(np.int32), active)

    @property
    def n_table(self) -> int:
        """The number of cells in full rows."""
        return len(self.rows) * self.shape[1]

    def gather(self, table: Sparse) -> Floats:
        """The values of a sparse table (n_terms, n_classes) at these cells (n_cells,), 0 where it has none."""
        rows = np.asarray(table[self.rows].toarray(), np.float64).ravel()
        terms = np.repeat(self.lists, np.diff(self.starts))
        listed = np.asarray(table[terms, self.classes]) if len(terms) else np.zeros(0)
        return np.concatenate([rows, np.asarray(listed, np.float64).ravel()])

    def to_table(self, weights: Floats) -> Sparse:
        """Weights (n_cells,) as a sparse table (n_classes, n_terms) of the active cells."""
        n_classes = self.shape[1]
        terms = np.concatenate([np.repeat(self.rows, n_classes), np.repeat(self.lists, np.diff(self.starts))])
        classes = np.concatenate([np.tile(np.arange(n_classes), len(self.rows)), self.classes])
        chosen = self.active
        return csr_array((weights[chosen], (classes[chosen], terms[chosen])), shape=(n_classes, self.shape[0]))


def aligned_zeros(size: int) -> Floats:
    """Zeros (size,) aligned to a cache line."""
    room = np.zeros(size + 7)
    skip = -room.ctypes.data // 8 % 8
    return room[skip : skip + size]


@dataclass(frozen=True, eq=False)
class CellDocuments:
    """Documents split by the two parts of the cells: in_rows (n_docs, n_rows), in_lists (n_docs, n_lists)."""

    cells: ActiveCells
    in_rows: Sparse
    in_lists: Sparse

    @classmethod
    def of(cls, X: Sparse, cells: ActiveCells) -> CellDocuments:
        """X (n_docs, n_terms) float64."""
        return cls(cells, X[:, cells.rows], X[:, cells.lists])

    def scores(self, weights: Floats) -> Floats:
        """Σ_t x_t · weight of every class (n_docs, n_classes)."""
        table, listed = self._parts(weights)
        scores: Floats = products.product(self.in_rows, table) + (self.in_lists @ listed).toarray()
        return scores

    def expectations(
        self, weights: Floats, targets: NDArray[np.int32], documents: Floats, offset: Floats, *, threads: int = 1
    ) -> tuple[float, Floats]:
        """Log-likelihood of the targets, and Σ_d weight_d p(c|x_d) x_dt of every cell (n_cells,).

        p(c|x) ∝ exp(offset_c + Σ_t x_t · weight_ct); an offset of −∞ excludes a class. `documents` are the weights of
        the documents. Results do not depend on `threads`.
        """
        if products.NATIVE is None:
            return self._expectations(weights, targets, documents, offset)
        expected = aligned_zeros(len(weights))
        likelihood = self._laid_out.expectations(targets, documents, offset, weights, expected, threads)
        return float(likelihood), expected

    @lazy_property
    def _laid_out(self) -> Any:
        """The documents in the order in which the native pass reads them."""
        cells, n_classes = self.cells, self.cells.shape[1]
        parts = [
            (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data.astype(np.float64, copy=False))
            for X in (self.in_rows, self.in_lists)
        ]
        chunk = max(CHUNK_CELLS // n_classes, 8)
        return products.NATIVE.ScalingDocuments(
            *parts[0], *parts[1], cells.starts, cells.classes, len(cells.rows), n_classes, chunk
        )

    def _expectations(
        self, weights: Floats, targets: NDArray[np.int32], documents: Floats, offset: Floats
    ) -> tuple[float, Floats]:
        """The specification of the native pass, which agrees up to rounding."""
        log_posteriors = log_softmax(self.scores(weights) + offset)
        likelihood = dot(documents, log_posteriors[np.arange(len(targets)), targets])
        posteriors = exp(log_posteriors) * documents[:, None]
        table = (self.in_rows.T @ posteriors).ravel()
        terms = np.repeat(np.arange(len(self.cells.lists)), np.diff(self.cells.starts))
        return likelihood, np.concatenate([table, (self.in_lists.T @ posteriors)[terms, self.cells.classes]])

    def _parts(self, weights: Floats) -> tuple[Floats, Sparse]:
        """The full rows (n_rows, n_classes), and the lists as a sparse table (n_lists, n_classes)."""
        cells = self.cells
        n_classes, n_table = cells.shape[1], cells.n_table
        listed = csr_array((weights[n_table:], cells.classes, cells.starts), shape=(len(cells.lists), n_classes))
        return weights[:n_table].reshape(-1, n_classes), listed
