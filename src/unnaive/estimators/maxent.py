"""Maximum entropy as a scikit-learn estimator; the arithmetic is in models/maxent.py, gis.py and bridge.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.core.linear import Linear
from unnaive.estimators.base import WeightedDocumentsClassifier
from unnaive.estimators.encoding import Encoded
from unnaive.models.bridge import to_naive_bayes
from unnaive.types import Sparse


class MaxEnt(WeightedDocumentsClassifier):
    """Maximum entropy (multinomial logistic regression): the class given the document, log-linear.

    solver             "lbfgs" with an L2 prior, or "gis": generalised iterative scaling, without one
    features           "tf-idf", "normalised" (to unit length) or "counts"; None: the first, and for GIS the second
    l2, intercept      L-BFGS: l2/2·‖λ‖² is added to −log-likelihood; whether classes have a bias
    start, epsilon     "zero", or "naive-bayes" smoothed by epsilon
    warm_start         go on from the model of the last `fit`, if it has the same classes and terms
    early_stopping     keep the iteration that errs least on a share `held_out` of the documents; None: GIS only
    keep_on_interrupt  Ctrl-C ends the training and keeps the best so far
    progress           called with the solver's name and a dict for every iteration

    history_  a dict for every iteration: iteration, log_likelihood, and held_out_error where one was measured
    n_iter_   iterations of the model that was kept

    >>> MaxEnt().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    model: ClassVar[str] = "maxent"

    history_: list[dict[str, Any]]
    n_iter_: int

    def __init__(
        self,
        *,
        solver: str = "lbfgs",
        features: str | None = None,
        scheme: str | None = None,
        l2: float = 0.1,
        intercept: bool = True,
        start: str = "zero",
        epsilon: float = 1e-5,
        warm_start: bool = False,
        early_stopping: bool | None = None,
        held_out: float = 0.1,
        tol: float | None = None,
        max_iter: int = 1000,
        keep_on_interrupt: bool = False,
        seed: int = 0,
        progress: Callable[[str, dict[str, Any]], None] | None = None,
    ) -> None:
        self.solver = solver
        self.features = features
        self.scheme = scheme
        self.l2 = l2
        self.intercept = intercept
        self.start = start
        self.epsilon = epsilon
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.held_out = held_out
        self.tol = tol
        self.max_iter = max_iter
        self.keep_on_interrupt = keep_on_interrupt
        self.seed = seed
        self.progress = progress

    def to_naive_bayes(self) -> Linear:
        """The naive Bayes model with the same posteriors: bias = log ϑ(c), weights() = log ϑ(t|c).

        It needs features="normalised" and exclusive classes; see models/bridge.py.

        >>> model = MaxEnt(solver="gis", early_stopping=False).fit([[2, 0], [1, 3], [0, 1]], ["a", "b", "b"])
        >>> np.exp(model.to_naive_bayes().weights()).sum(axis=1).round(12)
        array([1., 1.])
        """
        check_is_fitted(self)
        return to_naive_bayes(cast(Linear, self.scorer_))

    def _learned(self, documents: Sparse, target: Encoded, **more: Any) -> Self:
        history: list[dict[str, Any]] = []

        def note(solver: str, line: dict[str, Any]) -> None:
            history.append(line)
            if self.progress is not None:
                self.progress(solver, line)

        if self.warm_start and self._fits(documents, target):
            more["start"] = self.scorer_
        super()._learned(documents, target, progress=note, **more)
        self.history_, self.n_iter_ = history, history[-1]["iteration"]
        return self

    def _fits(self, documents: Sparse, target: Encoded) -> bool:
        """Whether the last model is one of these classes and terms."""
        return (
            hasattr(self, "scorer_")
            and self.scorer_.n_terms == documents.shape[1]
            and np.array_equal(self.classes_, target.classes)
        )
