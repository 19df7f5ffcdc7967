"""The members of the pool: linear models of one weighting, so that any weighted sum of them is one linear model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.dual import softmax, squared_hinge
from unnaive.core.targets import one_label_matrix
from unnaive.core.weighting import presence
from unnaive.models.naive_bayes import ComplementNB
from unnaive.models.nbsvm import log_count_ratio
from unnaive.types import Floats, Ids, Sparse


@dataclass(frozen=True)
class Candidate:
    """A family with its settings."""

    family: str
    settings: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Training:
    """Documents of one view: counts X and weighted Z (n_docs, n_terms), their classes and weights."""

    X: Sparse
    Z: Sparse
    targets: Ids
    n_classes: int
    weight: Floats | None
    tol: float
    random_state: int
    n_jobs: int

    @property
    def Y(self) -> Sparse:
        """The classes as a matrix (n_docs, n_classes)."""
        return one_label_matrix(self.targets, self.n_classes)


Weights = tuple[Floats, Floats]  # weights (n_classes, n_terms) and bias (n_classes,)


def _complement(data: Training, alpha: float) -> Weights:
    """Complement naive Bayes on weighted documents, centred over the classes."""
    masses = data.Z.maximum(0.0)  # 1 + log n of a fraction of a word may be below 0
    weights = ComplementNB(alpha=alpha).rule(Counts.of(masses, data.Y, data.weight)).weights()
    return weights - weights.mean(axis=0), np.zeros(data.n_classes)


def _maxent(data: Training, C: float, strength: float, alpha: float) -> Weights:
    """Softmax with the L2 prior centred on `strength` times complement naive Bayes."""
    prior = strength * _complement(data, alpha)[0]
    found = softmax(
        data.Z, data.targets, data.n_classes, C=C, prior=prior, weight=data.weight, tol=data.tol,
        random_state=data.random_state,
    )  # fmt: skip
    return found.weights, found.bias


def _hinge(data: Training, C: float, scale: Floats | None) -> Weights:
    found = squared_hinge(
        data.Z, data.Y, C=C, scale=scale, weight=data.weight, tol=data.tol, random_state=data.random_state,
        n_jobs=data.n_jobs,
    )  # fmt: skip
    return found.weights, found.bias


def _svm(data: Training, C: float) -> Weights:
    return _hinge(data, C, None)


def _nbsvm(data: Training, C: float) -> Weights:
    return _hinge(data, C, log_count_ratio(Counts.of(presence(data.X), data.Y, data.weight), 1.0))


FAMILIES: dict[str, Callable[..., Weights]] = {
    "complement": _complement,
    "maxent": _maxent,
    "svm": _svm,
    "nbsvm": _nbsvm,
}

THOROUGH = (
    *(Candidate("complement", (alpha,)) for alpha in (0.03, 0.1, 0.3, 1.0)),
    *(Candidate("maxent", (C, s, alpha)) for alpha in (0.1, 1.0) for C, s in ((1.0, 1.0), (10.0, 1.0), (10.0, 0.5))),
    *(Candidate("nbsvm", (C,)) for C in (0.1, 0.3, 1.0)),
    *(Candidate("svm", (C,)) for C in (0.3, 1.0, 3.0)),
)
BRIEF = (
    *(Candidate("complement", (alpha,)) for alpha in (0.1, 0.3)),
    *(Candidate("maxent", (C, 1.0, 0.1)) for C in (1.0, 10.0)),
    Candidate("nbsvm", (0.3,)),
)


def fit_member(candidate: Candidate, data: Training) -> Weights:
    """The weights and bias of a candidate; a class without documents is never chosen."""
    weights, bias = FAMILIES[candidate.family](data, *candidate.settings)
    absent = np.bincount(data.targets, minlength=data.n_classes) == 0
    return weights, np.where(absent, -1e6, bias)


def member_scores(found: Weights, Z: Sparse) -> Floats:
    """Scores (n_docs, n_classes)."""
    return np.asarray(csr_array(Z) @ found[0].T) + found[1]
