"""Multilabel `auto`: three members for each class by itself, their out-of-fold margins summed and calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.folds import block_folds, rarest_classes, split_folds
from unnaive.data.products import take_columns
from unnaive.data.shared_passages import find_shared_passages
from unnaive.data.weighting import tf_idf
from unnaive.learning.fit_calibration import soft_targets
from unnaive.learning.tuning import best_cut
from unnaive.models.auto.candidates import DENSE_MULTILABEL, Candidate
from unnaive.models.auto.members import FAMILIES, Training, fit_family, member_scores, weight_rows
from unnaive.models.auto.plan import MultilabelPlan, count_multilabel_folds, fitting_work
from unnaive.models.auto.recipe import Recipe, make_member
from unnaive.models.auto.search import N_PARTS
from unnaive.models.auto.vector_view import Vectors, VectorView, vector_view_name
from unnaive.models.auto.views import SelectColumns, View, select_views, take_names
from unnaive.models.auto.work_teller import WorkTeller
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

TOL = 1e-2  # of the solvers: their scores become log-odds and thresholds
SHRINK = 5.0  # documents of a class that the level of all classes is worth
SAYS = (1.0, 3.0, 9.0, 27.0)  # of a member over vectors, as many times that of one over words
LEAST = 10  # documents: with fewer, none is held out


def choose_multilabel(
    X: Sparse, Y: Sparse, view: View, budget: str | float, plan: MultilabelPlan, *, weight: Floats | None,
    random_state: int, n_jobs: int | None, tell: WorkTeller, terms: Sequence[str] | Vocabulary | None = None,
    select: SelectColumns | None = None, vectors: Sequence[Vectors] = (),
) -> tuple[Recipe, tuple[Ids, Floats] | None]:  # fmt: skip
    """The recipe, and rows with their out-of-fold log-odds; none where there are too few documents.

    Margins of a member are divided by their spread, so that each has the same say; the log-odds are
    slope · Σ members + level + level of the class, by logistic loss, the last drawn toward 0. Documents that share
    passages, as far as the names `terms` of the columns tell, are in one fold. Of more documents than the plan has work
    for, folds are made of the first, which are any: rows come in the order of a hash of their words. Each of `vectors`
    gives one more member, a linear SVM over it.
    """
    rows = np.arange(plan.searched)
    names = [view.name] * len(plan.members) + [vector_view_name(one) for one in vectors]
    chosen = (*plan.members, *[DENSE_MULTILABEL] * len(vectors))
    if X.shape[0] < LEAST:
        factors, slope, levels, held_out = np.ones(len(chosen)), 1.0, np.zeros(Y.shape[1]), None
        report: dict[str, Any] = {"budget": budget, "no-search": f"fewer than {LEAST} documents came"}
    else:
        if len(rows) < X.shape[0]:
            X, Y, weight = csr_array(X[rows]), csr_array(Y[rows]), None if weight is None else weight[rows]
        groups = rarest_classes(Y)
        columns = columns_of_words(X.shape[1], [one for one in vectors if isinstance(one, FieldVectors)])
        words, known = (X, terms) if columns is None else (take_columns(X, columns), take_names(terms, columns))
        order = find_shared_passages(words, groups, known).order()
        fold = block_folds(groups, count_multilabel_folds(len(rows)), order)
        fold = np.unique(fold, return_inverse=True)[1]  # of few documents a fold may have none
        scores = _out_of_fold(X, Y, view, plan.members, weight, fold, random_state, n_jobs, tell, terms, select)
        scores += [_vector_scores(X, Y, one, weight, fold, random_state, n_jobs) for one in vectors]
        factors = 1 / np.array([float(one.std()) or 1.0 for one in scores])
        factors = _weigh_vectors(factors, scores, len(plan.members), Y)
        total = sum(factor * one for factor, one in zip(factors, scores, strict=True))
        slope, levels = fit_log_odds(np.asarray(total), Y)
        held_out = rows, _cross_fitted(np.asarray(total), Y)
        report = _report(budget, names, chosen, scores, factors, held_out[1], Y) | {"left-out": list(plan.left_out)}
    members = [make_member(name, one, slope * factor, plan.documents)
               for name, one, factor in zip(names, chosen, factors, strict=True)]  # fmt: skip
    return {"kind": "multilabel", "members": members, "bias": levels.tolist(), "report": report}, held_out


def _out_of_fold(
    X: Sparse, Y: Sparse, view: View, members: Sequence[Candidate], weight: Floats | None, fold: Ids, random_state: int,
    n_jobs: int | None, tell: WorkTeller, terms: Sequence[str] | Vocabulary | None, select: SelectColumns | None,
) -> list[Floats]:  # fmt: skip
    """Margins (n_docs, n_classes) of each member, every document by a model that has not seen it.

    The columns of the view are those of each fold's training documents: terms that none of them has count for nothing.
    """
    kinds = None if terms is None else find_kinds(terms)
    n_folds = int(fold.max()) + 1
    work = {one: fitting_work(float(view.df.sum()) * (n_folds - 1) / n_folds, Y.shape[1], [one.family])
            for one in members}  # fmt: skip
    tell.expect(n_folds * sum(work.values()))
    scores: dict[Candidate, Floats] = {one: np.zeros(Y.shape) for one in members}
    for train, aside in split_folds(fold, n_folds):
        own = None if weight is None else weight[train]
        inside, targets = X[train], csr_array(Y[train])
        selected = None if select is None else select(inside, targets, own)
        views = {one.name: one.columns for one in select_views(inside, terms, Y.shape[1], selected, kinds)}
        columns = views.get(view.name, np.zeros(0, np.int64))
        inside = take_columns(inside, columns)
        weighting = tf_idf(inside, own)
        data = Training.of(inside, weighting, targets, own, tol=TOL, random_state=random_state, n_jobs=n_jobs)
        Z = weight_rows(weighting, take_columns(X[aside], columns))
        for one in members:
            tell(f"trying {FAMILIES[one.family].title} on {view.name}", work[one])
            if len(columns):
                weights, bias = fit_family(one.family, one.settings, data)
                bias = np.maximum(bias, -10.0)  # of a class that training lacks
                scores[one][aside] = member_scores((weights, bias), Z)
    return list(scores.values())


def _vector_scores(
    X: Sparse, Y: Sparse, vectors: Vectors, weight: Floats | None, fold: Ids, random_state: int, n_jobs: int | None
) -> Floats:
    """The same of the member over vectors."""
    scores = np.zeros(Y.shape)
    documents = take_columns(csr_array(X), vectors.columns)
    for train, aside in split_folds(fold, int(fold.max()) + 1):
        own = None if weight is None else weight[train]
        view = VectorView.of(documents[train], vectors, own)
        data = view.training(documents[train], Y[train], own, tol=TOL, random_state=random_state, n_jobs=n_jobs)
        weights, bias = fit_family(DENSE_MULTILABEL.family, DENSE_MULTILABEL.settings, data)
        scores[aside] = member_scores((weights, np.maximum(bias, -10.0)), view.rows(documents[aside]))
    return scores


def _weigh_vectors(factors: Floats, scores: list[Floats], n_words: int, Y: Sparse) -> Floats:
    """The factors of members, those over vectors, behind the first `n_words`, times the best of SAYS by log-loss."""
    truth = soft_targets(csr_array(Y).toarray() != 0)
    for place in range(n_words, len(scores)):
        found = []
        for say in SAYS:
            tried = factors.copy()
            tried[place] *= say
            total = np.asarray(sum(factor * one for factor, one in zip(tried, scores, strict=True)))
            slope, levels = fit_log_odds(total, Y)
            odds = slope * total + levels
            found.append((float((np.logaddexp(0.0, odds) - truth * odds).mean()), say))
        factors[place] *= min(found)[1]
    return factors


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
    budget: str | float,
    names: Sequence[str],
    members: Sequence[Candidate],
    scores: list[Floats],
    factors: Floats,
    pooled: Floats,
    Y: Sparse,
) -> dict[str, Any]:
    """Each member, and the sum of all, with the best micro F1 that one threshold for all classes gives out of fold."""
    truth = csr_array(Y).toarray().ravel()
    says = np.rint(factors * [float(one.std()) or 1.0 for one in scores])  # of a member without vectors 1
    tried = [
        {
            "view": name,
            "model": str(one),
            "f1": round(best_cut(part.ravel(), truth)[1], 4),
            "share": float(share),
        }
        for name, one, part, share in zip(names, members, scores, says / says.sum(), strict=True)
    ]
    return {
        "budget": budget,
        "f1": round(best_cut(pooled.ravel(), truth)[1], 4),
        "held-out": len(pooled),
        "tried": tried,
        "left-out": [],
    }
