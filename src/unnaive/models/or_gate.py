"""The OR gate: a Bayesian network with arcs from terms to classes, each class a noisy-OR of the terms of its documents.

de Campos, Fernández-Luna, Huete and Romero, "OR gate Bayesian networks for text classification: a discriminative
alternative approach to multinomial naive Bayes". The statistic is that of naive Bayes, N_ik, so `or_gate` is a rule
`Counts → Linear`, and the network can be updated, merged and partly forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.counts import Counts
from unnaive.core.linear import Linear
from unnaive.core.selection import binary_gain
from unnaive.core.weighting import Weighting
from unnaive.errors import BadData, choose

Floats = NDArray[np.float64]
Sparse = Any  # scipy.sparse.csr_array, which ships no types

ALMOST_ONE = 1 - 1e-12  # a weight of 1 would make the class certain for ever


@dataclass(frozen=True)
class _Arcs:
    """What the estimates look at: one number for each arc T_k → C_i, in the order of the csr cells.

    inside    N_ik           occurrences of the term in the class      (n_arcs,)
    overall   N_•k           occurrences of the term                   (n_arcs,)
    totals    N_i•           tokens of each class                      (n_classes,)
    total     N              tokens of the corpus
    starts    csr row starts, so that the arcs of class i are starts[i]:starts[i + 1]
    """

    inside: Floats
    overall: Floats
    totals: Floats
    total: float
    starts: NDArray[Any]

    @property
    def sizes(self) -> NDArray[Any]:
        """nt_i, how many parents each class has (n_classes,)."""
        return np.diff(self.starts)

    def by_arc(self, of_class: NDArray[Any]) -> NDArray[Any]:
        """A number for each class, repeated on its arcs."""
        return np.repeat(of_class, self.sizes)

    def class_sums(self, of_arc: NDArray[Any]) -> Floats:
        """The sum over the arcs of each class (n_classes,); 0 for a class without arcs."""
        sums, some = np.zeros(len(self.sizes)), self.sizes > 0
        if some.any():  # reduceat has no empty stretches
            sums[some] = np.add.reduceat(of_arc, self.starts[:-1][some])
        return sums


def _ml(arcs: _Arcs) -> Floats:
    """Eq. 11: w = N_ik / N_•k."""
    return arcs.inside / arcs.overall


def _laplace(arcs: _Arcs) -> Floats:
    """Eq. 12: w = (N_ik + 1) / (N_•k + 2), on arcs only."""
    return (arcs.inside + 1) / (arcs.overall + 2)


def _independent(arcs: _Arcs) -> Floats:
    """Eq. 15: w = N_ik / N_•k · Π_{h ≠ k} f_ih over the other parents h,  f_ih = (1 − N_ih/N_i•) / (1 − N_•h/N).

    The product without its own factor is the whole product of the class over f_ik. A class with a single term has
    f = 0, and nothing may be divided by it: zero factors are counted apart, the logarithms are of the others.
    """
    misses, zero = 1 - arcs.inside / arcs.by_arc(arcs.totals), None
    if misses.size and misses.min() <= 0:
        zero = misses <= 0
        misses = np.where(zero, 1.0, misses)
    factor = misses / np.maximum(1 - arcs.overall / arcs.total, 2.0**-53)
    weights: Floats = _ml(arcs) * arcs.by_arc(np.exp(arcs.class_sums(np.log(factor)))) / factor
    if zero is None:
        return weights
    return np.where(arcs.by_arc(arcs.class_sums(zero)) > zero, 0.0, weights)


def _relaxed(arcs: _Arcs) -> Floats:
    """Eq. 17: eq. 15 over nt_i, the number of parents."""
    weights: Floats = _independent(arcs) / arcs.by_arc(arcs.sizes)
    return weights


WEIGHTS: dict[str, Callable[[_Arcs], Floats]] = {
    "ml": _ml,
    "laplace": _laplace,
    "independent": _independent,
    "relaxed": _relaxed,
}
TOTALS: dict[str, Callable[[Counts], NDArray[Any]]] = {
    "corpus": lambda counts: counts.terms,
    "classes": lambda counts: counts.class_terms.sum(axis=0),
}


Progress = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, eq=False)
class Gates:
    """The weights w of all arcs (n_classes, n_terms) sparse, in [0, 1 − 1e-12], and how many had to be cut to that."""

    weights: Sparse
    clipped: int


def gates(
    statistic: Counts, /, *, weights: str = "relaxed", totals: str = "corpus", terms_per_class: int | None = None
) -> Gates:
    """w[i, k], the probability that term k alone forces class i, on the arcs N_ik > 0; see `or_gate`.

    >>> counts = Counts.of(csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> gates(counts, weights="laplace").weights.toarray().round(3)
    array([[0.6  , 0.   ],
           [0.4  , 0.667]])
    """
    estimate = WEIGHTS[choose(list(WEIGHTS), weights, "weight estimate")]
    overall = TOTALS[choose(list(TOTALS), totals, "kind of totals")](statistic)
    table = statistic.class_terms if terms_per_class is None else telling_arcs(statistic, terms_per_class)
    raw = estimate(_arcs(table, statistic.class_totals, overall))
    cut = np.clip(raw, 0.0, ALMOST_ONE)
    return Gates(csr_array((cut, table.indices, table.indptr), shape=table.shape), int(np.count_nonzero(cut != raw)))


def or_gate(
    statistic: Counts,
    /,
    *,
    weights: str = "relaxed",
    counts: bool = True,
    totals: str = "corpus",
    terms_per_class: int | None = None,
    progress: Progress | None = None,
) -> Linear:
    """Each class a noisy-OR of the terms of its documents: p(c_i|d) = 1 − Π_k (1 − w_ik)^n_dk.

    score[d, i] = −Σ_k n_dk · log(1 − w_ik), so that p = 1 − e^−score; classes are ranked by score, because p is 1 to
    the last digit long before scores stop to differ.

    weights          "ml" eq. 11, "laplace" eq. 12, "independent" eq. 15, "relaxed" eq. 17
    counts           n_dk occurrences (eq. 10), or presence only (eq. 9)
    totals           N_•k over the "corpus", a proper p(c|t), or summed over the "classes", which in multi-label data
                     counts a document once for each of its labels
    terms_per_class  keep the arcs from this many terms of each class, those of most information gain
    progress         is told how many arcs there are and how many weights were cut to 1 − 1e-12

    Fractions are taken as masses; negative counts are refused. A class without documents has no arcs, so p = 0; a
    document of unknown terms scores 0 for every class.

    >>> counts = Counts.of(csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> model = or_gate(counts, weights="laplace")
    >>> (-np.expm1(-model.scores(csr_array([[2, 0]])))).round(2)   # 1 − .4², 1 − .6²
    array([[0.84, 0.64]])
    """
    found = gates(statistic, weights=weights, totals=totals, terms_per_class=terms_per_class)
    table = found.weights
    if progress is not None:
        progress("or-gate", {"arcs": int(table.nnz), "clipped": found.clipped})
    arcs = csr_array((minus_log_of_rest(table.data), table.indices, table.indptr), shape=table.shape)
    weighting = Weighting("raw" if counts else "binary")
    return Linear(arcs, np.zeros(statistic.n_classes), weighting=weighting, link="noisy-or")


def minus_log_of_rest(weights: Floats) -> Floats:
    """−log(1 − w), to the last digits also where w is tiny; numpy's log1p does the same nine times slower.

    With u = 1 − w as rounded, log(1 − w) = log(u) · w / (1 − u): the rounding of u cancels (Kahan); w itself if u = 1.

    >>> minus_log_of_rest(np.array([0.0, 1e-20, 0.5]))
    array([0.00000000e+00, 1.00000000e-20, 6.93147181e-01])
    """
    rest = 1 - weights
    gap = 1 - rest
    lost = gap == 0
    gap[lost] = 1.0
    logs: Floats = np.log(rest) * (-weights / gap)
    logs[lost] = weights[lost]
    return logs


def telling_arcs(statistic: Counts, per_class: int) -> Sparse:
    """N_ik on the arcs of the `per_class` terms with the most information gain about class against rest.

    Ties go to the lower term id. Computed on arcs only: other terms could not be parents anyway.
    """
    if per_class < 1:
        raise BadData(f"terms_per_class is {per_class}; give a whole number from 1 on, or None for all terms")
    table = statistic.class_terms
    rows = np.repeat(np.arange(statistic.n_classes), np.diff(table.indptr))
    order = np.lexsort((table.indices, -_arc_gains(statistic, rows), rows))
    rank = np.arange(len(rows)) - table.indptr[rows]  # rows are already in order, so place = rank within the class
    kept = np.sort(order[rank < per_class])
    return csr_array((table.data[kept], (rows[kept], table.indices[kept])), shape=table.shape)


def _arc_gains(statistic: Counts, rows: NDArray[Any]) -> Floats:
    """Information gain about class against rest on each arc, in nats; class_df has the cells of class_terms."""
    both = np.asarray(statistic.class_df.data, np.float64)
    own, df = (np.asarray(values, np.float64) for values in (statistic.class_docs, statistic.df))
    gains = binary_gain(both, own[rows], df[statistic.class_df.indices], float(statistic.n_docs))
    return gains.round(12)  # equal up to the order of sums is equal


def _arcs(table: Sparse, class_totals: NDArray[Any], overall: NDArray[Any]) -> _Arcs:
    inside = np.asarray(table.data, np.float64)
    if inside.size and inside.min() < 0:
        raise BadData("a term occurs a negative number of times; the OR gate needs counts, or masses, from 0 on")
    at_arcs = np.asarray(overall, np.float64)[table.indices]
    total = max(float(overall.sum()), 1e-300)
    return _Arcs(inside, at_arcs, np.asarray(class_totals, np.float64), total, table.indptr)
