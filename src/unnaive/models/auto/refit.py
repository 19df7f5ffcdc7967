"""Train the pool of a recipe without a search; the same recipe and documents give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse, Weights
from unnaive.data.products import take_columns
from unnaive.data.targets import single_labels
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.linear.linear import Linear
from unnaive.linear.sum_of_linears import SumOfLinears
from unnaive.models.auto.members import HINGES, Training, fit_family
from unnaive.models.auto.plan import fitting_work
from unnaive.models.auto.recipe import Recipe
from unnaive.models.auto.sampling import draw_rows, sample_rows
from unnaive.models.auto.steps import Steps
from unnaive.models.auto.vector_views import AnyVectors, VectorsView, is_of_words, make_vector_view, vector_view_name
from unnaive.models.auto.views import View, select_views
from unnaive.models.vectors.word_view import round_weights
from unnaive.text.vocabulary import Vocabulary

TOL = 1e-2  # solver tolerance: a smaller one takes twice the time and changes accuracy only within noise


def refit(
    recipe: Recipe,
    X: Sparse,
    Y: Sparse,
    terms: Sequence[str] | Vocabulary | None,
    *,
    sample_weight: Floats | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    tell: Steps | None = None,
    columns: Ids | None = None,
    vectors: Sequence[AnyVectors] = (),
) -> SumOfLinears:
    """The pool that `recipe` gives on documents X (n_docs, n_terms) with labels Y (n_docs, n_classes).

    terms         names of the columns, which determine the views; None for one view of all columns
    random_state  seed of the solvers; the result does not depend on n_jobs
    tell          is called for every view on which members are fitted
    columns       the columns that views of terms may use; None for all
    vectors       vectors of words and of vector fields, if the recipe has views of them
    """
    X, Y = csr_array(X), csr_array(Y)
    bias, parts, stop = np.array(recipe["bias"], np.float64), [], Event()
    seen = order_classes(Y)[: count_classes(Y)]  # a class without documents changes nothing for the others
    ordered = csr_array(Y[:, seen])
    views = [(view, [member for member in recipe["members"] if member["view"] == view.name])
             for view in select_views(X, terms, Y.shape[1], columns)]  # fmt: skip
    dense_views = {vector_view_name(item): item for item in vectors}
    for name, view_vectors in dense_views.items():
        view = View(name, view_vectors.columns, document_frequency(X)[view_vectors.columns])
        views.append((view, [member for member in recipe["members"] if member["view"] == name]))
    tell = tell or Steps()
    work = {view.name: _work(view, members, X.shape[0], len(seen)) for view, members in views if members}
    tell.expect(sum(work.values()))
    same: dict[str, Any] = {"tol": TOL, "random_state": random_state, "n_jobs": n_jobs, "stop": stop}
    bias[~np.isin(np.arange(len(bias)), seen)] = -np.inf
    link = "one-of-all" if recipe["kind"] == "single" else "log-odds"
    for view, members in views:
        if members:
            tell(f"fitting the members on {view.name}", work[view.name])
            documents = take_columns(X, view.columns)
            fit = partial(_fit_view, members, documents, ordered, sample_weight, same)
            dense_vectors = dense_views.get(view.name)
            if dense_vectors is not None:
                dense = make_vector_view(documents, dense_vectors, sample_weight)
                weighting, (weights, offset) = dense.weighting, dense.fold(fit(partial(_train_on_vectors, dense)))
            else:
                weighting = tf_idf(documents, sample_weight, view.df)
                weights, offset = fit(partial(Training.of, weighting=weighting))
            table = np.zeros((len(bias), len(view.columns)), np.float32)
            table[seen] = weights
            bias[seen] += offset
            table, step = round_weights(table) if is_of_words(dense_vectors) else (table, None)
            linear = Linear(table, np.zeros(len(bias)), weighting=weighting, link=link, step=step)
            parts.append((view.columns, linear))
    return SumOfLinears(tuple(parts), bias, X.shape[1], link)


def _fit_view(
    members: list[Recipe], documents: Sparse, Y: Sparse, sample_weight: Floats | None, same: dict[str, Any],
    make: Callable[..., Training],
) -> Weights:  # fmt: skip
    """The weighted sum of the members of a view; `make` builds Training from documents, labels and weights."""
    n_docs, n_classes = documents.shape[0], Y.shape[1]
    weights, offset = None, np.zeros(n_classes)
    for most in sorted({member.get("documents", n_docs) for member in members}):
        same_size = [member for member in members if member.get("documents", n_docs) == most]
        rows = _rows_to_learn_from(Y, most, same["random_state"])
        if rows is None:
            data = make(documents, Y=Y, weight=sample_weight, **same)
        else:
            weight = None if sample_weight is None else sample_weight[rows]
            data = make(csr_array(documents[rows]), Y=csr_array(Y[rows]), weight=weight, **same)
        part, level = _fit_members(same_size, data, same["stop"])
        weights, offset = part if weights is None else weights + part, offset + level
    if weights is None:
        raise RuntimeError("a view without members")
    return weights, offset


def _train_on_vectors(view: VectorsView, X: Sparse, **others: Any) -> Training:
    return Training.of_rows(view.rows(X), **others)


def _rows_to_learn_from(Y: Sparse, most: int, random_state: int) -> Ids | None:
    """The rows of a sample of at most `most` documents, stratified by class if each has one; None for all."""
    if Y.shape[0] <= most:
        return None
    targets = single_labels(Y)
    if targets is None:
        return draw_rows(Y.shape[0], most, random_state)
    return sample_rows(np.arange(Y.shape[0]), targets, most, np.random.default_rng(random_state))


def _work(view: View, members: list[Recipe], n_docs: int, n_classes: int) -> float:
    """Estimated processor seconds of fitting the members on a view."""
    share = min([member.get("documents", n_docs) for member in members]) / max(n_docs, 1)
    return fitting_work(float(view.df.sum()), n_classes, [member["family"] for member in members], min(1.0, share))


def _fit_members(members: list[Recipe], data: Training, stop: Event) -> Weights:
    """The weighted sum of the members. Hinges use all threads; single-threaded members run in parallel with them.

    An interrupt reaches this thread, which stops the other.
    """

    def fit(ones: list[Recipe]) -> Weights:
        total, bias = np.zeros((data.n_classes, data.X.shape[1])), np.zeros(data.n_classes)
        for member in ones:
            weights, offset = fit_family(member["family"], member["settings"], data)
            weights *= member["factor"]
            total += weights
            bias += member["factor"] * offset
        return total, bias

    hinges = [member for member in members if member["family"] in HINGES]
    others = [member for member in members if member["family"] not in HINGES]
    if not hinges or not others:
        return fit(members)
    if data.n_jobs == 1:
        (total, bias), (more, more_bias) = fit(hinges), fit(others)
    else:
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(copy_context().run, fit, others)  # the context says where arrays are stored
            try:
                (total, bias), (more, more_bias) = fit(hinges), waiting.result()
            except BaseException:
                stop.set()
                raise
    total += more
    return total, bias + more_bias


def count_classes(Y: Sparse) -> int:
    """The number of classes that have documents.

    >>> count_classes(csr_array([[0, 0, 1], [1, 0, 0]]))
    2
    """
    return len(np.unique(Y.indices))


def order_classes(Y: Sparse) -> Ids:
    """The classes ordered by their first document, so that results do not depend on class names.

    >>> order_classes(csr_array([[0, 0, 1], [1, 0, 0]])).tolist()
    [2, 0, 1]
    """
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    first = np.full(Y.shape[1], Y.shape[0])
    np.minimum.at(first, Y.indices, rows)
    return np.argsort(first, kind="stable")
