"""Approximate update of a pool in milliseconds: only the weights of words in the changed documents move.

In the solvers every document has a dual variable, and weights are sums of documents times dual variables. Here the dual
variables of all other documents stay fixed, and those of the new documents, a (n_docs, n_classes), are solved for. With
r(s), the residual (negative gradient of the loss) at the scores s of a document,

    weights of a view += step · Σ_d a_d z_dᵀ,   a_d = r(s_d) at the scores that the new weights give.

To forget documents, the same sum is subtracted, with the residuals at their present scores. Documents are learnt in
batches and forgotten in their reverse order, so those of the last change, forgotten together, are forgotten up to the
precision of the solution. Naive Bayes weights, document frequencies, calibration and held-out scores stay; words
that no document had before stay unknown. An exact update trains on all documents, and undoes the approximation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.elementary import exp, logaddexp
from unnaive.base.errors import UnnaiveError
from unnaive.base.log_functions import softmax_rows
from unnaive.base.types import Floats, Sparse
from unnaive.data.products import matmul, take_columns
from unnaive.data.symmetric import eigh
from unnaive.learning.learnt import Learnt, Provenance
from unnaive.linear.linear import Linear
from unnaive.linear.sum_of_linears import SumOfLinears
from unnaive.models.auto.recipe import Recipe
from unnaive.models.auto.views import CHARACTERS, COLUMNS, JOINED, PAIRS, WORDS

TERM_VIEWS = (WORDS, PAIRS, CHARACTERS, JOINED, COLUMNS)  # in the order of a pool's parts; views of vectors follow

AT_ONCE = 64  # documents that are solved for together
MOST_STEPS = 1000
CLOSE = 1e-6  # change of the residuals below which the solver stops
# factor of the residual in a member's update: C·(y − p) for a softmax, 2·C·(1 − y·s) for a hinge, times the squared
# log-count ratio for an NB-SVM
PULL = {"maxent": 1.0, "softmax": 1.0, "svm": 2.0, "nbsvm": 4.0}


@dataclass(frozen=True, eq=False)
class _Part:
    """A view of the pool: its number, the weighted documents (n_docs, n_columns), and the step of its weights."""

    number: int
    Z: Sparse
    step: float


def adjust_pool(
    pool: SumOfLinears, recipe: Recipe, X: Sparse, Y: Sparse, weight: Floats | None = None, *, gone: bool = False
) -> Learnt:
    """The pool after learning documents X (n_docs, n_terms) with labels Y (n_docs, n_classes), or forgetting them.

    The report in the new recipe counts these documents.
    """
    X, Y = csr_array(X), csr_array(Y)
    part_steps = [(n, steps) for n, steps in enumerate(find_steps(recipe, len(pool.parts))) if steps]
    parts = list(pool.parts)
    starts = range(0, X.shape[0], AT_ONCE)
    for at in reversed(starts) if gone else starts:
        batch = np.arange(at, min(at + AT_ONCE, X.shape[0]))
        documents, labels = csr_array(X[batch]), csr_array(Y[batch]).toarray().astype(np.float64)
        scale = np.ones(len(batch)) if weight is None else np.asarray(weight, np.float64)[batch]
        views = [
            _Part(number, parts[number][1].weighting.apply(take_columns(documents, parts[number][0])), step)
            for number, step in part_steps
        ]
        scores = replace(pool, parts=tuple(parts)).scores(documents)
        if gone:
            duals = -scale[:, None] * find_residuals(scores, labels, pool.link)
        else:
            duals = _solve_duals(scores, labels, scale, views, pool.link)
        for view in views:
            columns, linear = parts[view.number]
            parts[view.number] = columns, _moved(linear, view, duals)
    return Learnt(replace(pool, parts=tuple(parts)), provenance=Provenance(_count_change(recipe, X.shape[0])))


def find_steps(recipe: Recipe, n_parts: int) -> list[float]:
    """The step of each part's weights: Σ_members factor · C · PULL; 0 for vectors and for parts without solvers.

    >>> members = [{"view": "words", "family": "maxent", "settings": [10.0, 1.0, 0.1], "factor": 0.5},
    ...            {"view": "words", "family": "complement", "settings": [0.1], "factor": 1.0}]
    >>> find_steps({"members": members}, 1)
    [5.0]
    """
    names = dict.fromkeys(member["view"] for member in recipe["members"])
    views = [view for view in TERM_VIEWS if view in names] + [view for view in names if view not in TERM_VIEWS]
    if len(views) != n_parts:
        raise UnnaiveError(
            "the parts of this model do not match its recipe, so it cannot be updated approximately; update it exactly"
        )
    return [
        sum(
            PULL.get(item["family"], 0.0) * item["factor"] * item["settings"][0]
            for item in recipe["members"]
            if item["view"] == view and view in TERM_VIEWS
        )
        for view in views
    ]


def find_residuals(scores: Floats, labels: Floats, link: str) -> Floats:
    """−∂loss/∂score (n_docs, n_classes), where the loss is −log p of the labels.

    For exclusive classes p_c ∝ σ(s_c), so the residual is (y_c − p_c)·σ(−s_c); otherwise it is y_c − σ(s_c).

    >>> find_residuals(np.zeros((1, 2)), np.array([[1.0, 0.0]]), "one-of-all")
    array([[ 0.25, -0.25]])
    """
    away = exp(-logaddexp(0.0, scores))  # σ(−s)
    residuals: Floats = labels - (1 - away)
    if link == "one-of-all":
        residuals = (labels - softmax_rows(-logaddexp(0.0, -scores))) * away
    return residuals


def _solve_duals(scores: Floats, labels: Floats, scale: Floats, views: list[_Part], link: str) -> Floats:
    """Solve a = scale · r(scores + K·a) by damped steps with momentum; K has the inner products of the documents.

    The derivative of r is at most ½, so a step of 1 / (1 + λ/2) descends, where λ is the largest eigenvalue of K.
    Momentum (Nesterov) starts again where a step came further from the solution.
    """
    K = np.zeros((len(scores), len(scores)))
    for view in views:
        K += view.step * (view.Z @ view.Z.T).toarray()
    largest = float(eigh(K)[0][-1]) * float(scale.max(initial=1.0))
    size, duals = 1.0 / (1.0 + largest / 2), np.zeros(scores.shape)
    previous, distance, rounds = duals, np.inf, 0
    for _ in range(MOST_STEPS):
        ahead = duals + rounds / (rounds + 3) * (duals - previous)
        change = scale[:, None] * find_residuals(scores + matmul(K, ahead), labels, link) - ahead
        previous, duals = duals, ahead + size * change
        before, distance = distance, float(np.abs(change).max(initial=0.0))
        rounds = 0 if distance > before else rounds + 1
        if distance <= CLOSE:
            break
    return duals


def _moved(linear: Linear, view: _Part, duals: Floats) -> Linear:
    """The linear model with weights += step · dualsᵀ·Z, in the columns that the documents have."""
    used = np.unique(view.Z.indices)
    table = np.array(linear.sparse_weights)  # a copy, because a model's table is read-only
    if table.ndim != 2:
        raise UnnaiveError("a model with compressed weights cannot be updated approximately; update it exactly")
    table[:, used] += (view.step * (duals.T @ take_columns(view.Z, used))).astype(table.dtype)
    return replace(linear, sparse_weights=table)


def _count_change(recipe: Recipe, n_docs: int) -> Recipe:
    report = recipe["report"]
    return {**recipe, "report": {**report, "approximate": report.get("approximate", 0) + n_docs}}
