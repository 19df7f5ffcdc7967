"""A recipe and documents to a Pool, without any search: the same recipe and documents give the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Event, get_ident
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.base.types import Floats, Ids, Sparse
from unnaive.data.products import take_columns
from unnaive.data.targets import single_labels
from unnaive.data.weighting import document_frequency, tf_idf
from unnaive.data.word_vectors import TermVectors
from unnaive.linear.linear import Linear
from unnaive.models.auto.expected_work import LAST, fit_work
from unnaive.models.auto.members import FAMILIES, HINGES, NEVER, Training, Weights, fit_family
from unnaive.models.auto.plan import PREPARING
from unnaive.models.auto.pool import Pool
from unnaive.models.auto.recipe import Recipe
from unnaive.models.auto.sampling import sample_rows
from unnaive.models.auto.vector_view import Vectors, VectorView, round_weights, vector_view_name
from unnaive.models.auto.views import View, select_views
from unnaive.models.auto.work_teller import WorkTeller
from unnaive.text.backend import thread_count
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
    tell: WorkTeller | None = None,
    columns: Ids | None = None,
    vectors: Sequence[Vectors] = (),
) -> Pool:
    """The pool that `recipe` gives on documents X (n_docs, n_terms) with labels Y (n_docs, n_classes).

    terms         names of the columns, from which the views follow; None for one view of all columns
    random_state  seed of the solvers; the result does not depend on n_jobs
    tell          who is told of every member that is fitted
    columns       those that views of terms are made of; None for all
    vectors       of the words that have one, and of vector fields, where the recipe has views of them
    """
    X, Y = csr_array(X), csr_array(Y)
    bias, parts, stop = np.array(recipe["bias"], np.float64), [], Event()
    seen = order_classes(Y)[: count_classes(Y)]  # a class without documents changes nothing for the others
    ordered = csr_array(Y[:, seen])
    views = [(view, [one for one in recipe["members"] if one["view"] == view.name])
             for view in select_views(X, terms, Y.shape[1], columns)]  # fmt: skip
    dense_views = {vector_view_name(one): one for one in vectors}
    for name, one in dense_views.items():
        view = View(name, one.columns, document_frequency(X)[one.columns])
        views.append((view, [member for member in recipe["members"] if member["view"] == name]))
    tell = tell or WorkTeller()
    told_of = {
        view.name: _Told(
            tell, view, X.shape[0], stop, thread_count(n_jobs), any(one["family"] in HINGES for one in members)
        )
        for view, members in views
    }
    fits = [told_of[view.name].work(one, len(seen)) for view, members in views for one in members]
    tell.expect(sum(told_of[view.name].preparing for view, members in views if members) + sum(fits))
    same: dict[str, Any] = {"tol": TOL, "random_state": random_state, "n_jobs": n_jobs}
    link = "one-of-all" if recipe["kind"] == "single" else "log-odds"
    for view, members in views:
        if members:
            told = told_of[view.name]
            tell.begin(f"weighting {view.name}", told.preparing)
            documents = take_columns(X, view.columns)
            fit = partial(_fit_view, members, documents, ordered, sample_weight, told, {**same, "listen": told.listen})
            own = dense_views.get(view.name)
            if own is not None:
                dense = VectorView.of(documents, own, sample_weight)
                weighting, (weights, offset) = dense.weighting, dense.fold(fit(dense.training))
            else:
                weighting = tf_idf(documents, sample_weight, view.df)
                weights, offset = fit(partial(Training.of, weighting=weighting))
            table = np.zeros((len(bias), len(view.columns)), np.float32)
            table[seen] = weights
            never = np.full(len(bias), NEVER)
            never[seen] = offset
            bias += never
            table, step = round_weights(table) if isinstance(own, TermVectors) else (table, None)
            linear = Linear(table, np.zeros(len(bias)), weighting=weighting, link=link, step=step)
            parts.append((view.columns, linear))
    return Pool(tuple(parts), bias, X.shape[1], link, recipe)


def _fit_view(
    members: list[Recipe], documents: Sparse, Y: Sparse, sample_weight: Floats | None, told: _Told,
    same: dict[str, Any], make: Callable[..., Training],
) -> Weights:  # fmt: skip
    """The sum of the members of a view; `make` gives what they learn from, of documents, labels and weights."""
    n_docs, n_classes = documents.shape[0], Y.shape[1]
    found, offset = None, np.zeros(n_classes)
    for most in sorted({one.get("documents", n_docs) for one in members}):
        own = [one for one in members if one.get("documents", n_docs) == most]
        rows = _rows_to_learn_from(Y, most, same["random_state"])
        if rows is None:
            data = make(documents, Y=Y, weight=sample_weight, **same)
        else:
            weight = None if sample_weight is None else sample_weight[rows]
            data = make(csr_array(documents[rows]), Y=csr_array(Y[rows]), weight=weight, **same)
        if found is None:
            told.tell.finish(told.preparing)
        part, level = _fit_members(own, data, told)
        found, offset = part if found is None else found + part, offset + level
    if found is None:
        raise RuntimeError("a view without members")
    return found, offset


def _rows_to_learn_from(Y: Sparse, most: int, random_state: int) -> Ids | None:
    """The rows of a sample of at most so many documents; None for all. Of multilabel ones the first: rows come in the
    order of a hash of their words."""
    if Y.shape[0] <= most:
        return None
    targets = single_labels(Y)
    if targets is None:
        return np.arange(most)
    return sample_rows(np.arange(Y.shape[0]), targets, most, np.random.default_rng(random_state))


@dataclass(frozen=True, eq=False)
class _Told:
    """Who is told of the members of a view, and what their work is estimated by."""

    tell: WorkTeller
    view: View
    n_docs: int
    stop: Event
    threads: int
    beside: bool  # whether a hinge is among the members, beside which the others are fitted
    running: dict[int, tuple[str, float]] = field(default_factory=dict)  # what each thread does, and its work

    def work(self, member: Recipe, n_classes: int) -> float:
        """Estimated processor seconds of fitting a member."""
        share = min(1.0, member.get("documents", self.n_docs) / max(self.n_docs, 1))
        cells = float(self.view.df.sum()) * share
        return fit_work(self.view.name, member["family"], cells, n_classes, LAST, self.threads, beside=self.beside)

    @property
    def preparing(self) -> float:
        """Estimated processor seconds of weighting and summing the documents."""
        return PREPARING * float(self.view.df.sum()) / 1e9

    def fit(self, member: Recipe, data: Training) -> Weights:
        """The weights of a member, told of before and after."""
        title = f"fitting {FAMILIES[member['family']].title} on {self.view.name}"
        work = self.work(member, data.n_classes)
        self.running[get_ident()] = title, work
        self.tell.begin(title, work)
        found = fit_family(member["family"], member["settings"], data)
        self.tell.finish(work)
        return found

    def listen(self, share: float) -> None:
        """How far the solver of this thread is; stops it where another thread was stopped."""
        if self.stop.is_set():
            raise KeyboardInterrupt
        title, work = self.running[get_ident()]
        self.tell.advance(title, share * work, work)


def _fit_members(members: list[Recipe], data: Training, told: _Told) -> Weights:
    """The sum of the members. Hinges take all threads; what has one, the softmax foremost, goes on beside them.

    An interrupt comes to this thread, which stops the other.
    """

    def fit(ones: list[Recipe]) -> Weights:
        total, bias = np.zeros((data.n_classes, data.X.shape[1])), np.zeros(data.n_classes)
        for one in ones:
            weights, offset = told.fit(one, data)
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
                told.stop.set()
                raise
    total += more
    return total, bias + more_bias


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
