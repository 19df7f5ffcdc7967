"""Naive Bayes: multinomial, Bernoulli and complement. The weights are logarithms of smoothed term probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log, log1p
from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.settings import setting
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.data.arrays import stored
from unnaive.data.counts import ROUNDING, Counts
from unnaive.data.weighting import Weighting
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, refuse_full_table
from unnaive.linear.smoothing import SMOOTHINGS, Laplace, LogTable, Smoothing, effective_alpha, find_smoothing
from unnaive.linear.unsmoothed import Unsmoothed
from unnaive.models.estimator import CountsModel, class_weight_setting, scheme_setting

Prior = str | Sequence[float] | NDArray[Any]

LINK_OF_SCHEME = {"multiclass": "softmax", "one-vs-rest": "log-odds"}
CERTAIN = 1e-12  # probabilities of presence stay this far from 0 and 1, so that no single term decides alone


class _NaiveBayes(CountsModel):
    """Common parts of the naive Bayes classes: the prior, and scikit-learn's names of fitted attributes."""

    alpha: float | list[float]
    force_alpha: bool

    scheme: str | None = scheme_setting()
    fit_prior: bool = setting("Learn class priors from the data; False makes all classes equally likely.", default=True)
    class_prior: Any = setting("Prior probability of each class, in the order of the classes.", default=None)
    class_weight: Any = class_weight_setting()

    @property
    def prior(self) -> Prior:
        """The prior for rules: probabilities, "data" or "uniform"."""
        if self.class_prior is not None:
            prior: Prior = self.class_prior
            return prior
        return "data" if self.fit_prior else "uniform"

    @property
    def _as_trained(self) -> Self:
        """The model with the settings that it was fitted with, regardless of later changes."""
        trained: Self = self._fitted().spec.model  # type: ignore[assignment]
        return trained

    def _check_alpha(self, n_terms: int | None = None) -> float | Floats:
        """The alpha that is used, for this number of terms or that of the fitted model."""
        return effective_alpha(self.alpha, n_terms or self.n_features_in_, force=self.force_alpha)

    @property
    def class_log_prior_(self) -> Floats:
        """log p(c) (n_classes,)."""
        return log_prior(self.counts_, self._as_trained.prior)

    @property
    def feature_log_prob_(self) -> Floats:
        """The logarithms of the term probabilities used for scoring (n_classes, n_terms)."""
        linear: Linear = self.scorer_
        return linear.weights()


def _alpha_setting() -> Any:
    return setting(
        "Additive (Laplace) smoothing: added to every count.",
        default=1.0,
        at_least=0,
        below=np.inf,
        more="A list has one number for each term. 0 does not smooth (maximum likelihood).",
    )


def _force_alpha_setting() -> Any:
    return setting("False raises an alpha below 1e-10 to it, with a warning, as in scikit-learn.", default=True)


def _beta_setting(default: float) -> Any:
    return setting("Jelinek–Mercer: weight of the corpus in each probability.", default=default, above=0, at_most=1)


class _SmoothedNB(_NaiveBayes):
    """Common parts of the multinomial and the Bernoulli class: the smoothing and its settings."""

    smoothing: str = setting(
        "Smoothing of term probabilities: laplace, jelinek-mercer or absolute.",
        default="laplace",
        choices=tuple(SMOOTHINGS),
    )
    alpha: float | list[float] = _alpha_setting()
    force_alpha: bool = _force_alpha_setting()
    beta: float = _beta_setting(0.7)
    discount: float | str = setting(
        'Absolute discounting: subtracted from every nonzero count; "auto" estimates it from the counts.',
        default="auto",
        choices=("auto",),
        above=0,
        below=1,
    )

    def smoothing_of(self, cells: Sparse) -> Smoothing:
        """The smoothing for a table of counts, class_terms or class_df."""
        alpha = self._check_alpha(cells.shape[1]) if self.smoothing == "laplace" else 1.0
        return find_smoothing(self.smoothing, cells, alpha=alpha, beta=self.beta, discount=self.discount)


class MultinomialNB(_SmoothedNB):
    """Multinomial naive Bayes: every word of a document is a draw from its class.

    multiclass   score = log p(c) + Σ_t n_t log p(t|c)
    one-vs-rest  score = log p(c)/p(c̄) + Σ_t n_t log p(t|c)/p(t|c̄), c̄ all documents outside c

    With alpha=0, a term that a class never had gives the class −∞ (multiclass; 1e-10 stands for 0 in one-vs-rest).
    Unknown terms are ignored; an empty document gets the prior. Manning, Raghavan and Schütze (2008), 13.2; or-gate
    paper, eq. 3–6.

    >>> model = MultinomialNB().fit([[2, 0], [0, 1]], ["sport", "politics"])   # "ball ball", "vote"
    >>> model.predict([[1, 0]]).tolist(), np.exp(model.feature_log_prob_).round(2).tolist()
    (['sport'], [[0.33, 0.67], [0.75, 0.25]])
    """

    traits = Traits(
        "multinomial", "multinomial naive Bayes", "counts", scorer_kinds=("linear", "unsmoothed"), poor_score=True
    )

    beta: float = _beta_setting(0.7)

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear | Unsmoothed:
        """weight[c, t] = log p(t|c), less log p(t|c̄) for one-vs-rest; −∞ is left to `Unsmoothed`."""
        linear, strict = self._finite_rule(counts, exclusive)
        return linear if strict is None else Unsmoothed(linear, strict)

    def linear_rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """The same for an alpha above 0."""
        return self._finite_rule(counts, exclusive)[0]

    def _finite_rule(self, counts: Counts, exclusive: bool) -> tuple[Linear, NDArray[np.bool_] | None]:
        """The finite weights, and the terms whose missing cells have a probability of 0."""
        scheme = self.scheme_for(exclusive)
        smoothing = self.smoothing_of(stored(counts, "class_terms"))
        if scheme == "multiclass":
            table, bias = smoothing.multinomial_log_prob(counts), log_prior(counts, self.prior)
        else:
            smoothing = smoothing.above_zero() if isinstance(smoothing, Laplace) else smoothing
            table = smoothing.multinomial_log_prob(counts) - smoothing.rest_log_prob(counts)
            bias = log_prior_odds(counts, self.prior)
        reserves = smoothing.reserves and table.strict is None
        is_counted = None if reserves or counts.terms.all() else (counts.terms > 0).astype(np.float64)
        linear = _linear(table, bias, Weighting(idf=is_counted), LINK_OF_SCHEME[scheme])
        return linear, None if table.strict is None else table.strict & (counts.terms > 0)

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(t|c) (n_classes, n_terms), whatever the scheme."""
        counts = self.counts_
        return self._as_trained.smoothing_of(counts.class_terms).multinomial_log_prob(counts).dense()

    def to_maxent(self) -> Linear:
        """The maximum-entropy model with the same posteriors on documents of unit length: weights() = λ, no bias.

        λ_ct = log p(c) + log p(t|c); exclusive classes only.

        >>> MultinomialNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).to_maxent().weights().round(2)
        array([[-1.79, -1.1 ],
               [-0.98, -2.08]])
        """
        from unnaive.models.maxent.bridge import to_maxent  # imports scipy.special, which predicting does not need

        scorer = self._fitted().scorer
        if not isinstance(scorer, Linear):
            raise UnnaiveError("a probability of 0 has no maximum-entropy weight; fit again with alpha above 0")
        return to_maxent(replace(scorer, weighting=replace(scorer.weighting, norm="l1")))


class BernoulliNB(_SmoothedNB):
    """Bernoulli naive Bayes: every term of the vocabulary is present or absent, and both count.

    multiclass   score = log p(c) + Σ_{t in d} log p(t|c) + Σ_{t not in d} log (1 − p(t|c))
    one-vs-rest  the same, minus that of c̄

    The sum over absent terms becomes a sum over all terms in the bias, which present terms subtract again:
    bias = log p(c) + Σ_t log (1 − p(t|c)), weight = log p(t|c) − log (1 − p(t|c)).

    Manning, Raghavan and Schütze (2008), 13.3. If the evidence of unseen cells is not the sum of a class part and a
    term part (one-vs-rest, absolute discounting), weights are stored for every class and term.

    >>> BernoulliNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict_proba([[1, 0]])
    array([[0.2, 0.8]])
    """

    traits = Traits("bernoulli", "Bernoulli naive Bayes", "counts", poor_score=True)

    beta: float = _beta_setting(0.1)

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """weight[c, t] = log p(t|c) − log (1 − p(t|c)), less that of c̄ for one-vs-rest."""
        scheme = self.scheme_for(exclusive)
        smoothing = self.smoothing_of(counts.class_df)
        present, absent = _evidence(_presence(smoothing, counts))
        if scheme == "multiclass":
            prior_part = log_prior(counts, self.prior)
        else:
            present_in_rest, absent_in_rest = _evidence(_presence_in_rest(smoothing, counts))
            present, absent = present - present_in_rest, absent - absent_in_rest
            prior_part = log_prior_odds(counts, self.prior)
        bias = prior_part + absent.sum_over_terms(counts.class_df)
        return _linear_of_cells(present - absent, counts.class_df, bias, LINK_OF_SCHEME[scheme])

    @property
    def feature_log_prob_(self) -> Floats:
        """log p(t present | c) (n_classes, n_terms), whatever the scheme."""
        counts = self.counts_
        present, _ = _evidence(_presence(self._as_trained.smoothing_of(counts.class_df), counts))
        return np.asarray(present.minus_unseen(counts.class_df).toarray() + present.unseen)

    @property
    def feature_count_(self) -> Floats:
        """Documents of each class with each term (n_classes, n_terms), dense, as in scikit-learn."""
        return np.asarray(self.counts_.class_df.toarray(), np.float64)


class ComplementNB(_NaiveBayes):
    """Complement naive Bayes: predicts the class whose complement explains the document worst.

    multiclass   weight = −log p(t|c̄),  p(t|c̄) = (N_•t − N_ct + α) / (N − N_c• + αM)
    one-vs-rest  weight = log p(t|D) − log p(t|c̄): the same order of classes, and 0 where c does not stand out

    An alpha of 0 counts as 1e-10, so that a term of a single class has a finite weight.

    Rennie, Shih, Teevan and Karger (2003) use no prior: hence `fit_prior` is False. A class without documents is never
    predicted.

    >>> ComplementNB().fit([[2, 0], [0, 1]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits("complement", "complement naive Bayes", "counts", poor_score=True)

    alpha: float | list[float] = _alpha_setting()
    force_alpha: bool = _force_alpha_setting()
    norm: bool = setting("Divide the weights of each class by Σ_t |log p(t|c̄)|.", default=False)
    fit_prior: bool = setting("Add class priors learnt from the data; False, as published, adds none.", default=False)

    @property
    def feature_all_(self) -> Floats:
        """Occurrences of each term in all classes (n_terms,), as in scikit-learn."""
        return np.asarray(self.counts_.terms, np.float64)

    def rule(self, counts: Counts, *, exclusive: bool = True) -> Linear:
        """weight[c, t] = −log p(t|c̄), plus log p(t|D) for one-vs-rest."""
        scheme = self.scheme_for(exclusive)
        smoothing = Laplace(self._check_alpha(counts.n_terms)).above_zero()
        rest = smoothing.rest_log_prob(counts)
        if scheme == "multiclass":
            bias, corpus = log_prior(counts, self.prior), np.zeros(counts.n_terms)
        else:
            bias = log_prior_odds(counts, self.prior)
            corpus = log(counts.terms + smoothing.alpha) - log(counts.total + smoothing.sum_over(counts.n_terms))
        table = LogTable(-rest.cells, -rest.of_class, corpus - rest.of_term)
        if not self.norm:
            return _linear(table, bias, Weighting(), LINK_OF_SCHEME[scheme])
        refuse_full_table(counts.n_classes, counts.n_terms, "complement naive Bayes with norm")
        return Linear(table.dense() / -rest.dense().sum(axis=1, keepdims=True), bias, link=LINK_OF_SCHEME[scheme])


def log_prior(counts: Counts, prior: Prior) -> Floats:
    """log p(c) (n_classes,): from the shares of documents, uniform over classes with documents, or as given.

    A class without documents gets −∞ unless `prior` gives its probability; if no class has documents, all are equal.

    >>> counts = Counts.of(csr_array([[1], [1], [1], [1]]), csr_array([[1, 0], [1, 0], [1, 0], [0, 1]]))
    >>> np.exp(log_prior(counts, "data")), np.exp(log_prior(counts, "uniform"))
    (array([0.75, 0.25]), array([0.5, 0.5]))
    """
    if not isinstance(prior, str):
        return log(_given_prior(prior, counts.n_classes))
    docs = _documents_of_prior(counts, prior)
    whole = counts.n_docs if prior == "data" and counts.n_docs else docs.sum()
    with np.errstate(divide="ignore"):
        return np.asarray(log(docs) - log(whole))


def log_prior_odds(counts: Counts, prior: Prior) -> Floats:
    """log p(c)/(1 − p(c)) (n_classes,); "uniform" gives a class and its complement the same probability.

    A complement without documents counts as half a document, so that odds stay finite; a class without documents gets
    −∞.
    """
    if not isinstance(prior, str):
        prior_ = _given_prior(prior, counts.n_classes)
        return log(prior_) - log1p(-np.minimum(prior_, 1 - CERTAIN))
    docs = _documents_of_prior(counts, prior)
    rest = counts.n_docs - docs if prior == "data" else np.ones(len(docs))
    some = rest > ROUNDING * counts.n_docs  # sums of fractional weights differ by rounding from those of the corpus
    with np.errstate(divide="ignore"):
        return log(docs) - log(np.where(some, rest, 0.5))


def _documents_of_prior(counts: Counts, prior: str) -> Floats:
    """Documents of each class (n_classes,); 1 each for "uniform", or if there are no documents at all."""
    docs: Floats = np.asarray(counts.class_docs, np.float64)
    if choose(["data", "uniform"], prior, "prior") == "uniform":
        docs = (docs > 0).astype(np.float64)
    return docs if docs.any() else np.ones(len(docs))


def _given_prior(prior: Any, n_classes: int) -> Floats:
    try:
        probabilities = np.asarray(prior, np.float64)
    except (TypeError, ValueError):
        probabilities = np.zeros(0)
    if probabilities.shape != (n_classes,) or not bool(np.all((probabilities > 0) & (probabilities <= 1))):
        raise UnnaiveError(
            f"class_prior came as {prior!r}; Number of priors must match number of classes: give {n_classes} "
            "probabilities above 0"
        )
    return probabilities


def _linear(table: LogTable, bias: Floats, weighting: Weighting, link: str) -> Linear:
    term_offset = table.of_term if table.of_term.any() else None
    return Linear(stored(table, "cells"), bias, table.of_class, term_offset, weighting, link)


@dataclass(frozen=True, eq=False)
class _Cells:
    """A value for every (class, term): stored individually for seen cells, and by class or term for the others.

    seen    (n_seen,), in the order of class_df.data
    unseen  (n_classes, 1), (1, n_terms) or (n_classes, n_terms)
    """

    seen: Floats
    unseen: Floats

    def __sub__(self, other: _Cells) -> _Cells:
        return _Cells(self.seen - other.seen, self.unseen - other.unseen)

    def minus_unseen(self, pattern: Any) -> Any:
        """The seen values minus their unseen counterparts, as a csr_array over `pattern`."""
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        unseen = np.broadcast_to(self.unseen, pattern.shape)[rows, pattern.indices]
        return csr_array((self.seen - unseen, pattern.indices, pattern.indptr), pattern.shape)

    def sum_over_terms(self, pattern: Any) -> Floats:
        """The row sums (n_classes,), without a full table if possible."""
        repeats = pattern.shape[1] // self.unseen.shape[1]
        sums: Floats = repeats * self.unseen.sum(axis=1) + self.minus_unseen(pattern).sum(axis=1)
        return sums


def _presence(model: Smoothing, counts: Counts) -> _Cells:
    """p(t|c): the probability that t is present in a document of c."""
    seen = counts.class_df
    docs = np.repeat(counts.class_docs, np.diff(seen.indptr))
    of_cells = model.of_cells(seen.indices) if isinstance(model, Laplace) else model
    return _Cells(
        of_cells.bernoulli_prob(seen.data, docs, counts.df[seen.indices], counts.n_docs),
        model.unseen_bernoulli_prob(counts),
    )


def _presence_in_rest(model: Smoothing, counts: Counts) -> _Cells:
    """p(t|c̄): if c has no document with a term, its complement has all of them, so this depends on class and term."""
    refuse_full_table(counts.n_classes, counts.n_terms, "bernoulli one-vs-rest")
    seen, df, n = counts.class_df, counts.df, counts.n_docs
    rest = n - counts.class_docs
    docs = np.repeat(rest, np.diff(seen.indptr))
    of_cells = model.of_cells(seen.indices) if isinstance(model, Laplace) else model
    return _Cells(
        of_cells.bernoulli_prob(df[seen.indices] - seen.data, docs, df[seen.indices], n),
        model.bernoulli_prob(df, rest[:, None], df, n),
    )


def _evidence(presence: _Cells) -> tuple[_Cells, _Cells]:
    """log p and log (1 − p)."""
    seen, unseen = (np.clip(p, CERTAIN, 1 - CERTAIN) for p in (presence.seen, presence.unseen))
    return _Cells(log(seen), log(unseen)), _Cells(log1p(-seen), log1p(-unseen))


def _linear_of_cells(cells: _Cells, pattern: Any, bias: Floats, link: str) -> Linear:
    weighting, weights = Weighting("binary"), cells.minus_unseen(pattern)
    if cells.unseen.shape[1] == 1:
        return Linear(weights, bias, class_offset=cells.unseen[:, 0], weighting=weighting, link=link)
    if cells.unseen.shape[0] == 1:
        return Linear(weights, bias, term_offset=cells.unseen[0], weighting=weighting, link=link)
    return Linear(weights.toarray() + cells.unseen, bias, weighting=weighting, link=link)
