"""Naive Bayes without smoothing: a class that never had a term of the document has the score −∞."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.elementary import log
from unnaive.base.errors import refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Arrays, Floats, Sparse
from unnaive.data.array_rules import ArrayRule, check_rules
from unnaive.data.products import product
from unnaive.linear.linear import DENSE_CELLS, Linear
from unnaive.linear.scorer import Contributions, Scorer
from unnaive.linear.smoothing import ALPHA_MIN

STRICT = "strict"


@dataclass(frozen=True, eq=False)
class Unsmoothed(Scorer):
    """score = that of `possible`, or −∞ where a strict term of the document has probability 0 in the class.

    possible  log p(t|c) for the cells that its sparse weights store, which are the terms that a class has had
    strict    whether a term without a stored cell has probability 0 (n_terms,)

    0 · −∞ is not a number, so −∞ is no weight: terms that a class lacks are counted. A document that no class can have
    gets the prior, like one without known terms.

    >>> possible = Linear(csr_array(([0.0, 0.0], ([0, 1], [0, 1])), shape=(2, 2)), bias=np.log([0.5, 0.5]))
    >>> Unsmoothed(possible, np.array([True, True])).scores(csr_array([[1, 0], [1, 1], [0, 0]])).round(2)
    array([[-0.69,  -inf],
           [-0.69, -0.69],
           [-0.69, -0.69]])
    """

    kind: ClassVar[str] = "unsmoothed"

    possible: Linear
    strict: NDArray[np.bool_]

    @property
    def link(self) -> str:  # type: ignore[override]  # a field of other scorers
        """That of the finite scores."""
        return self.possible.link

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.possible.n_classes

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """The number of terms."""
        return self.possible.n_terms

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        scores = self.possible.scores(X)
        scores[self._lacks(X)] = -np.inf
        impossible = ~np.isfinite(scores).any(axis=1)
        scores[impossible] = self.possible.bias
        return scores

    def _lacks(self, X: Sparse) -> NDArray[np.bool_]:
        """Whether a class lacks a strict term of a document (n_docs, n_classes)."""
        present = csr_array(((X.data > 0) * self.strict[X.indices].astype(float), X.indices, X.indptr), shape=X.shape)
        has = self._stored_by_term
        shared = (present @ has).toarray() if issparse(has) else product(present, has)
        lacks: NDArray[np.bool_] = shared < present.sum(axis=1)[:, None]
        return lacks

    def contributions(self, document: Sparse, chosen: int, rival: int | None) -> Contributions:
        """Those of the same model with an alpha of ALPHA_MIN, so that every contribution is a finite number."""
        terms = document.indices
        lacking = self.strict[terms] & (self._dense_columns(terms) == 0)
        weights = self.possible.weights(terms) + np.where(lacking, log(ALPHA_MIN), 0.0)
        features = self.possible.weighting.apply(document).data
        row = csr_array((features, np.arange(len(terms)), [0, len(terms)]), shape=(1, len(terms)))
        smoothed = Linear(weights, self.possible.bias, link=self.link)
        return replace(smoothed.contributions(row, chosen, rival), exact=not lacking.any())

    def _dense_columns(self, terms: NDArray[Any]) -> Floats:
        """1 where a class has had a term (n_classes, len(terms))."""
        has = self._stored_by_term[terms]
        dense: Floats = (has.toarray() if issparse(has) else has).T
        return dense

    @lazy_property
    def _stored_by_term(self) -> Any:
        """1 for each stored cell (n_terms, n_classes): dense if small, because the dense product is faster."""
        weights = self.possible.stored_weights
        stored = csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
        small = self.n_classes * self.n_terms <= DENSE_CELLS
        return np.ascontiguousarray(stored.toarray().T) if small else csr_array(stored.T)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings, from which `from_arrays` restores an equal scorer."""
        arrays, settings = self.possible.to_arrays()
        return arrays | {STRICT: self.strict.astype(np.uint8)}, settings

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        with refuse_damaged("the scorer in this model is"):
            possible = Linear.from_arrays({name: part for name, part in arrays.items() if name != STRICT}, settings)
            if "weights" in arrays:
                raise ValueError("its weights are not sparse")
            strict = {name: part for name, part in arrays.items() if name == STRICT}
            check_rules(strict, {STRICT: ArrayRule("byte", ("terms",), 0, 1)}, terms=possible.n_terms)
        return cls(possible, strict[STRICT] > 0)

    def __getstate__(self) -> dict[str, Any]:
        """The fields to pickle, without derived values."""
        return {"possible": self.possible, "strict": self.strict}
