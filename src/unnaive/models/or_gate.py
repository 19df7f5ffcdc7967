"""The OR gate: a Bayesian network with arcs from terms to classes, each class a noisy-OR of the terms of its documents.

de Campos, Fernández-Luna, Huete and Romero, "OR gate Bayesian networks for text classification: a discriminative
alternative approach to multinomial naive Bayes". The statistic is that of naive Bayes, N_ik, so `OrGate` is a rule
`Counts → Linear`, and the network supports updating, merging and forgetting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.elementary import expm1, log1p
from unnaive.base.errors import BadData
from unnaive.base.settings import setting
from unnaive.base.types import Arrays, Floats, Sparse
from unnaive.data.array_rules import ArrayRule, Rules
from unnaive.data.counts import Counts
from unnaive.data.weighting import Weighting
from unnaive.learning.traits import Traits
from unnaive.linear.linear import Linear, linear_rules
from unnaive.linear.network import Network, noisy_or_table
from unnaive.linear.term_selection import binary_gain, top_k
from unnaive.models.estimator import CountsModel, class_weight_setting

LARGEST_GATE = 16  # a table has 2^(parents + 1) cells
ALMOST_ONE = 1 - 1e-12  # a weight of 1 would make the class certain regardless of other terms


@dataclass(frozen=True)
class _Arcs:
    """The input of the weight estimates, with the arcs T_k → C_i in the order of the csr cells.

    inside    N_ik           occurrences of the term in the class      (n_arcs,)
    terms     k              the term of each arc                      (n_arcs,)
    overall   N_•k           occurrences of the term                   (n_terms,)
    totals    N_i•           tokens of each class                      (n_classes,)
    starts    csr row starts: the arcs of class i are starts[i]:starts[i + 1]
    """

    inside: NDArray[Any]
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
        """nt_i, the number of parents of each class (n_classes,)."""
        return np.diff(self.starts)

    def by_arc(self, of_class: NDArray[Any]) -> NDArray[Any]:
        """Repeat a number for each class on its arcs."""
        return np.repeat(of_class, self.sizes)

    def class_products(self, of_arc: Floats) -> Floats:
        """The product over the arcs of each class (n_classes,); 1 for a class without arcs."""
        products, some = np.ones(len(self.totals)), self.sizes > 0
        if some.any():  # reduceat does not support empty segments
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
    """scale_i · N_ik / N_•k · Π_{h ≠ k} f_ih: the product over all arcs of the class, divided by the arc's own factor.

    With r = 1 − N_ik/N_i• and the odds o = N_•k/(N − N_•k) of the term, f = r + r·o and N_•k·f = N·r·o. Neither Π r nor
    Π (1 − N_•k/N) can underflow, because the shares in each add up to at most 1.
    """
    # above 0 even if the corpus has only this term
    others = np.maximum(arcs.total - arcs.overall, arcs.total * 2.0**-53)
    odds = (arcs.overall / others).take(arcs.terms)
    factors = arcs.by_arc(arcs.totals)
    np.divide(arcs.inside, factors, out=factors)  # in place, since there are many arcs
    np.subtract(1, factors, out=factors)
    odds *= factors
    factors += odds
    products = arcs.class_products(factors)
    if not (products > 0).all():
        weights: Floats = _ml(arcs) * _products_beside_zeros(arcs, factors) * arcs.by_arc(scale)
        return weights
    weights = np.divide(arcs.inside, odds, out=odds)
    weights *= arcs.by_arc(scale * products / arcs.total)
    return weights


def _products_beside_zeros(arcs: _Arcs, factors: Floats) -> Floats:
    """Π_{h ≠ k} f_ih if some factors are 0; a class has at most one, since that term has all of its tokens."""
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
    """The weights w of all arcs (n_classes, n_terms) sparse, in [0, 1 − 1e-12], and how many were clipped."""

    weights: Sparse
    clipped: int


def estimate_gates(
    statistic: Counts, /, *, weights: str = "relaxed", totals: str = "corpus", terms_per_class: int | None = None
) -> Gates:
    """w[i, k], the probability that term k alone forces class i, on the arcs N_ik > 0; see OrGate.

    >>> counts = Counts.of(csr_array([[2, 0], [1, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> estimate_gates(counts, weights="laplace").weights.toarray().round(3)
    array([[0.6  , 0.   ],
           [0.4  , 0.667]])
    """
    overall = TOTALS[totals](statistic)
    table = statistic.class_terms if terms_per_class is None else informative_arcs(statistic, terms_per_class)
    weights_ = WEIGHTS[weights](_arcs(table, statistic.class_totals, overall))
    clipped = 0
    if weights_.size and weights_.max() > ALMOST_ONE:
        clipped = int(np.count_nonzero(weights_ > ALMOST_ONE))
        np.minimum(weights_, ALMOST_ONE, out=weights_)
    return Gates(csr_array((weights_, table.indices, table.indptr), shape=table.shape), clipped)


@dataclass(frozen=True)
class TermEffect:
    """The effect of one term of a document on one class.

    count    occurrences in the document
    score    contribution to the score of the class
    alone    the probability that this term alone forces the class
    without  the probability of the class without the term
    """

    term: int
    count: float
    score: float
    alone: float
    without: float


def term_effects(model: NoisyOr, document: Sparse, class_index: int) -> list[TermEffect]:
    """The terms of a document (1, n_terms) that have an arc to the class, strongest first, ties by term id.

    alone   1 − (1 − w)^n, the probability that this term alone forces the class
    without 1 − Π over the other terms, the probability of the class without the term

    >>> gate = NoisyOr(csr_array(-np.log([[0.5, 0.75]])), np.zeros(1), link="noisy-or")
    >>> [(one.term, round(one.alone, 3), round(one.without, 3)) for one in term_effects(gate, csr_array([[1, 1]]), 0)]
    [(0, 0.5, 0.25), (1, 0.25, 0.5)]
    """
    features = model.weighting.apply(document)
    pushes = features.data * model.weights(features.indices)[class_index]
    others = pushes.sum() - pushes
    effects = [
        TermEffect(int(term), float(count), float(push), float(-expm1(-push)), float(-expm1(-max(rest, 0.0))))
        for term, count, push, rest in zip(features.indices, features.data, pushes, others, strict=True)
        if push > 0
    ]
    return sorted(effects, key=lambda effect: (-effect.score, effect.term))


@dataclass(frozen=True)
class Arc:
    """One arc of the network: the term and w, the probability that it alone forces the class."""

    term: int
    weight: float


def strongest_arcs(model: NoisyOr, class_index: int, k: int = 20) -> list[Arc]:
    """The k arcs into a class with the largest weights, ties by term id.

    >>> gate = NoisyOr(csr_array(-np.log([[0.5, 0.75]])), np.zeros(1), link="noisy-or")
    >>> [(arc.term, round(arc.weight, 3)) for arc in strongest_arcs(gate, 0, 1)]
    [(0, 0.5)]
    """
    row = csr_array(model.sparse_weights[[class_index], :])
    order = np.lexsort((row.indices, -row.data))[:k]
    return [Arc(int(row.indices[at]), float(-expm1(-row.data[at]))) for at in order]


def gate_network(arcs: Sequence[Arc], class_name: str, terms: Sequence[str]) -> Network:
    """The gate of one class over `arcs`: terms are roots, the class is their noisy-OR (eq. 7).

    Every term has probability 1/2: a document sets all of them, so posteriors do not depend on it. Terms
    that are not in `arcs` count as absent.
    """
    if len(arcs) > LARGEST_GATE:
        raise BadData(f"the table of a gate with {len(arcs)} terms is too large; choose at most {LARGEST_GATE}")
    names = [terms[arc.term] for arc in arcs]
    target = class_name if class_name not in names else f"class {class_name}"
    roots = tuple(np.array([0.5, 0.5]) for _ in arcs)
    table = noisy_or_table([arc.weight for arc in arcs])
    parents = (*(() for _ in arcs), tuple(range(len(arcs))))
    return Network((*names, target), parents, (*roots, table))


@dataclass(frozen=True, eq=False)
class NoisyOr(Linear):
    """The scorer of an OR gate: a Linear with weights −log(1 − w), which also gives the effect of each term."""

    kind: ClassVar[str] = "noisy-or"

    @classmethod
    def array_rules(cls, arrays: Arrays) -> Rules:
        """Weights are at least 0, and every bias is 0."""
        return {**linear_rules(arrays, least=0), "bias": ArrayRule("float", ("classes",), 0, 0)}

    def evidence_details(self, document: Sparse, chosen: int) -> dict[int, dict[str, Any]]:
        """`alone` for each term with an arc to the class: the probability that it alone forces the class."""
        return {effect.term: {"alone": effect.alone} for effect in term_effects(self, document, chosen)}

    def scores_without(self, document: Sparse) -> Floats:
        """Scores of the document without each of its terms in turn (n_terms_of_document, n_classes)."""
        features = self.weighting.apply(document)
        pushes = (self.weights(features.indices) * features.data).T
        scores: Floats = np.maximum(pushes.sum(axis=0) - pushes, 0.0)
        return scores

    def network(self, chosen: int, terms: Sequence[str], classes: Sequence[str], member: int = 0) -> Network:
        """The gate of a class over its strongest terms."""
        return gate_network(strongest_arcs(self, chosen, LARGEST_GATE), classes[chosen], terms)


class OrGate(CountsModel):
    """A noisy-OR Bayesian network: arcs from terms to classes; each term may force a class by itself.

    p(c_i|d) = 1 − Π_k (1 − w_ik)^n_dk;  score[d, i] = −Σ_k n_dk · log(1 − w_ik), so that p = 1 − e^−score. Classes are
    ranked by score, because p rounds to 1 long before scores are equal.

    Fractions in X are allowed; negative values are not. A class without documents has no arcs, so p = 0; a
    document of unknown terms scores 0 for every class. A multilabel document gets the classes whose score is within a
    tenth of its best: scores grow with its length, so probabilities are not comparable between documents.

    >>> model = OrGate(weights="laplace").fit([[2, 0], [1, 1]], ["sport", "politics"])
    >>> (-np.expm1(-model.scores([[2, 0]]))).round(2)   # 1 − .6², 1 − .4²
    array([[0.64, 0.84]])
    """

    traits = Traits("or-gate", "OR gate Bayesian network", "counts", scorer_kinds=("noisy-or",), poor_score=True)

    weights: str = setting(
        "Estimate of the weights: eq. 11, eq. 12, eq. 15 or eq. 17 of the paper.",
        default="relaxed",
        choices=tuple(WEIGHTS),
    )
    counts: bool = setting("Count occurrences (eq. 10), or presence only (eq. 9).", default=True)
    totals: str = setting(
        "Sum N_•k over the corpus, for a proper p(c|t), or over the classes.",
        default="corpus",
        more="The latter counts a document of multilabel data once for each of its labels.",
        choices=tuple(TOTALS),
    )
    terms_per_class: int | None = setting(
        "Keep this many terms per class, those of highest information gain; None for all.",
        default=None,
        at_least=1,
    )
    class_weight: Any = class_weight_setting()

    def rule(self, counts: Counts, *, exclusive: bool = True) -> NoisyOr:
        """weight[i, k] = −log(1 − w_ik)."""
        gates = estimate_gates(counts, weights=self.weights, totals=self.totals, terms_per_class=self.terms_per_class)
        table = gates.weights
        _take_minus_log_of_rest(table.data)
        weighting = Weighting("raw" if self.counts else "binary")
        return NoisyOr(table, np.zeros(counts.n_classes), weighting=weighting, link="noisy-or")

    def network(self, label: Any, terms: Any = None, *, arcs: int = LARGEST_GATE) -> Network:
        """The gate of a class over its strongest terms, to display or export (`to_bif`, `to_uai`, `to_dict`).

        label  one of `classes_`
        terms  names of the columns of X; default: those seen by `fit`, or x0, x1, …
        arcs   the number of strongest arcs; the table doubles with each, so at most 16
        """
        fitted = self._fitted()
        scorer: NoisyOr = fitted.scorer  # type: ignore[assignment]
        index, names = fitted.class_index(label), fitted.reader.term_names if terms is None else terms
        return gate_network(strongest_arcs(scorer, index, arcs), str(fitted.classes[index]), names)


def _take_minus_log_of_rest(weights: Floats) -> None:
    """Replace w by −log(1 − w), accurately even for tiny w.

    >>> w = np.array([0.0, 1e-20, 0.5])
    >>> _take_minus_log_of_rest(w)
    >>> w
    array([0.00000000e+00, 1.00000000e-20, 6.93147181e-01])
    """
    np.negative(weights, out=weights)
    log1p(weights, out=weights)
    np.abs(weights, out=weights)  # turns −0 into 0


def informative_arcs(statistic: Counts, per_class: int) -> Sparse:
    """N_ik on the arcs of the `per_class` terms with the highest information gain about class against rest.

    Ties go to the lower term id. Only arcs are considered: other terms cannot be parents.
    """
    table, df = statistic.class_terms, statistic.class_df
    arcs_by_class = []
    for c, (start, end) in enumerate(pairwise(table.indptr.tolist())):
        both, inside_docs = df.data[start:end].astype(np.float64), float(statistic.class_docs[c])
        overall = statistic.df[df.indices[start:end]].astype(np.float64)
        gains = binary_gain(both, inside_docs, overall, float(statistic.n_docs))
        arcs_by_class.append(start + np.sort(top_k(gains, per_class)))
    sizes = np.cumsum([0, *map(len, arcs_by_class)])
    cells = np.concatenate(arcs_by_class) if arcs_by_class else np.zeros(0, np.int64)
    return csr_array((table.data[cells], table.indices[cells], sizes), shape=table.shape)


def _arcs(table: Sparse, class_totals: NDArray[Any], overall: NDArray[Any]) -> _Arcs:
    inside = table.data if table.data.dtype == np.int64 else np.asarray(table.data, np.float64)
    if inside.size and inside.min() < 0:
        raise BadData("some counts are negative; give the OR gate counts from 0")
    whole, sizes = np.asarray(overall, np.float64), np.asarray(class_totals, np.float64)
    return _Arcs(inside, table.indices, whole, sizes, table.indptr)
