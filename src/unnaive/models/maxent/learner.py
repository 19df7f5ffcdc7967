"""Maximum entropy: a log-linear model of the class given the document, by L-BFGS with a prior or by GIS.

This file has the features, the start and multilabel targets. gis.py and lbfgs.py iterate, convergence.py decides when
to stop, and bridge.py maps the result to naive Bayes and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import BadData, UnnaiveError, choose
from unnaive.base.progress import solver_events
from unnaive.base.settings import setting
from unnaive.base.thread_count import thread_count
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.products import ThinProducts, dot, take_columns
from unnaive.data.targets import single_labels
from unnaive.data.training_data import TrainingData
from unnaive.data.weighting import Weighting, are_counts, tf_idf
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.fitted import FittedModel
from unnaive.learning.learnt import Learnt
from unnaive.learning.train import train
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.linear.scorer import Scorer
from unnaive.models.estimator import IteratedModel, class_weight_setting, scheme_setting
from unnaive.models.maxent.bridge import to_naive_bayes
from unnaive.models.maxent.convergence import RowNumbers, Step, Stopping, Trainer, run_solver
from unnaive.models.maxent.gis import Scaling
from unnaive.models.maxent.lbfgs import (
    MEMORY,
    InSpan,
    InWeights,
    Loss,
    balanced_bias_norm,
    descend,
    logistic_loss,
    softmax_loss,
    squared_lengths,
)
from unnaive.models.mixins import LinearAttributes
from unnaive.models.naive_bayes import LINK_OF_SCHEME, ComplementNB, MultinomialNB
from unnaive.models.svm.solver import softmax

if TYPE_CHECKING:
    from unnaive.models.vectors.columns import Vectors


@dataclass(frozen=True)
class SolverDefaults:
    """The default settings of a solver."""

    features: str
    early_stopping: bool
    tol: float


STATES = 2 * MEMORY + 8  # points that L-BFGS has in memory: its pairs, and those of the present step
SOLVERS = {"lbfgs": SolverDefaults("tf-idf", False, 1e-4), "gis": SolverDefaults("normalised", True, 1e-5)}


class MaxEnt(LinearAttributes, IteratedModel):
    """Maximum entropy (multinomial logistic regression): the class given the document, log-linear.

    p(c|x) ∝ exp(b_c + Σ_t z_t λ_ct) with the largest conditional likelihood of the labels; z are the features.

    L-BFGS minimises −log-likelihood + l2/2·‖λ‖², and all (c, t) have a weight. GIS has no prior and no bias, and (c, t)
    that never occur together have no weight (maxent-bridge paper); on normalised documents its result is in naive Bayes
    form: a document of unknown terms gets the prior ϑ(c), which λ alone does not define.

    history_  a dict for every iteration: iteration, log_likelihood, and held_out_error if it was measured
    n_iter_   number of iterations of the selected model

    >>> MaxEnt().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "maxent",
        "maximum entropy",
        "documents",
        scorer_kinds=("linear", "pool"),
        generative=False,
        poor_score=True,
        takes_vectors=True,
    )

    solver: str = setting(
        "L-BFGS with an L2 prior, or generalised iterative scaling.", default="lbfgs", choices=tuple(SOLVERS)
    )
    features: str | None = setting(
        "tf-idf rows of length 1, counts divided by their sum, or counts; None: the first for L-BFGS, the second for "
        "GIS.",
        more="With None, L-BFGS takes fractions, such as those of TfidfVectorizer, as they are.",
        default=None,
        choices=("tf-idf", "normalised", "counts"),
    )
    scheme: str | None = scheme_setting()
    l2: float = setting("L-BFGS: weight of the L2 prior.", default=0.1, at_least=0, below=np.inf)
    prior: str = setting(
        "Centre of the L2 prior: zero, or the weights of complement naive Bayes.",
        default="zero",
        more="The latter is solved in the dual; it needs exclusive classes, and the bias is penalised like a weight.",
        choices=("zero", "naive-bayes"),
    )
    prior_strength: float = setting("Factor of the naive Bayes prior.", default=1.0, at_least=0, below=np.inf)
    prior_alpha: float = setting("Smoothing of the naive Bayes prior.", default=0.1, above=0, below=np.inf)
    intercept: bool = setting("L-BFGS: whether classes have a bias.", default=True)
    start: Any = setting('Starting point: "zero", "naive-bayes", or a Linear to continue from.', default="zero")
    epsilon: float = setting("Smoothing of the naive Bayes start.", default=1e-5, above=0, below=np.inf)
    warm_start: bool = setting(
        "Continue from the model of the last `fit` if it has the same classes and terms.", default=False
    )
    early_stopping: bool | None = setting(
        "Keep the iteration with the lowest held-out error; None: only for GIS, which overfits.", default=None
    )
    held_out: float = setting("Share of documents held out for early stopping.", default=0.1, above=0, below=1)
    tol: float | None = setting(
        "GIS: rise of the mean log-likelihood, None for 1e-5; L-BFGS: largest derivative of the mean objective, None "
        "for 1e-4.",
        default=None,
        at_least=0,
    )
    max_iter: int = setting("Maximum number of iterations.", default=1000, at_least=0)
    keep_on_interrupt: bool = setting(
        "Ctrl-C ends training, not the program, and keeps the best model so far.", default=False
    )
    n_jobs: int | None = setting(
        "Number of threads, by default one per core; results do not depend on it.", default=None
    )
    random_state: int = setting("Random seed for choosing held-out documents.", default=0, at_least=0)
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for the probabilities of all documents, the weights and the solver's state; time for its passes.

        L-BFGS keeps STATES points of the space that it works in, which is the smaller of weights and documents, each
        with the scores of all documents.
        """
        points = STATES if self.solver == "lbfgs" else 0
        n_cells = 3 * (size.documents + size.terms) + points * (min(size.documents, size.terms) + size.documents)
        return ClassCost(n_cells, steps=100 * (size.cells + size.documents + size.terms))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None, active: Ids | None = None, vectors: Sequence[Vectors] = (),
    ) -> Learnt:  # fmt: skip
        """The scorer with the largest conditional likelihood of Y (n_docs, n_classes) given X (n_docs, n_terms).

        `vectors`, if any, are further features beside the words, which are the columns `active`.
        """
        if vectors:
            return Learnt(
                self._learn_with_vectors(csr_array(X), Y, exclusive, sample_weight, progress, active, vectors)
            )
        return Learnt(self._maximise(X, Y, exclusive, sample_weight, progress))

    def _learn_with_vectors(
        self, X: Sparse, Y: Sparse, exclusive: bool, sample_weight: Floats | None, progress: ProgressCallback | None,
        active: Ids | None, vectors: Sequence[Vectors],
    ) -> Scorer:  # fmt: skip
        """`learn` with vectors beside the words; as they may be negative, GIS and naive Bayes cannot use them."""
        from unnaive.models.vectors.columns import VectorColumns

        if self.solver != "lbfgs" or self.prior != "zero" or self.start != "zero":
            raise UnnaiveError(
                'vectors need solver="lbfgs", prior="zero" and start="zero"; change these, or train nbsvm'
            )
        columns = VectorColumns.of(X, active, vectors, sample_weight)
        words = take_columns(X, columns.words)
        return columns.fold(
            self._maximise(words, Y, exclusive, sample_weight, progress, lambda Z: columns.beside(Z, X))
        )

    def _maximise(
        self, X: Sparse, Y: Sparse, exclusive: bool, sample_weight: Floats | None, progress: ProgressCallback | None,
        more: Callable[[Sparse], Sparse] | None = None,
    ) -> Linear:  # fmt: skip
        """Fit a Linear on weighted documents; `more` appends further columns to them."""
        defaults, scheme = SOLVERS[self.solver], self.scheme_for(exclusive)
        if self.prior == "naive-bayes":
            return self._learn_from_naive_bayes(X, Y, scheme, sample_weight, progress)
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        weighting = _weighting(self._features_of(X), X, weight)
        Z = weighting.apply(X)
        task = _Task(
            Z if more is None else more(Z), csr_array(Y), weight, weighting, self.solver, scheme, self.start, self.l2,
            self.intercept, self.epsilon, threads=thread_count(self.n_jobs),
        )  # fmt: skip
        stops_early = defaults.early_stopping if self.early_stopping is None else self.early_stopping
        tol = defaults.tol if self.tol is None else self.tol
        held_out = self.held_out if stops_early else 0.0
        stopping = Stopping(tol, self.max_iter, held_out, self.keep_on_interrupt, self.random_state, progress)
        if scheme == "one-vs-rest" and self.solver == "gis":
            return _scale_each_class(task, stopping)
        return run_solver(task, stopping)

    def _features_of(self, X: Sparse) -> str:
        """The features that were set, else those of the solver; fractions have been weighted already."""
        default = SOLVERS[self.solver].features
        if self.features is None and default == "tf-idf" and not are_counts(X):
            return "counts"
        return self.features or default

    def _learn_from_naive_bayes(
        self, X: Sparse, Y: Sparse, scheme: str, sample_weight: Floats | None, progress: ProgressCallback | None
    ) -> Linear:
        """−log-likelihood + l2/2·‖λ − strength · naive Bayes‖², by dual coordinate descent.

        With little data or a large l2 the result is near naive Bayes, with much data near maximum entropy.
        """
        targets = single_labels(Y)
        if self.solver != "lbfgs" or scheme != "multiclass" or targets is None or not self.l2:
            raise UnnaiveError(
                'prior="naive-bayes" needs one label for each document, solver="lbfgs", the scheme "multiclass" and l2 '
                'above 0; change these, or use prior="zero"'
            )

        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        weighting = _weighting(self._features_of(X), X, weight)
        Z = weighting.apply(X)
        refuse_full_table(Y.shape[1], Z.shape[1], "maximum entropy with a naive Bayes prior")
        masses = Z.maximum(0.0)  # 1 + log n may be negative for fractional n
        prior = ComplementNB(alpha=self.prior_alpha).rule(Counts.of(masses, Y, weight)).weights()
        prior -= prior.mean(axis=0)
        tol = SOLVERS[self.solver].tol if self.tol is None else self.tol
        solution = softmax(
            Z, targets, Y.shape[1], C=1 / self.l2, prior=self.prior_strength * prior, weight=weight,
            tol=tol, max_iter=self.max_iter, random_state=self.random_state,
            progress=solver_events(progress, self.traits.name, tol, Y.shape[1], "gap"),
        )  # fmt: skip
        absent = np.bincount(targets, minlength=Y.shape[1]) == 0
        return Linear(solution.weights, np.where(absent, -np.inf, solution.bias), weighting=weighting)

    def to_naive_bayes(self) -> Linear:
        """The naive Bayes model with the same posteriors: bias = log ϑ(c), weights() = log ϑ(t|c).

        It needs features="normalised" and exclusive classes.

        >>> model = MaxEnt(solver="gis", early_stopping=False).fit([[2, 0], [1, 3], [0, 1]], ["a", "b", "b"])
        >>> np.exp(model.to_naive_bayes().weights()).sum(axis=1).round(12)
        array([1., 1.])
        """
        scorer: Linear = self._fitted().scorer  # type: ignore[assignment]
        return to_naive_bayes(scorer)

    def _train(self, data: TrainingData, progress: ProgressCallback | None) -> FittedModel:
        before = self.__dict__.get("fitted_") if self.warm_start else None
        spec = self._spec()
        if before is not None and before.classes == data.classes and before.scorer.n_terms == data.n_terms:
            spec.model.set_params(start=before.scorer)  # type: ignore[attr-defined]
        # the kept specification has the user's settings, not the previous model
        return replace(train(data, spec, progress=progress), spec=self._spec())


@dataclass(frozen=True, eq=False)
class _Task:
    """Weighted documents and labels, and how to learn from them; `at` selects some of the documents."""

    Z: Sparse
    Y: Sparse
    weight: Floats
    weighting: Weighting
    solver: str
    scheme: str
    start: str | Linear
    l2: float
    intercept: bool
    epsilon: float
    threads: int = 1
    prior: bool = False  # GIS: whether the class shares are part of the model

    def at(self, rows: RowNumbers) -> _Task:
        """The same task with some of the documents."""
        return replace(self, Z=self.Z[rows], Y=self.Y[rows], weight=self.weight[rows])

    @property
    def targets(self) -> NDArray[np.int64]:
        """The class of each document."""
        targets = single_labels(self.Y)
        if targets is None:
            raise BadData("some documents have no label, or several; train with scheme='one-vs-rest'")
        return targets

    @property
    def bias_norm(self) -> float:
        """L-BFGS: the relative norm of the bias."""
        labels, total = dot(self.weight, np.diff(self.Y.indptr)), float(self.weight.sum())
        share = labels / max(total * self.Y.shape[1], 1e-300)
        return balanced_bias_norm(total, squared_lengths(self.Z, self.weight), share)

    @property
    def loss(self) -> Loss:
        """−Σ weight · log-likelihood of the labels, as a function of the scores."""
        if self.scheme == "one-vs-rest":
            return logistic_loss(self.Y, self.weight)
        return softmax_loss(self.targets, self.weight)

    def error(self, scores: Floats) -> float:
        """The share of documents whose best class is wrong; for one-vs-rest, the mean loss."""
        if self.scheme == "one-vs-rest" or self.prior:  # if a class is rare, never predicting it is seldom wrong
            return self.loss(scores)[0] / float(self.weight.sum())
        wrong = scores.argmax(axis=1) != self.targets
        return dot(self.weight, wrong) / float(self.weight.sum())

    def trainer(self) -> Trainer:
        """The solver at its start."""
        if self.solver == "gis":
            return Scaling(
                self.Z,
                self.targets,
                self.Y.shape[1],
                self.weight,
                self.weighting,
                self._start_model(),
                prior=self.prior,
                threads=self.threads,
            )
        return _Descent(self, self._start_model())

    def _start_model(self) -> Linear | None:
        """The model to start from; None for zero."""
        start = self.start
        if isinstance(start, Linear):
            if (start.n_classes, start.n_terms) != (self.Y.shape[1], self.Z.shape[1]):
                raise UnnaiveError(
                    f"the model to start from has {start.n_classes} classes and {start.n_terms} terms, but the "
                    f"documents have {self.Y.shape[1]} and {self.Z.shape[1]}; start from a matching model"
                )
            return start
        if choose(["zero", "naive-bayes"], start, "start") == "zero":
            return None
        masses = self.Z.maximum(0.0)  # 1 + log n may be negative for fractional n
        return MultinomialNB(scheme=self.scheme, alpha=self.epsilon).linear_rule(Counts.of(masses, self.Y, self.weight))


class _Descent:
    """L-BFGS as a Trainer. An exclusive class without documents is excluded: its best bias is −∞."""

    def __init__(self, task: _Task, start: Linear | None) -> None:
        n_docs, n_classes = task.Y.shape
        refuse_full_table(n_classes, task.Z.shape[1], "maximum entropy by L-BFGS")
        present = np.asarray(task.Y.T @ task.weight) > 0
        self.absent = ~present if task.scheme == "multiclass" else np.zeros(n_classes, np.bool_)
        self.total = float(task.weight.sum())
        self.weighting, self.link = task.weighting, LINK_OF_SCHEME[task.scheme]
        kind = InSpan if start is None and n_docs < task.Z.shape[1] else InWeights
        self.problem = kind(
            ThinProducts.of(task.Z, task.threads), _exclude_classes(task.loss, self.absent), task.l2, n_classes,
            intercept=task.intercept, bias_norm=task.bias_norm,
        )  # fmt: skip
        self.first = self.problem.start() if start is None else self._point(start, task.intercept)

    def steps(self, *, tol: float, max_iter: int) -> Iterator[Step]:
        """Yield steps; `tol` applies to the mean objective."""
        for state in descend(self.problem, self.first, tol=tol * self.total, max_iter=max_iter):
            yield Step(state.iteration, -state.value / self.total, state.point)

    def prepare(self, Z: Sparse) -> Sparse:
        """Return the documents unchanged."""
        return Z

    def scores(self, documents: Sparse, point: Floats) -> Floats:
        """documents·W + b."""
        W, b = self.problem.parameters(point)
        return np.asarray(documents @ W) + b + np.where(self.absent, -np.inf, 0.0)

    def model(self, point: Floats) -> Linear:
        """The scorer at a point."""
        W, b = self.problem.parameters(point)
        bias = np.where(self.absent, -np.inf, b)
        return Linear(np.ascontiguousarray(W.T), bias, weighting=self.weighting, link=self.link)

    def _point(self, start: Linear, intercept: bool) -> Floats:
        bias = np.where(np.isfinite(start.bias), start.bias, 0.0) * intercept
        point: Floats = self.problem.at(np.ascontiguousarray(start.weights().T), bias)  # type: ignore[union-attr]
        return point


def _exclude_classes(loss: Loss, absent: NDArray[np.bool_]) -> Loss:
    """The loss with some classes excluded."""
    if not absent.any():
        return loss
    level = np.where(absent, -np.inf, 0.0)
    return lambda scores: loss(scores + level)


def _scale_each_class(task: _Task, stopping: Stopping) -> Linear:
    """GIS for each class against the rest, given their shares; the score is log p(c|x)/p(c̄|x)."""
    n_classes, n_terms = task.Y.shape[1], task.Z.shape[1]
    refuse_full_table(n_classes, n_terms, "one-vs-rest maximum entropy by GIS")
    if isinstance(task.start, Linear):
        raise UnnaiveError("one-vs-rest GIS starts from 'zero' or 'naive-bayes', not from a model; use solver='lbfgs'")
    columns = task.Y.tocsc()
    bias, weights = np.zeros(n_classes), np.zeros((n_classes, n_terms))
    for c in range(n_classes):
        members = np.zeros(task.Y.shape[0], np.int64)
        members[columns.indices[columns.indptr[c] : columns.indptr[c + 1]]] = 1
        Y = csr_array((np.ones(len(members)), members, np.arange(len(members) + 1)), shape=(len(members), 2))
        pair = run_solver(replace(task, Y=Y, scheme="multiclass", prior=True), stopping)
        both = pair.weights()
        bias[c], weights[c] = pair.bias[1] - pair.bias[0], both[1] - both[0]
    return Linear(weights, bias, weighting=task.weighting, link="log-odds")


def _weighting(features: str, X: Sparse, weight: Floats) -> Weighting:
    """The weighting from counts to features, fitted on the documents."""
    if features == "tf-idf":
        return tf_idf(X, weight)
    return Weighting(norm="l1") if features == "normalised" else Weighting()
