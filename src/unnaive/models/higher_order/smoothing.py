"""From paths to a linear scorer: P(t|c) as a mixture of first- and second-order paths, and the weights of terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unnaive.base.elementary import log, log1p
from unnaive.base.errors import BadData
from unnaive.base.types import Floats
from unnaive.data.weighting import Weighting
from unnaive.linear.linear import Linear
from unnaive.models.higher_order.second_order_paths import FirstPass, SecondPass, class_paths

LEAST = 1e-12  # probabilities stay inside [LEAST, 1 − LEAST]: a first-order estimate alone can be zero
NO_ODDS = 1e6  # instead of infinite prior log-odds, for a class that all documents have, or none


@dataclass(frozen=True, eq=False)
class Events:
    """An event model: whether absent terms are evidence too, and how the terms of a document are weighted."""

    absence: bool
    weighting: Weighting

    def evidence(self, probability: Floats) -> tuple[Floats, Floats]:
        """Weights (n_classes, n_terms), and the sum over all terms of the evidence of absence (n_classes,).

        P(t|c) is overwritten.
        """
        p = np.clip(probability, LEAST, 1 - LEAST, out=probability)
        if not self.absence:
            return log(p, out=p).T, np.zeros(p.shape[1])
        absent = np.negative(p)
        log1p(absent, out=absent)
        weights = log(p, out=p)
        weights -= absent
        return weights.T, absent.sum(axis=0)


BERNOULLI = Events(absence=True, weighting=Weighting("binary"))


@dataclass(frozen=True)
class Mixture:
    """How first- and second-order paths become P(t|c); the formulas are in HigherOrderSmoothing."""

    beta: float = 0.5
    normaliser: str = "total"
    events: str = "bernoulli"

    def __post_init__(self) -> None:
        if not 0 <= self.beta <= 1:
            raise BadData(f"beta is {self.beta}; give the share of first-order paths, a number from 0 to 1")

    def events_with(self, weighting: Weighting) -> Events:
        """The event model for paths with this weighting."""
        return BERNOULLI if self.events == "bernoulli" else Events(absence=False, weighting=weighting)

    def probabilities(self, first: Floats, second: Floats, paths: float) -> Floats:
        """P(t|c) (n_terms, n_classes) from F and φ of that shape (φ is overwritten), and the sum of all φ (eq. 11)."""
        scaled = self._second_order(second, paths)
        mixed = self._first_order(first)
        mixed += scaled
        return mixed

    def _first_order(self, first: Floats) -> Floats:
        """β·P_fo; uniform for a class without documents."""
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


def smoothed(
    first_pass: FirstPass, second_pass: SecondPass, mixture: Mixture, weighting: Weighting, scheme: str = "multiclass"
) -> Linear:
    """The scorer from both passes over all documents, with labels from `path_labels`."""
    if first_pass.n_docs != second_pass.n_docs:
        raise BadData(
            f"the first pass has {first_pass.n_docs} documents and the second {second_pass.n_docs}; process all in both"
        )
    return mix_paths(first_pass, class_paths(first_pass, second_pass), mixture, weighting, scheme)


def mix_paths(first_pass: FirstPass, paths: Floats, mixture: Mixture, weighting: Weighting, scheme: str) -> Linear:
    """The scorer from F and φ; for one-vs-rest the last column of both is all documents."""
    events = mixture.events_with(weighting)
    if scheme == "multiclass":
        probability = mixture.probabilities(first_pass.first, paths, paths.sum())
        return exclusive_scorer(probability, first_pass.class_docs, events)
    first, second = first_pass.first[:, :-1], paths[:, :-1]
    rest = first_pass.first[:, -1:] - first, np.maximum(paths[:, -1:] - second, 0.0)
    total = paths[:, -1].sum()  # the paths of a class and of its complement; the sum is the same for every class
    inside, outside = mixture.probabilities(first, second, total), mixture.probabilities(*rest, total)
    everything = np.full(len(first_pass.class_docs) - 1, float(first_pass.n_docs))
    return one_vs_rest_scorer(inside, outside, first_pass.class_docs[:-1], everything, events)


def exclusive_scorer(probability: Floats, masses: Floats, events: Events) -> Linear:
    """Log joint probabilities of exclusive classes, from P(t|c) (n_terms, n_classes) and their masses."""
    weights, constant = events.evidence(probability)
    with np.errstate(divide="ignore"):
        prior = log(masses) - log(masses.sum())
    return Linear(weights, prior + constant, weighting=events.weighting, link="softmax")


def one_vs_rest_scorer(inside: Floats, outside: Floats, masses: Floats, everything: Floats, events: Events) -> Linear:
    """Log-odds of each class against the documents without it, from P(t|c) and P(t|c̄) (n_terms, n_classes).

    The prior odds are those of `masses` of each class, documents or paths, out of `everything`.
    """
    (weights, constant), (less, taken) = events.evidence(inside), events.evidence(outside)
    with np.errstate(divide="ignore"):
        prior = np.clip(log(masses) - log(everything - masses), -NO_ODDS, NO_ODDS)
    return Linear(weights - less, prior + constant - taken, weighting=events.weighting, link="log-odds")
