"""Elimination in the search of `auto`: which candidates go on to more documents, and which families to more views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.base.log_functions import log_softmax
from unnaive.base.types import Floats, Ids
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.pool_weights import PoolWeights, fit_pool

ALL = 1_000  # candidates of a family, more than any has
GOING_ON = 2  # candidates of each family that go on to more documents
NEXT = 3  # candidates of each family that are tried on the views after the first (benchmarks/auto_elimination.py)
ROUNDS = {0: ALL, 200: GOING_ON}  # number of held-out documents → number of candidates of each family that go on
SHRINK = 5.0  # strength of the prior on the pool's weights, in documents (benchmarks/auto_short.py)
LEAST_GAIN = 0.02  # share of the pool's log-loss by which a family must lower it to be tried on the other views
N_ERRORS = 2.0  # standard errors of the gain that are added to it: of few documents, all families go on


@dataclass(frozen=True)
class Judged:
    """Held-out accuracy and log-loss of a candidate, and the factor of its scores that minimises the log-loss."""

    accuracy: float
    log_loss: float
    scale: float

    @property
    def merit(self) -> float:
        """Accuracy − log-loss / 10."""
        return self.accuracy - 0.1 * self.log_loss


def count_going_on(n_held_out: int) -> int:
    """The most candidates of each family that go on after `n_held_out` held-out documents.

    >>> [count_going_on(n_held_out) for n_held_out in (199, 200)]
    [1000, 2]
    """
    return min(most for least, most in ROUNDS.items() if n_held_out >= least)


def best_of_families(judged: dict[Candidate, Judged], candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """The `most` best candidates of each family by accuracy − log-loss / 10, in the order of `candidates`."""
    ranked = sorted(candidates, key=lambda candidate: -judged[candidate].merit)
    best = [
        candidate
        for candidate in ranked
        if sum(other.family == candidate.family for other in ranked[: ranked.index(candidate)]) < most
    ]
    return [candidate for candidate in candidates if candidate in best]


def find_helpful(scaled: Sequence[Floats], pool: PoolWeights, truth: Ids, soft_targets: Floats) -> list[int]:
    """The numbers of the members without which the pool's log-loss on `truth` (n_held_out,) may be clearly higher.

    Members are left out one by one, those with the smallest weights first, if the log-loss of a pool of the others is
    surely less than 1 + LEAST_GAIN times that of all of them: its rise, by document, has the mean m and the standard
    deviation s, and m + N_ERRORS·s/√n_held_out is compared. At least one member remains.

    scaled  scores (n_held_out, n_classes) of each member, times its scale
    pool    the pool of all members
    """
    weight = soft_targets.sum(axis=1)
    losses = _log_losses(pool.combine(list(scaled)), truth)
    helpful = [number for number, weight in enumerate(pool.weights) if weight > 0] or list(range(len(scaled)))
    for number in sorted(helpful, key=lambda number: pool.weights[number]):
        others = [scaled[other] for other in helpful if other != number]
        if not others:
            break
        rise = _log_losses(fit_pool(others, soft_targets, shrink=SHRINK).combine(others), truth) - losses
        mean = np.average(rise, weights=weight)
        error = np.sqrt(np.average((rise - mean) ** 2, weights=weight) / weight.sum())
        if mean + N_ERRORS * error <= LEAST_GAIN * np.average(losses, weights=weight):
            helpful.remove(number)
    return helpful


def _log_losses(scores: Floats, truth: Ids) -> Floats:
    """−log p of the true class of each document (n_docs,)."""
    losses: Floats = -log_softmax(scores)[np.arange(len(truth)), truth]
    return losses
