"""Expected seconds of the steps of `auto`, to estimate the time left.

They were measured on files of 10,000 to 1.2 million documents (benchmarks/auto_size.py). They only affect progress:
plans depend on `plan.fitting_work`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unnaive.learning.class_limits import DataSize
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.elimination import count_going_on
from unnaive.models.auto.members import DEAR, FAMILIES, HINGES
from unnaive.models.auto.plan import PREPARING, SearchPlan, Size, make_plan
from unnaive.models.auto.search import NEXT
from unnaive.models.auto.views import CHARACTERS, COLUMNS, PAIRS, WORDS

ORDERING = 260.0  # processor seconds to sort, hash and search 10⁹ cells for shared passages


class Times(NamedTuple):
    """Time of a solver relative to the cost of its family, on words and on characters, which need fewer passes."""

    words: float
    characters: float


SEARCHING, LAST = Times(1.2, 0.4), Times(2.5, 0.5)  # the last fit has a smaller tol
PARALLEL = 0.8  # n threads solve n^PARALLEL times as fast
# expected share of the solvers that go on to the next view or into the pool; with several views, and with one
LIKELY, LIKELY_ALONE = 0.4, 0.7
# expected shares of the views in all cells, by how texts are read
USUAL_SHARES = {"both": {WORDS: 0.055, PAIRS: 0.1, CHARACTERS: 0.845}, "columns": {COLUMNS: 1.0}}


def ordering_work(n_cells: int) -> float:
    """Processor seconds of the steps before the search.

    >>> ordering_work(10**8)
    26.0
    """
    return ORDERING * n_cells / 1e9


def fit_work(
    view: str, family: str, cells: float, n_classes: int, times: Times, threads: int = 1, *, beside: bool = False
) -> float:
    """Seconds of fitting one member; a solver takes `times` the cost of its family, and hinges use all threads.

    beside  whether the member is fitted in parallel with a hinge and shares its threads

    >>> fit_work("words", "maxent", 1e8, 2, LAST), fit_work("characters", "complement", 1e8, 2, LAST)
    (5.0, 0.2)
    >>> fit_work("words", "nbsvm", 1e8, 2, LAST), round(fit_work("words", "nbsvm", 1e8, 2, LAST, threads=2), 2)
    (10.0, 5.74)
    """
    cost = FAMILIES[family].cost / (threads**PARALLEL if family in HINGES or beside else 1.0)
    solver = FAMILIES[family].cost >= DEAR
    if solver:
        cost *= times.characters if view == CHARACTERS else times.words
    return cells * n_classes * cost / 1e9


def count_fits(candidates: Sequence[Candidate], held_out: Sequence[int]) -> Counter[str]:
    """The number of fits of each family on a view; `held_out` has the number of held-out documents of each split.

    >>> nbsvm = [Candidate("nbsvm", (C,)) for C in (0.1, 0.3, 1.0)]
    >>> count_fits(nbsvm, [2500])["nbsvm"], count_fits(nbsvm, [300, 300, 300])["nbsvm"]
    (3, 7)
    """
    each = Counter(candidate.family for candidate in candidates)
    fits: Counter[str] = Counter()
    judged = 0
    for size in held_out:
        most = count_going_on(judged)
        fits += Counter({family: min(n, most) for family, n in each.items()})
        judged += size
    return fits


@dataclass(frozen=True)
class ExpectedWork:
    """Processor seconds of the search and of the last fit.

    size      size of the whole data
    training  documents that a candidate learns from
    held_out  documents that are held out in each split
    threads   threads that solvers may use
    """

    size: Size
    training: int
    held_out: tuple[int, ...]
    threads: int = 1

    def candidate(self, view: str, family: str) -> float:
        """Seconds of fitting one candidate in one split."""
        return fit_work(view, family, self._searched(view), self.size.classes, SEARCHING, self.threads)

    def preparing(self, view: str) -> float:
        """Seconds of weighting and summing the documents of a split."""
        return PREPARING * self._searched(view) / 1e9

    def search(self, view: str, candidates: Sequence[Candidate], share: float = 1.0) -> float:
        """Seconds of the search on a view, if `share` of the solvers are tried."""
        whole = len(self.held_out) * self.preparing(view)
        for family, times in count_fits(candidates, self.held_out).items():
            likely = share if FAMILIES[family].cost >= DEAR else 1.0
            whole += likely * times * self.candidate(view, family)
        return whole

    def last_fit(self, view: str, families: Sequence[str], documents: int | None, share: float = 1.0) -> float:
        """Seconds of training a member of each family on all documents of a view, solvers on at most `documents`."""
        cells, n_docs = self.size.cells[view], max(self.size.documents, 1)
        part = 1.0 if documents is None else min(1.0, documents / n_docs)
        whole = PREPARING * cells / 1e9
        beside = any(family in HINGES for family in families)
        for family in families:
            solver = FAMILIES[family].cost >= DEAR
            family_cells = cells * part if solver else cells
            work = fit_work(view, family, family_cells, self.size.classes, LAST, self.threads, beside=beside)
            whole += (share if solver else 1.0) * work
        return whole

    def rest(self, plan: SearchPlan, views: Sequence[str], candidates: Sequence[Candidate]) -> float:
        """Seconds of the search on `views`, and of the last fit; later views may have fewer candidates than the first.

        >>> size = Size(10_000, 20, {"words": 350_000})
        >>> plan = make_plan(size, "normal")
        >>> round(ExpectedWork(size, 7_500, (2_500,)).rest(plan, ["words"], plan.candidates), 2)
        1.69
        """
        families = sorted({candidate.family for candidate in plan.candidates})
        whole = sum(self.search(view, candidates) for view in views[:1])
        later = [candidate for family in families for candidate in _of_family(candidates, family)[:NEXT]]
        others = LIKELY if tuple(views[:1]) == plan.views[:1] else 1.0  # after the first view it is known which go on
        whole += sum(self.search(view, later, others) for view in views[1:])
        likely = LIKELY if len(plan.views) > 1 else LIKELY_ALONE
        return whole + sum(self.last_fit(view, families, plan.documents, likely) for view in plan.views)

    def _searched(self, view: str) -> float:
        return self.size.cells.get(view, 0) * self.training / max(self.size.documents, 1)


def _of_family(candidates: Sequence[Candidate], family: str) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.family == family]


def first_estimate(
    size: DataSize, budget: str | float, threads: int = 1, *, reads_characters: bool
) -> tuple[float, float]:
    """Seconds of sorting the counted documents, and of the whole training, before the views are known.

    >>> estimate = first_estimate(DataSize(10_000, 220_000, 6_300_000, 20), "normal", reads_characters=True)
    >>> [round(part, 1) for part in estimate]
    [1.6, 8.4]
    """
    shares = USUAL_SHARES["both" if reads_characters else "columns"]
    cells = {view: int(share * size.cells) for view, share in shares.items()}
    view_sizes = Size(size.documents, size.classes, cells)
    plan = make_plan(view_sizes, budget)
    n_train = min(plan.training, size.documents * (plan.n_folds - 1) // plan.n_folds)
    held_out = min(plan.held_out, size.documents // plan.n_folds)
    expected = ExpectedWork(view_sizes, n_train, (held_out,) * plan.n_judged, threads)
    ordering = ordering_work(size.cells)
    return ordering, ordering + expected.rest(plan, plan.views, plan.candidates)
