"""Naive Bayes that also learns from documents without a label, by expectation maximisation (Nigam et al. 2000)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.base.elementary import exp, log, logsumexp
from unnaive.base.settings import setting
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.partly_labelled import read_partly_labelled
from unnaive.data.products import dot
from unnaive.data.targets import Targets, list_labels
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.models.estimator import IteratedModel, class_weight_setting
from unnaive.models.naive_bayes import MultinomialNB


class NaiveBayesEM(IteratedModel):
    """Multinomial naive Bayes from labelled and unlabelled documents.

    Documents without a label have a missing y (None or NaN) or, as in scikit-learn's semi-supervised estimators, −1
    among integer labels, with a warning; −1 is an ordinary class if fewer than two others are left, or if labels are
    None or NaN.

    E  q_d(c) = p(c|d) of every unlabelled document by the model so far
    M  naive Bayes from the labelled documents, and from the unlabelled ones as λ q_d(c) documents of each class

    Every step raises Σ_labelled log p(c_d, d) + λ Σ_unlabelled log Σ_c p(c, d) + α Σ_ct log p(t|c).
    λ = 0 is multinomial naive Bayes on the labelled documents. With many unlabelled documents and λ = 1 the few labels
    are outvoted, which helps if classes are clusters of the data and harms otherwise. The default α is 0.1, not
    1: with few labels and α = 1, smoothing outweighs the counts, and EM moves all documents into one class. With
    multilabel targets every document counts as labelled, and the model is plain naive Bayes.

    Nigam, McCallum, Thrun and Mitchell (2000), Text classification from labeled and unlabeled documents using EM.

    >>> X = [[2, 0, 0], [0, 0, 2], [1, 2, 0], [0, 1, 2]]             # the last two have no label
    >>> model = NaiveBayesEM(unlabelled_weight=1).fit(X, ["sport", "politics", None, None])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['sport', 'politics']
    """

    traits = Traits(
        "nb-em", "naive Bayes with unlabelled documents by EM", "documents", poor_score=True, takes_unlabelled=True
    )

    unlabelled_weight: float = setting(
        "λ: weight of an unlabelled document relative to a labelled one; 0 ignores them.",
        default=0.1, at_least=0, at_most=1,
    )  # fmt: skip
    alpha: float = setting(
        "Laplace: added to every count; with 1, a small λ collapses.", default=0.1, above=0, below=np.inf
    )
    fit_prior: bool = setting("Learn class priors from the data; False makes all classes equally likely.", default=True)
    max_iter: int = setting("Maximum number of EM steps.", default=50, at_least=1)
    tol: float = setting("Stop if a step raises the objective by less than this fraction.", default=1e-5, above=0)
    class_weight: Any = class_weight_setting()

    def _check_labelled(
        self, X: Any, y: Any, fitted: Any = None, *, multilabel: bool | None = None
    ) -> tuple[Sparse, Targets, tuple[str, ...] | None]:
        """Check X and y for training; labels may be missing."""
        y = y if y is None or hasattr(y, "__len__") else list_labels(y)  # a generator can be read once
        labels = list(y) if _has_missing(y) else y
        if labels is y:
            documents, _, names = super()._check_labelled(X, y, fitted, multilabel=multilabel)
        else:  # checked with an arbitrary label in place of missing ones
            documents, _, names = super()._check_labelled(X, [0] * len(labels), fitted, multilabel=multilabel)
        return documents, read_partly_labelled(labels, documents.shape[0], multilabel=multilabel), names

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Naive Bayes on the labelled documents first, then EM over all."""
        labelled = np.diff(Y.indptr) > 0
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if not exclusive or self.unlabelled_weight == 0 or not (weight[~labelled] > 0).any():
            rows = np.flatnonzero(labelled | (not exclusive))
            row_weight = None if sample_weight is None else weight[rows]
            plain = MultinomialNB(alpha=self.alpha, fit_prior=self.fit_prior)
            return Learnt(plain.rule(Counts.of(X[rows], Y[rows], row_weight), exclusive=exclusive))
        refuse_full_table(Y.shape[1], X.shape[1], "EM")
        inside, outside = np.flatnonzero(labelled), np.flatnonzero(~labelled)
        return Learnt(self._iterate(X[inside], Y[inside], weight[inside], X[outside], weight[outside], progress))

    def _iterate(
        self,
        X: Sparse,
        Y: Sparse,
        weight: Floats,
        others: Sparse,
        other_weight: Floats,
        progress: ProgressCallback | None,
    ) -> Linear:
        own_terms = np.asarray((Y.T @ X.multiply(weight[:, None])).todense(), np.float64)
        own_docs = np.asarray(Y.T @ weight, np.float64)
        mass = self.unlabelled_weight * other_weight
        terms, docs, before = own_terms, own_docs, -np.inf
        for iteration in range(1, self.max_iter + 1):
            table, prior = self._maximise(terms, docs)
            joint = others @ table.T + prior
            whole = logsumexp(joint, axis=1)
            with np.errstate(invalid="ignore"):
                log_likelihood = float(
                    (own_terms * table).sum() + (own_docs * np.where(own_docs > 0, prior, 0.0)).sum()
                )
            objective = log_likelihood + dot(mass, whole) + self.alpha * float(table.sum())
            if progress is not None:
                progress("em", {"iteration": iteration, "max_iter": self.max_iter, "objective": objective})
            if objective - before <= self.tol * abs(objective):
                break
            before = objective
            shares = exp(joint - whole[:, None]) * mass[:, None]
            terms = own_terms + np.asarray((others.T @ shares).T)
            docs = own_docs + shares.sum(axis=0)
        return Linear(table, bias=prior)

    def _maximise(self, terms: Floats, docs: Floats) -> tuple[Floats, Floats]:
        """log p(t|c) (n_classes, n_terms) and log p(c) (n_classes,) from sums over documents."""
        smoothed = terms + self.alpha
        table = log(smoothed) - log(smoothed.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            shares = docs if self.fit_prior else (docs > 0).astype(np.float64)
            return table, log(shares / shares.sum())


def _has_missing(y: Any) -> bool:
    """Whether some labels are None or NaN, which the usual checks reject."""
    if getattr(y, "ndim", 1) != 1 or isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        return False
    if isinstance(y, np.ndarray) and y.dtype.kind in "iubU":
        return False
    return any(label is None or (isinstance(label, float) and label != label) for label in y)
