"""How well novelty separates texts of no class from texts of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.types import Floats
from unnaive.evaluation.ranking import auc_of
from unnaive.learning.fitted import FittedModel
from unnaive.learning.novelty import check_out_of_scope_rate

RATE = 0.05
FOUND = 0.95


@dataclass(frozen=True)
class OutOfScope:
    """The separation of in-scope and out-of-scope texts by novelty.

    auroc           probability that a text of no class is more novel than one of the classes; ties count one half
    rate            share of in-scope texts that may be rejected
    found           share of out-of-scope texts rejected at the threshold that rejects `rate` of these in-scope texts
    rejected_at_95  share of in-scope texts rejected at the threshold that rejects 95 % of the out-of-scope texts
    rejected, told  shares of in-scope and of out-of-scope texts that the model calls unknown at `rate`, using its own
                    held-out documents; None if that was not requested
    """

    in_scope: int
    out_of_scope: int
    auroc: float
    rate: float
    found: float
    rejected_at_95: float
    rejected: float | None = None
    told: float | None = None


def measure_out_of_scope(inside: Floats, outside: Floats, *, rate: float = RATE) -> OutOfScope:
    """Compute the measures from the novelty (higher is more novel) of texts of the classes and of texts of none.

    >>> measure_out_of_scope(np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.8, 0.95]), rate=0.25)
    OutOfScope(in_scope=4, out_of_scope=2, auroc=0.875, rate=0.25, found=1.0, rejected_at_95=0.25, ...)
    """
    check_out_of_scope_rate(rate)
    if not len(inside) or not len(outside):
        raise BadData("documents of the classes or documents of no class are missing; give both")
    limit = np.sort(inside)[max(0, int(np.ceil((1 - rate) * len(inside) - 1e-9)) - 1)]
    reached = np.sort(outside)[int(np.floor((1 - FOUND) * len(outside) + 1e-9))]
    return OutOfScope(
        len(inside),
        len(outside),
        auc_of(np.concatenate([inside, outside]), outside),
        rate,
        float(np.mean(outside > limit)),
        float(np.mean(inside >= reached)),
    )


def evaluate_out_of_scope(
    fitted: FittedModel, inside: Sequence[str], outside: Sequence[str], *, rate: float = RATE
) -> OutOfScope:
    """How well a model separates texts of no class, `outside`, from new texts of its classes, `inside`."""
    parts = [
        (fitted.novelty_of(scores), fitted.out_of_scope_rows(scores, rate))
        for scores in map(fitted.scores, (inside, outside))
    ]
    (mine, rejected), (theirs, told) = parts
    measured = measure_out_of_scope(mine, theirs, rate=rate)
    return OutOfScope(**{**vars(measured), "rejected": float(rejected.mean()), "told": float(told.mean())})
