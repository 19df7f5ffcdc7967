"""The search of `auto`: score all candidates on the same splits and pool the best candidate of each family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import tf_idf
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.elimination import NEXT, SHRINK, Judged, best_of_families, count_going_on, find_helpful
from unnaive.models.auto.members import Training, fit_family, member_scores
from unnaive.models.auto.pool_weights import (
    PoolWeights,
    fit_pool,
    fit_saturation,
    fit_temperature_scale,
    pool_log_loss,
    soften,
)
from unnaive.models.auto.recipe import make_member
from unnaive.models.auto.sampling import sample_rows
from unnaive.models.auto.squared_view import MOST_DOCUMENTS
from unnaive.models.auto.vector_views import AnyVectors, make_vector_view, vector_view_name
from unnaive.models.auto.views import SQUARES, SelectColumns, View, select_views, view_prior
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

TOL = 3e-2  # solver tolerance in the search: three times that of the last fit chooses as well in .75 to .9 of the time
N_PARTS = 3  # parts of the held-out documents; the pool that scores one part is fitted on the other two


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the training documents and of the held-out documents."""

    train: Ids
    held_out: Ids


@dataclass(frozen=True)
class Tried:
    """A candidate on a view, with its accuracy and log-loss on the held-out documents."""

    view: str
    candidate: Candidate
    judged: Judged


@dataclass(frozen=True, eq=False)
class ChosenView:
    """The members chosen for a view.

    members  the best candidate of each family, with its scale
    pool     the weights with which the members are summed
    scaled   the held-out scores of each member, times its scale
    scores   the held-out scores of the pool
    tried    every candidate that was tried
    """

    view: View
    members: list[tuple[Candidate, float]]
    pool: PoolWeights
    scaled: list[Floats]
    scores: Floats
    tried: list[Tried]


def block_splits(
    targets: Ids, n_classes: int, fold: Ids, *, n_judged: int, most_training: int, most_held_out: int, random_state: int
) -> Iterator[Split]:
    """Yield a split for each of the first `n_judged` folds; `fold` is that of each document (n_docs,).

    The class of a held-out document always has training documents.
    """
    alone = np.bincount(targets, minlength=n_classes)[targets] < 2
    random = np.random.default_rng(random_state)
    for number in range(n_judged):
        outside = (fold != number) | alone
        outside |= np.bincount(targets[outside], minlength=n_classes)[targets] == 0  # a class that is all in this fold
        train = sample_rows(np.flatnonzero(outside), targets, most_training, random)
        held_out = np.flatnonzero(~outside)
        if len(held_out):
            yield Split(train, sample_rows(held_out, targets, most_held_out, random))


def class_pairs(targets: Ids) -> tuple[Ids, Ids]:
    """The two documents of each class with exactly two (n_pairs,), the first and the second.

    >>> [rows.tolist() for rows in class_pairs(np.array([0, 2, 1, 0, 2, 0]))]
    [[1], [4]]
    """
    order = np.argsort(targets, kind="stable")
    _, start, size = np.unique(targets[order], return_index=True, return_counts=True)
    first = start[size == 2]
    return order[first], order[first + 1]


def divide_pairs(fold: Ids, targets: Ids, n_folds: int, group: Ids) -> Ids:
    """The folds (n_docs,) with the two documents of a class in different ones, unless they are of one `group`.

    Each is then held out from a model that has learnt the other. If chance puts both in one fold, neither can be held
    out, and documents of classes with so few, on which models do worst, would be missing among those held out.

    >>> divide_pairs(np.array([1, 1, 2, 2]), np.array([0, 0, 1, 1]), 3, np.array([0, 1, 2, 2])).tolist()
    [1, 2, 2, 2]
    """
    first, second = class_pairs(targets)
    together = (fold[first] == fold[second]) & (group[first] != group[second])
    divided = fold.copy()
    divided[second[together]] = (fold[second[together]] + 1) % n_folds
    return divided


def unite_pairs(part: Ids, targets: Ids, class_docs: Ids) -> Ids:
    """The parts of held-out documents (n_held_out,) with both of a class in one if `class_docs` (n_classes,) has two.

    The pool that scores a document is fitted without its part. For a new document of a class that has learnt a single
    one, there is no held-out document of the class that the pool could have been fitted on.

    >>> unite_pairs(np.array([1, 0, 2, 1]), np.array([0, 0, 1, 1]), np.array([2, 5])).tolist()
    [1, 1, 2, 1]
    """
    first, second = class_pairs(targets)
    are_all = class_docs[targets[first]] == 2
    first, second = first[are_all], second[are_all]
    united = part.copy()
    united[second] = part[first]
    return united


class CandidateSearch:
    """Fits candidates on shared splits of documents X with one class each.

    `on_candidate` is called with the view and each candidate before it is fitted. `rows` are the held-out documents,
    `truth` (n_held_out,) their classes, and `soft_targets` (n_held_out, n_classes) the same softened, times their
    weight. The views of a split are found from its training documents, by the column names `terms` and by `select`: a
    term that no training document has is ignored in held-out documents, as an unknown term is in new documents.
    """

    def __init__(
        self, X: Sparse, targets: Ids, n_classes: int, splits: Sequence[Split], *, weight: Floats | None,
        random_state: int, n_jobs: int | None, on_candidate: Callable[[str, Candidate], None],
        terms: Sequence[str] | Vocabulary | None = None, select: SelectColumns | None = None,
        vectors: Sequence[AnyVectors] = (),
    ) -> None:  # fmt: skip
        self.X, self.targets, self.n_classes, self.weight = X, targets, n_classes, weight
        self.random_state, self.n_jobs, self.on_candidate = random_state, n_jobs, on_candidate
        self.splits, self.terms, self.select = splits, terms, select
        self.vectors = {vector_view_name(item): item for item in vectors}
        self.rows = np.concatenate([split.held_out for split in splits])
        self.truth = targets[self.rows]
        self.held_weight = None if weight is None else weight[self.rows]
        self.soft_targets = soften(self.truth, np.bincount(targets, minlength=n_classes) > 0, self.held_weight)

    def choose(self, view: View, candidates: Sequence[Candidate]) -> ChosenView:
        """Choose the best candidate of each family, scale its scores, and pool them.

        The more documents were held out, the fewer candidates of each family go on to the other splits, in the end the
        best. Scales and pool are fitted on all held-out documents.
        """
        judged: dict[Candidate, Judged] = {}
        scores = {candidate: np.empty((len(self.rows), self.n_classes)) for candidate in candidates}
        at, going_on = 0, list(candidates)
        for number, split in enumerate(self.splits):
            self._score_split(
                view, number, {candidate: scores[candidate][at : at + len(split.held_out)] for candidate in going_on}
            )
            at += len(split.held_out)
            most = 1 if at == len(self.rows) else count_going_on(at)
            largest = max(Counter(candidate.family for candidate in going_on).values())
            if at == len(self.rows) or largest > most:
                judged |= {candidate: self._judge(scores[candidate][:at]) for candidate in going_on}
                going_on = best_of_families(judged, going_on, most)
        tried = [Tried(view.name, candidate, judged[candidate]) for candidate in candidates]
        members = [(candidate, judged[candidate].scale) for candidate in going_on]
        scaled = [scale * scores[candidate] for candidate, scale in members]
        pool = fit_pool(scaled, self.soft_targets, shrink=SHRINK)
        return ChosenView(view, members, pool, scaled, pool.combine(scaled), tried)

    def next_candidates(self, first: ChosenView) -> list[Candidate]:
        """The candidates for the other views: the best NEXT of each family that helps the pool of the first view.

        The other views cost more than words, and settings and families that do well on words do well there too.
        """
        helpful = find_helpful(first.scaled, first.pool, self.truth, self.soft_targets)
        families = {first.members[number][0].family for number in helpful}
        judged = {row.candidate: row.judged for row in first.tried}
        return best_of_families(judged, [candidate for candidate in judged if candidate.family in families], NEXT)

    def _judge(self, scores: Floats) -> Judged:
        """Judge a candidate by its scores of the first held-out documents."""
        truth, soft_targets = self.truth[: len(scores)], self.soft_targets[: len(scores)]
        weight = None if self.held_weight is None else self.held_weight[: len(scores)]
        scale = fit_temperature_scale(scores, soft_targets)
        accuracy = float(np.average(scores.argmax(axis=1) == truth, weights=weight))
        return Judged(accuracy, pool_log_loss(scale * scores, truth, weight), scale)

    @lazy_property
    def fold_views(self) -> list[dict[str, View]]:
        """For each split, the views of its training documents, by name."""
        kinds = None if self.terms is None else find_kinds(self.terms)
        by_split = []
        for split in self.splits:
            inside, columns = self.X[split.train], None
            if self.select is not None:
                weight = None if self.weight is None else self.weight[split.train]
                columns = self.select(inside, one_label_matrix(self.targets[split.train], self.n_classes), weight)
            views = select_views(inside, self.terms, self.n_classes, columns, kinds)
            by_split.append({view.name: view for view in views})
        return by_split

    def _score_split(self, view: View, number: int, scores: dict[Candidate, Floats]) -> None:
        """Fit candidates on the training documents of a split; write its held-out scores into `scores`."""
        if view.name in self.vectors:
            self._score_vectors(view.name, number, self.vectors[view.name], scores)
            return
        split = self.splits[number]
        fold_view = self.fold_views[number].get(view.name)
        if fold_view is None:  # the training documents have no column of this view, so it adds nothing
            for values in scores.values():
                values[:] = 0.0
            return
        inside = take_columns(self.X[split.train], fold_view.columns)
        weight = None if self.weight is None else self.weight[split.train]
        weighting = tf_idf(inside, weight, fold_view.df)
        Y = one_label_matrix(self.targets[split.train], self.n_classes)
        data = Training.of(inside, weighting, Y, weight, tol=TOL, random_state=self.random_state, n_jobs=self.n_jobs)
        Z = weight_rows(weighting, take_columns(self.X[split.held_out], fold_view.columns))
        for candidate, values in scores.items():
            self.on_candidate(view.name, candidate)
            values[:] = member_scores(fit_family(candidate.family, candidate.settings, data), Z)

    def _score_vectors(self, name: str, number: int, vectors: AnyVectors, scores: dict[Candidate, Floats]) -> None:
        """Do the same on vectors; words that training lacks count too, as they do in new documents."""
        split = self.splits[number]
        inside = take_columns(self.X[split.train], vectors.columns)
        weight = None if self.weight is None else self.weight[split.train]
        view = make_vector_view(inside, vectors, weight)
        Y = one_label_matrix(self.targets[split.train], self.n_classes)
        data = Training.of_rows(
            view.rows(inside), Y, weight, tol=TOL, random_state=self.random_state, n_jobs=self.n_jobs
        )
        Z = view.rows(take_columns(self.X[split.held_out], vectors.columns))
        for candidate, values in scores.items():
            self.on_candidate(name, candidate)
            values[:] = member_scores(fit_family(candidate.family, candidate.settings, data), Z)


@dataclass(frozen=True, eq=False)
class ViewPool:
    """The pool of all views, with the slope and level of its saturation: score = slope · pooled + level."""

    pool: PoolWeights
    slope: float
    level: float


def pool_views(chosen: Sequence[ChosenView], soft_targets: Floats) -> ViewPool:
    """Fit the pool of the chosen views."""
    views = [view_choice.scores for view_choice in chosen]
    pool = _fit_view_weights(chosen, views, soft_targets)
    return ViewPool(pool, *fit_saturation(pool.combine(views), soft_targets, shrink=1.0))


def _fit_view_weights(
    chosen: Sequence[ChosenView], views: list[Floats], soft_targets: Floats, start: PoolWeights | None = None
) -> PoolWeights:
    """The weights of the chosen views, which have these held-out scores, starting from `start`; 1 for a single view."""
    if len(views) == 1:
        return PoolWeights(np.ones(1), np.zeros(views[0].shape[1]))
    prior = [view_prior(view_choice.view.name) for view_choice in chosen]
    return fit_pool(views, soft_targets, shrink=SHRINK, prior=prior, start=start)


def make_recipe(
    chosen: Sequence[ChosenView], pooled: ViewPool, documents: int | None = None
) -> tuple[dict[str, Any], dict[tuple[str, str], float]]:
    """The recipe without its report, and the share of each member; solvers learn from at most `documents`."""
    bias = pooled.slope * pooled.pool.bias + pooled.level
    members, shares = [], {}
    for weight, view_choice in zip(pooled.pool.weights, chosen, strict=True):
        if not weight:
            continue
        bias += pooled.slope * weight * view_choice.pool.bias
        for share, (candidate, scale) in zip(view_choice.pool.weights, view_choice.members, strict=True):
            if share:
                shares[view_choice.view.name, candidate.family] = float(weight * share)
                factor = pooled.slope * weight * share * scale
                most = MOST_DOCUMENTS if view_choice.view.name == SQUARES else documents
                members.append(make_member(view_choice.view.name, candidate, factor, most))
    whole = sum(shares.values())
    recipe = {"kind": "single", "members": members, "bias": bias.tolist()}
    return recipe, {key: share / whole for key, share in shares.items()}


def cross_fitted_scores(chosen: Sequence[ChosenView], pooled: ViewPool, part: Ids, soft_targets: Floats) -> Floats:
    """Held-out scores (n_held_out, n_classes) of the pool of all views, by weights fitted on other documents.

    A pool overfits the documents that its weights were fitted on, the more so with many classes: on these documents,
    conformal sets and accuracy would look better than on new ones. The scales of members and the saturation, a number
    or two each, are not fitted again; weights are fitted starting from those of all documents. `part` (n_held_out,) is
    the part of each document; all have the same class shares, otherwise the bias fitted without a part would be against
    the classes that it has most of.
    """
    scores = np.empty(soft_targets.shape)
    for number in np.unique(part):
        aside = part == number
        fitted = ~aside if not aside.all() else aside
        views = []
        for view_choice in chosen:
            members = [member[fitted] for member in view_choice.scaled]
            pool = fit_pool(members, soft_targets[fitted], shrink=SHRINK, start=view_choice.pool)
            views.append(pool.combine(view_choice.scaled))
        weights = _fit_view_weights(chosen, [view[fitted] for view in views], soft_targets[fitted], pooled.pool)
        scores[aside] = pooled.slope * weights.combine([view[aside] for view in views]) + pooled.level
    return scores
