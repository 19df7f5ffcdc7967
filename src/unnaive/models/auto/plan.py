"""The plan of a search: which views, candidates and documents, so that the estimated work stays within a budget.

Budgets go by work, nonzero cells × classes × what a family costs, never by the clock: the same data and seed give the
same model on a slow machine and on a fast one, with one thread or four. A budget in seconds is the work that such a
time is enough for on two cores of today.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unnaive.learning.class_limits import MOST_NUMBERS, DataSize
from unnaive.models.auto.candidates import BRIEF, FAST, LONG, MULTILABEL, UNTRIED, USUAL, Candidate
from unnaive.models.auto.members import DEAR, FAMILIES
from unnaive.models.auto.recipe import make_member
from unnaive.models.auto.views import CHARACTERS, PAIRS

BUDGETS = {"fast": 30.0, "normal": 64.0, "thorough": 600.0}  # estimated processor seconds: about twice what it takes
READING = 600.0  # seconds for 10⁹ cells that are counted, put in order and written, which a budget in seconds includes
LEAST_WORK = 0.2  # of a budget in seconds: what is planned with, however long reading takes
PREPARING = 60.0  # processor seconds for 10⁹ cells that are weighted and summed once for all members of a view
FEW, SOME = 1_500, 4_500  # documents: from the second on at most SearchPlan.held_out of them are held out
ONE_FOLD, JUDGED = 5_000, 1_500  # documents: from the first on one fold is judged by, under it so many that have these
MANY_CLASSES, MORE_CLASSES = 1_000, 2_000  # from the first on memory is looked at, from the second on none searches
MOST_SCORES = 1 << 27  # of held-out documents, all candidates of a view together: 1 GB
LEAST_SAMPLE = 20_000  # documents that a solver learns from in the end, where there are so many
LARGE = (
    20_000  # documents: from here on candidates learn from more of them, as long as the search stays the lesser part
)
SEARCH_SHARE = 0.25  # of the work of the last fit


@dataclass(frozen=True)
class Size:
    """How large the data is: documents, classes, and the nonzero cells of each view."""

    documents: int
    classes: int
    cells: dict[str, int]


@dataclass(frozen=True)
class SearchPlan:
    """What will be tried.

    views       the names of the views
    candidates  tried on each of them
    n_folds     parts that the documents are cut into, of which `n_judged` are judged by in turn
    training    most documents that a candidate is fitted on while searching
    held_out    most documents that it is judged by
    documents   most documents that a solver learns from in the end; None for all, from which naive Bayes learns anyway
    left_out    what a larger budget would have tried too, in words
    """

    views: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    n_folds: int
    n_judged: int
    training: int = 6_000
    held_out: int = 2_500
    documents: int | None = None
    left_out: tuple[str, ...] = ()

    def search_cost(self, size: Size, view: str) -> float:
        """Estimated processor seconds of the search on a view."""
        share = (self.n_folds - 1) / self.n_folds
        share = min(share, self.training / max(size.documents, 1))
        cells = size.cells[view] * share * self.n_judged
        return fitting_work(cells, size.classes, [one.family for one in self.candidates])

    def refit_cost(self, size: Size, view: str) -> float:
        """Estimated processor seconds of training a member of every family on the documents of a view."""
        families = {one.family for one in self.candidates}
        share = 1.0 if self.documents is None else min(1.0, self.documents / max(size.documents, 1))
        return fitting_work(size.cells[view], size.classes, sorted(families), share)

    def cost(self, size: Size) -> float:
        """Estimated processor seconds of all."""
        return sum(self.search_cost(size, view) + self.refit_cost(size, view) for view in self.views)


def fitting_work(cells: float, n_classes: int, families: Sequence[str], share: float = 1.0) -> float:
    """Estimated processor seconds of one fit of each of the families; solvers learn from a share of the documents.

    >>> fitting_work(1e9, 2, ["complement", "maxent"], 0.5)
    72.0
    """
    costs = [FAMILIES[one].cost * (share if FAMILIES[one].cost >= DEAR else 1.0) for one in families]
    return cells * (PREPARING + n_classes * sum(costs)) / 1e9


def budget_work(budget: str | float, n_cells: int) -> float:
    """Estimated processor seconds that a budget leaves for searching and fitting, with so many cells to read.

    >>> budget_work("normal", 10**9), budget_work(60.0, 5 * 10**7), budget_work(60.0, 10**9)
    (64.0, 30.0, 12.0)
    """
    if isinstance(budget, str):
        return BUDGETS[budget]
    return max(budget - READING * n_cells / 1e9, LEAST_WORK * budget)


def has_too_many_classes(size: DataSize, n_seen: int, *, exclusive: bool) -> bool:
    """Whether a search would take more memory than it may: planned before anything is fitted, by the data alone.

    Every candidate of a view has a score for each held-out document and class, of which `n_seen` have documents;
    multilabel data holds out all documents. At the end there are dense weights of every term and class.

    >>> [has_too_many_classes(DataSize(30_000, n, 300_000, 1_000), 1_000, exclusive=True) for n in (9_000, 900_000)]
    [False, True]
    """
    held_out = SearchPlan.held_out if exclusive and size.documents >= SOME else size.documents
    candidates = len(USUAL) if exclusive else len(MULTILABEL) + 2
    too_many = n_seen >= MANY_CLASSES and held_out * n_seen * candidates > MOST_SCORES
    too_large = 4 * (size.terms + held_out) * size.classes > MOST_NUMBERS
    return too_many or too_large or n_seen >= MORE_CLASSES


def make_plan(size: Size, budget: str | float) -> SearchPlan:
    """The first of the plans, from the fullest to the leanest, that fits; the leanest where none does.

    >>> make_plan(Size(500, 4, {"words": 20_000}), "normal").left_out
    ()
    """
    plans = list(_plans(size, budget))
    most = budget_work(budget, sum(size.cells.values()))
    plan = next((plan for plan in plans if plan.cost(size) <= most), plans[-1])
    return _with_more_training(plan, size, most)


def count_judged(n_docs: int, n_folds: int) -> int:
    """How many of the folds candidates are judged by: JUDGED documents are enough, more would cost and tell little.

    >>> [count_judged(n_docs, 5) for n_docs in (600, 1_500, 3_400, 5_000)]
    [5, 5, 3, 1]
    """
    return 1 if n_docs >= ONE_FOLD else min(n_folds, -(-JUDGED * n_folds // max(n_docs, 1)))


def _with_more_training(plan: SearchPlan, size: Size, most: float) -> SearchPlan:
    """The plan in which candidates learn from as many of many documents as the budget allows, and cost little beside.

    The more they learn from, the more what is chosen suits the model of all documents, and the nearer its held-out
    accuracy is to that of new ones.
    """
    while plan.training < size.documents // 2 and size.documents >= LARGE:
        more = replace(plan, training=min(2 * plan.training, size.documents // 2))
        searching = sum(more.search_cost(size, view) for view in more.views)
        if more.cost(size) > most or searching > SEARCH_SHARE * (more.cost(size) - searching):
            break
        plan = more
    return plan


def _plans(size: Size, budget: str | float) -> Iterator[SearchPlan]:
    """Fuller plans first; each leaves out what costs most for least, and says so."""
    n = size.documents
    few = n < ONE_FOLD
    n_folds = 5 if n < FEW else 3 if few else 4
    views = tuple(size.cells)
    if budget == "fast":
        plan = SearchPlan(views, FAST, 2 if few else n_folds, 2 if few else 1)
        yield plan
        yield from _samples(plan, n)
        return
    plan = SearchPlan(views, USUAL, n_folds, count_judged(n, n_folds))
    if budget == "thorough" or isinstance(budget, float):
        yield replace(plan, candidates=LONG, n_folds=5, n_judged=5, training=n, held_out=n)
        yield replace(plan, candidates=LONG, training=2 * plan.training, held_out=2 * plan.held_out)
    # the more documents the candidates learn from, the more their held-out scores are like those of the final model
    whole = 5 if few else 4
    yield replace(plan, n_folds=whole, n_judged=count_judged(n, whole), training=n)
    yield plan
    plan = _leave(plan, "most settings of each family", candidates=BRIEF)
    yield plan
    larger = [plan]  # on words alone, these may cost less than the leanest on characters
    for training, held_out in ((3_000, 2_000), (1_500, 1_500)):
        if n > training:
            sampled = f"all but {training:,} documents while searching"
            larger.append(_leave(larger[0], sampled, training=training, held_out=held_out))
            plan = larger[-1]
            yield plan
    if PAIRS in views:
        without_pairs = tuple(view for view in views if view != PAIRS)
        larger = [_leave(one, "pairs of words", views=without_pairs) for one in larger]
        plan = larger[-1]
        yield plan
    if CHARACTERS in plan.views and len(plan.views) > 1:
        yield _without(plan, "nbsvm")
        kept = tuple(view for view in plan.views if view != CHARACTERS)
        larger = [_leave(one, "characters", views=kept) for one in larger]
        plan = larger[-1]
        yield from larger
    yield from _samples(plan, n)
    plan = _without(plan, "nbsvm")
    yield plan
    yield _without(plan, "maxent")


def _samples(plan: SearchPlan, n: int) -> Iterator[SearchPlan]:
    """The plan with a half, a quarter, … of the documents for the solvers in the end."""
    part = n // 2
    while part >= LEAST_SAMPLE:
        yield _leave(plan, f"all but {part:,} documents in what solvers learn from in the end", documents=part)
        part //= 2


@dataclass(frozen=True)
class MultilabelPlan:
    """What is done with multilabel data.

    searched    documents of the folds, from which scales, levels and thresholds come
    members     the candidates that are pooled
    documents   most documents that a solver learns from in the end; None for all
    left_out    what a larger budget would have done too, in words
    """

    searched: int
    members: tuple[Candidate, ...] = MULTILABEL
    documents: int | None = None
    left_out: tuple[str, ...] = ()


def count_multilabel_folds(n_docs: int) -> int:
    """How many folds multilabel documents are cut into."""
    return 5 if n_docs < FEW else 3


def multilabel_work(plan: MultilabelPlan, size: Size) -> float:
    """Estimated processor seconds of the folds and of the last fit, on the one view."""
    n, families = max(size.documents, 1), [one.family for one in plan.members]
    (cells,) = size.cells.values()
    folded = cells * plan.searched / n * (count_multilabel_folds(plan.searched) - 1)
    share = 1.0 if plan.documents is None else plan.documents / n
    return fitting_work(folded, size.classes, families) + fitting_work(cells, size.classes, families, share)


def plan_multilabel(size: Size, budget: str | float) -> MultilabelPlan:
    """The first of the plans of multilabel data that fits, the leanest where none does.

    >>> plan_multilabel(Size(1_000_000, 20, {"words": 10**8}), "normal").left_out[0]
    'all but 31,250 documents in the folds'
    """
    n = size.documents
    most = budget_work(budget, sum(size.cells.values()))
    plans = [MultilabelPlan(n)]
    part = n // 2
    while part >= LEAST_SAMPLE:
        plans.append(MultilabelPlan(part, left_out=(f"all but {part:,} documents in the folds",)))
        part //= 2
    leanest = plans[-1]
    part = n // 2
    while part >= LEAST_SAMPLE:
        sampled = f"all but {part:,} documents in what solvers learn from in the end"
        plans.append(replace(leanest, documents=part, left_out=(*leanest.left_out, sampled)))
        part //= 2
    for family in ("svm", "nbsvm"):
        kept = tuple(one for one in plans[-1].members if one.family != family)
        plans.append(replace(plans[-1], members=kept, left_out=(*plans[-1].left_out, FAMILIES[family].title)))
    return next((plan for plan in plans if multilabel_work(plan, size) <= most), plans[-1])


def _leave(plan: SearchPlan, what: str, **changes: object) -> SearchPlan:
    return replace(plan, left_out=(*plan.left_out, what), **changes)  # type: ignore[arg-type]


def _without(plan: SearchPlan, family: str) -> SearchPlan:
    kept = tuple(one for one in plan.candidates if one.family != family)
    return _leave(plan, FAMILIES[family].title, candidates=kept)


def default_members(views: Sequence[str]) -> list[dict[str, Any]]:
    """The members of a pool that nothing could be held out for: alike on every view, with a usual scale."""
    scale = {"maxent": 0.25, "nbsvm": 1.5}
    return [make_member(view, one, scale[one.family] / len(views)) for view in views for one in UNTRIED]
