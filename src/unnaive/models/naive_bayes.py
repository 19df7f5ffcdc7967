"""Naive Bayes rules: Counts in, Linear out. The weights are logarithms of smoothed term probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.linear import Linear, refuse_full_table
from unnaive.core.smoothing import Laplace, LogTable, Smoothing, find_smoothing
from unnaive.core.weighting import Weighting
from unnaive.errors import UnnaiveError, choose
from unnaive.types import Floats

Prior = str | Sequence[float] | NDArray[Any]

LINK_OF_SCHEME = {"multiclass": "softmax", "one-vs-rest": "log-odds"}
CERTAIN = 1e-12  # presence is kept this far from 0 and 1: no single term may decide alone


def multinomial(
    counts: Counts,
    *,
    scheme: str = "multiclass",
    smoothing: str = "laplace",
    alpha: float = 1.0,
    beta: float = 0.7,
    discount: float | str = "auto",
    prior: Prior = "data",
) -> Linear:
    """Multinomial naive Bayes: every word of a document is a draw from its class.

    multiclass   score = log p(c) + Σ_t n_t log p(t|c)
    one-vs-rest  score = log p(c)/p(c̄) + Σ_t n_t log p(t|c)/p(t|c̄), c̄ all documents outside c

    p(t|c) is smoothed as `smoothing` says: "laplace" (alpha), "jelinek-mercer" (beta) or "absolute" (discount). `prior`
    is "data", "uniform" or a probability for each class. Unknown terms are ignored; an empty document gets the prior.

    Manning, Raghavan and Schütze (2008), 13.2; or-gate paper, eq. 3–6.

    >>> counts = Counts.of(csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]))  # "ball ball", "vote"
    >>> np.exp(multinomial(counts).weights()).round(2)
    array([[0.75, 0.25],
           [0.33, 0.67]])
    """
    model = find_smoothing(smoothing, counts.class_terms, alpha=alpha, beta=beta, discount=discount)
    if choose(list(LINK_OF_SCHEME), scheme, "scheme") == "multiclass":
        table, bias = model.draws(counts), log_prior(counts, prior)
    else:
        table, bias = model.draws(counts) - model.draws_of_rest(counts), log_prior_odds(counts, prior)
    known = None if model.reserves or counts.terms.all() else (counts.terms > 0).astype(np.float64)
    return _linear(table, bias, Weighting(idf=known), LINK_OF_SCHEME[scheme])


def bernoulli(
    counts: Counts,
    *,
    scheme: str = "multiclass",
    smoothing: str = "laplace",
    alpha: float = 1.0,
    beta: float = 0.1,
    discount: float | str = "auto",
    prior: Prior = "data",
) -> Linear:
    """Bernoulli naive Bayes: every term of the vocabulary is present or absent, and both count.

    multiclass   score = log p(c) + Σ_{t in d} log p(t|c) + Σ_{t not in d} log (1 − p(t|c))
    one-vs-rest  the same, minus that of c̄

    The sum over absent terms is taken over all terms into the bias, and a present term takes its part back:
    bias = log p(c) + Σ_t log (1 − p(t|c)), weight = log p(t|c) − log (1 − p(t|c)).

    Manning, Raghavan and Schütze (2008), 13.3. Where the evidence of unseen cells does not fall into a class and a term
    part (one-vs-rest, absolute discounting), weights are held for every class and term.

    >>> counts = Counts.of(csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> np.exp(bernoulli(counts).scores(csr_array([[1, 0]]))).round(3)  # 1/2 · 2/3 · (1 − 1/3), 1/2 · 1/3 · (1 − 2/3)
    array([[0.222, 0.056]])
    """
    model = find_smoothing(smoothing, counts.class_df, alpha=alpha, beta=beta, discount=discount)
    present, absent = _evidence(_presence(model, counts))
    if choose(list(LINK_OF_SCHEME), scheme, "scheme") == "multiclass":
        prior_part = log_prior(counts, prior)
    else:
        present_in_rest, absent_in_rest = _evidence(_presence_in_rest(model, counts))
        present, absent = present - present_in_rest, absent - absent_in_rest
        prior_part = log_prior_odds(counts, prior)
    bias = prior_part + absent.sum_over_terms(counts.class_df)
    return _linear_of_cells(present - absent, counts.class_df, bias, LINK_OF_SCHEME[scheme])


def complement(
    counts: Counts,
    *,
    scheme: str = "multiclass",
    alpha: float = 1.0,
    norm: bool = False,
    prior: Prior = "uniform",
) -> Linear:
    """Complement naive Bayes: how badly the rest of the corpus explains the document.

    multiclass   weight = −log p(t|c̄),  p(t|c̄) = (N_•t − N_ct + α) / (N − N_c• + αM)
    one-vs-rest  weight = log p(t|D) − log p(t|c̄): the same order of classes, and 0 where c does not stand out

    With `norm` the weights of a class are divided by Σ_t |log p(t|c̄)|.

    Rennie, Shih, Teevan and Karger (2003), who leave the prior out: hence "uniform". A class without documents is
    never chosen.

    >>> counts = Counts.of(csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> np.exp(-complement(counts).weights()).round(2)
    array([[0.33, 0.67],
           [0.75, 0.25]])
    """
    model = Laplace(alpha)
    rest = model.draws_of_rest(counts)
    if choose(list(LINK_OF_SCHEME), scheme, "scheme") == "multiclass":
        bias, corpus = log_prior(counts, prior), np.zeros(counts.n_terms)
    else:
        bias = log_prior_odds(counts, prior)
        corpus = np.log(counts.terms + alpha) - np.log(counts.total + alpha * counts.n_terms)
    table = LogTable(-rest.cells, -rest.of_class, corpus - rest.of_term)
    if not norm:
        return _linear(table, bias, Weighting(), LINK_OF_SCHEME[scheme])
    refuse_full_table(counts.n_classes, counts.n_terms, "complement with norm")
    return Linear(table.dense() / -rest.dense().sum(axis=1, keepdims=True), bias, link=LINK_OF_SCHEME[scheme])


def log_prior(counts: Counts, prior: Prior) -> Floats:
    """log p(c) (n_classes,): n_c/n of the documents, alike for all classes that have any, or as given.

    A class without documents gets −∞ unless `prior` names its probability; when no class has any, all are alike.

    >>> counts = Counts.of(csr_array([[1], [1], [1], [1]]), csr_array([[1, 0], [1, 0], [1, 0], [0, 1]]))
    >>> np.exp(log_prior(counts, "data")), np.exp(log_prior(counts, "uniform"))
    (array([0.75, 0.25]), array([0.5, 0.5]))
    """
    if not isinstance(prior, str):
        return np.log(_given_prior(prior, counts.n_classes))
    docs = _documents_of_prior(counts, prior)
    whole = counts.n_docs if prior == "data" and counts.n_docs else docs.sum()
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(docs) - np.log(whole))


def log_prior_odds(counts: Counts, prior: Prior) -> Floats:
    """log p(c)/(1 − p(c)) (n_classes,); "uniform" takes a class to be as likely as its rest.

    A rest without documents counts as half a document, so that odds stay finite; a class without any gets −∞.
    """
    if not isinstance(prior, str):
        given = _given_prior(prior, counts.n_classes)
        return np.log(given) - np.log1p(-np.minimum(given, 1 - CERTAIN))
    docs = _documents_of_prior(counts, prior)
    rest = counts.n_docs - docs if prior == "data" else np.ones(len(docs))
    with np.errstate(divide="ignore"):
        return np.log(docs) - np.log(np.where(rest > 0, rest, 0.5))


def _documents_of_prior(counts: Counts, prior: str) -> Floats:
    """Documents of each class (n_classes,), as one each for "uniform"; as one each too when none has been seen."""
    docs: Floats = np.asarray(counts.class_docs, np.float64)
    if choose(["data", "uniform"], prior, "prior") == "uniform":
        docs = (docs > 0).astype(np.float64)
    return docs if docs.any() else np.ones(len(docs))


def _given_prior(prior: Any, n_classes: int) -> Floats:
    try:
        given = np.asarray(prior, np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != (n_classes,) or not bool(np.all((given > 0) & (given <= 1))):
        raise UnnaiveError(
            f"prior came as {prior!r}; give 'data', 'uniform' or {n_classes} probabilities above 0, one for each class"
        )
    return given


def _linear(table: LogTable, bias: Floats, weighting: Weighting, link: str) -> Linear:
    background = table.of_term if table.of_term.any() else None
    return Linear(table.cells, bias, table.of_class, background, weighting, link)


@dataclass(frozen=True, eq=False)
class _Cells:
    """A value for every (class, term): seen cells one by one, the others by what they depend on.

    seen    (n_seen,), in the order of class_df.data
    unseen  (n_classes, 1), (1, n_terms) or (n_classes, n_terms)
    """

    seen: Floats
    unseen: Floats

    def __sub__(self, other: _Cells) -> _Cells:
        return _Cells(self.seen - other.seen, self.unseen - other.unseen)

    def standing_out(self, pattern: Any) -> Any:
        """Seen values minus what they would be if unseen, as a csr_array over `pattern`."""
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        unseen = np.broadcast_to(self.unseen, pattern.shape)[rows, pattern.indices]
        return csr_array((self.seen - unseen, pattern.indices, pattern.indptr), pattern.shape)

    def sum_over_terms(self, pattern: Any) -> Floats:
        """The row sums (n_classes,), without a full table unless there is one."""
        repeats = pattern.shape[1] // self.unseen.shape[1]
        sums: Floats = repeats * self.unseen.sum(axis=1) + self.standing_out(pattern).sum(axis=1)
        return sums


def _presence(model: Smoothing, counts: Counts) -> _Cells:
    """p(t|c), or p(t present in a document of c)."""
    seen = counts.class_df
    docs = np.repeat(counts.class_docs, np.diff(seen.indptr))
    return _Cells(
        model.presence(seen.data, docs, counts.df[seen.indices], counts.n_docs), model.unseen_presence(counts)
    )


def _presence_in_rest(model: Smoothing, counts: Counts) -> _Cells:
    """p(t|c̄): where c has none of a term's documents the rest has all, so this depends on class and term."""
    refuse_full_table(counts.n_classes, counts.n_terms, "bernoulli one-vs-rest")
    seen, df, n = counts.class_df, counts.df, counts.n_docs
    rest = n - counts.class_docs
    docs = np.repeat(rest, np.diff(seen.indptr))
    return _Cells(
        model.presence(df[seen.indices] - seen.data, docs, df[seen.indices], n),
        model.presence(df, rest[:, None], df, n),
    )


def _evidence(presence: _Cells) -> tuple[_Cells, _Cells]:
    """log p and log (1 − p)."""
    seen, unseen = (np.clip(p, CERTAIN, 1 - CERTAIN) for p in (presence.seen, presence.unseen))
    return _Cells(np.log(seen), np.log(unseen)), _Cells(np.log1p(-seen), np.log1p(-unseen))


def _linear_of_cells(cells: _Cells, pattern: Any, bias: Floats, link: str) -> Linear:
    weighting, arcs = Weighting("binary"), cells.standing_out(pattern)
    if cells.unseen.shape[1] == 1:
        return Linear(arcs, bias, class_background=cells.unseen[:, 0], weighting=weighting, link=link)
    if cells.unseen.shape[0] == 1:
        return Linear(arcs, bias, term_background=cells.unseen[0], weighting=weighting, link=link)
    return Linear(arcs.toarray() + cells.unseen, bias, weighting=weighting, link=link)
