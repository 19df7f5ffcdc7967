"""A recipe and documents to a Pool, without any search: the same recipe and documents give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
from scipy.sparse import csr_array

from unnaive.core.linear import Linear
from unnaive.core.products import take_columns
from unnaive.core.weighting import tf_idf
from unnaive.models.auto.members import HINGES, Training, Weights, fit_family
from unnaive.models.auto.pool import Pool
from unnaive.models.auto.recipe import Recipe
from unnaive.models.auto.views import View, find_views
from unnaive.types import Floats, Ids, Sparse

TOL = 1e-2  # of the solvers: stricter ones cost twice the time and change no accuracy beyond noise


def refit(
    recipe: Recipe,
    X: Sparse,
    Y: Sparse,
    terms: Sequence[str] | None,
    *,
    sample_weight: Floats | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    told: Callable[[str], None] | None = None,
) -> Pool:
    """The pool that `recipe` gives on documents X (n_docs, n_terms) with labels Y (n_docs, n_classes).

    terms         names of the columns, from which the views follow; None for one view of all columns
    random_state  seed of the solvers; the result does not depend on n_jobs
    told          called with the name of each view before it is fitted
    """
    X, Y = csr_array(X), csr_array(Y)
    bias = np.array(recipe["bias"], np.float64)
    parts = []
    for view in find_views(X, terms, Y.shape[1]):
        members = [one for one in recipe["members"] if one["view"] == view.name]
        if members:
            if told is not None:
                told(view.name)
            linear = _fit_view(members, view, X, Y, sample_weight, random_state, n_jobs)
            bias += linear.bias
            parts.append((view.columns, linear))
    link = "one-of-all" if recipe["kind"] == "single" else "log-odds"
    parts = [(columns, Linear(one.sparse_weights, np.zeros(len(bias)), weighting=one.weighting, link=link))
             for columns, one in parts]  # fmt: skip
    return Pool(tuple(parts), bias, X.shape[1], link, recipe)


def _fit_view(
    members: list[Recipe], view: View, X: Sparse, Y: Sparse, weight: Floats | None,
    random_state: int, n_jobs: int | None,
) -> Linear:  # fmt: skip
    """The members of a view, summed into one linear model with its bias."""
    order = order_classes(Y)
    documents = take_columns(X, view.columns)
    weighting = tf_idf(documents, weight, view.df)
    stop = Event()
    data = Training.of(
        documents, weighting, csr_array(Y[:, order]), weight, tol=TOL, random_state=random_state, n_jobs=n_jobs,
        listen=lambda: _raise_if(stop),
    )  # fmt: skip
    total, bias = np.zeros((Y.shape[1], documents.shape[1])), np.zeros(Y.shape[1])
    for member, (weights, offset) in zip(members, _fit_members(members, data, stop), strict=True):
        weights *= member["factor"]
        total += weights
        bias += member["factor"] * offset
    back = np.argsort(order)
    return Linear(total.astype(np.float32)[back], bias[back], weighting=weighting)


def _fit_members(members: list[Recipe], data: Training, stop: Event) -> list[Weights]:
    """Each member by itself. Hinges take all threads; what has one, the softmax foremost, goes on beside them.

    An interrupt comes to this thread, which stops the other.
    """

    def fit(ones: list[Recipe]) -> list[Weights]:
        return [fit_family(one["family"], one["settings"], data) for one in ones]

    hinges = [one for one in members if one["family"] in HINGES]
    others = [one for one in members if one["family"] not in HINGES]
    if data.n_jobs == 1 or not hinges or not others:
        return fit(members)
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(fit, others)
        try:
            found = {"hinges": iter(fit(hinges)), "others": iter(waiting.result())}
        except BaseException:
            stop.set()
            raise
    return [next(found["hinges" if one["family"] in HINGES else "others"]) for one in members]


def _raise_if(stop: Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt


def order_classes(Y: Sparse) -> Ids:
    """The classes by their first document: what is learnt in this order does not depend on their names.

    >>> order_classes(csr_array([[0, 0, 1], [1, 0, 0]])).tolist()
    [2, 0, 1]
    """
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    first = np.full(Y.shape[1], Y.shape[0])
    np.minimum.at(first, Y.indices, rows)
    return np.argsort(first, kind="stable")
