"""Plan a search: choose views, candidates and documents so that the estimated work stays within the budget.

Work is nonzero cells × classes × the cost of a family. Budgets never use the clock, so the same data and seed give the
same model on a slow machine and on a fast one, with one thread or four. A budget in seconds is the work that two
present-day cores do in that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unnaive.learning.class_limits import MOST_NUMBERS, DataSize
from unnaive.models.auto.candidates import (
    BRIEF,
    FAST,
    FEW_DOCUMENTS,
    LONG,
    MULTILABEL,
    MULTILABEL_CHARACTERS,
    UNTRIED,
    USUAL,
    Candidate,
)
from unnaive.models.auto.elimination import GOING_ON, NEXT
from unnaive.models.auto.members import DEAR, FAMILIES
from unnaive.models.auto.recipe import make_member
from unnaive.models.auto.views import CHARACTERS, JOINED, PAIRS

BUDGETS = {"fast": 30.0, "normal": 64.0, "thorough": 600.0}  # estimated processor seconds, about twice the real time
READING = 600.0  # seconds to count, sort and write 10⁹ cells; a budget in seconds includes them
LEAST_WORK = 0.2  # share of a budget in seconds that is left for the plan, however long reading takes
# estimated processor seconds of a search with eliminations up to which "normal" searches as "thorough" does, about ten
# real ones: documents of few words take a twentieth of the estimate, long ones a fifth
SMALL_WORK = 90.0
POOLING = 1_000.0  # processor seconds to scale and pool 10⁹ held-out scores of a view, cross-fitting included
PREPARING = 60.0  # processor seconds to weight and sum 10⁹ cells, once for all members of a view
FEW, SOME = 1_500, 4_500  # documents; from SOME on, at most SearchPlan.held_out of them are held out
ONE_FOLD = 5_000  # documents from which on the budget "fast" holds out one fold
JUDGED = 1_500  # documents that are held out, in as many folds as they take
MANY_CLASSES, MORE_CLASSES = 1_000, 2_000  # from the first on, memory limits the search; from the second, no search
MOST_SCORES = 1 << 27  # held-out scores of all candidates of a view: 1 GB
# solvers need more passes over more documents: 10⁹ cells × classes of an NB-SVM take 5 s for 10,000, 50 s for 1.2 M
VERY_MANY, SLOWER = 300_000, 2.0  # documents from which on a solver takes SLOWER times the cost of its family
LEAST_SAMPLE = 20_000  # smallest sample that a solver learns from in the last fit
LARGE = (
    20_000  # documents from which on candidates learn from larger samples, while the search stays within SEARCH_SHARE
)
IN_SEARCH = "documents during the search"  # ends the entry of `left_out` for a sample
SEARCH_SHARE = 0.25  # most work of the search, as a share of the work of the last fit


@dataclass(frozen=True)
class Size:
    """The size of the data: documents, classes, and the nonzero cells of each view."""

    documents: int
    classes: int
    cells: dict[str, int]


@dataclass(frozen=True)
class SearchPlan:
    """The plan of a search: views, candidates, folds and sample sizes.

    views       names of the views
    candidates  candidates to try on each view
    n_folds     number of folds, of which `n_judged` are held out in turn
    training    most documents that a candidate is fitted on in the search
    held_out    most held-out documents of a split
    documents   most documents that a solver learns from in the last fit; None for all (naive Bayes always uses all)
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

    def search_cost(self, size: Size, view: str, candidates: Sequence[Candidate] | None = None) -> float:
        """Estimated processor seconds of the search on a view, by default with all candidates."""
        share = (self.n_folds - 1) / self.n_folds
        share = min(share, self.training / max(size.documents, 1))
        cells = size.cells[view] * share * self.n_judged
        tried = self.candidates if candidates is None else candidates
        return fitting_work(cells, size.classes, [candidate.family for candidate in tried])

    def refit_cost(self, size: Size, view: str) -> float:
        """Estimated processor seconds of training a member of every family on the documents of a view."""
        families = {candidate.family for candidate in self.candidates}
        share = 1.0 if self.documents is None else min(1.0, self.documents / max(size.documents, 1))
        slower = SLOWER if size.documents > VERY_MANY else 1.0
        return fitting_work(size.cells[view], size.classes, sorted(families), slower * share)

    def pooling_cost(self, size: Size) -> float:
        """Estimated processor seconds of scaling and pooling on all views; of thousands of classes, seconds."""
        held_out = self.n_judged * min(size.documents / self.n_folds, self.held_out)
        return len(self.views) * POOLING * held_out * size.classes / 1e9

    def cost(self, size: Size) -> float:
        """Estimated processor seconds of the whole plan."""
        fitting = sum(self.search_cost(size, view) + self.refit_cost(size, view) for view in self.views)
        return fitting + self.pooling_cost(size)

    def likely_cost(self, size: Size) -> float:
        """The same, with eliminations: some settings on the later views, two of each family after the first fold."""
        later, last = ([candidate for number, candidate in enumerate(self.candidates)
                        if sum(other.family == candidate.family for other in self.candidates[:number]) < most]
                       for most in (NEXT, GOING_ON))  # fmt: skip
        one_fold, cost = replace(self, n_judged=1), self.pooling_cost(size)
        for number, view in enumerate(self.views):
            cost += one_fold.search_cost(size, view, later if number else self.candidates)
            cost += (self.n_judged - 1) * one_fold.search_cost(size, view, last) + self.refit_cost(size, view)
        return cost


def fitting_work(cells: float, n_classes: int, families: Sequence[str], share: float = 1.0) -> float:
    """Estimated processor seconds of fitting each family once; solvers learn from `share` of the documents.

    >>> fitting_work(1e9, 2, ["complement", "maxent"], 0.5)
    72.0
    """
    costs = [FAMILIES[family].cost * (share if FAMILIES[family].cost >= DEAR else 1.0) for family in families]
    return cells * (PREPARING + n_classes * sum(costs)) / 1e9


def budget_work(budget: str | float, n_cells: int) -> float:
    """Estimated processor seconds that a budget leaves for searching and fitting after reading `n_cells`.

    >>> budget_work("normal", 10**9), budget_work(60.0, 5 * 10**7), budget_work(60.0, 10**9)
    (64.0, 30.0, 12.0)
    """
    if isinstance(budget, str):
        return BUDGETS[budget]
    return max(budget - READING * n_cells / 1e9, LEAST_WORK * budget)


def has_too_many_classes(size: DataSize, n_seen: int, *, exclusive: bool) -> bool:
    """Whether a search would take too much memory, judged by the size of the data before anything is fitted.

    Every candidate of a view has a score for each held-out document and each of the `n_seen` classes with documents;
    multilabel data holds out all documents. The pool has a dense weight for every term and class.

    >>> [has_too_many_classes(DataSize(30_000, n, 300_000, 1_000), 1_000, exclusive=True) for n in (9_000, 900_000)]
    [False, True]
    """
    held_out = SearchPlan.held_out if exclusive and size.documents >= SOME else size.documents
    candidates = len(USUAL) if exclusive else len(MULTILABEL) + len(MULTILABEL_CHARACTERS) + 2
    too_many = n_seen >= MANY_CLASSES and held_out * n_seen * candidates > MOST_SCORES
    too_large = 4 * (size.terms + held_out) * size.classes > MOST_NUMBERS
    return too_many or too_large or n_seen >= MORE_CLASSES


def make_plan(size: Size, budget: str | float) -> SearchPlan:
    """The fullest plan that stays within the budget; the leanest plan if none does.

    >>> make_plan(Size(500, 4, {"words": 20_000}), "normal").left_out
    ()
    """
    if budget == "normal":
        for small in _small_plans(size):
            if small.likely_cost(size) <= SMALL_WORK:
                return small
    plans = list(_plans(size, budget))
    most = budget_work(budget, sum(size.cells.values()))
    plan = next((plan for plan in plans if plan.cost(size) <= most), plans[-1])
    return _with_more_training(plan, size, most)


def count_judged(n_docs: int, n_folds: int) -> int:
    """How many folds are held out: as many as have JUDGED documents; more would cost time and add little.

    Twice as many documents have at least half as many folds, so that they never cost less.

    >>> [count_judged(n_docs, 5) for n_docs in (600, 1_500, 3_400, 5_000, 7_500)]
    [5, 5, 3, 2, 1]
    """
    return min(n_folds, -(-JUDGED * n_folds // max(n_docs, 1)))


def _with_more_training(plan: SearchPlan, size: Size, most: float) -> SearchPlan:
    """For large data: the plan with the largest training samples that budget and SEARCH_SHARE allow.

    The larger the samples, the better the choice suits a model of all documents, and the closer its held-out accuracy
    is to the accuracy on new documents.
    """
    while plan.training < size.documents // 2 and size.documents >= LARGE:
        more = replace(plan, training=min(2 * plan.training, size.documents // 2))
        searching = sum(more.search_cost(size, view) for view in more.views)
        if more.cost(size) > most or searching > SEARCH_SHARE * (more.cost(size) - searching):
            break
        plan = more
    sampled = f"all but {plan.training:,} {IN_SEARCH}"
    left_out = tuple(sampled if text.endswith(IN_SEARCH) else text for text in plan.left_out)
    return replace(plan, left_out=left_out)


def _plans(size: Size, budget: str | float) -> Iterator[SearchPlan]:
    """Yield plans, the fullest first; each next plan leaves out and names what costs most for the least gain."""
    n = size.documents
    few = n < ONE_FOLD
    n_folds = 5 if n < FEW else 3 if few else 4
    views = tuple(size.cells)
    if budget == "fast":
        plan = SearchPlan(views, FAST, n_folds, count_judged(n, n_folds) if few else 1)
        yield plan
        yield from _samples(plan, n)
        return
    plan = SearchPlan(views, FEW_DOCUMENTS if n < FEW else USUAL, n_folds, count_judged(n, n_folds))
    if budget == "thorough" or isinstance(budget, float):
        yield replace(plan, candidates=LONG, n_folds=5, n_judged=5, training=n, held_out=n)
        yield replace(plan, candidates=LONG, training=2 * plan.training, held_out=2 * plan.held_out)
    # the more documents a candidate learns from, the closer its held-out scores are to those of the final model
    whole = 5 if count_judged(n, 5) > 1 else 4
    yield replace(plan, n_folds=whole, n_judged=count_judged(n, whole), training=n)
    yield plan
    plan = _leave(plan, "most settings of each family", candidates=BRIEF)
    yield plan
    larger = [plan]  # on words only, these may cost less than the leanest plan with characters
    for training, held_out in ((3_000, 2_000), (1_500, 1_500)):
        if n > training:
            sampled = f"all but {training:,} {IN_SEARCH}"
            larger.append(_leave(larger[0], sampled, training=training, held_out=held_out))
            plan = larger[-1]
            yield plan
    if PAIRS in views:
        without_pairs = tuple(view for view in views if view != PAIRS)
        larger = [_leave(larger_plan, "pairs of words", views=without_pairs) for larger_plan in larger]
        plan = larger[-1]
        yield plan
    if CHARACTERS in plan.views and len(plan.views) > 1:
        yield _without(plan, "nbsvm")
        remaining = tuple(view for view in plan.views if view != CHARACTERS)
        larger = [_leave(larger_plan, "characters", views=remaining) for larger_plan in larger]
        plan = larger[-1]
        yield from larger
    yield from _samples(plan, n)
    plan = _without(plan, "nbsvm")
    yield plan
    yield _without(plan, "maxent")


def _small_plans(size: Size) -> Iterator[SearchPlan]:
    """Yield searches like those of "thorough", the fullest first; none if one fold holds enough documents out.

    For fewer than JUDGED documents they gain no more than the families of FEW_DOCUMENTS.
    """
    n = size.documents
    least = count_judged(n, 5)
    if n >= JUDGED and least > 1:
        for n_judged in range(5, least - 1, -1):
            yield SearchPlan(tuple(size.cells), LONG, 5, n_judged, training=n, held_out=n)


def _samples(plan: SearchPlan, n: int) -> Iterator[SearchPlan]:
    """Yield the plan with solvers that learn from a half, a quarter, … of the documents in the last fit."""
    part = n // 2
    while part >= LEAST_SAMPLE:
        yield _leave(plan, f"all but {part:,} documents in the final fit of the solvers", documents=part)
        part //= 2


@dataclass(frozen=True)
class MultilabelPlan:
    """The plan for multilabel data.

    searched    documents in the folds, on which weights, levels and thresholds are fitted
    members     the candidates that are pooled, each with its view
    documents   most documents that a solver learns from in the last fit; None for all
    left_out    what a larger budget would have done too, in words
    """

    searched: int
    members: tuple[tuple[str, Candidate], ...]
    documents: int | None = None
    left_out: tuple[str, ...] = ()


def multilabel_members(views: Sequence[str]) -> tuple[tuple[str, Candidate], ...]:
    """The members of a pool for multilabel data on these views: on the first one, and on characters.

    >>> [(view, member.family) for view, member in multilabel_members(["words", "words and pairs", "characters"])]
    [('words', 'svm'), ('words', 'nbsvm'), ('words', 'rocchio'), ('characters', 'svm'), ('characters', 'nbsvm')]
    """
    members = [(view, member) for view in views[:1] for member in MULTILABEL]
    for view in (CHARACTERS, JOINED):
        members += [(view, member) for member in MULTILABEL_CHARACTERS if view in views[1:]]
    return tuple(members)


def count_multilabel_folds(n_docs: int) -> int:
    """The number of folds for multilabel documents."""
    return 5 if n_docs < FEW else 3


def multilabel_work(plan: MultilabelPlan, size: Size) -> float:
    """Estimated processor seconds of the folds and of the last fit."""
    n, work = max(size.documents, 1), 0.0
    share = 1.0 if plan.documents is None else plan.documents / n
    for view in dict.fromkeys(view for view, _ in plan.members):
        families = [member.family for own, member in plan.members if own == view]
        folded = size.cells[view] * plan.searched / n * (count_multilabel_folds(plan.searched) - 1)
        work += fitting_work(folded, size.classes, families)
        work += fitting_work(size.cells[view], size.classes, families, share)
    return work


def plan_multilabel(size: Size, budget: str | float) -> MultilabelPlan:
    """The fullest multilabel plan that stays within the budget and MOST_SCORES; the leanest plan if none does.

    >>> plan_multilabel(Size(1_000_000, 20, {"words": 10**8}), "normal").left_out[0]
    'all but 31,250 documents in the folds'
    """
    n = size.documents
    most = budget_work(budget, sum(size.cells.values()))
    everything = multilabel_members(list(size.cells))
    parts = [n]
    while parts[-1] // 2 >= LEAST_SAMPLE:
        parts.append(parts[-1] // 2)
    plans = [_of_part(n, part, everything, ()) for part in parts]
    on_words = tuple((view, member) for view, member in everything if view not in (CHARACTERS, JOINED))
    if on_words and len(on_words) < len(everything):
        plans += [_of_part(n, part, on_words, (CHARACTERS,)) for part in parts]
    leanest = plans[-1]
    for part in parts[1:]:
        sampled = f"all but {part:,} documents in the final fit of the solvers"
        plans.append(replace(leanest, documents=part, left_out=(*leanest.left_out, sampled)))
    for family in ("svm", "nbsvm"):
        remaining = tuple((view, member) for view, member in plans[-1].members if member.family != family)
        plans.append(replace(plans[-1], members=remaining, left_out=(*plans[-1].left_out, FAMILIES[family].title)))

    def fits(plan: MultilabelPlan) -> bool:
        few = plan.searched * size.classes * len(plan.members) <= MOST_SCORES
        return few and multilabel_work(plan, size) <= most

    return next((plan for plan in plans if fits(plan)), plans[-1])


def _of_part(
    n: int, part: int, members: tuple[tuple[str, Candidate], ...], left_out: tuple[str, ...]
) -> MultilabelPlan:
    """The plan with folds of `part` of the n documents."""
    sampled = () if part == n else (f"all but {part:,} documents in the folds",)
    return MultilabelPlan(part, members, left_out=(*left_out, *sampled))


def _leave(plan: SearchPlan, what: str, **changes: object) -> SearchPlan:
    return replace(plan, left_out=(*plan.left_out, what), **changes)  # type: ignore[arg-type]


def _without(plan: SearchPlan, family: str) -> SearchPlan:
    remaining = tuple(candidate for candidate in plan.candidates if candidate.family != family)
    return _leave(plan, FAMILIES[family].title, candidates=remaining)


def default_members(views: Sequence[str]) -> list[dict[str, Any]]:
    """The members of a pool if no document can be held out: the same on every view, with typical scales."""
    scale = {"maxent": 0.25, "nbsvm": 1.5}
    return [
        make_member(view, candidate, scale[candidate.family] / len(views)) for view in views for candidate in UNTRIED
    ]
