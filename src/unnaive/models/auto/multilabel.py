"""Multilabel `auto`: three binary members per class, whose out-of-fold margins are summed and calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.elementary import logaddexp, logistic
from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.field_vectors import FieldVectors, columns_of_words
from unnaive.data.folds import rarest_classes, split_folds
from unnaive.data.held_out_parts import HeldOutOrder
from unnaive.data.products import dot, take_columns
from unnaive.data.weighted_rows import weight_rows
from unnaive.data.weighting import tf_idf
from unnaive.learning.fit_calibration import soft_targets
from unnaive.learning.learnt import HeldOutScores
from unnaive.learning.tuning import best_cut
from unnaive.models.auto.candidates import DENSE_MULTILABEL, Candidate
from unnaive.models.auto.members import FAMILIES, Training, fit_family, member_scores
from unnaive.models.auto.plan import MultilabelPlan, count_multilabel_folds, fitting_work
from unnaive.models.auto.recipe import Recipe, make_member
from unnaive.models.auto.sampling import draw_rows
from unnaive.models.auto.search import N_PARTS
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.vector_views import make_vector_view, vector_view_name
from unnaive.models.auto.views import SelectColumns, View, select_views, take_names
from unnaive.models.vectors.columns import Vectors
from unnaive.text.gram_units import find_kinds
from unnaive.text.vocabulary import Vocabulary

TOL = 1e-2  # solver tolerance; the scores become log-odds and thresholds
SHRINK = 5.0  # strength of the prior on a class's level, in documents
SAYS = (1.0, 3.0, 9.0, 27.0)  # weights to try for a member over vectors, relative to a member over words
SLOPES = (1e-3, 50.0)  # the least and the largest slope of log-odds, of scores with a mean square of 1
MOST_STEPS, SHORTEST = 50, 1e-4  # steps of Newton's method, and the shortest part of one that is tried
CLOSE = 1e-10  # expected gain in log-loss per document below which it stops
FLATTEST = 1e-12  # the smallest determinant, relative to the product of the diagonal
LEAST = 10  # documents below which none is held out


def choose_multilabel(
    X: Sparse, Y: Sparse, view: View, budget: str | float, plan: MultilabelPlan, *, weight: Floats | None,
    random_state: int, n_jobs: int | None, tell: Steps, terms: Sequence[str] | Vocabulary | None = None,
    select: SelectColumns | None = None, vectors: Sequence[Vectors] = (),
) -> tuple[Recipe, HeldOutScores | None]:  # fmt: skip
    """The recipe, and the rows with their out-of-fold log-odds; None with fewer than LEAST documents.

    A member's margins are divided by their standard deviation, so all members have equal weight. The log-odds
    slope · Σ members + level + level of the class are fitted by logistic loss; the class levels are shrunk toward 0.
    Documents that share passages, judged by the column names `terms`, are in one fold. If the plan covers fewer
    documents than there are, folds are made of a random sample. Each of `vectors` gives one more member, a linear SVM.
    """
    rows = draw_rows(X.shape[0], plan.searched, random_state)
    names = [view.name] * len(plan.members) + [vector_view_name(item) for item in vectors]
    chosen = (*plan.members, *[DENSE_MULTILABEL] * len(vectors))
    if X.shape[0] < LEAST:
        factors, slope, levels, held_out = np.ones(len(chosen)), 1.0, np.zeros(Y.shape[1]), None
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
        scores = _out_of_fold(X, Y, view, plan.members, weight, fold, random_state, n_jobs, tell, terms, select)
        scores += [_vector_scores(X, Y, item, weight, fold, random_state, n_jobs) for item in vectors]
        spreads = np.array([_spread(margins, weight) for margins in scores])
        factors = _weigh_vectors(1 / spreads, scores, len(plan.members), Y, weight)
        total = np.asarray(sum(factor * margins for factor, margins in zip(factors, scores, strict=True)))
        slope, levels = fit_log_odds(total, Y, weight)
        held_out = HeldOutScores(rows, _cross_fitted(total, Y, order.parts(groups, N_PARTS), weight))
        says = np.rint(factors * spreads)  # 1 for a member over words
        report = _report(budget, names, chosen, scores, says / says.sum(), held_out.scores, Y, weight)
        report |= {"left-out": list(plan.left_out)}
    members = [make_member(name, member, slope * factor, plan.documents)
               for name, member, factor in zip(names, chosen, factors, strict=True)]  # fmt: skip
    return {"kind": "multilabel", "members": members, "bias": levels.tolist(), "report": report}, held_out


def _out_of_fold(
    X: Sparse, Y: Sparse, view: View, members: Sequence[Candidate], weight: Floats | None, fold: Ids, random_state: int,
    n_jobs: int | None, tell: Steps, terms: Sequence[str] | Vocabulary | None, select: SelectColumns | None,
) -> list[Floats]:  # fmt: skip
    """Out-of-fold margins (n_docs, n_classes) of each member.

    The columns of the view are found from each fold's training documents: terms that none of them has are ignored.
    """
    kinds = None if terms is None else find_kinds(terms)
    n_folds = int(fold.max()) + 1
    work = {member: fitting_work(float(view.df.sum()) * (n_folds - 1) / n_folds, Y.shape[1], [member.family])
            for member in members}  # fmt: skip
    tell.expect(n_folds * sum(work.values()))
    scores: dict[Candidate, Floats] = {member: np.zeros(Y.shape) for member in members}
    for train, aside in split_folds(fold, n_folds):
        row_weight = None if weight is None else weight[train]
        inside, targets = X[train], csr_array(Y[train])
        selected = None if select is None else select(inside, targets, row_weight)
        views = {part.name: part.columns for part in select_views(inside, terms, Y.shape[1], selected, kinds)}
        columns = views.get(view.name, np.zeros(0, np.int64))
        inside = take_columns(inside, columns)
        weighting = tf_idf(inside, row_weight)
        data = Training.of(inside, weighting, targets, row_weight, tol=TOL, random_state=random_state, n_jobs=n_jobs)
        Z = weight_rows(weighting, take_columns(X[aside], columns))
        for member in members:
            tell(f"trying {FAMILIES[member.family].title} on {view.name}", work[member])
            if len(columns):
                weights, bias = fit_family(member.family, member.settings, data)
                bias = np.maximum(bias, -10.0)  # a class without training documents has a bias far below
                scores[member][aside] = member_scores((weights, bias), Z)
    return list(scores.values())


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


def _spread(margins: Floats, weight: Floats | None) -> float:
    """The standard deviation of margins (n_docs, n_classes) of weighted documents; 1 if all are equal."""
    deviations = (margins - np.average(margins.mean(axis=1), weights=weight)) ** 2
    return float(np.sqrt(np.average(deviations.mean(axis=1), weights=weight))) or 1.0


def _weigh_vectors(
    factors: Floats, scores: list[Floats], n_words: int, Y: Sparse, weight: Floats | None
) -> Floats:  # fmt: skip
    """Multiply the factor of each member over vectors (those after `n_words`) by the best of SAYS by log-loss."""
    truth = _soft_cells(Y, weight)
    for number in range(n_words, len(scores)):
        losses = []
        for say in SAYS:
            tried = factors.copy()
            tried[number] *= say
            total = np.asarray(sum(factor * margins for factor, margins in zip(tried, scores, strict=True)))
            slope, levels = fit_log_odds(total, Y, weight)
            odds = slope * total + levels
            by_document = (logaddexp(0.0, odds) - truth * odds).mean(axis=1)
            losses.append((float(np.average(by_document, weights=weight)), say))
        factors[number] *= min(losses)[1]
    return factors


def _cross_fitted(total: Floats, Y: Sparse, part: Ids, weight: Floats | None) -> Floats:
    """Log-odds (n_docs, n_classes) of summed margins, by a slope and levels fitted on the other parts (n_docs,)."""
    odds = np.empty(total.shape)
    for train, aside in split_folds(part, N_PARTS):
        slope, levels = fit_log_odds(total[train], csr_array(Y[train]), None if weight is None else weight[train])
        odds[aside] = slope * total[aside] + levels
    return odds


def _soft_cells(Y: Sparse, weight: Floats | None) -> Floats:
    """The softened labels (n_docs, n_classes) of weighted documents: a model without errors does not become certain."""
    cells = csr_array(Y).toarray() != 0
    return soft_targets(cells, None if weight is None else np.broadcast_to(weight[:, None], cells.shape))


def fit_log_odds(scores: Floats, Y: Sparse, weight: Floats | None = None) -> tuple[float, Floats]:
    """Fit (slope, level of each class) so that slope·s + level are log-odds, by logistic loss over all cells.

    A class's level is shrunk toward the common level with the strength of SHRINK documents, for the sake of rare
    classes. Platt (1999).
    """
    truth = _soft_cells(Y, weight)
    times = np.ones((len(scores), 1)) if weight is None else weight[:, None]
    size_of_scores = float(np.sqrt(np.square(scores).mean())) or 1.0
    scores = scores / size_of_scores
    point = np.concatenate([[1.0, -2.0], np.zeros(scores.shape[1])])  # slope, common level, what a class adds to it

    def loss_at(point: Floats) -> tuple[float, Floats]:
        odds = point[0] * scores + (point[1] + point[2:])
        losses = times * (logaddexp(0.0, odds) - truth * odds)
        return float(losses.sum() + SHRINK / 2 * (point[2:] ** 2).sum()), odds

    value, odds = loss_at(point)
    for _ in range(MOST_STEPS):
        p = logistic(odds)
        gradient, step = _newton_step(scores, times * (p - truth), times * (p * (1 - p)), point)
        size = 1.0
        while True:
            nearer = point + size * step
            nearer[0] = np.clip(nearer[0], *SLOPES)
            gain = dot(gradient, nearer - point)
            after = loss_at(nearer)
            if after[0] <= value + 1e-4 * gain or size < SHORTEST:
                break
            size /= 2
        if after[0] > value:
            break
        point, (value, odds) = nearer, after
        if -gain <= CLOSE * float(times.sum()):
            break
    return float(point[0]) / size_of_scores, point[1] + point[2:]


def _newton_step(scores: Floats, errors: Floats, bend: Floats, point: Floats) -> tuple[Floats, Floats]:
    """The gradient of the penalised loss at (slope, level, class levels), and the step of Newton's method.

    `errors` and `bend` are the first and second derivatives of the loss by the log-odds of each cell. The second
    derivative by two class levels is 0, so the class levels are eliminated from the equations. A slope at its bound
    stays there if the loss falls beyond it.
    """
    by_class, spread = errors.sum(axis=0) + SHRINK * point[2:], bend * scores
    gradient = np.concatenate([[(errors * scores).sum(), errors.sum()], by_class])
    beside = np.stack([spread.sum(axis=0), bend.sum(axis=0)])  # (slope and level, n_classes)
    own = beside[1] + SHRINK
    first, second = (gradient[:2] - (beside * (by_class / own)).sum(axis=1)).tolist()
    aa = float((spread * scores).sum() - (beside[0] * beside[0] / own).sum())
    ab = float(beside[0].sum() - (beside[0] * beside[1] / own).sum())
    bb = float(beside[1].sum() - (beside[1] * beside[1] / own).sum())
    determinant = aa * bb - ab * ab
    outward = gradient[0] > 0 if point[0] <= SLOPES[0] else point[0] >= SLOPES[1] and gradient[0] < 0
    if outward or determinant <= FLATTEST * aa * bb:  # or all scores are alike
        slope, level = 0.0, -second / max(bb, FLATTEST)
    else:
        slope, level = (ab * second - bb * first) / determinant, (ab * first - aa * second) / determinant
    return gradient, np.concatenate([[slope, level], -(by_class + beside[0] * slope + beside[1] * level) / own])


def _report(
    budget: str | float,
    names: Sequence[str],
    members: Sequence[Candidate],
    scores: list[Floats],
    shares: Floats,
    pooled: Floats,
    Y: Sparse,
    weight: Floats | None,
) -> dict[str, Any]:
    """The report: the best out-of-fold micro F1 with one threshold for all classes, of each member and of the sum."""
    truth = csr_array(Y).toarray().ravel()
    times = None if weight is None else np.repeat(weight, Y.shape[1])
    tried = [
        {
            "view": name,
            "model": str(member),
            "f1": round(best_cut(part.ravel(), truth, weight=times)[1], 4),
            "share": float(share),
        }
        for name, member, part, share in zip(names, members, scores, shares, strict=True)
    ]
    return {
        "budget": budget,
        "f1": round(best_cut(pooled.ravel(), truth, weight=times)[1], 4),
        "held-out": len(pooled),
        "tried": tried,
        "left-out": [],
    }
