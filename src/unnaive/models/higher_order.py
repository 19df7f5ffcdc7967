"""Higher-order smoothing (HOS) and higher-order naive Bayes (HONB): probabilities from the paths that paths.py counts.

Poyraz, Kilimci and Ganiz (2012), "A Novel Semantic Smoothing Method Based on Higher Order Paths for Text
Classification"; HONB after Ganiz, George and Pottenger (2011). Both end in an ordinary Linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from unnaive.core.linear import Linear, refuse_full_table
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData, UnnaiveError, choose
from unnaive.models.path_scorer import PathScorer
from unnaive.models.paths import FirstPass, SecondPass, class_paths, class_paths_as_published, presence, term_paths
from unnaive.types import Floats, Sparse

LEAST = 1e-12  # probabilities stay inside [LEAST, 1 − LEAST]: a first-order estimate alone has zeros
NO_ODDS = 1e6  # instead of infinite prior log-odds, of a class that all documents have, or none
PATHS = ["exact", "paper"]
PATH_WEIGHTS = ["binary", "log", "tfidf"]


@dataclass(frozen=True, eq=False)
class Events:
    """An event model: whether absent terms speak, and how a document meets the weights."""

    absence: bool
    weighting: Weighting

    def evidence(self, probability: Floats) -> tuple[Floats, Floats]:
        """Weights (n_classes, n_terms) and what all terms add by their absence (n_classes,); P(t|c) is used up."""
        p = np.clip(probability, LEAST, 1 - LEAST, out=probability)
        if not self.absence:
            return np.log(p, out=p).T, np.zeros(p.shape[1])
        absent = np.negative(p)
        np.log1p(absent, out=absent)
        weights = np.log(p, out=p)
        weights -= absent
        return weights.T, absent.sum(axis=0)


BERNOULLI = Events(absence=True, weighting=Weighting("binary"))


@dataclass(frozen=True)
class Mixture:
    """How first- and second-order paths become P(t|c); `higher_order_smoothing` has the formulas."""

    beta: float = 0.5
    normaliser: str = "total"
    events: str = "bernoulli"

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1:
            raise BadData(f"beta is {self.beta}, but it is the share of first-order paths; give a number from 0 to 1")
        choose(["total", "class"], self.normaliser, "normaliser")
        choose(["bernoulli", "multinomial"], self.events, "event model")

    def events_with(self, weighting: Weighting) -> Events:
        """The event model of paths that were weighted so."""
        return BERNOULLI if self.events == "bernoulli" else Events(absence=False, weighting=weighting)

    def probabilities(self, first: Floats, second: Floats, paths: float) -> Floats:
        """P(t|c) (n_terms, n_classes) from F and φ of that shape, which is used up, and the sum of all φ (eq. 11)."""
        scaled = self._second_order(second, paths)
        mixed = self._first_order(first)
        mixed += scaled
        return mixed

    def _first_order(self, first: Floats) -> Floats:
        """β·P_fo; a class without documents spreads evenly."""
        totals = first.sum(axis=0)
        if self.normaliser == "class" and self.events == "bernoulli":
            laplace: Floats = (first + 1) * (self.beta / (2 + totals))
            return laplace
        shares: Floats = first * (self.beta / np.where(totals > 0, totals, 1.0))
        if not totals.all():
            shares[:, totals == 0] = self.beta / len(first)
        return shares

    def _second_order(self, second: Floats, paths: float) -> Floats:
        """(1 − β)·P_so."""
        if self.events == "multinomial":
            mass = len(second) + second.sum(axis=0)
        else:
            mass = 2 + (paths if self.normaliser == "total" else second.sum(axis=0))
        second += 1
        second *= (1 - self.beta) / mass
        return second


def higher_order_smoothing(
    X: Sparse,
    Y: Sparse,
    *,
    beta: float = 0.5,
    paths: str = "exact",
    weights: str = "binary",
    normaliser: str = "total",
    events: str = "bernoulli",
    norm: str | None = None,
    keep_documents: bool = True,
    scheme: str = "multiclass",
) -> Linear:
    """Naive Bayes whose term probabilities also draw on terms that co-occur with those of the class.

    P(t|c) = (1 − β)·P_so(t|c) + β·P_fo(t|c)                                                        (eq. 11)
    P_fo   = F_tc / Σ_t F_tc                               first order: occurrence in documents of the class
    P_so   = (1 + φ_tc) / (2 + Σ φ)                        second order: paths from term to class     (eq. 10)

    beta            0 is second order alone, 1 first order alone
    paths           "exact", or "paper": as the published Algorithm 1 counts, doubles included
    weights         what a term brings into a path: "binary" presence, "log" or "tfidf" weight
    normaliser      "total" sums φ over all terms and classes, as eq. 10 reads; "class" over the terms of each class,
                    and takes both orders as (1 + n_tc) / (2 + Σ_t n_tc)
    events          "bernoulli": absent terms speak too. "multinomial": both orders sum to one in each class, whatever
                    the normaliser, and documents are weighted as paths are
    norm            "l1" or "l2" normalises documents to unit length before paths are counted, so that long documents,
                    which have most paths, do not decide alone (the paper's future work); None leaves them
    keep_documents  keep the terms of the training documents, so that an explanation can name the paths
    scheme          "one-vs-rest" sets each class against all documents without it: φ is linear in Y, so theirs is that
                    of all documents less that of the class

    >>> X = csr_array([[1, 1, 0], [0, 1, 1]])
    >>> model = higher_order_smoothing(X, csr_array([[1, 0], [0, 1]]))
    >>> (model.weights()[:, 0] > np.log(1e-9)).all()     # term 0 has mass in class 1, where it never occurred
    np.True_
    """
    mixture = Mixture(beta, normaliser, events)
    choose(PATHS, paths, "way to count paths")
    refuse_full_table(Y.shape[1], X.shape[1], "higher-order smoothing")
    weighting = path_weighting(weights, X, norm)
    Z, labels = path_documents(X, weights, norm), path_labels(Y, scheme)
    one = FirstPass.of(Z, labels)
    if paths == "paper":
        linear = _mixed(one, _published(Z, labels, scheme), mixture, weighting, scheme)
    else:
        linear = smoothed(one, SecondPass.of(Z, labels, one.first), mixture, weighting, scheme)
    return PathScorer.of(linear, Z, csr_array(Y)) if keep_documents else linear


def smoothed(
    one: FirstPass, two: SecondPass, mixture: Mixture, weighting: Weighting, scheme: str = "multiclass"
) -> Linear:
    """The scorer from both passes over all documents, of labels as `path_labels` gives them."""
    if one.n_docs != two.n_docs:
        raise BadData(f"the first pass saw {one.n_docs} documents and the second {two.n_docs}; both must see all")
    return _mixed(one, class_paths(one, two), mixture, weighting, scheme)


def higher_order_naive_bayes(X: Sparse, Y: Sparse, *, prior: str = "documents", scheme: str = "multiclass") -> Linear:
    """Bernoulli naive Bayes that counts paths within the documents of each class instead of documents.

    P(t|c) = (1 + φ(t, D_c)) / (2 + φ(D_c))                               (eq. 8, Ganiz et al. 2011)

    prior  "documents": P(c) = n_c / n. "paths": P(c) = φ(D_c) / Σ_k φ(D_k), as eq. 9 of the higher-order paper has it;
           a class whose documents are long then has more of the prior. Where no class has a path, documents are counted

    φ(t, D_c) are the second-order paths among the class's documents that contain t, φ(D_c) all of them. With
    scheme="one-vs-rest" each class is set against the paths among the documents without it, which takes a walk
    over nearly all documents for each class.

    >>> X = csr_array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> model = higher_order_naive_bayes(X, csr_array([[1, 0], [1, 0], [0, 1]]))
    >>> np.exp(model.weights()).round(2)   # odds of P = 2/3 where one path passes all terms; of 1/2 without paths
    array([[2., 2., 2.],
           [1., 1., 1.]])
    """
    choose(["documents", "paths"], prior, "prior of classes")
    refuse_full_table(Y.shape[1], X.shape[1], "higher-order naive Bayes")
    B, labels = presence(X), csr_array(Y).tocsc()
    members = [labels.indices[labels.indptr[c] : labels.indptr[c + 1]] for c in range(Y.shape[1])]
    masses = np.array([len(rows) for rows in members], np.float64)
    everything = np.full(Y.shape[1], float(Y.shape[0]))
    inside, paths = _path_shares(B, members)
    if scheme == "multiclass":
        return _exclusive(inside, paths if prior == "paths" and paths.any() else masses, BERNOULLI)
    outside, other_paths = _path_shares(B, [_others(rows, Y.shape[0]) for rows in members])
    if prior == "paths":
        known = paths + other_paths > 0
        masses, everything = np.where(known, paths, masses), np.where(known, paths + other_paths, everything)
    return _against_rest(inside, outside, masses, everything, BERNOULLI)


def path_weighting(name: str, X: Sparse, norm: str | None = None) -> Weighting:
    """How a cell n of X enters a path: "binary" presence, "log" 1 + log n, "tfidf" (1 + log n)·log(1 + n_docs/df).

    With `norm` "l1" or "l2" the cells of a document are then divided by its length.
    """
    choose(PATH_WEIGHTS, name, "weight of paths")
    if name != "tfidf":
        return Weighting(name, norm=norm)
    df = np.bincount(presence(X).indices, minlength=X.shape[1])
    return Weighting("log", idf=np.log1p(X.shape[0] / np.maximum(df, 1)), norm=norm)


def path_documents(X: Sparse, weights: str, norm: str | None = None) -> Sparse:
    """The documents that the passes take: X weighted by `path_weighting`."""
    return presence(X) if weights == "binary" and norm is None else path_weighting(weights, X, norm).apply(X)


def path_labels(Y: Sparse, scheme: str) -> Sparse:
    """The labels that the passes take: Y, and for one-vs-rest a last column that every document has.

    >>> path_labels(csr_array([[1, 0], [0, 0]]), "one-vs-rest").toarray()
    array([[1., 0., 1.],
           [0., 0., 1.]])
    """
    choose(["multiclass", "one-vs-rest"], scheme, "scheme")
    if scheme == "multiclass":
        return csr_array(Y)
    return csr_array(hstack([csr_array(Y), np.ones((Y.shape[0], 1))]))


def _mixed(one: FirstPass, paths: Floats, mixture: Mixture, weighting: Weighting, scheme: str) -> Linear:
    """The scorer from F and φ; for one-vs-rest the last column of both is all documents."""
    events = mixture.events_with(weighting)
    if scheme == "multiclass":
        probability = mixture.probabilities(one.first, paths, paths.sum())
        return _exclusive(probability, one.class_docs, events)
    first, second = one.first[:, :-1], paths[:, :-1]
    rest = one.first[:, -1:] - first, np.maximum(paths[:, -1:] - second, 0.0)
    total = paths[:, -1].sum()  # of a class and its rest together, whatever the class
    inside, outside = mixture.probabilities(first, second, total), mixture.probabilities(*rest, total)
    return _against_rest(
        inside, outside, one.class_docs[:-1], np.full(len(one.class_docs) - 1, float(one.n_docs)), events
    )


def _published(Z: Sparse, Y: Sparse, scheme: str) -> Floats:
    if scheme != "multiclass":
        raise UnnaiveError(
            "the paper counts paths to exclusive classes, and these documents have other than one label each; use "
            "paths='exact'"
        )
    return class_paths_as_published(Z, Y)


def _path_shares(B: Sparse, members: list[NDArray[Any]]) -> tuple[Floats, Floats]:
    """(1 + φ(t, D)) / (2 + φ(D)) for the documents of each list of rows (n_terms, lists), and φ(D) (lists,)."""
    found = [term_paths(B[rows]) for rows in members]
    shares = np.column_stack([(1 + containing) / (2 + total) for containing, total in found])
    return shares, np.array([total for _, total in found])


def _others(rows: NDArray[Any], n_docs: int) -> NDArray[Any]:
    out = np.ones(n_docs, np.bool_)
    out[rows] = False
    return np.flatnonzero(out)


def _exclusive(probability: Floats, masses: Floats, events: Events) -> Linear:
    """Log joint probabilities of classes that exclude each other, from P(t|c) (n_terms, n_classes) and their masses."""
    weights, constant = events.evidence(probability)
    with np.errstate(divide="ignore"):
        prior = np.log(masses) - np.log(masses.sum())
    return Linear(weights, prior + constant, weighting=events.weighting, link="softmax")


def _against_rest(inside: Floats, outside: Floats, masses: Floats, everything: Floats, events: Events) -> Linear:
    """Log-odds of each class against the documents without it, from P(t|c) and P(t|c̄) (n_terms, n_classes).

    The prior odds are those of `masses` of each class, documents or paths, out of `everything`.
    """
    (weights, constant), (less, taken) = events.evidence(inside), events.evidence(outside)
    with np.errstate(divide="ignore"):
        prior = np.clip(np.log(masses) - np.log(everything - masses), -NO_ODDS, NO_ODDS)
    return Linear(weights - less, prior + constant - taken, weighting=events.weighting, link="log-odds")
