"""Multilabel `auto`: three members for each class by itself, their out-of-fold margins summed and calibrated."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.folds import block_folds, rarest_classes, split_folds
from unnaive.data.products import take_columns
from unnaive.data.shared_passages import find_shared_passages
from unnaive.data.weighting import tf_idf
from unnaive.learning.fit_calibration import soft_targets
from unnaive.learning.tuning import best_cut
from unnaive.models.auto.candidates import MULTILABEL, Candidate
from unnaive.models.auto.clock import Clock
from unnaive.models.auto.members import FAMILIES, Training, fit_family, member_scores, weight_rows
from unnaive.models.auto.plan import FEW
from unnaive.models.auto.recipe import Recipe, make_member
from unnaive.models.auto.search import N_PARTS, TOL
from unnaive.models.auto.views import SelectColumns, View, select_views
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

SHRINK = 5.0  # documents of a class that the level of all classes is worth
LEAST = 10  # documents: with fewer, none is held out


def choose_multilabel(
    X: Sparse, Y: Sparse, view: View, budget: str | float, *, weight: Floats | None, random_state: int,
    n_jobs: int | None, on_candidate: Callable[[str], None], clock: Clock | None = None,
    terms: Sequence[str] | Vocabulary | None = None, select: SelectColumns | None = None,
) -> tuple[Recipe, tuple[Ids, Floats] | None]:  # fmt: skip
    """The recipe, and rows with their out-of-fold log-odds; none where there are too few documents.

    Margins of a member are divided by their spread, so that each has the same say; the log-odds are
    slope · Σ members + level + level of the class, by logistic loss, the last drawn toward 0. Documents that share
    passages, as far as the names `terms` of the columns tell, are in one fold. With a clock, members and
    folds for which there is no time are left out.
    """
    chosen: Sequence[Candidate] = MULTILABEL
    if X.shape[0] < LEAST:
        factors, slope, levels, held_out = np.ones(len(MULTILABEL)), 1.0, np.zeros(Y.shape[1]), None
        report: dict[str, Any] = {"budget": budget, "no-search": f"fewer than {LEAST} documents came"}
    else:
        n_folds = 5 if X.shape[0] < FEW else 3
        groups = rarest_classes(Y)
        fold = block_folds(groups, n_folds, find_shared_passages(X, groups, terms).order())
        fold = np.unique(fold, return_inverse=True)[1]  # of few documents a fold may have none
        found, rows, left_out = _out_of_fold(
            X, Y, view, weight, fold, random_state, n_jobs, on_candidate, clock,
            terms, select,
        )  # fmt: skip
        chosen, scores = list(found), [one[rows] for one in found.values()]
        spread = [float(one.std()) or 1.0 for one in scores]
        factors = 1 / np.array(spread)
        total = sum(factor * one for factor, one in zip(factors, scores, strict=True))
        slope, levels = fit_log_odds(np.asarray(total), csr_array(Y[rows]))
        held_out = rows, _cross_fitted(np.asarray(total), csr_array(Y[rows]))
        report = _report(budget, view, chosen, scores, held_out[1], csr_array(Y[rows])) | {"left-out": left_out}
    members = [make_member(view.name, one, slope * factor) for one, factor in zip(chosen, factors, strict=True)]
    return {"kind": "multilabel", "members": members, "bias": levels.tolist(), "report": report}, held_out


def _out_of_fold(
    X: Sparse, Y: Sparse, view: View, weight: Floats | None, fold: Ids, random_state: int, n_jobs: int | None,
    on_candidate: Callable[[str], None], clock: Clock | None, terms: Sequence[str] | Vocabulary | None,
    select: SelectColumns | None,
) -> tuple[dict[Candidate, Floats], Ids, list[str]]:  # fmt: skip
    """(margins (n_docs, n_classes) of each member, every document by a model that has not seen it; the rows that have
    any, which are all without a clock; what there was no time for).

    The columns of the view are those of each fold's training documents: terms that none of them has count for nothing.
    The first fold tells what the others take; while the clock runs the cheapest member comes first.
    """
    kinds = None if terms is None else find_kinds(terms)
    n_folds = int(fold.max()) + 1
    watch, now, left_out = None, time.perf_counter, list[str]()
    members = list(MULTILABEL)
    if clock is not None:
        clock.expect_pooling(Y.shape[0] * Y.shape[1])
        now, members = clock.now, sorted(MULTILABEL, key=lambda one: FAMILIES[one.family].cost)
        watch = clock.start_view(1, 0, rounds=n_folds, scale=n_folds / (n_folds - 1))
    scores: dict[Candidate, Floats] = {}
    done = 0
    for number in range(n_folds):
        if number and clock is not None and watch is not None and watch.preparing + watch.fitting > clock.left():
            left_out.append(f"{n_folds - number} of {n_folds} folds, since the time was up")
            break
        start = now()
        train, aside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        own = None if weight is None else weight[train]
        inside, targets = X[train], csr_array(Y[train])
        selected = None if select is None else select(inside, targets, own)
        views = {one.name: one.columns for one in select_views(inside, terms, Y.shape[1], selected, kinds)}
        columns = views.get(view.name, np.zeros(0, np.int64))
        inside = take_columns(inside, columns)
        weighting = tf_idf(inside, own)
        data = Training.of(inside, weighting, targets, own, tol=TOL, random_state=random_state, n_jobs=n_jobs)
        Z = weight_rows(weighting, take_columns(X[aside], columns))
        if watch is not None and not number:
            watch.preparing = now() - start
        for one in members if not number else list(scores):
            if watch is not None and not number and not watch.allows(one.family):
                left_out.append(f"{FAMILIES[one.family].title}, since the time was up")
                continue
            on_candidate(f"{view.name}, {FAMILIES[one.family].title}")
            start = now()
            found = scores.setdefault(one, np.zeros(Y.shape))
            if not len(columns):
                continue
            weights, bias = fit_family(one.family, one.settings, data)
            found[aside] = member_scores((weights, np.maximum(bias, -10.0)), Z)  # a class that training lacks
            if watch is not None and not number:
                watch.record(one.family, now() - start)
        done = number + 1
    return scores, np.flatnonzero(fold < done), left_out


def _cross_fitted(total: Floats, Y: Sparse) -> Floats:
    """Log-odds (n_docs, n_classes) of summed margins, each by a slope and levels fitted on other documents."""
    part = np.arange(len(total)) * N_PARTS // len(total)
    odds = np.empty(total.shape)
    for train, aside in split_folds(part, N_PARTS):
        slope, levels = fit_log_odds(total[train], csr_array(Y[train]))
        odds[aside] = slope * total[aside] + levels
    return odds


def fit_log_odds(scores: Floats, Y: Sparse) -> tuple[float, Floats]:
    """(slope, level of each class) with which slope·s + level are log-odds, by logistic loss over all cells.

    A class's level is drawn toward that of all classes by SHRINK documents: of rare ones little is known. Platt (1999).
    """
    from scipy.optimize import minimize

    truth = soft_targets(csr_array(Y).toarray() != 0)  # cells that are all right do not make a model certain

    def objective(point: Floats) -> tuple[float, Floats]:
        slope, level, own = point[0], point[1], point[2:]
        odds = slope * scores + (level + own)
        losses = np.logaddexp(0.0, odds) - truth * odds
        slopes = 1.0 / (1.0 + np.exp(np.clip(-odds, -500.0, 500.0))) - truth
        by_class = slopes.sum(axis=0)
        gradient = np.concatenate([[(slopes * scores).sum(), by_class.sum()], by_class + SHRINK * own])
        return (losses.sum() + SHRINK / 2 * (own**2).sum()) / len(scores), gradient / len(scores)

    start = np.zeros(2 + scores.shape[1])
    start[0], start[1] = 1.0, -2.0
    bounds = [(1e-3, 50.0), *[(-50.0, 50.0)] * (len(start) - 1)]
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(found[0]), found[1] + found[2:]


def _report(
    budget: str | float, view: View, members: Sequence[Candidate], scores: list[Floats], pooled: Floats, Y: Sparse
) -> dict[str, Any]:
    """Each member, and the sum of all, with the best micro F1 that one threshold for all classes gives out of fold."""
    truth = csr_array(Y).toarray().ravel()
    tried = [
        {
            "view": view.name,
            "model": str(one),
            "f1": round(best_cut(part.ravel(), truth)[1], 4),
            "share": 1 / len(scores),
        }
        for one, part in zip(members, scores, strict=True)
    ]
    return {
        "budget": budget,
        "f1": round(best_cut(pooled.ravel(), truth)[1], 4),
        "held-out": len(pooled),
        "tried": tried,
        "left-out": [],
    }
