"""The search of `auto`: candidates on shared splits of the training documents, the best of each family pooled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import block_folds
from unnaive.data.products import take_columns
from unnaive.data.targets import one_label_matrix
from unnaive.data.weighting import tf_idf
from unnaive.models.auto.candidates import Candidate
from unnaive.models.auto.members import (
    DEAR,
    FAMILIES,
    Training,
    fit_family,
    member_scores,
    weight_rows,
)
from unnaive.models.auto.pooling import (
    PoolWeights,
    fit_pool,
    fit_saturation,
    fit_temperature_scale,
    pool_log_loss,
    soften,
)
from unnaive.models.auto.recipe import make_member
from unnaive.models.auto.sampling import sample_rows
from unnaive.models.auto.vector_view import Vectors, VectorView, vector_view_name
from unnaive.models.auto.views import SelectColumns, View, select_views, view_prior
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

TOL = 3e-2  # of the solvers while searching: three times that of the last fit chooses as well, in .75 to .9 of the time
N_PARTS = 3  # of the held-out documents: the pool of one is fitted on the other two
ENOUGH = 300  # held-out documents: after so many only the best of each family go on
GO_ON = 2  # candidates of a family
LEAST_SHARE = 0.15  # of the pool on words: a solver with less is not tried on the other views, which cost more
SHRINK = 20.0  # documents that the weights are worth which the pool is drawn toward


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to judge by."""

    train: Ids
    held_out: Ids


@dataclass(frozen=True)
class Tried:
    """A candidate on a view and how it did on the held-out documents."""

    view: str
    candidate: Candidate
    accuracy: float
    log_loss: float


@dataclass(frozen=True)
class Judged:
    """How a candidate did on held-out documents, and the factor of its scores with the least log-loss."""

    accuracy: float
    log_loss: float
    scale: float

    @property
    def merit(self) -> float:
        """Accuracy − log-loss / 10."""
        return self.accuracy - 0.1 * self.log_loss


@dataclass(frozen=True, eq=False)
class ChosenView:
    """What was chosen for a view.

    members  the best candidate of each family with its scale, and `scaled` its held-out scores times that
    pool     the weights of their pool, and `scores` its held-out scores
    tried    every candidate
    """

    view: View
    members: list[tuple[Candidate, float]]
    pool: PoolWeights
    scaled: list[Floats]
    scores: Floats
    tried: list[Tried]


def block_splits(
    targets: Ids, n_classes: int, *, n_folds: int, n_judged: int, most_training: int, most_held_out: int,
    random_state: int, order: Ids | None = None,
) -> Iterator[Split]:  # fmt: skip
    """Splits in which a fold is a run of neighbours: of each class, documents that follow one another in the order.

    Training puts documents in the order of a hash of their words, so neighbours are any documents, but copies of one
    stand together, and in the order of `SharedPassages` replies and near copies do: drawn one by one they would be on
    both sides, and every candidate would look better and surer than it will be. The class of a held-out document
    always has others to train on.
    """
    fold = block_folds(targets, n_folds, order)
    alone = np.bincount(targets, minlength=n_classes)[targets] < 2
    random = np.random.default_rng(random_state)
    for number in range(n_judged):
        train = sample_rows(np.flatnonzero((fold != number) | alone), targets, most_training, random)
        known = np.bincount(targets[train], minlength=n_classes) > 0
        held_out = np.flatnonzero((fold == number) & ~alone & known[targets])
        if len(held_out):
            yield Split(train, sample_rows(held_out, targets, most_held_out, random))


class CandidateSearch:
    """Candidates on shared splits of documents X with one class each.

    `on_candidate` is called with the view and the family of every candidate that is about to be fitted. Held-out
    documents are `rows`, `truth` has the class of each (n_held_out,), and `soft_targets` the same softened (n_held_out,
    n_classes). The views of a split, by the names `terms` of the columns and `select`, are those of its training
    documents: a term that none of them has is to a held-out document what an unknown one is to a new document, nothing.
    """

    def __init__(
        self, X: Sparse, targets: Ids, n_classes: int, splits: Sequence[Split], *, weight: Floats | None,
        random_state: int, n_jobs: int | None, on_candidate: Callable[[str, str], None],
        terms: Sequence[str] | Vocabulary | None = None, select: SelectColumns | None = None,
        vectors: Sequence[Vectors] = (),
    ) -> None:  # fmt: skip
        self.X, self.targets, self.n_classes, self.weight = X, targets, n_classes, weight
        self.random_state, self.n_jobs, self.on_candidate = random_state, n_jobs, on_candidate
        self.splits, self.terms, self.select = splits, terms, select
        self.vectors = {vector_view_name(one): one for one in vectors}
        self.rows = np.concatenate([one.held_out for one in splits])
        self.truth = targets[self.rows]
        self.soft_targets = soften(self.truth, np.bincount(targets, minlength=n_classes) > 0)

    def choose(self, view: View, candidates: Sequence[Candidate]) -> ChosenView:
        """The best candidate of each family, scaled, and their pool.

        After ENOUGH held-out documents the best GO_ON of each family go on to the other splits, and the best of all
        documents is chosen.
        """
        judged: dict[Candidate, Judged] = {}
        scores = {one: np.empty((len(self.rows), self.n_classes)) for one in candidates}
        at, going_on = 0, list(candidates)
        for number, split in enumerate(self.splits):
            self._score_split(view, number, {one: scores[one][at : at + len(split.held_out)] for one in going_on})
            at += len(split.held_out)
            if at == len(self.rows) or (at >= ENOUGH and len(going_on) == len(candidates)):
                judged |= {one: self._judge(scores[one][:at]) for one in going_on}
                going_on = _best_of_families(judged, going_on, GO_ON)
        tried = [Tried(view.name, one, judged[one].accuracy, judged[one].log_loss) for one in candidates]
        members = [(one, judged[one].scale) for one in _best_of_families(judged, going_on, 1)]
        scaled = [scale * scores[one] for one, scale in members]
        pool = fit_pool(scaled, self.soft_targets, shrink=SHRINK)
        return ChosenView(view, members, pool, scaled, pool.combine(scaled), tried)

    def _judge(self, scores: Floats) -> Judged:
        """How a candidate does on the first held-out documents, whose scores these are."""
        truth, soft_targets = self.truth[: len(scores)], self.soft_targets[: len(scores)]
        scale = fit_temperature_scale(scores, soft_targets)
        accuracy = float((scores.argmax(axis=1) == truth).mean())
        return Judged(accuracy, pool_log_loss(scale * scores, truth), scale)

    @lazy_property
    def fold_views(self) -> list[dict[str, View]]:
        """The views, by their names, that the training documents of each split give."""
        kinds = None if self.terms is None else find_kinds(self.terms)
        found = []
        for split in self.splits:
            inside, columns = self.X[split.train], None
            if self.select is not None:
                weight = None if self.weight is None else self.weight[split.train]
                columns = self.select(inside, one_label_matrix(self.targets[split.train], self.n_classes), weight)
            views = select_views(inside, self.terms, self.n_classes, columns, kinds)
            found.append({one.name: one for one in views})
        return found

    def _score_split(self, view: View, number: int, scores: dict[Candidate, Floats]) -> None:
        """Fit candidates on the training documents of a split; write the scores of its held-out ones to `scores`."""
        if view.name in self.vectors:
            self._score_vectors(view.name, number, self.vectors[view.name], scores)
            return
        split = self.splits[number]
        own = self.fold_views[number].get(view.name)
        if own is None:  # a view that the training documents have no column of adds nothing
            for found in scores.values():
                found[:] = 0.0
            return
        inside = take_columns(self.X[split.train], own.columns)
        weight = None if self.weight is None else self.weight[split.train]
        weighting = tf_idf(inside, weight, own.df)
        Y = one_label_matrix(self.targets[split.train], self.n_classes)
        data = Training.of(inside, weighting, Y, weight, tol=TOL, random_state=self.random_state, n_jobs=self.n_jobs)
        Z = weight_rows(weighting, take_columns(self.X[split.held_out], own.columns))
        for one, found in scores.items():
            self.on_candidate(view.name, one.family)
            found[:] = member_scores(fit_family(one.family, one.settings, data), Z)

    def _score_vectors(self, name: str, number: int, vectors: Vectors, scores: dict[Candidate, Floats]) -> None:
        """The same on vectors, which held-out documents have as new ones have: of words new to training, too."""
        split = self.splits[number]
        inside = take_columns(self.X[split.train], vectors.columns)
        weight = None if self.weight is None else self.weight[split.train]
        view = VectorView.of(inside, vectors, weight)
        Y = one_label_matrix(self.targets[split.train], self.n_classes)
        data = view.training(inside, Y, weight, tol=TOL, random_state=self.random_state, n_jobs=self.n_jobs)
        Z = view.rows(take_columns(self.X[split.held_out], vectors.columns))
        for one, found in scores.items():
            self.on_candidate(name, one.family)
            found[:] = member_scores(fit_family(one.family, one.settings, data), Z)


def _best_of_families(judged: dict[Candidate, Judged], candidates: Sequence[Candidate], most: int) -> list[Candidate]:
    """The best of each family, at most so many, by accuracy − log-loss / 10; in their order."""
    ranked = sorted(candidates, key=lambda one: -judged[one].merit)
    kept = [one for one in ranked if sum(other.family == one.family for other in ranked[: ranked.index(one)]) < most]
    return [one for one in candidates if one in kept]


def kept_families(candidates: Sequence[Candidate], chosen: Sequence[ChosenView]) -> list[Candidate]:
    """The candidates of the families that the next view is tried with: all, at first.

    Solvers with less than LEAST_SHARE of the pool of the first view, words where there are any, which costs least, are
    left out of the others; what costs next to nothing is not. A pool without a weight, of a view that tells nothing,
    leaves none out.
    """
    pool = chosen[0].pool if chosen else None
    if pool is None or not pool.weights.sum():
        return list(candidates)
    share = {one.family: weight / pool.weights.sum()
             for weight, (one, _) in zip(pool.weights, chosen[0].members, strict=True)}  # fmt: skip
    return [one for one in candidates if FAMILIES[one.family].cost < DEAR or share[one.family] >= LEAST_SHARE]


@dataclass(frozen=True, eq=False)
class ViewPool:
    """The pool of all views, and the slope and level of its saturation: score = slope · pooled + level."""

    pool: PoolWeights
    slope: float
    level: float

    @classmethod
    def of(
        cls, views: list[Floats], prior: list[float], soft_targets: Floats, start: ViewPool | None = None
    ) -> ViewPool:
        """Fitted to held-out scores of each view; `start` is one that is near."""
        pool = fit_pool(views, soft_targets, shrink=SHRINK, prior=prior, start=None if start is None else start.pool)
        saturation = None if start is None else (start.slope, start.level)
        return cls(pool, *fit_saturation(pool.combine(views), soft_targets, shrink=1.0, start=saturation))


def pool_views(chosen: Sequence[ChosenView], soft_targets: Floats) -> ViewPool:
    """The pool of the views."""
    return ViewPool.of([one.scores for one in chosen], [view_prior(one.view.name) for one in chosen], soft_targets)


def make_recipe(
    chosen: Sequence[ChosenView], pooled: ViewPool, documents: int | None = None
) -> tuple[dict[str, Any], dict[tuple[str, str], float]]:
    """The recipe without its report, and the shares of its members; solvers learn from at most so many documents."""
    bias = pooled.slope * pooled.pool.bias + pooled.level
    members, shares = [], {}
    for weight, one in zip(pooled.pool.weights, chosen, strict=True):
        if not weight:
            continue
        bias += pooled.slope * weight * one.pool.bias
        for share, (candidate, scale) in zip(one.pool.weights, one.members, strict=True):
            if share:
                shares[one.view.name, candidate.family] = float(weight * share)
                factor = pooled.slope * weight * share * scale
                members.append(make_member(one.view.name, candidate, factor, documents))
    whole = sum(shares.values())
    recipe = {"kind": "single", "members": members, "bias": bias.tolist()}
    return recipe, {key: share / whole for key, share in shares.items()}


def cross_fitted_scores(chosen: Sequence[ChosenView], pooled: ViewPool, truth: Ids, soft_targets: Floats) -> Floats:
    """Held-out scores (n_held_out, n_classes) of the pool of all views, each by weights fitted on other documents.

    A pool fits the documents that its weights were made of a little too well, the more so the more classes have a bias:
    sets of labels, and the share that is right, would promise more than new documents keep. The scale of a member is
    one number, and is not fitted again; weights are sought from those of all documents on. Parts have the same shares
    of the classes `truth` (n_held_out,): with more of a class in the one, the others would have less of it, and their
    bias would be against it. Held-out documents stand split by split, and in each in the order of their words, so that
    copies are in one part.
    """
    part = block_folds(truth, N_PARTS)
    scores = np.empty(soft_targets.shape)
    prior = [view_prior(one.view.name) for one in chosen]
    for number in np.unique(part):
        aside = part == number
        fitted = ~aside if not aside.all() else aside
        views = []
        for one in chosen:
            members = [member[fitted] for member in one.scaled]
            pool = fit_pool(members, soft_targets[fitted], shrink=SHRINK, start=one.pool)
            views.append(pool.combine(one.scaled))
        own = ViewPool.of([view[fitted] for view in views], prior, soft_targets[fitted], pooled)
        scores[aside] = own.slope * own.pool.combine([view[aside] for view in views]) + own.level
    return scores
