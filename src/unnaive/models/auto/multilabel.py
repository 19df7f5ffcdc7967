"""Multilabel `auto`: binary members for each class on each view, pooled by their out-of-fold margins and calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.folds import rarest_classes, split_folds
from unnaive.data.held_out_parts import HeldOutOrder
from unnaive.data.products import take_columns
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import tf_idf
from unnaive.learning.learnt import HeldOutScores
from unnaive.learning.tuning import best_cut
from unnaive.models.auto.candidates import DENSE_MULTILABEL, Candidate
from unnaive.models.auto.label_odds import fit_log_odds
from unnaive.models.auto.members import FAMILIES, Training, fit_family, member_scores
from unnaive.models.auto.plan import MultilabelPlan, Size, count_multilabel_folds, fitting_work
from unnaive.models.auto.recipe import Recipe, make_member
from unnaive.models.auto.sampling import draw_rows
from unnaive.models.auto.search import N_PARTS
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.vector_views import make_vector_view, vector_view_name
from unnaive.models.auto.views import (
    CHARACTERS,
    COLUMNS,
    JOINED,
    WORDS,
    SelectColumns,
    select_views,
    take_names,
    view_prior,
)
from unnaive.models.vectors.columns import Vectors
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

TOL = 1e-2  # solver tolerance; the scores become log-odds and thresholds
LEAST = 10  # documents below which none is held out
MOST_POOLED = 1 << 22  # cells of documents × classes on which the weights of the pool are fitted


def choose_multilabel(
    X: Sparse, Y: Sparse, size: Size, budget: str | float, plan: MultilabelPlan, *, weight: Floats | None,
    random_state: int, n_jobs: int | None, tell: Steps, terms: Sequence[str] | Vocabulary | None = None,
    select: SelectColumns | None = None, vectors: Sequence[Vectors] = (),
) -> tuple[Recipe, HeldOutScores | None]:  # fmt: skip
    """The recipe, and the rows with their out-of-fold log-odds; None with fewer than LEAST documents.

    The weights of members and the levels of classes are fitted by logistic loss to out-of-fold margins. If there are
    several views, each alone is a pool too, and the best pool is that with the best micro F1 and first label.
    Documents that share passages, judged by the column names `terms`, are in one fold. If the plan covers fewer
    documents than there are, folds are made of a random sample. Each of `vectors` gives one more member, a linear SVM.
    """
    rows = draw_rows(X.shape[0], plan.searched, random_state)
    chosen = (*plan.members, *[(vector_view_name(item), DENSE_MULTILABEL) for item in vectors])
    if X.shape[0] < LEAST:
        factors, levels, held_out = np.ones(len(chosen)), np.zeros(Y.shape[1]), None
        report: dict[str, Any] = {"budget": budget, "no-search": f"there are fewer than {LEAST} documents"}
    else:
        if len(rows) < X.shape[0]:
            X, Y, weight = csr_array(X[rows]), csr_array(Y[rows]), None if weight is None else weight[rows]
        groups = rarest_classes(Y)
        columns = columns_of_words(X.shape[1], [item for item in vectors if isinstance(item, FieldVectors)])
        words, word_names = (X, terms) if columns is None else (take_columns(X, columns), take_names(terms, columns))
        order = HeldOutOrder.of(words, groups, word_names)
        fold = order.parts(groups, count_multilabel_folds(len(rows)))
        fold = np.unique(fold, return_inverse=True)[1]  # with few documents a fold may be empty
        scores = _out_of_fold(X, Y, size, plan.members, weight, fold, random_state, n_jobs, tell, terms, select)
        scores += [_vector_scores(X, Y, item, weight, fold, random_state, n_jobs) for item in vectors]
        factors, levels, odds = _choose_pool(
            [view for view, _ in chosen], scores, Y, order.parts(groups, N_PARTS), weight, random_state
        )
        held_out = HeldOutScores(rows, odds)
        spreads = factors * [_spread(margins) for margins in scores]
        report = _report(budget, chosen, scores, spreads / spreads.sum(), odds, Y, weight)
        report |= {"left-out": list(plan.left_out)}
    members = [make_member(view, member, factor, plan.documents)
               for (view, member), factor in zip(chosen, factors, strict=True) if factor]  # fmt: skip
    return {"kind": "multilabel", "members": members, "bias": levels.tolist(), "report": report}, held_out


def _choose_pool(
    views: Sequence[str], scores: list[Floats], Y: Sparse, part: Ids, weight: Floats | None, random_state: int
) -> tuple[Floats, Floats, Floats]:
    """(factors of members, levels of classes, held-out log-odds) of the pool that decides best.

    The pools are that of all members and, with several views, that of each view. `part` is the part of each document:
    its log-odds are by a pool fitted on the other parts.
    """
    names = list(dict.fromkeys(views))
    pools = [list(range(len(views)))]
    if len(names) > 1:
        pools += [[number for number, view in enumerate(views) if view == name] for name in names]
    best: tuple[float, Floats, Floats, Floats] | None = None
    for pool in pools:
        members, prior = [scores[number] for number in pool], _member_priors([views[number] for number in pool])
        odds = np.empty(scores[0].shape)
        for train, aside in split_folds(part, N_PARTS):
            fitted, levels = _fit_pool(members, Y, train, weight, random_state, prior)
            odds[aside] = levels + sum(factor * member[aside] for factor, member in zip(fitted, members, strict=True))
        merit = _merit(odds, Y, weight)
        if best is None or merit > best[0]:
            factors = np.zeros(len(views))
            factors[pool], levels = _fit_pool(members, Y, np.arange(len(odds)), weight, random_state, prior)
            best = merit, factors, levels, odds
    if best is None:
        raise RuntimeError("a pool without members")
    return best[1:]


def _member_priors(views: Sequence[str]) -> list[float]:
    """The expected share of each member, by its view: equal ones on text; the single member on vectors has a view's.

    Words that are known by their vectors alone are evidence for no other member.

    >>> _member_priors(["words", "words", "characters", "word vectors"])
    [1.0, 1.0, 1.0, 2.0]
    """
    text = [view for view in views if view in (WORDS, CHARACTERS, JOINED, COLUMNS)]
    one = len(text) / max(sum(map(view_prior, dict.fromkeys(text))), 1.0)
    return [1.0 if view in text or not text else max(1.0, one * view_prior(view)) for view in views]


def _fit_pool(
    members: list[Floats], Y: Sparse, rows: Ids, weight: Floats | None, random_state: int, prior: Sequence[float]
) -> tuple[Floats, Floats]:
    """`fit_log_odds` on these rows; of very many cells, weights are fitted on a sample of the rows, levels on all."""
    sample = rows[draw_rows(len(rows), max(1, MOST_POOLED // max(1, Y.shape[1])), random_state)]
    times = None if weight is None else weight[sample]
    factors, levels = fit_log_odds([member[sample] for member in members], csr_array(Y[sample]), times, prior)
    if len(sample) == len(rows):
        return factors, levels
    total = np.asarray(sum(factor * member[rows] for factor, member in zip(factors, members, strict=True)))
    slope, levels = fit_log_odds([total], csr_array(Y[rows]), None if weight is None else weight[rows])
    return factors * slope, levels


def _merit(odds: Floats, Y: Sparse, weight: Floats | None) -> float:
    """The mean of what is decided: the best micro F1 of one threshold, and the share whose best class is a label."""
    truth = csr_array(Y).astype(np.bool_).toarray()
    times = None if weight is None else np.repeat(weight, Y.shape[1])
    first = truth[np.arange(len(odds)), odds.argmax(axis=1)]
    labelled = truth.any(axis=1).astype(np.float64) * (1.0 if weight is None else weight)
    share = float((first * labelled).sum() / max(float(labelled.sum()), 1e-300))
    return (best_cut(odds.ravel(), truth.ravel(), weight=times)[1] + share) / 2


def _spread(margins: Floats) -> float:
    """The standard deviation of margins (n_docs, n_classes); 1 if all are equal."""
    return float(margins.std()) or 1.0


def _out_of_fold(
    X: Sparse, Y: Sparse, size: Size, members: Sequence[tuple[str, Candidate]], weight: Floats | None, fold: Ids,
    random_state: int, n_jobs: int | None, tell: Steps, terms: Sequence[str] | Vocabulary | None,
    select: SelectColumns | None,
) -> list[Floats]:  # fmt: skip
    """Out-of-fold margins (n_docs, n_classes) of each member, a candidate on a view.

    The columns of the views are found from each fold's training documents: terms that none of them has are ignored.
    """
    kinds = None if terms is None else find_kinds(terms)
    n_folds = int(fold.max()) + 1
    share = (n_folds - 1) / n_folds * X.shape[0] / max(size.documents, 1)
    work = [fitting_work(size.cells[view] * share, Y.shape[1], [member.family]) for view, member in members]
    tell.expect(n_folds * sum(work))
    scores = [np.zeros(Y.shape) for _ in members]
    for train, aside in split_folds(fold, n_folds):
        row_weight = None if weight is None else weight[train]
        inside, targets = X[train], csr_array(Y[train])
        selected = None if select is None else select(inside, targets, row_weight)
        columns = {part.name: part.columns for part in select_views(inside, terms, Y.shape[1], selected, kinds)}
        for view in dict.fromkeys(view for view, _ in members):
            if view not in columns:
                continue
            documents = take_columns(inside, columns[view])
            weighting = tf_idf(documents, row_weight)
            data = Training.of(
                documents, weighting, targets, row_weight, tol=TOL, random_state=random_state, n_jobs=n_jobs
            )
            Z = weight_rows(weighting, take_columns(X[aside], columns[view]))
            for number, (own, member) in enumerate(members):
                if own != view:
                    continue
                tell(f"trying {FAMILIES[member.family].title} on {view}", work[number])
                weights, bias = fit_family(member.family, member.settings, data)
                bias = np.maximum(bias, -10.0)  # a class without training documents has a bias far below
                scores[number][aside] = member_scores((weights, bias), Z)
    return scores


def _vector_scores(
    X: Sparse, Y: Sparse, vectors: Vectors, weight: Floats | None, fold: Ids, random_state: int, n_jobs: int | None
) -> Floats:
    """Out-of-fold margins (n_docs, n_classes) of the member over `vectors`."""
    scores = np.zeros(Y.shape)
    documents = take_columns(csr_array(X), vectors.columns)
    for train, aside in split_folds(fold, int(fold.max()) + 1):
        row_weight = None if weight is None else weight[train]
        view = make_vector_view(documents[train], vectors, row_weight)
        rows = view.rows(documents[train])
        data = Training.of_rows(rows, Y[train], row_weight, tol=TOL, random_state=random_state, n_jobs=n_jobs)
        weights, bias = fit_family(DENSE_MULTILABEL.family, DENSE_MULTILABEL.settings, data)
        scores[aside] = member_scores((weights, np.maximum(bias, -10.0)), view.rows(documents[aside]))
    return scores


def _report(
    budget: str | float, members: Sequence[tuple[str, Candidate]], scores: list[Floats], shares: Floats,
    pooled: Floats, Y: Sparse, weight: Floats | None,
) -> dict[str, Any]:  # fmt: skip
    """The report: the best out-of-fold micro F1 with one threshold for all classes, of each member and of the pool."""
    truth = csr_array(Y).astype(np.bool_).toarray().ravel()
    times = None if weight is None else np.repeat(weight, Y.shape[1])
    tried = [
        {
            "view": view,
            "model": str(member),
            "f1": round(best_cut(part.ravel(), truth, weight=times)[1], 4),
            "share": round(float(share), 3),
        }
        for (view, member), part, share in zip(members, scores, shares, strict=True)
    ]
    return {
        "budget": budget,
        "f1": round(best_cut(pooled.ravel(), truth, weight=times)[1], 4),
        "held-out": len(pooled),
        "tried": tried,
        "left-out": [],
    }
