"""Selective naive Bayes: terms are added one at a time while accuracy on the training documents does not fall.

Langley and Sage (1994), "Induction of selective Bayesian classifiers". Redundant terms, which violate the independence
assumption of naive Bayes, are left out. The result is a Linear over few terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from unnaive.base.elementary import log, log1p
from unnaive.base.log_functions import log_softmax
from unnaive.base.progress import report_classes, rounds_of
from unnaive.base.settings import setting
from unnaive.base.types import Floats, Ids, ProgressCallback, Sparse
from unnaive.data.counts import Counts
from unnaive.data.products import dot
from unnaive.data.weighting import Weighting, presence
from unnaive.learning.class_limits import ClassCost, DataSize
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear
from unnaive.linear.term_selection import class_gain, information_gain, informative_terms
from unnaive.models.estimator import DocumentsModel, class_weight_setting, scheme_setting
from unnaive.models.state_prior import log_state_prior

TIE = 1e-9  # log-likelihood per document


class SelectiveNB(DocumentsModel):
    """Selective naive Bayes: terms are added one at a time while accuracy on the training documents does not fall.

    This is Bernoulli naive Bayes over greedily selected terms: each round adds the term with the highest accuracy on
    the training documents, ties by conditional log-likelihood; it ends when accuracy would fall, or neither rises. For
    one-vs-rest every class selects its own terms.

    >>> model = SelectiveNB().fit([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]], ["a", "a", "b", "b"])
    >>> model.predict([[1, 1, 0]]).tolist(), model.scorer_.sparse_weights.indices.tolist()   # not the third
    (['a'], [0, 1, 0, 1])
    """

    traits = Traits("selective", "selective naive Bayes", "documents", poor_score=True)

    candidates: int = setting("Candidate terms: this many of highest information gain.", default=100, at_least=1)
    features: int = setting("Maximum number of selected terms.", default=50, at_least=1)
    alpha: float = setting(
        "Pseudo-count: P(t|c) = (df_ct + alpha) / (n_c + 2 alpha).", default=1.0, above=0, below=np.inf
    )
    scheme: str | None = scheme_setting()
    class_weight: Any = class_weight_setting()

    def class_cost(self, size: DataSize, *, exclusive: bool) -> ClassCost:
        """Memory for the scores of all documents, and one trial of every candidate in each round, for each problem."""
        tries = self.candidates * max(self.features // 5, 1)
        if self.scheme_for(exclusive) == "multiclass":
            return ClassCost(held=5 * size.documents, steps=10 * tries * size.documents)
        return ClassCost(held=4 * self.features, steps=tries * (1e4 + 10 * size.documents))

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """Select terms for all classes together, or for each class."""
        documents = _Documents(X, Y, sample_weight)
        if self.scheme_for(exclusive) == "multiclass":
            pool, bernoulli, state = documents.all_classes(self.candidates, self.alpha)
            report = rounds_of(progress, self.traits.name, self.features)
            taken = choose_terms(documents.rows(pool), state, documents.weight, bernoulli, self.features, report)
            class_weights = [
                ClassWeights(pool[taken], ratio, bias) for ratio, bias in zip(*bernoulli.over(taken), strict=True)
            ]
            return Learnt(_linear(class_weights, X.shape[1], "softmax"))
        class_weights = []
        classes = range(documents.counts.n_classes)
        for c in report_classes(classes, len(classes), progress, self.traits.name):
            pool, bernoulli, state = documents.one_class(c, self.candidates, self.alpha)
            taken = choose_terms(documents.rows(pool), state, documents.weight, bernoulli, self.features)
            ratio, bias = bernoulli.over(taken)
            class_weights.append(ClassWeights(pool[taken], ratio[1] - ratio[0], float(bias[1] - bias[0])))
        return Learnt(_linear(class_weights, X.shape[1], "log-odds"))


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """The weights of a class's terms, and its bias."""

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
    def of(cls, with_term: Floats, totals: Floats, alpha: float, *, exclusive: bool) -> Bernoulli:
        """From documents with each term by state (states, k), and documents of each state (states,).

        The states are `exclusive` classes, or the rest and one class.
        """
        p = (with_term + alpha) / (totals[:, None] + 2 * alpha)
        return cls(log_state_prior(totals, exclusive=exclusive), log(p), log1p(-p))

    def over(self, taken: list[int]) -> tuple[Floats, Floats]:
        """Weights (states, taken) and biases (states,) of naive Bayes over some of the terms."""
        ratio = self.present[:, taken] - self.absent[:, taken]
        return ratio, self.prior + self.absent[:, taken].sum(axis=1)


class _Documents:
    """The documents in the form that both schemes need."""

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
        """The best terms, their Bernoulli model over all classes, and the class of each document."""
        pool = informative_terms(information_gain(self.counts), k)
        with_term = self.counts.class_df[:, pool].toarray().astype(np.float64)
        state = np.asarray(self.labels.argmax(axis=1), np.int64).ravel()
        return pool, Bernoulli.of(with_term, self.counts.class_docs.astype(np.float64), alpha, exclusive=True), state

    def one_class(self, c: int, k: int, alpha: float) -> tuple[Ids, Bernoulli, Ids]:
        """The same for one class (1) and its complement (0)."""
        inside = self.counts.class_df[[c], :].toarray()[0].astype(np.float64)
        df, n_inside, total = self.counts.df.astype(np.float64), self.counts.class_docs[c], self.counts.n_docs
        pool = informative_terms(class_gain(self.counts, c), k)
        with_term = np.stack([df[pool] - inside[pool], inside[pool]])
        state = (self.by_class[:, [c]].toarray()[:, 0] > 0).astype(np.int64)
        totals = np.array([total - n_inside, n_inside], np.float64)
        return pool, Bernoulli.of(with_term, totals, alpha, exclusive=False), state


def choose_terms(
    rows: NDArray[np.bool_], state: Ids, weight: Floats, model: Bernoulli, most: int,
    report: Callable[[int], None] = lambda number: None,
) -> list[int]:  # fmt: skip
    """The indices of at most `most` selected terms, in the order of selection."""
    taken: list[int] = []
    joint = np.repeat(model.prior[None], len(rows), axis=0)  # log P(taken terms, state) (n_docs, states)
    best = (_weight_correct(joint, state, weight), _log_likelihood(joint, state, weight))
    while len(taken) < min(most, rows.shape[1]):
        report(len(taken))
        term, value = _best_addition(joint, rows, state, weight, model, taken)
        if value[0] < best[0] or (value[0] == best[0] and value[1] <= best[1] + TIE * weight.sum()):
            break
        joint, best = _with_term(joint, rows, model, term), value
        taken.append(term)
    return taken


def _best_addition(
    joint: Floats, rows: NDArray[np.bool_], state: Ids, weight: Floats, model: Bernoulli, taken: list[int]
) -> tuple[int, tuple[float, float]]:
    """The term with the highest accuracy, ties by likelihood, then by index; with both values."""
    terms = [term for term in range(rows.shape[1]) if term not in set(taken)]
    right = np.array([_weight_correct(_with_term(joint, rows, model, term), state, weight) for term in terms])
    tied = [terms[at] for at in np.flatnonzero(right == right.max())]
    likelihood = [_log_likelihood(_with_term(joint, rows, model, term), state, weight) for term in tied]
    best = int(np.argmax(likelihood))
    return tied[best], (float(right.max()), likelihood[best])


def _with_term(joint: Floats, rows: NDArray[np.bool_], model: Bernoulli, term: int) -> Floats:
    added: Floats = joint + np.where(rows[:, [term]], model.present[:, term], model.absent[:, term])
    return added


def _weight_correct(joint: Floats, state: Ids, weight: Floats) -> float:
    return float(weight[joint.argmax(axis=1) == state].sum())


def _log_likelihood(joint: Floats, state: Ids, weight: Floats) -> float:
    return dot(weight, log_softmax(joint)[np.arange(len(state)), state])


def _linear(classes: list[ClassWeights], n_terms: int, link: str) -> Linear:
    indptr = np.cumsum([0, *(len(row.terms) for row in classes)])
    cells = [np.concatenate([getattr(row, name) for row in classes]) for name in ("weights", "terms")]
    arcs = csr_array((cells[0], cells[1], indptr), shape=(len(classes), n_terms))
    arcs.sort_indices()
    return Linear(arcs, np.array([row.bias for row in classes]), weighting=Weighting("binary"), link=link)
