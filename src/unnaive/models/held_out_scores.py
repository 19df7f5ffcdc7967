"""Scores of held-out documents by fast linear learners, used by audits and drift tests on each fold.

Each function trains on counts X (n_train, n_terms) and returns scores of `held_out` (n_held_out, n_classes). Terms that
occur in no training document are ignored, as for a new document: otherwise they would have the largest idf and lengthen
the rows.
"""

from __future__ import annotations

import numpy as np

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.models.svm.nbsvm import NBSVM
from unnaive.models.svm.solver import softmax, squared_hinge

TOL = 1e-2  # stricter solvers take twice the time and change rankings only within noise


def softmax_scores(X: Sparse, codes: Ids, n_classes: int, held_out: Sparse) -> Floats:
    """Softmax regression on tf-idf, C = 3."""
    X, held_out = _take_learnt_terms(X, held_out)
    weighting = tf_idf(X)
    solution = softmax(weighting.apply(X), codes, n_classes, C=3.0, tol=TOL)
    return np.asarray(weighting.apply(held_out) @ solution.weights.T) + solution.bias


def nbsvm_scores(X: Sparse, codes: Ids, n_classes: int, held_out: Sparse) -> Floats:
    """NB-SVM, C = 0.3."""
    return multilabel_nbsvm_scores(X, one_label_matrix(codes, n_classes), held_out, exclusive=True)


def multilabel_hinge_scores(X: Sparse, Y: Sparse, held_out: Sparse) -> Floats:
    """One-vs-rest squared hinge on tf-idf, C = 1; Y (n_train, n_classes)."""
    X, held_out = _take_learnt_terms(X, held_out)
    weighting = tf_idf(X)
    solution = squared_hinge(weighting.apply(X), Y, tol=TOL)
    return np.asarray(weighting.apply(held_out) @ solution.weights.T) + solution.bias


def multilabel_nbsvm_scores(X: Sparse, Y: Sparse, held_out: Sparse, *, exclusive: bool = False) -> Floats:
    """NB-SVM, C = 0.3; Y (n_train, n_classes)."""
    X, held_out = _take_learnt_terms(X, held_out)
    scores: Floats = NBSVM(C=0.3, tol=TOL).learn(X, Y, exclusive=exclusive).scorer.scores(held_out)
    return scores


def _take_learnt_terms(X: Sparse, held_out: Sparse) -> tuple[Sparse, Sparse]:
    """Remove the columns of terms that no document of X has from both."""
    learnt = np.flatnonzero(document_frequency(X))
    return take_columns(X, learnt), take_columns(held_out, learnt)
