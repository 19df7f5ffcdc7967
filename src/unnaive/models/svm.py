"""Linear support vector machine: a baseline. scikit-learn trains it, and is imported when it does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from unnaive.core.linear import Linear
from unnaive.core.settings import setting
from unnaive.core.targets import class_columns
from unnaive.core.weighting import DOCUMENT_WEIGHTINGS, document_weighting, with_small_indices
from unnaive.models.estimator import LinearAttributes, UnweightedDocumentsModel
from unnaive.types import Floats, Progress, Sparse


class LinearSVM(LinearAttributes, UnweightedDocumentsModel):
    """A linear support vector machine for each class against the rest; the score is the margin.

    min over (w, b) of ½(‖w‖² + b²) + C·Σ_d s_d max(0, 1 − y_d(w·z_d + b))², z the weighted document, s the sample
    weights; LIBLINEAR solves it.

    >>> LinearSVM().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    name = "svm"
    title = "linear support vector machine"
    probabilistic = False
    generative = False
    poor_score = True

    C: float = setting("How much a document on the wrong side costs.", default=1.0, above=0, below=np.inf)
    weights: str = setting("How documents are weighted.", default="tf-idf", choices=DOCUMENT_WEIGHTINGS)

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: Progress | None = None,
    ) -> Linear:  # fmt: skip
        """A hyperplane for each class."""
        weighting = document_weighting(self.weights, X, sample_weight)
        Z = with_small_indices(csr_matrix(weighting.apply(X)))
        planes = [_plane(Z, present, self.C, sample_weight) for present in class_columns(Y)]
        normals = np.array([normal for normal, _ in planes]).reshape(len(planes), X.shape[1])
        return Linear(normals, np.array([offset for _, offset in planes]), weighting=weighting, link="margin")


def _plane(Z: Any, present: NDArray[np.bool_], C: float, weight: Floats | None) -> tuple[Floats, float]:
    """Normal and offset of the hyperplane of one class; a class of all documents or of none gets a constant."""
    counted = present if weight is None else present[weight > 0]
    if counted.all() or not counted.any():
        return np.zeros(Z.shape[1]), 1.0 if counted.any() else -1.0
    from sklearn.svm import LinearSVC

    # so tight a tolerance makes the order of documents irrelevant, for half as much time again
    machine = LinearSVC(C=C, dual="auto", tol=1e-7, max_iter=10_000, random_state=0).fit(
        Z, present, sample_weight=weight
    )
    return machine.coef_[0], float(machine.intercept_[0])
