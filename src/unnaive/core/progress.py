"""What learners report while they learn, so that any screen can say how far they are.

An event is a name, that of the model, and details: {"class", "classes"} of those that learn class by class,
{"iteration", "max_iter"} of those that go round until nothing changes, at most so often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from unnaive.types import Progress

Item = TypeVar("Item")


def report_classes(items: Iterable[Item], n_items: int, progress: Progress | None, name: str) -> Iterator[Item]:
    """The items, one for each class, each reported before it is taken; one for all classes together is not.

    >>> list(report_classes("ab", 2, lambda *event: print(*event), "tree"))
    tree {'class': 0, 'classes': 2}
    tree {'class': 1, 'classes': 2}
    ['a', 'b']
    """
    for number, item in enumerate(items):
        if progress is not None and n_items > 1:
            progress(name, {"class": number, "classes": n_items})
        yield item


def rounds_of(progress: Progress | None, name: str, most: int) -> Callable[[int], None]:
    """What to call with the number of each round, of which there are at most `most`."""

    def report(number: int) -> None:
        if progress is not None:
            progress(name, {"iteration": number, "max_iter": most})

    return report
