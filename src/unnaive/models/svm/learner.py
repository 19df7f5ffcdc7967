"""Linear support vector machines, one class against the rest, by dual coordinate descent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.progress import solver_events
from unnaive.base.settings import setting
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.products import take_columns
from unnaive.data.weighting import DOCUMENT_WEIGHTINGS, Weighting, document_weighting
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.linear.scorer import Scorer
from unnaive.models.estimator import IteratedModel, class_weight_setting
from unnaive.models.mixins import LinearAttributes
from unnaive.models.svm.solver import squared_hinge

if TYPE_CHECKING:
    from unnaive.models.vectors.columns import Vectors


class HingeModel(LinearAttributes, IteratedModel):
    """Base class of models that minimise the squared hinge: solver settings and the fit of a Linear."""

    C: float = setting("Cost of a document on the wrong side of the margin.", default=1.0, above=0, below=np.inf)
    weights: str = setting(
        "Weighting of terms in a document.", default="auto", choices=DOCUMENT_WEIGHTINGS,
        more="auto is tf-idf for whole numbers; fractions, such as those of TfidfVectorizer, are not weighted again.",
    )  # fmt: skip
    tol: float = setting("Largest violation of the optimality conditions.", default=1e-4, above=0)
    max_iter: int = setting("Maximum number of passes over the documents.", default=1000, at_least=1)
    random_state: int = setting("Random seed for the order of documents.", default=0, at_least=0)
    n_jobs: int | None = setting(
        "Number of threads over classes, by default one for each core; results do not depend on it.", default=None
    )
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """The cost of a class: a weight for each term, and passes over all documents."""
        return ClassCost(held=3 * size.terms, steps=1e4 + 20 * (size.cells + size.terms))

    def fit_hinge(
        self,
        weighting: Weighting,
        X: Sparse,
        Y: Sparse,
        sample_weight: Floats | None,
        progress: ProgressCallback | None,
        scale: Floats | None = None,
        more: Callable[[Sparse], Sparse] | None = None,
    ) -> Linear:
        """Fit the hyperplanes of weighted documents; `scale` (n_classes, n_terms) multiplies each class's features.

        `more` appends further columns to the weighted documents.
        """
        Z = weighting.apply(X)
        solution = squared_hinge(
            Z if more is None else more(Z), csr_array(Y), C=self.C, scale=scale, weight=sample_weight, tol=self.tol,
            max_iter=self.max_iter, random_state=self.random_state, n_jobs=thread_count(self.n_jobs),
            progress=solver_events(progress, self.traits.name, self.tol, Y.shape[1]),
        )  # fmt: skip
        sizes = np.bincount(csr_array(Y).indices, minlength=Y.shape[1])
        constant = (sizes == 0) | (sizes == Y.shape[0])  # classes of no document or of all
        weights = np.where(constant[:, None], 0.0, solution.weights)
        bias = np.where(constant, np.where(sizes == 0, -1.0, 1.0), solution.bias)
        return Linear(weights, bias, weighting=weighting, link="margin")

    def fit_with_vectors(
        self, X: Sparse, Y: Sparse, sample_weight: Floats | None, progress: ProgressCallback | None,
        active: Ids | None, vectors: Sequence[Vectors],
        scale: Callable[[Sparse], Floats] | None = None,
    ) -> Scorer:  # fmt: skip
        """Fit on word columns `active` and on vectors; `scale` is computed from the words."""
        from unnaive.models.vectors.columns import VectorColumns

        X = csr_array(X)
        columns = VectorColumns.of(X, active, vectors, sample_weight)
        words = take_columns(X, columns.words)
        factors = None if scale is None or not len(columns.words) else columns.without_scale(scale(words))
        weighting = document_weighting(self.weights, words, sample_weight)
        return columns.fold(
            self.fit_hinge(weighting, words, Y, sample_weight, progress, factors, lambda Z: columns.beside(Z, X))
        )


class LinearSVM(HingeModel):
    """A linear support vector machine for each class against the rest; the score is the margin.

    It minimises ½(‖w‖² + b²) + C·Σ_d s_d max(0, 1 − y_d(w·z_d + b))² over (w, b), with z the weighted documents and s
    the sample weights: the problem of scikit-learn's LinearSVC, solved by models/svm/solver.py.

    >>> LinearSVM().fit([[3, 0], [2, 1], [0, 2]], ["sport", "sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "svm",
        "linear support vector machine",
        "documents",
        scorer_kinds=("linear", "pool"),
        probabilistic=False,
        generative=False,
        poor_score=True,
        takes_vectors=True,
    )

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None, active: Ids | None = None, vectors: Sequence[Vectors] = (),
    ) -> Learnt:  # fmt: skip
        """Fit a hyperplane for each class, over the terms and over `vectors` if there are any."""
        if vectors:
            return Learnt(self.fit_with_vectors(X, Y, sample_weight, progress, active, vectors))
        return Learnt(self.fit_hinge(document_weighting(self.weights, X, sample_weight), X, Y, sample_weight, progress))
