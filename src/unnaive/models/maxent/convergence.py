"""When to stop an iterative learner: at convergence, at the best iteration on held-out documents, or on Ctrl-C.

A solver is a Trainer, which yields a Step for every iteration (gis.py, learner.py); a Task creates one from documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.linear.linear import Linear

RowNumbers = NDArray[np.intp]

PATIENCE = 20  # stop if the best iteration is b and iteration 2b + PATIENCE has passed


@dataclass(frozen=True, eq=False)
class Step:
    """The state of a solver after `iteration` updates: its mean log-likelihood per document, minus any penalty."""

    iteration: int
    log_likelihood: float
    point: Floats


class Trainer(Protocol):
    """A running solver; its points are flat arrays whose meaning only it knows."""

    def steps(self, *, tol: float, max_iter: int) -> Iterator[Step]:
        """Yield the start and every iteration, up to convergence or max_iter."""

    def prepare(self, Z: Sparse) -> Any:
        """Convert other documents for `scores`."""

    def scores(self, documents: Any, point: Floats) -> Floats:
        """Scores (n_docs, n_classes) of prepared documents."""

    def model(self, point: Floats) -> Linear:
        """The scorer at a point."""


class Task(Protocol):
    """Documents Z (n_docs, n_terms) with labels Y (n_docs, n_classes), and the settings for learning from them."""

    @property
    def Z(self) -> Sparse:
        """Weighted documents."""

    @property
    def Y(self) -> Sparse:
        """Their labels, 0/1."""

    @property
    def solver(self) -> str:
        """The name of the solver, for the progress line."""

    def at(self, rows: RowNumbers) -> Self:
        """The same task with some of the documents."""

    def trainer(self) -> Trainer:
        """A solver at its start."""

    def error(self, scores: Floats) -> float:
        """The error of the scores (n_docs, n_classes) of these documents."""


@dataclass(frozen=True)
class Stopping:
    """When to stop; `progress` is called in every iteration.

    held_out  the share of documents used to select the iteration; 0 for none
    seed      random seed for choosing these documents
    """

    tol: float
    max_iter: int
    held_out: float = 0.0
    keep_on_interrupt: bool = False
    seed: int = 0
    progress: ProgressCallback | None = None

    def report(self, solver: str, step: Step, **more: float) -> None:
        """Report the progress of an iteration."""
        if self.progress is not None:
            rounds = {"iteration": step.iteration, "max_iter": self.max_iter}
            self.progress(solver, rounds | {"log_likelihood": step.log_likelihood, **more})


def run_solver(task: Task, stopping: Stopping) -> Linear:
    """The model at convergence or, with held-out documents, the model of all documents after the best number of steps.

    If there are too few documents to hold any out, training runs to convergence.
    """
    if stopping.held_out:
        train, held_out = split_held_out(task.Y, stopping.held_out, stopping.seed)
        if len(held_out):
            model, best, interrupted = _best_iteration(task.at(train), task.at(held_out), stopping)
            if interrupted:
                return model
            stopping = replace(stopping, max_iter=best, tol=-np.inf)
    trainer = task.trainer()
    point = None
    try:
        for step in trainer.steps(tol=stopping.tol, max_iter=stopping.max_iter):
            point = step.point
            stopping.report(task.solver, step)
    except KeyboardInterrupt:
        if not stopping.keep_on_interrupt or point is None:
            raise
    return trainer.model(point)  # type: ignore[arg-type]  # there is always a first step


def _best_iteration(task: Task, judge: Task, stopping: Stopping) -> tuple[Linear, int, bool]:
    """The model of the iteration with the lowest error on `judge`, its number, and whether it was interrupted."""
    trainer = task.trainer()
    documents = trainer.prepare(judge.Z)
    best, lowest, interrupted = Step(0, -np.inf, np.zeros(0)), np.inf, False
    try:
        for step in trainer.steps(tol=stopping.tol, max_iter=stopping.max_iter):
            error = judge.error(trainer.scores(documents, step.point))
            stopping.report(task.solver, step, held_out_error=error)
            if error < lowest or step.iteration == 0:
                best, lowest = step, error
            if step.iteration > 2 * best.iteration + PATIENCE:
                break
    except KeyboardInterrupt:
        if not stopping.keep_on_interrupt or not best.point.size:
            raise
        interrupted = True
    return trainer.model(best.point), best.iteration, interrupted


def split_held_out(Y: Sparse, share: float, seed: int) -> tuple[RowNumbers, RowNumbers]:
    """Training rows, which include a document of every class, and held-out rows: a random share.

    Nothing is held out if every document is the only one of its class.

    >>> train, held_out = split_held_out(csr_array([[1, 0]] * 8 + [[0, 1]] * 2), 0.2, seed=0)
    >>> len(train), len(held_out)
    (8, 2)
    """
    n_docs = Y.shape[0]
    shuffled = np.random.default_rng(seed).permutation(n_docs)
    by_class = csr_array(Y[shuffled]).tocsc()
    starts = by_class.indptr[:-1][np.diff(by_class.indptr) > 0]
    free = np.setdiff1d(np.arange(n_docs), by_class.indices[starts])
    held_out = free[: max(round(share * n_docs), 1)]
    return np.sort(np.delete(shuffled, held_out)), np.sort(shuffled[held_out])
