"""The members of a pool: linear models with the same term weighting, so their weighted sum is one linear model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Event
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.elementary import log, power
from unnaive.base.lazy import lazy_property
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Singles, Sparse, Weights
from unnaive.data.counts import Counts
from unnaive.data.products import matmul
from unnaive.data.symmetric import solve_positive
from unnaive.data.targets import single_labels
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import Weighting, presence
from unnaive.linear.smoothing import Laplace
from unnaive.models.svm.nbsvm import log_count_ratio
from unnaive.models.svm.solver import SolverDocuments, softmax, squared_hinge

MOST_PASSES = 200
MANY_EMPTY = 1000  # empty documents from which on those with the same labels are merged
MANY = 4_500  # documents from which on the hinge is solved to 10 · tol, which saves a third of its time. That is
# LIBLINEAR's 0.1 on the gradient: objectives are within 0.1 % of the minimum. With few documents the bias would suffer.
DEAR = 10.0  # cost from which on a family has a solver, which may learn from a sample; naive Bayes learns from all
SMALL_TABLE = 1 << 18  # cells up to which sums by class are one dense table
LEAST_SPREAD = 1e-6  # mean squared distance of rows to their mean that the penalty of ridge regression assumes at least
HINGES = ("svm", "nbsvm")  # families whose solver uses all threads


@dataclass(frozen=True, eq=False)
class Training:
    """Documents of one view, counts X and weighted Z (n_docs, n_terms), with their labels Y (n_docs, n_classes).

    Sums over documents that several members need are computed once. If `stop` is set, solvers end with a
    KeyboardInterrupt.
    """

    X: Sparse
    Z: Sparse
    Y: Sparse
    weight: Floats | None
    tol: float
    random_state: int
    n_jobs: int
    stop: Event | None = None

    @classmethod
    def of(
        cls, X: Sparse, weighting: Weighting, Y: Sparse, weight: Floats | None, *, tol: float, random_state: int,
        n_jobs: int | None, stop: Event | None = None,
    ) -> Training:  # fmt: skip
        """Weight the documents in float32, which solvers read twice as fast as float64; sums are in float64.

        If many documents are empty, those with the same labels are merged into one of the same total weight.
        """
        threads = thread_count(n_jobs)
        X, Y, weight = merge_empty(X, csr_array(Y), weight)
        return cls(X, weight_rows(weighting, X, threads), csr_array(Y), weight, tol, random_state, threads, stop)

    @classmethod
    def of_rows(cls, Z: Sparse, Y: Sparse, weight: Floats | None, *, n_jobs: int | None, **same: Any) -> Training:
        """Training on rows Z (n_docs, n_dims) that are numbers already, such as vectors."""
        return cls(Z, Z, csr_array(Y), weight, n_jobs=thread_count(n_jobs), **same)

    def check_stop(self, *_: object) -> None:
        """What solvers call after each pass."""
        if self.stop is not None and self.stop.is_set():
            raise KeyboardInterrupt

    @property
    def n_classes(self) -> int:
        """The number of classes, with or without documents."""
        return int(self.Y.shape[1])

    @lazy_property
    def targets(self) -> Any:
        """The class of each document (n_docs,) if every document has exactly one; else None."""
        return single_labels(self.Y)

    @lazy_property
    def documents(self) -> SolverDocuments:
        """The weighted documents as the solvers read them."""
        return SolverDocuments.of(self.Z)

    @lazy_property
    def sums(self) -> Counts:
        """Sums of weighted documents; 1 + log n of a fractional count can be negative and then counts as 0."""
        Z = self.Z if not self.Z.nnz or self.Z.data.min() >= 0 else self.Z.maximum(0.0)
        return Counts.of(csr_array(Z, dtype=np.float64), self.Y, self.weight)

    @lazy_property
    def ratio(self) -> Floats:
        """The naive Bayes log-count ratio from presence (n_classes, n_terms)."""
        present = presence(self.X, np.int32)  # whole numbers are summed natively
        return log_count_ratio(Counts.of(present, self.Y, self.weight, threads=self.n_jobs), 1.0)

    @lazy_property
    def least_squares(self) -> tuple[Singles, Floats, Floats, Floats, Floats]:
        """(rows, targets, mean, level, products) of documents and targets, both centred and times √weight.

        rows (n_docs, n_terms), targets (n_docs, n_classes), their means (n_terms,) and (n_classes,), and the inner
        products of the rows (n_docs, n_docs).
        """
        weight = np.ones(self.Z.shape[0]) if self.weight is None else np.asarray(self.weight, np.float64)
        rows, targets = self.Z.toarray(), self.Y.toarray().astype(np.float64)
        share = weight / max(float(weight.sum()), 1e-300)
        mean, level = matmul(share, rows), matmul(share, targets)
        root = np.sqrt(weight)[:, None]
        rows = ((rows - mean.astype(np.float32)) * root.astype(np.float32)).astype(np.float32)
        return rows, (targets - level) * root, mean, level, matmul(rows, rows.T).astype(np.float64)

    @lazy_property
    def class_table(self) -> Floats | None:
        """The sums of weighted documents by class (n_classes, n_terms), dense; None if there are too many cells.

        With few cells, `sums` would take five times as long, mostly to create sparse tables.
        """
        size, targets = self.n_classes * self.Z.shape[1], self.targets
        if targets is None or size > SMALL_TABLE or self.Z.nnz > SMALL_TABLE:
            return None
        lengths, values = np.diff(self.Z.indptr), np.maximum(self.Z.data, 0.0)
        if self.weight is not None:
            values = values * np.repeat(self.weight, lengths)
        cells = np.repeat(targets * self.Z.shape[1], lengths) + self.Z.indices
        return np.asarray(np.bincount(cells, values, size).reshape(self.n_classes, -1), np.float64)

    def complement(self, alpha: float) -> Floats:
        """Weights of complement naive Bayes, −log p(t|c̄) centred over the classes (n_classes, n_terms)."""
        table = self.class_table
        if table is None:
            rest = Laplace(alpha).rest_log_prob(self.sums)
            weights: Floats = rest.cells.toarray()  # without the term's part, which centring would remove
            weights += rest.of_class[:, None]
        else:
            rest_terms = table.sum(axis=0) - table + alpha
            weights = log(rest_terms) - log(rest_terms.sum(axis=1, keepdims=True))
        return np.asarray(weights.mean(axis=0) - weights)


def merge_empty(X: Sparse, Y: Sparse, weight: Floats | None) -> tuple[Sparse, Sparse, Floats | None]:
    """(X, Y, weight) with empty documents of the same labels merged into one; the merged rows come last.

    The objective stays the same, and passes over empty documents cost nothing. Up to MANY_EMPTY are left unmerged.

    >>> X, Y = csr_array(([1], [0], [0] * (MANY_EMPTY + 1) + [1])), csr_array(np.ones((MANY_EMPTY + 1, 1)))
    >>> [part.shape for part in merge_empty(X, Y, None)], merge_empty(X, Y, None)[2].tolist()
    ([(2, 1), (2, 1), (2,)], [1.0, 1000.0])
    """
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if len(empty) < MANY_EMPTY:
        return X, Y, weight
    weight = np.ones(X.shape[0]) if weight is None else weight
    labels = csr_array(Y[empty])
    labels.sort_indices()
    starts = labels.indptr.tolist()
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(labels.indices[start:end].tobytes(), len(numbers)) for start, end in pairwise(starts)]
    first = np.unique(group, return_index=True)[1]
    rows = np.concatenate([np.flatnonzero(np.diff(X.indptr) > 0), empty[first]])
    together = np.bincount(group, weights=weight[empty])
    return csr_array(X[rows]), csr_array(Y[rows]), np.concatenate([weight[rows[: len(rows) - len(first)]], together])


def _complement(data: Training, alpha: float) -> Weights:
    """Complement naive Bayes on weighted documents."""
    return data.complement(alpha), np.zeros(data.n_classes)


def _power(data: Training, alpha: float) -> Weights:
    """The closed form sign(R)·|R|^1.5 of the log-count ratio R of weighted documents."""
    ratio = log_count_ratio(data.sums, alpha)
    return np.sign(ratio) * power(np.abs(ratio), 1.5), np.zeros(data.n_classes)


def _maxent(data: Training, C: float, strength: float, alpha: float) -> Weights:
    """Softmax with the L2 prior centred on `strength` times complement naive Bayes."""
    prior = data.complement(alpha)
    if strength != 1:
        prior *= strength
    solution = softmax(
        data.documents, data.targets, data.n_classes, C=C, prior=prior, weight=data.weight, tol=data.tol,
        max_iter=MOST_PASSES, random_state=data.random_state, progress=data.check_stop, single=True,
    )  # fmt: skip
    return solution.weights, solution.bias


def _softmax(data: Training, C: float) -> Weights:
    """Softmax regression with an L2 prior around 0."""
    solution = softmax(
        data.documents, data.targets, data.n_classes, C=C, weight=data.weight, tol=data.tol, max_iter=MOST_PASSES,
        random_state=data.random_state, progress=data.check_stop,
    )  # fmt: skip
    return solution.weights, solution.bias


def _svm(data: Training, C: float) -> Weights:
    return _hinge(data, C, None)


def _nbsvm(data: Training, C: float) -> Weights:
    return _hinge(data, C, data.ratio)


def _hinge(data: Training, C: float, scale: Floats | None) -> Weights:
    """One class against the rest; of two exclusive classes only the second is fitted, the first is its negative."""
    mirrored = data.n_classes == 2 and data.targets is not None
    Y = data.Y[:, [1]] if mirrored else data.Y
    class_scale = scale[1:] if mirrored and scale is not None else scale
    tol = data.tol if data.Z.shape[0] < MANY else 10 * data.tol
    solution = squared_hinge(
        data.documents, Y, C=C, scale=class_scale, weight=data.weight, tol=tol, max_iter=MOST_PASSES,
        random_state=data.random_state, n_jobs=data.n_jobs, single=True, progress=data.check_stop,
    )  # fmt: skip
    if mirrored:
        return np.vstack([-solution.weights, solution.weights]), np.concatenate([-solution.bias, solution.bias])
    return solution.weights, solution.bias


def _ridge(data: Training, penalty: float) -> Weights:
    """Least squares with the targets 1 and 0, for documents with few labels and many columns.

    W minimises Σ_d weight_d · |y_d − ȳ − W (z_d − z̄)|² + λ |W|², with λ = penalty · mean |z_d − z̄|². Rows have a length
    of about 1; if all are alike, as if no document has a word with a vector, λ = penalty · LEAST_SPREAD and W = 0.
    """
    rows, targets, mean, level, products = data.least_squares
    n = float(np.sum(data.weight)) if data.weight is not None else len(rows)
    mean_square = max(float(np.trace(products)) / n, LEAST_SPREAD)
    duals = solve_positive(products + penalty * mean_square * np.eye(len(rows)), targets)
    weights = np.asarray(matmul(duals.T.astype(np.float32), rows).astype(np.float64))
    return weights, level - matmul(weights, mean)


def _rocchio(data: Training, gamma: float) -> Weights:
    """Centroids max(0, mean inside − gamma · mean outside), of length 1."""
    sums = data.sums
    centroids = np.asarray(sums.class_terms.toarray(), np.float64)
    sizes = np.asarray(sums.class_docs, np.float64)[:, None]
    outside = np.asarray(sums.terms - centroids)  # of many classes, the two tables are all that fits in memory
    outside /= np.maximum(sums.n_docs - sizes, 1e-300)
    outside *= gamma
    centroids /= np.maximum(sizes, 1e-300)
    centroids -= outside
    np.maximum(centroids, 0.0, out=centroids)
    lengths = np.sqrt(np.multiply(centroids, centroids, out=outside).sum(axis=1, keepdims=True))
    centroids /= np.where(lengths > 0, lengths, 1.0)
    return centroids, np.zeros(data.n_classes)


@dataclass(frozen=True)
class Family:
    """A kind of member.

    title      its name in reports
    arguments  names of its settings
    fit        function from Training and the settings to weights and bias
    cost       processor seconds for 10⁹ cells × classes, measured on text
    """

    title: str
    arguments: tuple[str, ...]
    fit: Callable[..., Weights]
    cost: float


FAMILIES: dict[str, Family] = {
    "complement": Family("complement naive Bayes", ("alpha",), _complement, 1.0),
    "power": Family("power of the naive Bayes ratio", ("alpha",), _power, 1.0),
    "maxent": Family("softmax with naive Bayes prior", ("C", "strength", "alpha"), _maxent, 10.0),
    "softmax": Family("softmax regression", ("C",), _softmax, 10.0),
    "svm": Family("linear SVM", ("C",), _svm, 20.0),
    "nbsvm": Family("NB-SVM", ("C",), _nbsvm, 20.0),
    "ridge": Family("ridge regression", ("penalty",), _ridge, 10.0),
    "rocchio": Family("Rocchio centroids", ("gamma",), _rocchio, 1.0),
}


def fit_family(family: str, settings: Sequence[float], data: Training) -> Weights:
    """Fit the weights and bias of a member; a class without documents is never predicted."""
    weights, bias = FAMILIES[family].fit(data, *settings)
    absent = np.bincount(data.Y.indices, minlength=data.n_classes) == 0
    if absent.any():
        weights[absent], bias = 0.0, np.where(absent, -np.inf, bias)
    return weights, bias


def member_scores(weights_and_bias: Weights, Z: Sparse) -> Floats:
    """Scores (n_docs, n_classes)."""
    return np.asarray(csr_array(Z) @ weights_and_bias[0].T) + weights_and_bias[1]
