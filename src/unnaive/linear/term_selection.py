"""Measures of how well terms distinguish classes: one sparse pass over Counts for all terms; `select_terms` uses them.

All use four cells for each term t and class c: documents with or without t, in c or not. With n documents, n_c in the
class, df with the term and n_ct with both, the cells are n_ct, n_c − n_ct, df − n_ct and the remainder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log
from unnaive.base.errors import UnnaiveError, choose
from unnaive.base.log_functions import xlogy
from unnaive.base.types import Floats, Ids
from unnaive.data.counts import Counts
from unnaive.linear.linear import refuse_full_table
from unnaive.linear.min_df import frequent_terms
from unnaive.text.vocabulary import Vocabulary


def information_gain(counts: Counts, per_class: bool = False) -> Floats:
    """Information of the presence of each term about the class, in nats (n_terms,).

    gain(t) = Σ_c p(c) Σ_{x in t, t̄} p(x|c) log p(x|c)/p(x)

    If each document has one class, this is the mutual information of presence and class. For multilabel data it is the
    formula of Yang and Pedersen (1997): p(c) = n_c/n need not sum to one, p(x) is that of the corpus, and no summand is
    below zero. `per_class`: about each class against the rest (n_classes, n_terms), dense.

    >>> from scipy.sparse import csr_array
    >>> counts = Counts.of(csr_array([[1, 1], [0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> information_gain(counts).round(3)  # the first term tells the two classes apart: log 2
    array([0.693, 0.   ])
    """
    if per_class:
        return _each_class(counts, binary_gain)
    n, df, seen = float(counts.n_docs), counts.df, counts.class_df
    class_docs = _by_cell(counts)
    # fractional weights may leave a rounding error below zero
    without, missing = np.maximum(class_docs - seen.data, 0), np.maximum(n - df, 0)
    # the part of each class without any document of the term, then the changes by seen cells
    unseen = _log_ratio(n, missing)
    change = (
        xlogy(seen.data, n * seen.data / (df[seen.indices] * class_docs))
        + xlogy(without, _ratio(n * without, missing[seen.indices] * class_docs))
        - class_docs * unseen[seen.indices]
    )
    gains: Floats = counts.class_docs.sum() * unseen + np.bincount(seen.indices, change, counts.n_terms)
    return np.maximum(gains / _some(n), 0)


def chi2(counts: Counts, per_class: bool = False) -> Floats:
    """χ² of the table classes × (present, absent) for each term (n_terms,).

    χ²(t) = Σ_c (n_ct − n_c df/n)² / (n_c df (n − df)/n²);  class against rest: χ²(t, c) = the summand / (1 − n_c/n)

    If each document has one class, this is Pearson's statistic of the whole table. `per_class`: that of each class
    against the rest (n_classes, n_terms), dense. 0 if a term or a class is in all documents or in none.

    >>> from scipy.sparse import csr_array
    >>> chi2(Counts.of(csr_array([[1, 1], [0, 1]]), csr_array([[1, 0], [0, 1]])))
    array([2., 0.])
    """
    if per_class:
        return _each_class(counts, _binary_chi2)
    n, df, seen = float(counts.n_docs), counts.df, counts.class_df
    expected = _by_cell(counts) * df[seen.indices] / _some(n)
    # unseen cells deviate by their expectation: Σ_c (n_c df/n)²/n_c = df²/n² Σ n_c
    change = ((seen.data - expected) ** 2 - expected**2) / _by_cell(counts)
    squares = (df / _some(n)) ** 2 * counts.class_docs.sum() + np.bincount(seen.indices, change, counts.n_terms)
    return np.maximum(_ratio(squares * n * n, df * np.maximum(n - df, 0)), 0)


def mutual_information(counts: Counts, per_class: bool = False) -> Floats:
    """Pointwise mutual information of term and class, log p(t, c)/(p(t) p(c)): the largest over the classes (n_terms,).

    Yang and Pedersen (1997). It favours rare terms. `per_class`: for each class (n_classes, n_terms), dense; −∞ if a
    term was never seen in the class.

    >>> from scipy.sparse import csr_array
    >>> mutual_information(Counts.of(csr_array([[1, 1], [0, 1]]), csr_array([[1, 0], [0, 1]]))).round(3)
    array([0.693, 0.   ])
    """
    seen = counts.class_df
    values = log(counts.n_docs * seen.data / (_by_cell(counts) * counts.df[seen.indices]))
    if per_class:
        refuse_full_table(counts.n_classes, counts.n_terms, "mutual information per class")
        table = np.full(seen.shape, -np.inf)
        table[np.repeat(np.arange(counts.n_classes), np.diff(seen.indptr)), seen.indices] = values
        return table
    best = np.full(counts.n_terms, -np.inf)
    np.maximum.at(best, seen.indices, values)
    return best


SELECTIONS: dict[str, Callable[..., Floats]] = {
    "information-gain": information_gain,
    "chi2": chi2,
    "mutual-information": mutual_information,
}


PER_CLASS = "-per-class"


def check_select(select: Any) -> tuple[str, int] | None:
    """`select` as (measure, k), or an error.

    >>> check_select(2000), check_select(["chi2-per-class", 30])
    (('information-gain', 2000), ('chi2-per-class', 30))
    """
    if select is None:
        return None
    pair = isinstance(select, (tuple, list)) and len(select) == 2 and isinstance(select[0], str)
    name, k = select if pair else ("information-gain", select)
    choose([*SELECTIONS, *(measure + PER_CLASS for measure in SELECTIONS)], name, "selection")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UnnaiveError(f"select is {select!r}; give the number of terms to keep, or a pair such as ('chi2', 2000)")
    return name, k


def select_terms(
    counts: Counts, terms: Vocabulary | Sequence[str] | None = None, *, min_df: int = 1, select: Any = None
) -> Ids:
    """Ids of the terms in use, ascending: document frequency of at least `min_df`, then the best by a measure.

    `select` is a number of terms, by information gain, or a pair (measure, number); "…-per-class" keeps the best of
    every class. `terms` names the columns, so that ties do not depend on their order; see `top_k`.

    >>> from scipy.sparse import csr_array
    >>> counts = Counts.of(csr_array([[1, 1, 1], [0, 0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> select_terms(counts, ["goal", "ball", "the"], select=1)
    array([1])
    """
    present = frequent_terms(counts, min_df)
    measure_and_k = check_select(select)
    if measure_and_k is None:
        return present
    name, k = measure_and_k
    measure = SELECTIONS[name.removesuffix(PER_CLASS)]
    gains = np.atleast_2d(measure(counts.take_terms(present), per_class=name.endswith(PER_CLASS)))
    best = [present[top_k(row, k, names=_NamesAt(terms, present))] for row in gains]
    return np.unique(np.concatenate(best))


class _NamesAt:
    """The names of some columns, looked up only to break ties."""

    def __init__(self, terms: Vocabulary | Sequence[str] | None, ids: Ids) -> None:
        self._terms, self._ids = terms, ids

    def __getitem__(self, index: int) -> Any:
        return index if self._terms is None else self._terms[int(self._ids[index])]


def top_k(values: Floats, k: int, *, names: Any = None) -> Ids:
    """Indices of the k largest values, best first; never −∞ or NaN.

    Values that agree to 12 digits of the largest are ties, since sums in another order differ by less. Ties go to the
    first in the order of `names`, else to the smaller index.

    >>> top_k(np.array([0.1, 0.5, 0.5, 0.2]), 3)
    array([1, 2, 3])
    >>> top_k(np.array([0.5, 0.5, 0.1]), 1, names=["vote", "ball", "a"])
    array([1])
    """
    places = np.flatnonzero(np.isfinite(values))
    if not len(places):
        return places
    rounded = np.round(values[places] / (np.abs(values[places]).max() or 1.0), 12)
    k = min(k, len(places))
    cut = np.partition(rounded, -k)[-k]
    above, tied = places[rounded > cut], places[rounded == cut]
    if len(above) + len(tied) > k:
        tied = tied if names is None else np.array(sorted(tied.tolist(), key=names.__getitem__), np.int64)
        tied = tied[: k - len(above)]
    taken = np.sort(np.concatenate((above, tied)))
    order = np.argsort(-np.round(values[taken] / (np.abs(values[places]).max() or 1.0), 12), kind="stable")
    return np.asarray(taken[order], np.int64)


def _each_class(counts: Counts, statistic: Callable[[Any, Any, Any, Any], Floats]) -> Floats:
    """`statistic(n_ct, n_c, df, n)` class by class (n_classes, n_terms)."""
    refuse_full_table(counts.n_classes, counts.n_terms, "a statistic per class")
    table = np.empty(counts.class_df.shape)
    n, df = float(counts.n_docs), counts.df.astype(np.float64)
    for c in range(counts.n_classes):
        table[c] = statistic(counts.class_df[[c], :].toarray()[0], float(counts.class_docs[c]), df, n)
    return table


def binary_gain(both: Floats, class_docs: Any, df: Floats, n: float) -> Floats:
    """Mutual information of presence (t, t̄) and membership (c, c̄), for one class and all terms, or for cells."""
    gain = np.zeros(len(df))
    for cell, row, column in (
        (both, df, class_docs),
        (df - both, df, n - class_docs),
        (class_docs - both, n - df, class_docs),
        (n - df - class_docs + both, n - df, n - class_docs),
    ):
        counted = np.maximum(cell, 0)  # fractional weights may leave a rounding error below zero
        gain += xlogy(counted, np.maximum(_ratio(n * counted, row * column), 0))
    return np.maximum(gain / _some(n), 0)


def class_gain(counts: Counts, class_index: int) -> Floats:
    """Information gain of each term about one class against the rest (n_terms,): a row of the per-class gains.

    >>> from scipy.sparse import csr_array
    >>> counts = Counts.of(csr_array([[1, 1], [0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> class_gain(counts, 0).round(3)    # log 2, and nothing
    array([0.693, 0.   ])
    """
    both = counts.class_df[[class_index], :].toarray()[0].astype(np.float64)
    df = counts.df.astype(np.float64)
    return binary_gain(both, float(counts.class_docs[class_index]), df, float(counts.n_docs))


def informative_terms(gains: Floats, k: int) -> Ids:
    """The k terms with the largest gain, best first, without uninformative ones.

    >>> informative_terms(np.array([0.1, 0.0, 0.3]), 3)
    array([2, 0])
    """
    best = top_k(gains, k)
    return best[gains[best] > 1e-12]


def _binary_chi2(both: Floats, class_docs: float, df: Floats, n: float) -> Floats:
    """(n_ct n − n_c df)² n / (n_c (n − n_c) df (n − df))."""
    return _ratio(n * (both * n - class_docs * df) ** 2, class_docs * (n - class_docs) * df * (n - df))


def _by_cell(counts: Counts) -> Floats:
    """Documents of the class, for each seen cell of class_df."""
    return np.repeat(counts.class_docs.astype(np.float64), np.diff(counts.class_df.indptr))


def _some(n: float) -> float:
    """n as a denominator, never 0; with weights n may be less than one."""
    return n or 1.0


def _ratio(above: Any, below: Any) -> Floats:
    """above/below, and 0 if below is 0: an impossible cell adds nothing."""
    shares: Floats = np.divide(
        above, below, out=np.zeros(np.broadcast(above, below).shape), where=np.not_equal(below, 0)
    )
    return shares


def _log_ratio(above: float, below: NDArray[Any]) -> Floats:
    """log above/below, and 0 if below is 0."""
    return log(np.where(below > 0, above / np.where(below > 0, below, 1), 1.0))
