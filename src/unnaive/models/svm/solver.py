"""Linear models by dual coordinate descent: one-vs-rest squared hinge, and softmax with a prior.

Each document has dual variables, and the weights are the sum of the documents times their dual variables. A pass visits
the documents in random order and minimises over the dual variables of one document at a time. The solver is native if
the extension is built; solver_reference.py is the same algorithm in NumPy, and the fallback.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.base.errors import UnnaiveError, UnnaiveWarning
from unnaive.base.system import count_cores
from unnaive.base.types import Floats, Sparse
from unnaive.models.svm import solver_reference as dual_reference
from unnaive.models.svm.solver_reference import SolverProgress

try:
    import unnaive.models.svm._dual as _dual

    NATIVE: Any = _dual
except ImportError:  # built without a compiler
    NATIVE = None

MOST_JOBS = 1024
LEAST_SINGLE_TOL = 1e-3  # float32 has seven digits, and errors accumulate
MOST_SINGLE, LARGEST_SINGLE = 1e6, 1e3  # bounds for float32: on penalties and their inverses; on other values


@dataclass(frozen=True, eq=False)
class HingeSolution:
    """The minimum of the squared hinge for each class.

    weights    (n_classes, n_terms), for the unscaled features
    bias       (n_classes,)
    n_iter     (n_classes,) passes over the documents
    objective  (n_classes,) value of the objective
    gap        (n_classes,) duality gap: the objective is at most this far above the minimum
    converged  (n_classes,) whether tol was reached within max_iter passes
    """

    weights: Floats
    bias: Floats
    n_iter: NDArray[np.int32]
    objective: Floats
    gap: Floats
    converged: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SoftmaxSolution:
    """The minimum of the penalised softmax loss.

    weights    (n_classes, n_terms)
    bias       (n_classes,)
    n_iter     passes over the documents
    objective  value of the objective
    gap        duality gap: the objective is at most this far above the minimum
    converged  whether tol was reached within max_iter passes
    """

    weights: Floats
    bias: Floats
    n_iter: int
    objective: float
    gap: float
    converged: bool


@dataclass(frozen=True, eq=False)
class SolverDocuments:
    """Documents Z (n_docs, n_terms), checked and converted once for several problems.

    >>> documents = SolverDocuments.of(csr_array([[1.0]]))
    >>> [squared_hinge(documents, csr_array([[1]]), C=C, tol=1e-9).bias.round(3).tolist() for C in (1.0, 4.0)]
    [[0.4], [0.471]]
    """

    Z: Sparse
    rows: Any
    solver: Any

    @classmethod
    def of(cls, Z: Sparse | SolverDocuments) -> SolverDocuments:
        """Check and convert a sparse matrix of float32 or float64; SolverDocuments are returned as they are."""
        solver: Any = dual_reference if NATIVE is None else NATIVE
        if isinstance(Z, SolverDocuments):
            return Z if Z.solver is solver else cls.of(Z.Z)
        Z = _checked_documents(Z)
        return cls(Z, solver.compact_rows(*_pattern(Z), np.ascontiguousarray(Z.data), Z.shape[1]), solver)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_docs, n_terms)."""
        n_docs, n_terms = self.Z.shape
        return int(n_docs), int(n_terms)


def squared_hinge(
    Z: Sparse | SolverDocuments,
    Y: Sparse,
    *,
    C: float = 1.0,
    scale: NDArray[Any] | None = None,
    weight: NDArray[Any] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: SolverProgress | None = None,
    single: bool = False,
) -> HingeSolution:
    """A linear support vector machine with squared hinge loss for each class against the rest.

    For each class c, with y_d = 1 for its documents and −1 for the others, it minimises over (v, b)

        ½(‖v‖² + b²) + C·Σ_d weight_d·max(0, 1 − y_d·(v·(r_c∘z_d) + b))²

    and returns the weights w = r_c∘v, so that the score of a document is w·z + b. Without `scale` (r = 1) this is the
    problem of scikit-learn's LinearSVC and LIBLINEAR's solver 1, with the same C. The bias is the weight of a constant
    feature of 1. With the naive Bayes log-count ratio as `scale` it is the NB-SVM of Wang and Manning (2012); the
    scaled documents are never stored.

    Z             (n_docs, n_terms) sparse, float32 or float64, or SolverDocuments; sums are always in float64
    Y             (n_docs, n_classes) sparse or dense; nonzero cells are the labels
    scale         r, (n_classes, n_terms)
    weight        (n_docs,) not negative
    tol           largest minus smallest projected gradient over all documents (and 0), as in LIBLINEAR and LinearSVC
    max_iter      most passes over the documents; a warning reports classes that did not converge
    random_state  seed of the order of documents, not negative
    n_jobs        threads, over blocks of four classes; −1 for all processors. Results are bit-identical for any number
    progress      called on this thread with the passes so far, the violation in the last pass, and the solved classes
    single        weights and dual variables in float32, eight classes at a time: about half the time. Objective and
                  gap of converged classes are not computed (NaN). If float32 is unsuitable (tol below 1e-3, penalties
                  or scales of unusual size), float64 is used

    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for large-scale linear SVM.
    It suits text: with fewer terms than documents and a large C, the number of passes grows with C, as in LIBLINEAR.

    By hand, for one class and one document z = 1 of it: the minimum of ½(w² + b²) + C·max(0, 1 − w − b)² is at
    w = b = 2C/(1 + 4C), with the value C/(1 + 4C).

    >>> solution = squared_hinge(csr_array([[1.0]]), csr_array([[1]]), C=1.0, tol=1e-9)
    >>> solution.weights.round(6), solution.bias.round(6), solution.objective.round(6)
    (array([[0.4]]), array([0.4]), array([0.2]))
    """
    documents = SolverDocuments.of(Z)
    n_docs, n_terms = documents.shape
    penalty, labels = _penalties(n_docs, C, weight), _checked_labels(Y, n_docs)
    n_classes = labels.shape[1]
    scale = _checked_table(scale, (n_classes, n_terms), "scale")
    limits = (*_limits(tol, max_iter, random_state), _threads(n_jobs), progress)
    single = single and _suits_single(documents, penalty, scale, tol)
    solution = HingeSolution(
        *documents.solver.hinge(documents.rows, *_pattern(labels), n_classes, penalty, scale, *limits, single)
    )
    if not solution.converged.all():
        worst = float(np.nanmax(solution.gap / np.maximum(solution.objective, np.finfo(float).tiny)))
        _warn(f"{(~solution.converged).sum()} of {n_classes} classes", max_iter, worst)
    return solution


def softmax(
    Z: Sparse | SolverDocuments,
    targets: NDArray[Any],
    n_classes: int,
    *,
    C: float = 1.0,
    prior: NDArray[Any] | None = None,
    prior_bias: NDArray[Any] | None = None,
    weight: NDArray[Any] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: int = 0,
    progress: SolverProgress | None = None,
    single: bool = False,
) -> SoftmaxSolution:
    """Multinomial logistic regression (maximum entropy) with a Gaussian prior centred on `prior`.

    p(c|z) ∝ exp(w_c·z + b_c). It minimises over (W, b)

        Σ_d weight_d·(−log p(y_d|z_d)) + 1/(2C)·(‖W − prior‖² + ‖b − prior_bias‖²)

    C is the variance of the prior. It is also the C of scikit-learn's LogisticRegression and of LIBLINEAR, whose
    objective is this one times C, with a prior of 0. The bias is penalised like a weight, as in LIBLINEAR with bias=1;
    scikit-learn's solver "lbfgs" does not penalise its intercept: for the same problem, append a constant feature of 1
    and set fit_intercept=False. With naive Bayes weights as the prior, little data or a small C gives naive Bayes, and
    much data gives the maximum entropy model.

    Z             (n_docs, n_terms) sparse, float32 or float64, or SolverDocuments; sums are always in float64
    targets       (n_docs,) whole numbers from 0 to n_classes − 1
    prior         (n_classes, n_terms); None for 0
    prior_bias    (n_classes,); None for 0
    weight        (n_docs,) not negative
    tol           largest duality gap relative to the objective: the objective is within this share of the minimum
    max_iter      most passes over the documents; a warning is given if more are needed
    random_state  seed of the order of documents, not negative
    progress      called on this thread with the passes so far, an estimate of the relative gap, and 0
    single        weights in float32, eight classes at a time: about half the time if documents are long. If float32
                  is unsuitable (tol below 1e-3, penalties or a prior of unusual size), float64 is used

    The solver uses one thread, because every step needs the one before. Yu, Huang and Lin (2011), Dual coordinate
    descent methods for logistic regression and maximum entropy models; the steps here are exact, by Newton's method.

    By hand, for two classes and one document z = 1: with m = w_0 + b_0 − w_1 − b_1, the minimum has m = 4C/(1 + e^m).

    >>> solution = softmax(csr_array([[1.0]]), np.array([0]), 2, C=1.0, tol=1e-12)
    >>> margin = 2 * (solution.weights[0, 0] - solution.weights[1, 0])
    >>> bool(np.isclose(margin, 4 / (1 + np.exp(margin))))
    True
    """
    documents = SolverDocuments.of(Z)
    n_docs, n_terms = documents.shape
    penalty = _penalties(n_docs, C, weight)
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 1:
        raise UnnaiveError(f"n_classes is {n_classes!r}; give a whole number of at least 1")
    codes = _checked_targets(targets, n_docs, int(n_classes))
    prior = _checked_table(prior, (n_classes, n_terms), "prior")
    bias = np.zeros(n_classes) if prior_bias is None else _checked_table(prior_bias, (n_classes,), "prior_bias")
    limits = (*_limits(tol, max_iter, random_state), progress)
    single = single and _suits_single(documents, penalty, prior, tol)
    weights, b, n_iter, loss, squares, gap, converged = documents.solver.softmax(
        documents.rows, codes, int(n_classes), penalty, prior, bias, *limits, single
    )
    solution = SoftmaxSolution(weights, b, n_iter, (loss + squares) / C, gap / C, converged)
    if not converged:
        _warn("the softmax", max_iter, solution.gap / max(solution.objective, np.finfo(float).tiny))
    return solution


def _checked_documents(Z: Sparse) -> Sparse:
    """The documents as CSR of float32 or float64; an error if a value is not finite."""
    if not issparse(Z) or Z.ndim != 2:
        raise UnnaiveError(f"documents came as {type(Z).__name__}; give a sparse matrix (n_docs, n_terms)")
    Z = csr_array(Z) if Z.dtype in (np.float32, np.float64) else csr_array(Z, dtype=np.float64)
    try:
        Z.check_format(full_check=True)
    except ValueError as problem:
        raise UnnaiveError(f"the sparse matrix of documents is invalid: {problem}; build it again") from problem
    if not np.isfinite(Z.data).all():
        raise UnnaiveError("the documents hold values that are not finite; replace or leave them out")
    return Z


def _checked_labels(Y: Sparse, n_docs: int) -> Sparse:
    """The nonzero cells of Y as CSR."""
    Y = csr_array(Y)
    if Y.ndim != 2 or Y.shape[0] != n_docs:
        raise UnnaiveError(f"{n_docs} documents came with labels of shape {Y.shape}; give a row for each document")
    try:
        Y.check_format(full_check=True)
    except ValueError as problem:
        raise UnnaiveError(f"the sparse matrix of labels is invalid: {problem}; build it again") from problem
    Y = csr_array(Y != 0)
    Y.eliminate_zeros()
    return Y


def _checked_targets(targets: Any, n_docs: int, n_classes: int) -> NDArray[np.int32]:
    codes = np.asarray(targets)
    if codes.shape != (n_docs,) or codes.dtype.kind not in "iu":
        raise UnnaiveError(f"targets are {codes.dtype} of shape {codes.shape}; give {n_docs} whole numbers")
    if n_docs and not 0 <= codes.min() <= codes.max() < n_classes:
        raise UnnaiveError(f"targets range from {codes.min()} to {codes.max()}; give numbers from 0 to {n_classes - 1}")
    return np.ascontiguousarray(codes, np.int32)


def _checked_table(table: Any, shape: tuple[int, ...], name: str) -> Floats | None:
    if table is None:
        return None
    values = np.ascontiguousarray(table, np.float64)
    if values.shape != shape:
        raise UnnaiveError(f"{name} has shape {values.shape}; give {shape}")
    if not np.isfinite(values).all():
        raise UnnaiveError(f"{name} has values that are not finite; give finite numbers")
    return values


def _penalties(n_docs: int, C: float, weight: Any) -> Floats:
    """C·weight of each document."""
    if isinstance(C, bool) or not isinstance(C, int | float | np.number) or not 0 < C < np.inf:
        raise UnnaiveError(f"C is {C!r}; give a number above 0")
    weights = np.ones(n_docs) if weight is None else np.asarray(weight, np.float64)
    if weights.shape != (n_docs,) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise UnnaiveError(f"weight has shape {weights.shape}; give {n_docs} finite numbers of at least 0")
    return np.ascontiguousarray(C * weights)


def _suits_single(documents: SolverDocuments, penalty: Floats, table: Floats | None, tol: float) -> bool:
    """Whether float32 rounding errors are small relative to tol and nothing overflows."""
    live = penalty[penalty > 0]
    largest = max(_largest(documents.Z.data), 0.0 if table is None else _largest(table))
    within = not len(live) or (live.min() >= 1 / MOST_SINGLE and live.max() <= MOST_SINGLE)
    return bool(tol >= LEAST_SINGLE_TOL and within and largest <= LARGEST_SINGLE)


def _largest(values: Any) -> float:
    """The largest absolute value, without copying the array."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _limits(tol: float, max_iter: int, random_state: int) -> tuple[float, int, int]:
    if not 0 <= tol < np.inf:
        raise UnnaiveError(f"tol is {tol!r}; give a number of at least 0")
    if isinstance(max_iter, bool) or not isinstance(max_iter, int | np.integer) or not 0 <= max_iter < 2**31:
        raise UnnaiveError(f"max_iter is {max_iter!r}; give a whole number of at least 0")
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**64:
        raise UnnaiveError(f"random_state is {random_state!r}; give a whole number from 0 to 2**64 − 1")
    return float(tol), int(max_iter), int(random_state)


def _threads(n_jobs: int) -> int:
    if isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool):
        if n_jobs == -1:
            return min(count_cores(), MOST_JOBS)
        if 1 <= n_jobs <= MOST_JOBS:
            return int(n_jobs)
    raise UnnaiveError(f"n_jobs is {n_jobs!r}; give a whole number from 1 to {MOST_JOBS}, or −1 for all processors")


def _pattern(table: Sparse) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    return table.indptr.astype(np.int64, copy=False), table.indices.astype(np.int32, copy=False)


def _warn(what: str, max_iter: int, gap: float) -> None:
    warnings.warn(
        f"{what} did not converge in {max_iter} passes (relative duality gap {gap:.1e}); raise max_iter or tol, "
        "or lower C",
        UnnaiveWarning,
        stacklevel=3,
    )
