"""Linear support vector machines with hinge loss, as two of the papers use them; they need scikit-learn.

The models of this package minimise the squared hinge of each class against the rest. The papers used libsvm, whose
linear kernel minimises the plain hinge ½‖w‖² + C Σ max(0, 1 − y(w·x + b)) of two classes at a time; of many classes,
the one that wins most of its pairs is predicted.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from unnaive.base.extras import import_extra
from unnaive.base.types import Floats, Ids, Sparse

GRAM_DOCUMENTS = 4_000  # up to here products of all pairs of documents are formed first (128 MB), which is faster


def fit_hinge(X: Sparse, positive: NDArray[np.bool_], C: float) -> tuple[Floats, float]:
    """Weights (n_terms,) and bias of the hinge of one class against another, by libsvm."""
    machines = import_extra("sklearn.svm", "the support vector machine of the papers")
    documents, labels = csr_matrix(X, dtype=np.float64), np.where(positive, 1, -1)
    if X.shape[0] > GRAM_DOCUMENTS:
        machine: Any = machines.SVC(kernel="linear", C=C).fit(documents, labels)
    else:
        machine = machines.SVC(kernel="precomputed", C=C).fit((documents @ documents.T).toarray(), labels)
    # a sum over support vectors, which scikit-learn does not return for a precomputed kernel
    weights = csr_matrix(machine.dual_coef_) @ documents[machine.support_]
    return weights.toarray().ravel(), float(machine.intercept_[0])


def predict_by_pairs(X: Sparse, labels: Ids, X_test: Sparse, C: float) -> Ids:
    """The class of each test document that wins most pairs; in a tie the first of them, as libsvm decides.

    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 0, 0], [0, 2, 0], [0, 0, 2]])
    >>> predict_by_pairs(X, np.array([0, 1, 2]), csr_array([[0.0, 3, 1], [0, 1, 3]]), C=1.0)
    array([1, 2])
    """
    classes = np.unique(labels)
    votes = np.zeros((X_test.shape[0], int(labels.max()) + 1), np.int64)
    for first, second in combinations(classes, 2):
        rows = np.flatnonzero((labels == first) | (labels == second))
        weights, bias = fit_hinge(X[rows], labels[rows] == first, C)
        wins = X_test @ weights + bias > 0
        votes[:, first] += wins
        votes[:, second] += ~wins
    winners: Ids = votes.argmax(axis=1)
    return winners
