"""Selective naive Bayes: terms are added one at a time, as long as accuracy on the training documents does not fall.

Langley and Sage (1994), "Induction of selective Bayesian classifiers". Terms that only repeat what others say are left
out, which is where naive Bayes is naive. The outcome is a Linear over few terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.log_functions import log_softmax
from unnaive.base.progress import report_classes, rounds_of
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting, presence
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.linear.linear import Linear
from unnaive.linear.selection import class_gain, information_gain, informative_terms
from unnaive.models.estimator import DocumentsModel, class_weight_setting, scheme_setting
from unnaive.models.state_prior import state_prior

TIE = 1e-9  # log-likelihood per document


class SelectiveNB(DocumentsModel):
    """Selective naive Bayes: terms are added one at a time, as long as accuracy on training documents does not fall.

    Bernoulli naive Bayes over terms chosen greedily: each round takes the term that gives the highest accuracy on the
    training documents, ties by conditional log-likelihood; it ends when accuracy would fall, or when nothing rises. For
    one-vs-rest every class chooses for itself.

    >>> model = SelectiveNB().fit([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]], ["a", "a", "b", "b"])
    >>> model.predict([[1, 1, 0]]).tolist(), model.scorer_.sparse_weights.indices.tolist()   # not the third
    (['a'], [0, 1, 0, 1])
    """

    name = "selective"
    title = "selective naive Bayes"
    poor_score = True

    candidates: int = setting("Terms looked at, the best by information gain.", default=100, at_least=1)
    features: int = setting("At most so many terms are taken.", default=50, at_least=1)
    alpha: float = setting(
        "Pseudo-count: P(t|c) = (df_ct + alpha) / (n_c + 2 alpha).", default=1.0, above=0, below=np.inf
    )
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """A score for each document, or rounds of their own for each class; every candidate is tried in each round."""
        tries = self.candidates * max(self.features // 5, 1)
        if self.scheme_for(exclusive) == "multiclass":
            return ClassCost(held=5 * size.documents, steps=10 * tries * size.documents)
        return ClassCost(held=4 * self.features, steps=tries * (1e4 + 10 * size.documents))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Linear:  # fmt: skip
        """Terms chosen for all classes together, or for each class."""
        documents = _Documents(X, Y, sample_weight)
        if self.scheme_for(exclusive) == "multiclass":
            pool, bernoulli, state = documents.all_classes(self.candidates, self.alpha)
            report = rounds_of(progress, self.name, self.features)
            taken = choose_terms(documents.rows(pool), state, documents.weight, bernoulli, self.features, report)
            found = [ClassWeights(pool[taken], ratio, bias) for ratio, bias in zip(*bernoulli.over(taken), strict=True)]
            return _linear(found, X.shape[1], "softmax")
        found = []
        classes = range(documents.counts.n_classes)
        for c in report_classes(classes, len(classes), progress, self.name):
            pool, bernoulli, state = documents.one_class(c, self.candidates, self.alpha)
            taken = choose_terms(documents.rows(pool), state, documents.weight, bernoulli, self.features)
            ratio, bias = bernoulli.over(taken)
            found.append(ClassWeights(pool[taken], ratio[1] - ratio[0], float(bias[1] - bias[0])))
        return _linear(found, X.shape[1], "log-odds")


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """What one class says: weights of its terms, and a bias."""

    terms: Ids
    weights: Floats
    bias: float


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """log P(state) (states,), log P(present | state) and log P(absent | state) (states, k) of k candidate terms."""

    prior: Floats
    present: Floats
    absent: Floats

    @classmethod
    def of(cls, with_term: Floats, totals: Floats, alpha: float) -> Bernoulli:
        """From documents with each term by state (states, k), and documents of each state (states,)."""
        p = (with_term + alpha) / (totals[:, None] + 2 * alpha)
        return cls(np.log(state_prior(totals)), np.log(p), np.log1p(-p))

    def over(self, taken: list[int]) -> tuple[Floats, Floats]:
        """Weights (states, taken) and biases (states,) of naive Bayes over some of the terms."""
        ratio = self.present[:, taken] - self.absent[:, taken]
        return ratio, self.prior + self.absent[:, taken].sum(axis=1)


class _Documents:
    """The documents as both schemes need them."""

    def __init__(self, X: Sparse, Y: Sparse, sample_weight: NDArray[Any] | None) -> None:
        present = presence(X)
        self.labels = csr_array(Y)
        self.counts = Counts.of(present, self.labels, sample_weight)
        self.by_term, self.by_class = csc_array(present), csc_array(self.labels)
        self.weight = np.ones(present.shape[0]) if sample_weight is None else np.asarray(sample_weight, np.float64)

    def rows(self, pool: Ids) -> NDArray[np.bool_]:
        rows: NDArray[np.bool_] = self.by_term[:, pool].toarray() > 0
        return rows

    def all_classes(self, k: int, alpha: float) -> tuple[Ids, Bernoulli, Ids]:
        """The best terms, what they say of each class, and the class of each document."""
        pool = informative_terms(information_gain(self.counts), k)
        with_term = self.counts.class_df[:, pool].toarray().astype(np.float64)
        state = np.asarray(self.labels.argmax(axis=1), np.int64).ravel()
        return pool, Bernoulli.of(with_term, self.counts.class_docs.astype(np.float64), alpha), state

    def one_class(self, c: int, k: int, alpha: float) -> tuple[Ids, Bernoulli, Ids]:
        """The same of one class (1) and its rest (0)."""
        inside = self.counts.class_df[[c], :].toarray()[0].astype(np.float64)
        df, own, total = self.counts.df.astype(np.float64), float(self.counts.class_docs[c]), float(self.counts.n_docs)
        pool = informative_terms(class_gain(self.counts, c), k)
        with_term = np.stack([df[pool] - inside[pool], inside[pool]])
        state = (self.by_class[:, [c]].toarray()[:, 0] > 0).astype(np.int64)
        return pool, Bernoulli.of(with_term, np.array([total - own, own]), alpha), state


def choose_terms(
    rows: NDArray[np.bool_], state: Ids, weight: Floats, model: Bernoulli, most: int,
    report: Callable[[int], None] = lambda number: None,
) -> list[int]:  # fmt: skip
    """The places of the terms taken, in the order in which they were; at most `most`."""
    taken: list[int] = []
    joint = np.repeat(model.prior[None], len(rows), axis=0)  # log P(taken terms, state) (n_docs, states)
    best = (_weight_correct(joint, state, weight), _log_likelihood(joint, state, weight))
    while len(taken) < min(most, rows.shape[1]):
        report(len(taken))
        place, value = _best_addition(joint, rows, state, weight, model, taken)
        if value[0] < best[0] or (value[0] == best[0] and value[1] <= best[1] + TIE * weight.sum()):
            break
        joint, best = _with_term(joint, rows, model, place), value
        taken.append(place)
    return taken


def _best_addition(
    joint: Floats, rows: NDArray[np.bool_], state: Ids, weight: Floats, model: Bernoulli, taken: list[int]
) -> tuple[int, tuple[float, float]]:
    """The term that gives the highest accuracy, ties by likelihood, then by place; with both values."""
    places = [place for place in range(rows.shape[1]) if place not in set(taken)]
    right = np.array([_weight_correct(_with_term(joint, rows, model, place), state, weight) for place in places])
    tied = [places[at] for at in np.flatnonzero(right == right.max())]
    likelihood = [_log_likelihood(_with_term(joint, rows, model, place), state, weight) for place in tied]
    best = int(np.argmax(likelihood))
    return tied[best], (float(right.max()), likelihood[best])


def _with_term(joint: Floats, rows: NDArray[np.bool_], model: Bernoulli, place: int) -> Floats:
    added: Floats = joint + np.where(rows[:, [place]], model.present[:, place], model.absent[:, place])
    return added


def _weight_correct(joint: Floats, state: Ids, weight: Floats) -> float:
    return float(weight[joint.argmax(axis=1) == state].sum())


def _log_likelihood(joint: Floats, state: Ids, weight: Floats) -> float:
    return float(weight @ log_softmax(joint)[np.arange(len(state)), state])


def _linear(found: list[ClassWeights], n_terms: int, link: str) -> Linear:
    indptr = np.cumsum([0, *(len(row.terms) for row in found)])
    cells = [np.concatenate([getattr(row, name) for row in found]) for name in ("weights", "terms")]
    arcs = csr_array((cells[0], cells[1], indptr), shape=(len(found), n_terms))
    arcs.sort_indices()
    return Linear(arcs, np.array([row.bias for row in found]), weighting=Weighting("binary"), link=link)
