"""Learners that take several passes over documents on Spark: MaxEnt by L-BFGS or GIS, higher-order smoothing.

The algorithms are those of models/maxent and models/higher_order; each sum over documents is one pass on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.elementary import log
from unnaive.base.errors import BadData, UnnaiveError
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.products import dot, product, transposed_product
from unnaive.data.targets import single_labels
from unnaive.data.weighting import Weighting, counted_weighting
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.linear.scorer import Scorer
from unnaive.models.higher_order.learner import HigherOrderSmoothing, path_labels
from unnaive.models.higher_order.second_order_paths import FirstPass, SecondPass
from unnaive.models.higher_order.smoothing import Mixture, smoothed
from unnaive.models.maxent.convergence import Step, Stopping, run_solver
from unnaive.models.maxent.gis import ActiveCells, CellDocuments, Scaling, aligned_zeros
from unnaive.models.maxent.lbfgs import (
    Ray,
    balanced_bias_norm,
    descend,
    logistic_loss,
    softmax_loss,
    squared_lengths,
)
from unnaive.models.maxent.learner import SOLVERS, MaxEnt
from unnaive.models.naive_bayes import LINK_OF_SCHEME
from unnaive.scaleout.spark.passes import CountedDocuments


class PassLearner(Protocol):
    """A model that learns in passes over documents weighted by `weighting`.

    `model` has the settings that the scorer is trained with.
    """

    model: Any
    weighting: Weighting

    def learn(self, documents: CountedDocuments) -> Scorer:
        """Train the scorer, with as many passes as needed."""


class MaxEntPasses:
    """Maximum entropy: each step of the solver is one pass that sums gradients or expectations."""

    def __init__(self, model: MaxEnt, counts: Counts, *, exclusive: bool, progress: ProgressCallback | None) -> None:
        self.model, self.counts, self.progress = model, counts, progress
        defaults = SOLVERS[model.solver]
        self.scheme = model.scheme_for(exclusive)
        self.weighting = self._weighting(model.features or defaults.features)
        self.tol = defaults.tol if model.tol is None else model.tol
        if defaults.early_stopping if model.early_stopping is None else model.early_stopping:
            raise UnnaiveError(
                "early stopping selects held-out documents by their position in the file, and Spark rows have "
                "no position; set early_stopping=False (--set early_stopping=false) and give max_iter or tol"
            )
        if model.start != "zero":
            raise UnnaiveError(f"on Spark maximum entropy starts from zero, and start is {model.start!r}; leave it out")
        if model.solver == "gis" and self.scheme == "one-vs-rest":
            raise UnnaiveError(
                "on Spark, GIS supports only single-label documents; use solver='lbfgs' for one classifier per class"
            )

    def _weighting(self, features: str) -> Weighting:
        if features == "tf-idf":
            return counted_weighting(features, self.counts.df, float(self.counts.n_docs))
        return Weighting(norm="l1") if features == "normalised" else Weighting()

    def learn(self, documents: CountedDocuments) -> Linear:
        """Train the linear scorer that maximises the conditional likelihood of the labels."""
        self._documents = documents
        stopping = Stopping(self.tol, self.model.max_iter, 0.0, self.model.keep_on_interrupt, 0, self.progress)
        return run_solver(self, stopping)  # type: ignore[arg-type]  # without held-out documents Z and Y are not used

    @property
    def solver(self) -> str:
        """The name of the solver, for the progress line."""
        return self.model.solver

    def trainer(self) -> Any:
        """The solver in its initial state."""
        if self.solver == "gis":
            return SparkScaling(self._documents, self.counts, self.weighting)
        return SparkDescent(self._documents, self)


class SparkDescent:
    """L-BFGS as a Trainer; each gradient is one pass. Points are flat: W (n_terms, n_classes), then b.

    Evaluating a point in the line search costs a pass; it also computes the gradient, which is kept for the next step.
    """

    def __init__(self, documents: CountedDocuments, task: MaxEntPasses) -> None:
        counts = task.counts
        self.documents, self.scheme, self.weighting = documents, task.scheme, task.weighting
        self.shape = counts.n_terms, counts.n_classes
        refuse_full_table(counts.n_classes, counts.n_terms, "maximum entropy by L-BFGS")
        present = np.asarray(counts.class_docs) > 0
        self.absent = ~present if self.scheme == "multiclass" else np.zeros(counts.n_classes, np.bool_)
        self.total, self.l2, self.intercept = float(counts.n_docs), task.model.l2, task.model.intercept
        squares, labels = documents.sum(sum_lengths, None)
        self.bias_norm = balanced_bias_norm(self.total, squares, labels / max(self.total * counts.n_classes, 1e-300))
        self.last: tuple[Floats, tuple[float, Floats, float]] | None = None

    def steps(self, *, tol: float, max_iter: int) -> Iterator[Step]:
        """The steps of L-BFGS; `tol` applies to the mean objective per document."""
        first = np.zeros((self.shape[0] + 1) * self.shape[1])
        for state in descend(self, first, tol=tol * self.total, max_iter=max_iter):
            yield Step(state.iteration, -state.value / self.total, state.point)

    def model(self, point: Floats) -> Linear:
        """The scorer with the weights and biases of a point."""
        W, b = self._parts(point)
        bias = np.where(self.absent, -np.inf, b)
        return Linear(
            np.ascontiguousarray(W.T), bias, weighting=self.weighting, link=LINK_OF_SCHEME[self.scheme]
        )  # fmt: skip

    def dot(self, first: Floats, second: Floats) -> float:
        """⟨W, W′⟩ + bias_norm · ⟨b, b′⟩."""
        width = self.shape[1]
        return dot(first[:-width], second[:-width]) + self.bias_norm * dot(first[-width:], second[-width:])

    def gradient(self, point: Floats) -> tuple[float, Floats, float]:
        """Objective, gradient and the gradient's largest absolute entry."""
        if self.last is None or not np.array_equal(self.last[0], point):
            self.last = point.copy(), self._pass(point)
        return self.last[1]

    def ray(self, point: Floats, direction: Floats) -> Ray:
        """A function of the step size that returns objective and slope along `direction`."""

        def at(t: float) -> tuple[float, float]:
            value, gradient, _ = self.gradient(point + direction * t)
            return value, self.dot(gradient, direction)

        return at

    def _pass(self, point: Floats) -> tuple[float, Floats, float]:
        W, b = self._parts(point)
        value, by_bias, by_weights = self.documents.sum(sum_gradients, (W, b, self.scheme, self.absent))
        by_weights += self.l2 * W
        value += self.l2 / 2 * dot(W.ravel(), W.ravel())
        by_bias *= self.intercept
        steepest = max(float(np.abs(part).max(initial=0.0)) for part in (by_weights, by_bias))
        return value, np.concatenate([by_weights.ravel(), by_bias / self.bias_norm]), steepest

    def _parts(self, point: Floats) -> tuple[Floats, Floats]:
        return point[: -self.shape[1]].reshape(self.shape), point[-self.shape[1] :]


def sum_lengths(Z: Sparse, Y: Sparse, state: Any) -> tuple[float, float]:
    """Σ_d ‖z_d‖² over a chunk of documents, and their number of labels."""
    return squared_lengths(Z, np.ones(Z.shape[0])), float(Y.nnz)


def sum_gradients(Z: Sparse, Y: Sparse, state: Any) -> tuple[float, Floats, Floats]:
    """−log-likelihood of a chunk of documents, and its derivatives by b (n_classes,) and W (n_terms, n_classes)."""
    W, b, scheme, absent = state
    weight = np.ones(Z.shape[0])
    loss = logistic_loss(Y, weight) if scheme == "one-vs-rest" else softmax_loss(_only_labels(Y), weight)
    value, residual = loss(product(Z, W) + b + np.where(absent, -np.inf, 0.0))
    return value, residual.sum(axis=0), transposed_product(Z, residual)


class SparkScaling(Scaling):
    """GIS that computes observed and expected counts in passes."""

    def __init__(self, documents: CountedDocuments, counts: Counts, weighting: Weighting) -> None:
        refuse_full_table(counts.n_classes, counts.n_terms, "generalised iterative scaling")
        (table,) = documents.sum(sum_observed, None)
        observed = csr_array(table)
        self.cells = ActiveCells.of(observed)
        self.observed = self.cells.gather(observed)
        self.absent = np.flatnonzero(~self.cells.active)
        self.documents = _CellPasses(documents, self.cells)  # type: ignore[assignment]
        self.weighting = weighting
        self.targets, self.weight = np.zeros(0, np.int32), np.array([float(counts.n_docs)])
        with np.errstate(divide="ignore"):
            self.offset = log(np.sign(np.asarray(counts.class_docs, np.float64)))
        self.in_bayes_form = weighting.norm == "l1"
        self.longest = max(documents.longest(), 1e-300)
        self.first = aligned_zeros(len(self.observed))
        self.threads = 1  # per task; Spark runs many tasks


class _CellPasses:
    """The documents of a Scaling; each call of `expectations` is one pass."""

    def __init__(self, documents: CountedDocuments, cells: ActiveCells) -> None:
        self.documents, self.cells = documents, cells

    def expectations(
        self, weights: Floats, targets: Any, weight: Floats, offset: Floats, *, threads: int = 1
    ) -> tuple[float, Floats]:
        """Log-likelihood of the labels, and the expected count of every cell (n_cells,)."""
        likelihood, expected = self.documents.sum(sum_expectations, (self.cells, weights, offset))
        return likelihood, expected


def sum_observed(Z: Sparse, Y: Sparse, state: Any) -> tuple[Floats]:
    """N_ct = Σ_{d in c} z_dt (n_terms, n_classes)."""
    return (transposed_product(Z, np.asarray(Y.toarray(), np.float64)),)


def sum_expectations(Z: Sparse, Y: Sparse, state: Any) -> tuple[float, Floats]:
    """Log-likelihood, and the expected count Σ_d p(c|d) z_dt of each cell (c, t)."""
    cells, weights, offset = state
    targets = _only_labels(Y).astype(np.int32)
    aligned = aligned_zeros(len(weights))
    aligned[:] = weights
    return CellDocuments.of(Z, cells).expectations(aligned, targets, np.ones(len(targets)), offset)


def _only_labels(Y: Sparse) -> NDArray[np.int64]:
    targets = single_labels(Y)
    if targets is None:
        raise BadData("some documents have no label, or several; train with scheme='one-vs-rest'")
    return targets


class HigherOrderPasses:
    """Higher-order smoothing in two passes. The model keeps no training documents, so explanations show no paths."""

    def __init__(
        self, model: HigherOrderSmoothing, counts: Counts, *, exclusive: bool, progress: ProgressCallback | None
    ) -> None:
        if model.weights == "tfidf" or model.paths == "paper":
            raise UnnaiveError(
                "weights='tfidf' and paths='paper' need all documents on one machine; use other settings"
            )
        refuse_full_table(counts.n_classes, counts.n_terms, "higher-order smoothing")
        self.model = type(model)(**{**model.get_params(), "keep_documents": False})
        self.scheme = model.scheme_for(exclusive)
        self.weighting = Weighting(model.weights, norm=model.norm)

    def learn(self, documents: CountedDocuments) -> Linear:
        """Train the scorer in two passes."""
        n_docs, *sums = documents.sum(sum_first_pass, self.scheme)
        first_pass = FirstPass(int(n_docs), *sums)
        n_docs, routes = documents.sum(sum_second_pass, (self.scheme, first_pass.first))
        mixture = Mixture(self.model.beta, self.model.normaliser, self.model.events)
        return smoothed(first_pass, SecondPass(int(n_docs), routes), mixture, self.weighting, self.scheme)


def sum_first_pass(Z: Sparse, Y: Sparse, scheme: str) -> tuple[Any, ...]:
    """The fields of FirstPass for a chunk of documents."""
    totals = FirstPass.of(Z, path_labels(Y, scheme))
    return totals.n_docs, totals.class_docs, totals.first, totals.squares


def sum_second_pass(Z: Sparse, Y: Sparse, state: Any) -> tuple[Any, ...]:
    """The fields of SecondPass for a chunk of documents."""
    scheme, first = state
    totals = SecondPass.of(Z, path_labels(Y, scheme), first)
    return totals.n_docs, totals.routes


LEARNERS: dict[str, Callable[..., PassLearner]] = {"maxent": MaxEntPasses, "hos": HigherOrderPasses}
