"""Limits on the number of classes of a model: memory and work of training, estimated before it begins.

Counts and stored documents grow with the data. Some models also need memory for every class, or train class by class;
they declare this cost (`class_cost`). This module has the limits and the error message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from unnaive.base.errors import BadData

if TYPE_CHECKING:
    from unnaive.learning.learner import Learner

MOST_NUMBERS = 1 << 30  # numbers in memory at once for all classes: 8 GB
MOST_STEPS = 10**12  # for all classes, about a nanosecond each: a quarter of an hour or more
MANY_CLASSES = 10_000  # up to this number of classes, training may take any time
INSTEAD = ("label-tree", "multinomial")  # models whose memory and work follow the stored documents


class DataSize(NamedTuple):
    """The size of training data: X has `documents` rows, `terms` columns and `cells` nonzero cells."""

    documents: int
    terms: int
    cells: int
    classes: int


class ClassCost(NamedTuple):
    """The cost of a class, as an order of magnitude.

    held   numbers in memory at once
    steps  nanoseconds of work
    """

    held: float = 0.0
    steps: float = 0.0


def most_classes(cost: ClassCost) -> float:
    """The maximum number of classes for a model of this cost; infinity for any number.

    >>> most_classes(ClassCost(held=1 << 20)), most_classes(ClassCost(steps=1e6)), most_classes(ClassCost())
    (1024.0, 1000000.0, inf)
    """
    by_memory = MOST_NUMBERS / cost.held if cost.held else float("inf")
    by_work = max(MOST_STEPS / cost.steps, MANY_CLASSES) if cost.steps else float("inf")
    return min(by_memory, by_work)


def check_class_limit(model: Learner, size: DataSize, *, exclusive: bool) -> None:
    """Raise BadData if there are more classes than the model can handle with data of this size."""
    most = most_classes(model.class_cost(size, exclusive=exclusive))
    if size.classes > most:
        raise BadData(
            f"the model {model.traits.name} can learn at most {int(most):,} classes from {size.documents:,} "
            f"documents with {size.terms:,} terms, and the data has {size.classes:,} classes; use "
            f"{' or '.join(INSTEAD)}, whose memory depends only on the documents, or merge classes"
        )
