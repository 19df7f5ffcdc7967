"""A recipe and documents to a Pool, without any search: the same recipe and documents give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Event

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.weighting import tf_idf
from unnaive.linear.linear import Linear
from unnaive.models.auto.members import HINGES, NEVER, Training, Weights, fit_family
from unnaive.models.auto.pool import Pool
from unnaive.models.auto.recipe import Recipe
from unnaive.models.auto.views import find_views
from unnaive.text.vocabulary import Vocabulary

TOL = 1e-2  # of the solvers: stricter ones cost twice the time and change no accuracy beyond noise


def refit(
    recipe: Recipe,
    X: Sparse,
    Y: Sparse,
    terms: Sequence[str] | Vocabulary | None,
    *,
    sample_weight: Floats | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Pool:
    """The pool that `recipe` gives on documents X (n_docs, n_terms) with labels Y (n_docs, n_classes).

    terms         names of the columns, from which the views follow; None for one view of all columns
    random_state  seed of the solvers; the result does not depend on n_jobs
    """
    X, Y = csr_array(X), csr_array(Y)
    bias, parts, stop = np.array(recipe["bias"], np.float64), [], Event()
    seen = order_classes(Y)[: count_classes(Y)]  # a class without documents changes nothing for the others
    ordered = csr_array(Y[:, seen])
    for view in find_views(X, terms, Y.shape[1]):
        members = [one for one in recipe["members"] if one["view"] == view.name]
        if members:
            documents = take_columns(X, view.columns)
            weighting = tf_idf(documents, sample_weight, view.df)
            data = Training.of(
                documents, weighting, ordered, sample_weight, tol=TOL, random_state=random_state, n_jobs=n_jobs,
                listen=lambda: _raise_if(stop),
            )  # fmt: skip
            found, offset = _fit_members(members, data, stop)
            weights = np.zeros((len(bias), found.shape[1]), np.float32)
            weights[seen] = found
            never = np.full(len(bias), NEVER)
            never[seen] = offset
            bias += never
            parts.append((view.columns, Linear(weights, never, weighting=weighting)))
    link = "one-of-all" if recipe["kind"] == "single" else "log-odds"
    parts = [(columns, Linear(one.sparse_weights, np.zeros(len(bias)), weighting=one.weighting, link=link))
             for columns, one in parts]  # fmt: skip
    return Pool(tuple(parts), bias, X.shape[1], link, recipe)


def _fit_members(members: list[Recipe], data: Training, stop: Event) -> Weights:
    """The sum of the members. Hinges take all threads; what has one, the softmax foremost, goes on beside them.

    An interrupt comes to this thread, which stops the other.
    """

    def fit(ones: list[Recipe]) -> Weights:
        total, bias = np.zeros((data.n_classes, data.X.shape[1])), np.zeros(data.n_classes)
        for one in ones:
            weights, offset = fit_family(one["family"], one["settings"], data)
            weights *= one["factor"]
            total += weights
            bias += one["factor"] * offset
        return total, bias

    hinges = [one for one in members if one["family"] in HINGES]
    others = [one for one in members if one["family"] not in HINGES]
    if not hinges or not others:
        return fit(members)
    if data.n_jobs == 1:
        (total, bias), (more, more_bias) = fit(hinges), fit(others)
    else:
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(copy_context().run, fit, others)  # where arrays are kept is said in the context
            try:
                (total, bias), (more, more_bias) = fit(hinges), waiting.result()
            except BaseException:
                stop.set()
                raise
    total += more
    return total, bias + more_bias


def _raise_if(stop: Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt


def count_classes(Y: Sparse) -> int:
    """How many classes have documents.

    >>> count_classes(csr_array([[0, 0, 1], [1, 0, 0]]))
    2
    """
    return len(np.unique(Y.indices))


def order_classes(Y: Sparse) -> Ids:
    """The classes by their first document: what is learnt in this order does not depend on their names.

    >>> order_classes(csr_array([[0, 0, 1], [1, 0, 0]])).tolist()
    [2, 0, 1]
    """
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    first = np.full(Y.shape[1], Y.shape[0])
    np.minimum.at(first, Y.indices, rows)
    return np.argsort(first, kind="stable")
