"""The plan of a search: which views, candidates and documents, so that the estimated work stays within a budget.

Named budgets go by work, nonzero cells × classes × what a family costs, never by the clock: the same data and seed
give the same model on a slow machine and on a fast one, with one thread or four. Only a budget in seconds looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unnaive.learning.class_limits import MOST_NUMBERS, DataSize
from unnaive.models.auto.candidates import BRIEF, FAST, LONG, MULTILABEL, UNTRIED, USUAL, Candidate
from unnaive.models.auto.members import FAMILIES
from unnaive.models.auto.recipe import make_member
from unnaive.models.auto.views import CHARACTERS, PAIRS

BUDGETS = {"fast": 30.0, "normal": 64.0, "thorough": 600.0}  # estimated processor seconds: about twice what it takes
PREPARING = 60.0  # processor seconds for 10⁹ cells that are weighted and summed once for all members of a view
FEW, SOME = 1_500, 4_500  # documents: under the second all folds are judged by, else one; three or four save time
MANY_CLASSES, MORE_CLASSES = 1_000, 2_000  # from the first on memory is looked at, from the second on none searches
MOST_SCORES = 1 << 27  # of held-out documents, all candidates of a view together: 1 GB


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
    n_folds     parts that the documents are cut into; `all_folds` judges by each in turn, else by the first alone
    training    most documents that a candidate is fitted on while searching
    held_out    most documents that it is judged by
    left_out    what a larger budget would have tried too, in words
    """

    views: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    n_folds: int
    all_folds: bool
    training: int = 6_000
    held_out: int = 2_500
    left_out: tuple[str, ...] = ()

    def search_cost(self, size: Size, view: str) -> float:
        """Estimated processor seconds of the search on a view."""
        rounds = self.n_folds if self.all_folds else 1
        share = (self.n_folds - 1) / self.n_folds
        share = min(share, self.training / max(size.documents, 1))
        cells = size.cells[view] * share * rounds
        return cells * (PREPARING + size.classes * sum(FAMILIES[one.family].cost for one in self.candidates)) / 1e9

    def refit_cost(self, size: Size, view: str) -> float:
        """Estimated processor seconds of training a member of every family on all documents of a view."""
        families = {one.family for one in self.candidates}
        return size.cells[view] * (PREPARING + size.classes * sum(FAMILIES[one].cost for one in families)) / 1e9

    def cost(self, size: Size) -> float:
        """Estimated processor seconds of all."""
        return sum(self.search_cost(size, view) + self.refit_cost(size, view) for view in self.views)


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
    most = BUDGETS[budget] if isinstance(budget, str) else float(budget)
    return next((plan for plan in plans if plan.cost(size) <= most), plans[-1])


def _plans(size: Size, budget: str | float) -> Iterator[SearchPlan]:
    """Fuller plans first; each leaves out what costs most for least, and says so."""
    n = size.documents
    few = n < SOME
    n_folds = 5 if n < FEW else 3 if few else 4
    views = tuple(size.cells)
    if budget == "fast":
        yield SearchPlan(views, FAST, 2 if few else n_folds, few)
        return
    plan = SearchPlan(views, USUAL, n_folds, few)
    if budget == "thorough" or isinstance(budget, float):
        yield replace(plan, candidates=LONG, n_folds=5, all_folds=True, training=n, held_out=n)
        yield replace(plan, candidates=LONG, training=2 * plan.training, held_out=2 * plan.held_out)
    # the more documents the candidates learn from, the more their held-out scores are like those of the final model
    yield replace(plan, n_folds=5 if few else 4, training=n)
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
    plan = _without(plan, "nbsvm")
    yield plan
    if CHARACTERS in plan.views and len(plan.views) > 1:
        kept = tuple(view for view in plan.views if view != CHARACTERS)
        yield from (replace(one, left_out=(*one.left_out, "characters"), views=kept) for one in larger)
        plan = _leave(plan, "characters", views=kept)
        yield plan
    yield _without(plan, "maxent")


def _leave(plan: SearchPlan, what: str, **changes: object) -> SearchPlan:
    return replace(plan, left_out=(*plan.left_out, what), **changes)  # type: ignore[arg-type]


def _without(plan: SearchPlan, family: str) -> SearchPlan:
    kept = tuple(one for one in plan.candidates if one.family != family)
    return _leave(plan, FAMILIES[family].title, candidates=kept)


def default_members(views: Sequence[str]) -> list[dict[str, Any]]:
    """The members of a pool that nothing could be held out for: alike on every view, with a usual scale."""
    scale = {"maxent": 0.25, "nbsvm": 1.5}
    return [make_member(view, one, scale[one.family] / len(views)) for view in views for one in UNTRIED]
