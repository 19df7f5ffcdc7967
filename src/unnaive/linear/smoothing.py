"""Smoothing turns Counts into term probabilities; naive Bayes uses their logarithms as weights.

Every estimate is written so that unseen cells (class, term) share a class part and a term part: only seen cells are
stored. There are two event models: draws of terms (multinomial) and presence of terms (Bernoulli).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log, log1p
from unnaive.base.errors import BadData, UnnaiveError, choose
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats, Sparse
from unnaive.data.arrays import StoredMatrix, lazy_matrices, stored
from unnaive.data.counts import Counts
from unnaive.linear.linear import refuse_full_table


@lazy_matrices("cells")
@dataclass(frozen=True, eq=False)
class LogTable:
    """log p[c, t] = cells[c, t] + of_class[c] + of_term[t]; cells (n_classes, n_terms) holds seen cells only.

    strict  terms whose unseen cells have p = 0 (n_terms,), of which `of_term` is 0; None if there are none
    """

    cells: Sparse
    of_class: Floats
    of_term: Floats
    strict: NDArray[np.bool_] | None = None

    def __sub__(self, other: LogTable) -> LogTable:
        """The log-ratio of two tables over the same seen cells."""
        cells = csr_array((self.cells.data - other.cells.data, self.cells.indices, self.cells.indptr), self.cells.shape)
        return LogTable(cells, self.of_class - other.of_class, self.of_term - other.of_term)

    def dense(self) -> Floats:
        """Every cell, (n_classes, n_terms)."""
        table: Floats = self.cells.toarray() + self.of_class[:, None] + self.of_term
        if self.strict is not None:
            seen = csr_array((np.ones(self.cells.nnz), self.cells.indices, self.cells.indptr), self.cells.shape)
            table[self.strict & (seen.toarray() == 0)] = -np.inf
        return table


class Smoothing(Protocol):
    """An estimate of term probabilities from counts, for a class and for the rest of the corpus.

    `reserves`: whether a vocabulary term that was never counted has a positive probability.
    """

    reserves: ClassVar[bool]

    def multinomial_log_prob(self, counts: Counts) -> LogTable:
        """log p(t|c): term t is the next word drawn from class c; sums to one over the terms."""

    def rest_log_prob(self, counts: Counts) -> LogTable:
        """log p(t|c̄), from N_•k − N_ik and N − N_i•: everything that is not in class c."""

    def bernoulli_prob(self, df: Any, docs: Any, corpus_df: Any, corpus_docs: Any) -> Any:
        """p(t present|c), elementwise: `df` of the class's `docs` have the term, `corpus_df` of `corpus_docs`."""

    def unseen_bernoulli_prob(self, counts: Counts) -> Floats:
        """`bernoulli_prob` for df = 0; its shape shows what it depends on: (n_classes, 1), (1, n_terms) or both."""


ALPHA_MIN = 1e-10  # the smallest alpha without force_alpha, as in scikit-learn


def effective_alpha(alpha: Any, n_terms: int, *, force: bool) -> float | Floats:
    """The α of `alpha`: a number, or one for each term; without `force`, at least ALPHA_MIN, with a warning.

    >>> effective_alpha([0.5, 1], 2, force=True), effective_alpha(0, 2, force=True)
    (array([0.5, 1. ]), 0.0)
    """
    values = np.array(alpha, np.float64)
    if values.ndim and values.shape != (n_terms,):
        raise BadData(
            f"When alpha is an array, it should contains `n_features` values: it came with {values.size} for {n_terms} "
            "terms; give one number, or one for each term"
        )
    if not np.all((values >= 0) & (values < np.inf)):
        raise BadData(
            f"All values in alpha must be greater than 0, or 0 for no smoothing, but one is {values.min()}; give "
            "finite numbers from 0"
        )
    if not force and np.any(values < ALPHA_MIN):
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {ALPHA_MIN:.1e}. Use `force_alpha=True` "
            "to keep alpha unchanged.",
            UserWarning,
            stacklevel=2,
        )
        values = np.maximum(values, ALPHA_MIN)
    return values if values.ndim else float(values)


def _once_each(function: Callable[[Any], Floats], counts: NDArray[Any]) -> Floats:
    """function(counts), computed once for each number up to the largest count if cells are more than these.

    >>> _once_each(np.sqrt, np.array([1, 4, 1, 1, 1, 1, 1, 1, 1, 1]))[:3]
    array([1., 2., 1.])
    """
    if counts.dtype.kind == "i" and counts.size and counts.min() >= 0 and 2 * int(counts.max()) < counts.size:
        of_number = function(np.arange(int(counts.max()) + 1))
        values: Floats = of_number[counts]
        return values
    return function(counts)


@dataclass(frozen=True)
class Laplace:
    """Additive smoothing: alpha is added to every count (Laplace: 1; Lidstone: any other; 0: maximum likelihood).

    multinomial  p(t|c) = (N_ct + α) / (N_c• + α M),  M terms
    Bernoulli    p(t|c) = (df_ct + α) / (n_c + 2α)

    With an α for each term (n_terms,), α M is their sum.

    Manning, Raghavan and Schütze (2008), 13.2 and 13.3; or-gate paper, eq. 4 and 6.

    >>> counts = Counts.of(csr_array([[2, 0], [0, 1]]), csr_array([[1, 0], [0, 1]]))
    >>> np.exp(Laplace(1.0).multinomial_log_prob(counts).dense()).round(2)
    array([[0.75, 0.25],
           [0.33, 0.67]])
    """

    reserves: ClassVar[bool] = True

    alpha: float | Floats = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.greater_equal(self.alpha, 0) & np.less(self.alpha, np.inf)):
            raise UnnaiveError(f"alpha came as {self.alpha}; give a number from 0, such as 1 or 0.01")

    def multinomial_log_prob(self, counts: Counts) -> LogTable:
        """log (N_ct + α)/α on seen cells, the class part is log α/(N_c• + αM); without α, log N_ct and −log N_c•."""
        seen, whole = stored(counts, "class_terms"), counts.class_totals + self.sum_over(counts.n_terms)
        if np.ndim(self.alpha) == 0 and np.greater(self.alpha, 0):
            of_class = log(self.alpha) - log(whole)
            return _table(seen, _once_each(self._added, seen.data), of_class, np.zeros(counts.n_terms))
        alpha = np.broadcast_to(self.alpha, counts.n_terms)
        alpha_of_cell = alpha[seen.indices]
        added = log1p(seen.data / _positive(alpha_of_cell))
        logs = np.where(alpha_of_cell > 0, added, log(_positive(seen.data)))
        table = _table(seen, logs, -log(_positive(whole)), _log_or_zero(alpha))
        return table if alpha.all() else replace(table, strict=alpha == 0)

    def above_zero(self) -> Laplace:
        """The same with ALPHA_MIN in the place of 0."""
        if np.ndim(self.alpha) == 0:
            return self if self.alpha else Laplace(ALPHA_MIN)
        return Laplace(np.where(np.greater(self.alpha, 0), self.alpha, ALPHA_MIN))

    def of_cells(self, terms: NDArray[Any]) -> Laplace:
        """The same for cells of these terms, one by one."""
        return self if isinstance(self.alpha, (int, float)) else Laplace(self.alpha[terms])

    def sum_over(self, n_terms: int) -> Any:
        """α M: what is added to the counts of all terms."""
        return self.alpha * n_terms if np.ndim(self.alpha) == 0 else np.sum(self.alpha)

    def _added(self, seen: Any) -> Floats:
        """log (n + α)/α of counts."""
        with np.errstate(over="ignore"):
            added: Floats = log1p(seen / self.alpha)
        if not np.isfinite(added).all():  # n/α overflows for α below 1e-300
            added = log(seen + self.alpha) - log(self.alpha)
        return added

    def rest_log_prob(self, counts: Counts) -> LogTable:
        """The term part is log (N_•k + α); seen cells store what the class subtracts from it.

        An α of 0 counts as ALPHA_MIN here, so that all logarithms are finite.
        """
        seen = counts.class_terms
        finite = self.above_zero()
        alpha = finite.alpha
        of_term = log(counts.terms + alpha)
        of_class = -log(counts.total - counts.class_totals + finite.sum_over(counts.n_terms))
        left = counts.terms[seen.indices] - seen.data + finite.of_cells(seen.indices).alpha
        return _table(seen, log(left) - of_term[seen.indices], of_class, of_term)

    def bernoulli_prob(self, df: Any, docs: Any, corpus_df: Any, corpus_docs: Any) -> Any:
        """(df + α)/(docs + 2α)."""
        return (df + self.alpha) / _positive(docs + 2 * self.alpha)

    def unseen_bernoulli_prob(self, counts: Counts) -> Floats:
        """α/(n_c + 2α): depends on the class, and with an α for each term also on the term."""
        if np.ndim(self.alpha):
            refuse_full_table(counts.n_classes, counts.n_terms, "Bernoulli naive Bayes with an alpha for each term")
        unseen: Floats = self.bernoulli_prob(0, counts.class_docs[:, None], 0, counts.n_docs)
        return unseen


@dataclass(frozen=True)
class JelinekMercer:
    """Interpolation with the corpus: (1 − β) p_ml(t|c) + β p(t|D).

    multinomial  p_ml = N_ct / N_c•,  p(t|D) = N_•t / N
    Bernoulli    p_ml = df_ct / n_c,  p(t|D) = df_t / n

    A class without documents equals the corpus (multinomial), or has p_ml = 0 (Bernoulli). A term that was never
    counted has p = 0 in every class; its term part is zero, and a rule ignores it like an unknown term.

    Jelinek and Mercer (1980); Zhai and Lafferty (2004).
    """

    reserves: ClassVar[bool] = False

    beta: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 1:
            raise UnnaiveError(f"beta came as {self.beta}; give the weight of the corpus, above 0 and up to 1")

    def multinomial_log_prob(self, counts: Counts) -> LogTable:
        """On unseen cells β p(t|D); seen cells hold log 1 + (1−β) p_ml / (β p(t|D))."""
        seen, totals = counts.class_terms, counts.class_totals
        class_part = (1 - self.beta) * seen.data / _by_cell(seen, totals)
        corpus = self.beta * counts.terms / _positive(counts.total)
        of_class = np.where(totals > 0, log(self.beta), 0.0)
        return _table(seen, log1p(class_part / corpus[seen.indices]), of_class, _log_or_zero(corpus / self.beta))

    def rest_log_prob(self, counts: Counts) -> LogTable:
        """N_•k ((1−β)/(N − N_i•) + β/N) on unseen cells, which splits into a class part and a term part."""
        seen, rest = counts.class_terms, np.maximum(counts.total - counts.class_totals, 0)
        rest_part = np.where(rest > 0, (1 - self.beta) / _positive(rest), 0.0)
        corpus = np.where(rest > 0, self.beta, 1.0) / _positive(counts.total)
        # (rest_part (N_•k − N_ik) + corpus N_•k) / (N_•k (rest_part + corpus))
        share = seen.data / counts.terms[seen.indices] * _by_cell(seen, rest_part / (rest_part + corpus))
        return _table(seen, log1p(-share), log(rest_part + corpus), _log_or_zero(counts.terms))

    def bernoulli_prob(self, df: Any, docs: Any, corpus_df: Any, corpus_docs: Any) -> Any:
        """(1−β) df/docs + β corpus_df/corpus_docs."""
        return (1 - self.beta) * df / _positive(docs) + self.beta * corpus_df / _positive(corpus_docs)

    def unseen_bernoulli_prob(self, counts: Counts) -> Floats:
        """β df_t/n: depends on the term."""
        unseen: Floats = self.bernoulli_prob(0, 1, counts.df, counts.n_docs)[None, :]
        return unseen


@dataclass(frozen=True)
class AbsoluteDiscount:
    """Subtract a constant δ from every seen count and redistribute it by the corpus (unigram interpolation).

    multinomial  p(t|c) = max(N_ct − δ, 0)/N_c• + λ_c p(t|D),  λ_c = Σ_t min(N_ct, δ)/N_c•
    Bernoulli    a term has two outcomes, present and absent: p(t|c) = max(df_ct − δ, 0)/n_c + δ r/n_c · df_t/n, with r
                 the number of its outcomes that were seen, 1 or 2

    A class without documents equals the corpus. For the rest c̄ of a class, the reserve is that of the whole corpus, δ
    M⁺ with M⁺ the number of counted terms, normalised: p(t|c̄) ∝ max(N_•t − N_ct − δ, 0) + δ M⁺ p(t|D). It is the same
    unless a term occurs only in the class, and unseen cells split into a class part and a term part.

    Ney, Essen and Kneser (1994).
    """

    reserves: ClassVar[bool] = False

    discount: float = 0.7

    def __post_init__(self) -> None:
        if isinstance(self.discount, str) or not 0 < self.discount < 1:
            raise UnnaiveError(f"discount came as {self.discount!r}; give a number between 0 and 1, or 'auto'")

    def multinomial_log_prob(self, counts: Counts) -> LogTable:
        """On unseen cells λ_c p(t|D)."""
        seen, totals = counts.class_terms, counts.class_totals
        corpus = counts.terms / _positive(counts.total)
        taken = _row_sums(seen, np.minimum(seen.data, self.discount))
        reserve = np.where(totals > 0, taken / _positive(totals), 1.0)
        class_part = np.maximum(seen.data - self.discount, 0) / _by_cell(seen, totals)
        ratio = class_part / (_by_cell(seen, reserve) * corpus[seen.indices])
        return _table(seen, log1p(ratio), log(reserve), _log_or_zero(corpus))

    def rest_log_prob(self, counts: Counts) -> LogTable:
        """On unseen cells max(N_•t − δ, 0) + δ M⁺ p(t|D), over a normaliser of the class."""
        seen = counts.class_terms
        back = self.discount * np.count_nonzero(counts.terms) * counts.terms / _positive(counts.total)
        whole = np.maximum(counts.terms - self.discount, 0) + back
        left = np.maximum(counts.terms[seen.indices] - seen.data - self.discount, 0) + back[seen.indices]
        normaliser = whole.sum() - _row_sums(seen, whole[seen.indices] - left)
        logs = log(left) - log(whole[seen.indices])
        return _table(seen, logs, -log(_positive(normaliser)), _log_or_zero(whole))

    def bernoulli_prob(self, df: Any, docs: Any, corpus_df: Any, corpus_docs: Any) -> Any:
        """max(df − δ, 0)/docs + δ r/docs · corpus_df/corpus_docs."""
        corpus = corpus_df / _positive(corpus_docs)
        outcomes = np.greater(df, 0).astype(int) + np.less(df, docs)
        discounted = np.maximum(df - self.discount, 0)
        return np.where(docs > 0, (discounted + self.discount * outcomes * corpus) / _positive(docs), corpus)

    def unseen_bernoulli_prob(self, counts: Counts) -> Floats:
        """δ/n_c · df_t/n, which depends on both: (n_classes, n_terms)."""
        refuse_full_table(counts.n_classes, counts.n_terms, "Bernoulli naive Bayes with absolute discounting")
        unseen: Floats = self.bernoulli_prob(np.zeros(1), counts.class_docs[:, None], counts.df, counts.n_docs)
        return unseen


def leave_one_out_discount(cells: NDArray[Any]) -> float:
    """δ = n₁ / (n₁ + 2 n₂), n_k the number of cells with count k; kept within [0.1, 0.9].

    Ney, Essen and Kneser (1994), the leave-one-out estimate of the discount.

    >>> leave_one_out_discount(np.array([1, 1, 1, 1, 2, 2, 7]))
    0.5
    """
    once, twice = int(np.sum(cells == 1)), int(np.sum(cells == 2))
    return min(max(once / max(once + 2 * twice, 1), 0.1), 0.9)


def _absolute(discount: float | str, cells: NDArray[Any]) -> AbsoluteDiscount:
    return AbsoluteDiscount(leave_one_out_discount(cells) if discount == "auto" else discount)  # type: ignore[arg-type]


SMOOTHINGS: dict[str, Callable[..., Smoothing]] = {
    "laplace": lambda cells, *, alpha, **_: Laplace(alpha),
    "jelinek-mercer": lambda cells, *, beta, **_: JelinekMercer(beta),
    "absolute": lambda cells, *, discount, **_: _absolute(discount, cells),
}


def find_smoothing(name: str, cells: Sparse, *, alpha: float | Floats, beta: float, discount: float | str) -> Smoothing:
    """The smoothing called `name` with its setting.

    `cells` is the table to be smoothed (class_terms or class_df): the "auto" discount is estimated from it.

    >>> find_smoothing("laplace", csr_array((1, 1)), alpha=0.5, beta=0.7, discount="auto")
    Laplace(alpha=0.5)
    """
    make = SMOOTHINGS[choose(list(SMOOTHINGS), name, "smoothing")]
    return make(cells.data, alpha=alpha, beta=beta, discount=discount)


def _table(seen: Sparse, logs: Floats, of_class: Floats, of_term: Floats) -> LogTable:
    return LogTable(StoredMatrix(logs, seen.indices, seen.indptr, seen.shape), of_class, of_term)


def _by_cell(seen: Sparse, of_class: NDArray[Any]) -> NDArray[Any]:
    """The value of a class for each of its seen cells, in the order of `seen.data`."""
    return np.repeat(of_class, np.diff(seen.indptr))


def _row_sums(seen: Sparse, values: NDArray[Any]) -> Floats:
    sums: Floats = csr_array((values, seen.indices, seen.indptr), seen.shape).sum(axis=1)
    return sums


def _positive(values: Any) -> Any:
    """Denominators: 1 instead of 0, where the numerator is 0 too."""
    return np.where(np.greater(values, 0), values, 1)


def _log_or_zero(values: NDArray[Any]) -> Floats:
    """log, and 0 for a term that was never counted, which rules ignore."""
    return log(np.where(values > 0, values, 1.0))
