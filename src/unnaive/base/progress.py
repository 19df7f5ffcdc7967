"""Progress events that learners send to a callback, so that any interface can display them.

An event has the name of the model and a dict of details. Learners that train class by class send {"class", "classes"},
iterative ones {"iteration", "max_iter"}, those that can estimate their progress {"iteration", "share"}, the share of
the work that is done, and those that know all their steps {"what", "work", "total_work"}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from unnaive.base.types import Item, ProgressCallback


def report_classes(items: Iterable[Item], n_items: int, progress: ProgressCallback | None, name: str) -> Iterator[Item]:
    """Yield the items, one for each class, and report each before it is used; nothing is reported if there is only one.

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
    """Return a callback for models/svm/solver.py that reports the share of the work done and the solved classes.

    Violations fall roughly geometrically, so the share is log(first / now) / log(first / tol).

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
    """Return a function that reports round i of at most `most` rounds."""

    def report(number: int) -> None:
        if progress is not None:
            progress(name, {"iteration": number, "max_iter": most})

    return report


def shard_events(
    progress: ProgressCallback | None, name: str, n_shards: int, n_rounds: int
) -> Callable[[int], None]:  # fmt: skip
    """Return a function that reports the number of solved shards, in rounds over all shards.

    >>> shard_events(lambda *event: print(*event), "sharded-nbsvm", 25, 2)(33)
    sharded-nbsvm {'what': 'shard 8 of 25, round 2 of 2', 'iteration': 33, 'work': 33, 'total_work': 50}
    """

    def report(n_solved: int) -> None:
        if progress is not None:
            number, shard = divmod(n_solved - 1, n_shards)
            what = f"shard {shard + 1:,} of {n_shards:,}, round {number + 1} of {n_rounds}"
            steps = {"iteration": n_solved, "work": n_solved, "total_work": n_shards * n_rounds}
            progress(name, {"what": what, **steps})

    return report
