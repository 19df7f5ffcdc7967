"""How many classes a model can take: what training would hold and go through, reckoned from sizes before it begins.

Counts and what is stored grow with the documents. Some models also hold numbers for every class, or learn class by
class; they declare what that takes (`class_cost`), and here are the limits and the one sentence of the refusal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from unnaive.learning.learner import Learner

MOST_NUMBERS = 1 << 30  # held at once for all classes: 8 GB
MOST_STEPS = 10**12  # for all classes, about a nanosecond each: a quarter of an hour and more
MANY_CLASSES = 10_000  # up to here a model may take as long as it takes
INSTEAD = ("label-tree", "multinomial")  # models whose memory and work follow what is stored


class DataSize(NamedTuple):
    """How large training data is: X has `documents` rows, `terms` columns and `cells` nonzero cells."""

    documents: int
    terms: int
    cells: int
    classes: int


class ClassCost(NamedTuple):
    """What a model takes for each class, to the order of magnitude.

    held   numbers that are held at once
    steps  nanoseconds of work
    """

    held: float = 0.0
    steps: float = 0.0


def most_classes(cost: ClassCost) -> float:
    """How many classes a model of this cost takes at most; infinity for any number.

    >>> most_classes(ClassCost(held=1 << 20)), most_classes(ClassCost(steps=1e6)), most_classes(ClassCost())
    (1024.0, 1000000.0, inf)
    """
    by_memory = MOST_NUMBERS / cost.held if cost.held else float("inf")
    by_work = max(MOST_STEPS / cost.steps, MANY_CLASSES) if cost.steps else float("inf")
    return min(by_memory, by_work)


def check_class_limit(model: Learner, size: DataSize, *, exclusive: bool) -> None:
    """An error of one sentence if there are more classes than the model can take of data of this size."""
    most = most_classes(model.class_cost(size, exclusive=exclusive))
    if size.classes > most:
        raise BadData(
            f"{size.classes:,} classes came, and the model {model.name} takes at most {int(most):,} of "
            f"{size.documents:,} documents with {size.terms:,} terms; use {' or '.join(INSTEAD)}, whose memory follows "
            "the documents, or join classes"
        )
