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
from unnaive.types import Floats, Progress, Sparse

ALMOST_ONE = 1 - 1e-12  # a weight of 1 would make the class certain for ever


@dataclass(frozen=True)
class _Arcs:
    """What the estimates look at, with the arcs T_k → C_i in the order of the csr cells.

    inside    N_ik           occurrences of the term in the class      (n_arcs,)
    terms     k              the term that each arc comes from         (n_arcs,)
    overall   N_•k           occurrences of the term                   (n_terms,)
    totals    N_i•           tokens of each class                      (n_classes,)
    starts    csr row starts, so that the arcs of class i are starts[i]:starts[i + 1]
    """

    inside: Floats
    terms: NDArray[Any]
    overall: Floats
    totals: Floats
    starts: NDArray[Any]

    @property
    def total(self) -> float:
        """N, tokens of the corpus; never 0."""
        return max(float(self.overall.sum()), 1e-300)

    @property
    def sizes(self) -> NDArray[Any]:
        """nt_i, how many parents each class has (n_classes,)."""
        return np.diff(self.starts)

    def by_arc(self, of_class: NDArray[Any]) -> NDArray[Any]:
        """A number for each class, repeated on its arcs."""
        return np.repeat(of_class, self.sizes)

    def class_products(self, of_arc: Floats) -> Floats:
        """The product over the arcs of each class (n_classes,); 1 for a class without arcs."""
        products, some = np.ones(len(self.totals)), self.sizes > 0
        if some.any():  # reduceat has no empty stretches
            products[some] = np.multiply.reduceat(of_arc, self.starts[:-1][some])
        return products


def _ml(arcs: _Arcs) -> Floats:
    """Eq. 11: w = N_ik / N_•k."""
    return arcs.inside / arcs.overall.take(arcs.terms)


def _laplace(arcs: _Arcs) -> Floats:
    """Eq. 12: w = (N_ik + 1) / (N_•k + 2), on arcs only."""
    return (arcs.inside + 1) / (arcs.overall + 2).take(arcs.terms)


def _independent(arcs: _Arcs) -> Floats:
    """Eq. 15: w = N_ik / N_•k · Π_{h ≠ k} f_ih over the other parents h,  f_ih = (1 − N_ih/N_i•) / (1 − N_•h/N)."""
    return _scaled_products(arcs, np.ones(len(arcs.totals)))


def _relaxed(arcs: _Arcs) -> Floats:
    """Eq. 17: eq. 15 over nt_i, the number of parents."""
    return _scaled_products(arcs, 1 / np.maximum(arcs.sizes, 1))


def _scaled_products(arcs: _Arcs, scale: Floats) -> Floats:
    """scale_i · N_ik / N_•k · Π_{h ≠ k} f_ih: the whole product of the class, over the arc's own factor.

    With r = 1 − N_ik/N_i• and the odds o = N_•k/(N − N_•k) of the term, f = r + r·o and N_•k·f = N·r·o. Neither Π r nor
    Π (1 − N_•k/N) can underflow, because the shares in each add up to at most 1.
    """
    total = arcs.total
    others = np.maximum(total - arcs.overall, total * 2.0**-53)  # above 0 also for the only term of the corpus
    odds = (arcs.overall / others).take(arcs.terms)
    factors = arcs.by_arc(arcs.totals)
    np.divide(arcs.inside, factors, out=factors)  # arcs are many: what is no longer needed is written over
    np.subtract(1, factors, out=factors)
    odds *= factors
    factors += odds
    products = arcs.class_products(factors)
    if not (products > 0).all():
        weights: Floats = _ml(arcs) * _products_beside_zeros(arcs, factors) * arcs.by_arc(scale)
        return weights
    weights = np.divide(arcs.inside, odds, out=odds)
    weights *= arcs.by_arc(scale * products / total)
    return weights


def _products_beside_zeros(arcs: _Arcs, factors: Floats) -> Floats:
    """Π_{h ≠ k} f_ih where some factors are 0, at most one in a class, since it takes all of the class's tokens."""
    zero = factors <= 0
    others = np.where(zero, 1.0, factors)
    products: Floats = arcs.by_arc(arcs.class_products(others)) / others
    return np.where(zero | arcs.by_arc(arcs.class_products(factors) > 0), products, 0.0)


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
    found = estimate(_arcs(table, statistic.class_totals, overall))
    clipped = 0
    if found.size and found.max() > ALMOST_ONE:
        clipped = int(np.count_nonzero(found > ALMOST_ONE))
        np.minimum(found, ALMOST_ONE, out=found)
    return Gates(csr_array((found, table.indices, table.indptr), shape=table.shape), clipped)


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
    table.data = _minus_log_of_rest(table.data)
    weighting = Weighting("raw" if counts else "binary")
    return Linear(table, np.zeros(statistic.n_classes), weighting=weighting, link="noisy-or")


def _minus_log_of_rest(weights: Floats) -> Floats:
    """−log(1 − w), to the last digits also where w is tiny.

    >>> _minus_log_of_rest(np.array([0.0, 1e-20, 0.5]))
    array([0.00000000e+00, 1.00000000e-20, 6.93147181e-01])
    """
    logs = np.negative(weights)
    np.log1p(logs, out=logs)
    return np.abs(logs, out=logs)  # a negative, and no −0


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
    whole, sizes = np.asarray(overall, np.float64), np.asarray(class_totals, np.float64)
    return _Arcs(inside, table.indices, whole, sizes, table.indptr)
