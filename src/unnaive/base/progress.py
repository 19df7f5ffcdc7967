"""What learners report while they learn, so that any screen can say how far they are.

An event is a name, that of the model, and details: {"class", "classes"} of those that learn class by class,
{"iteration", "max_iter"} of those that go round until nothing changes, at most so often, and {"iteration", "share"}
of those that can tell by what is left which share of the way lies behind them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from unnaive.base.types import Item, ProgressCallback


def report_classes(items: Iterable[Item], n_items: int, progress: ProgressCallback | None, name: str) -> Iterator[Item]:
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


def solver_events(
    progress: ProgressCallback | None, name: str, tol: float, n_classes: int, measure: str = "violation"
) -> Callable[[int, float, int], None] | None:
    """The callback of models/svm/solver.py: it reports the share of the way, and the class once some are solved.

    Violations fall about as a geometric series, so the share is log(first / now) / log(first / tol).

    >>> tell = solver_events(lambda *event: print(*event), "svm", 0.01, 20)
    >>> tell(1, 1.0, 0), tell(5, 0.1, 0), tell(9, 0.5, 8)
    svm {'iteration': 1, 'violation': 1.0, 'share': 0.0}
    svm {'iteration': 5, 'violation': 0.1, 'share': 0.5}
    svm {'iteration': 9, 'violation': 0.5, 'share': 0.5, 'class': 8, 'classes': 20}
    (None, None, None)
    """
    if progress is None:
        return None
    first, furthest = 0.0, 0.0

    def tell(passes: int, violation: float, solved: int) -> None:
        nonlocal first, furthest
        first = max(first, violation)
        if 0 < tol < first:
            furthest = max(furthest, min(math.log(first / max(violation, tol)) / math.log(first / tol), 1.0))
        where = {"class": solved, "classes": n_classes} if 0 < solved < n_classes else {}
        progress(name, {"iteration": passes, measure: violation, "share": furthest, **where})

    return tell


def rounds_of(progress: ProgressCallback | None, name: str, most: int) -> Callable[[int], None]:
    """What to call with the number of each round, of which there are at most `most`."""

    def report(number: int) -> None:
        if progress is not None:
            progress(name, {"iteration": number, "max_iter": most})

    return report
