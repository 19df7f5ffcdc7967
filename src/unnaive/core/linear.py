"""Linear is where a document meets a model: one sparse product, then a link. Rules make it, all else reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from unnaive.core.links import LINKS
from unnaive.core.products import product
from unnaive.core.weighting import Weighting
from unnaive.errors import BadModel, UnnaiveError, choose
from unnaive.types import Floats, Sparse

DENSE_CELLS = 1 << 24  # up to 128 MB of float64: above that a product stays sparse
FULL_CELLS = 1 << 26  # 512 MB: where a rule cannot keep its weights sparse, more than this is refused


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores of documents for classes, kept as a background and the arcs that stand out from it.

    weight[c, t] = arcs[c, t] + class_background[c] + term_background[t]
    score[d, c]  = bias[c] + Σ_t z[d, t] · weight[c, t],   z = weighting(x)

    Smoothing gives every unseen (class, term) the same value up to a class and a term part, so `arcs` (n_classes,
    n_terms) holds only what was seen: memory follows the data, not classes × terms. `arcs` is a csr_array, or
    a plain array where a learner fills it wholly. `link` names the meaning of a score (see links.py).

    >>> ball = Linear(csr_array([[1.0, 0.0], [0.0, 2.0]]), bias=np.zeros(2))
    >>> ball.scores(csr_array([[3, 1]]))
    array([[3., 2.]])
    """

    kind: ClassVar[str] = "linear"

    arcs: Sparse
    bias: Floats
    class_background: Floats | None = None
    term_background: Floats | None = None
    weighting: Weighting = field(default_factory=Weighting)
    link: str = "softmax"

    @property
    def n_classes(self) -> int:
        """Rows of the weights."""
        return int(self.arcs.shape[0])

    @property
    def n_terms(self) -> int:
        """Columns of the weights."""
        return int(self.arcs.shape[1])

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        Z = self.weighting.apply(X)
        scores = np.asarray(self._product(Z), np.float64)
        scores += self.bias
        if self.class_background is not None:
            scores += np.outer(Z.sum(axis=1), self.class_background)
        if self.term_background is not None:
            scores += (Z @ self.term_background)[:, None]
        return scores

    def weights(self, terms: NDArray[Any] | None = None) -> Floats:
        """The full weights of `terms` (all by default), dense (n_classes, len(terms))."""
        arcs = self.arcs if terms is None else self.arcs[:, terms]
        dense: Floats = arcs.toarray() if issparse(arcs) else np.array(arcs)
        if self.class_background is not None:
            dense = dense + self.class_background[:, None]
        if self.term_background is not None:
            dense = dense + (self.term_background if terms is None else self.term_background[terms])
        return dense

    def with_bias(self, bias: Floats) -> Linear:
        """The same weights with another bias, for instance other class priors."""
        return replace(self, bias=bias)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal Linear."""
        arrays: dict[str, NDArray[Any]] = {"bias": self.bias}
        if issparse(self.arcs):
            arcs = csr_array(self.arcs)
            # sums and differences may leave wider indices; the same model gives the same bytes
            index = np.int32 if max(arcs.nnz, self.n_terms) < 1 << 31 else np.int64
            arrays |= {
                "arcs.data": arcs.data,
                "arcs.indices": arcs.indices.astype(index),
                "arcs.indptr": arcs.indptr.astype(index),
            }
        else:
            arrays["arcs"] = np.asarray(self.arcs)
        if self.class_background is not None:
            arrays["class_background"] = self.class_background
        if self.term_background is not None:
            arrays["term_background"] = self.term_background
        if self.weighting.idf is not None:
            arrays["idf"] = self.weighting.idf
        settings = {
            "link": self.link,
            "tf": self.weighting.tf,
            "norm": self.weighting.norm,
            "shape": [self.n_classes, self.n_terms],
        }
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Linear:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            n_classes, n_terms = (int(size) for size in settings["shape"])
            link = choose(list(LINKS), settings["link"], "link")
            weighting = Weighting(settings["tf"], arrays.get("idf"), settings["norm"])
            bias = arrays["bias"]
            arcs = arrays["arcs"] if "arcs" in arrays else _checked_csr(arrays, (n_classes, n_terms))
        except (KeyError, TypeError, ValueError) as problem:
            raise BadModel(f"the scorer in this model is damaged ({problem}); train it again") from problem
        parts = (
            (arcs, (n_classes, n_terms)),
            (bias, (n_classes,)),
            (arrays.get("class_background"), (n_classes,)),
            (arrays.get("term_background"), (n_terms,)),
            (weighting.idf, (n_terms,)),
        )
        if any(part is not None and (part.shape != shape or part.dtype.kind != "f") for part, shape in parts):
            raise BadModel("the scorer in this model has arrays of sizes or kinds that do not fit; train it again")
        return cls(arcs, bias, arrays.get("class_background"), arrays.get("term_background"), weighting, link)

    @cached_property
    def _arcs_by_term(self) -> Sparse:
        """Arcs (n_terms, n_classes): dense while that is small, because the dense product is the faster one."""
        if not issparse(self.arcs):
            return np.ascontiguousarray(self.arcs.T)
        small = self.n_classes * self.n_terms <= DENSE_CELLS
        return np.ascontiguousarray(self.arcs.toarray().T) if small else csr_array(self.arcs.T)

    def _product(self, Z: Sparse) -> Any:
        arcs = self._arcs_by_term
        return (Z @ arcs).toarray() if issparse(arcs) else product(Z, arcs)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled, for instance on the way to another process: the fields, not what was derived from them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def refuse_full_table(n_classes: int, n_terms: int, what: str) -> None:
    """An error if `what`, which needs a weight for every class and term, would not fit in memory."""
    if n_classes * n_terms > FULL_CELLS:
        raise UnnaiveError(
            f"{what} keeps a weight for each of {n_classes} classes × {n_terms} terms, which is more than "
            f"{FULL_CELLS:,}; select fewer terms, or use the multinomial model"
        )


def _checked_csr(arrays: dict[str, NDArray[Any]], shape: tuple[int, int]) -> Sparse:
    """A csr_array whose every index was looked at: SciPy reads out of bounds when handed a hostile one."""
    data, indices, indptr = (arrays[f"arcs.{part}"] for part in ("data", "indices", "indptr"))
    sound = (
        indptr.shape == (shape[0] + 1,)
        and data.shape == indices.shape
        and data.ndim == 1
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and indptr[0] == 0
        and indptr[-1] == len(data)
        and bool(np.all(np.diff(indptr) >= 0))
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
    )
    if not sound:
        raise ValueError("its arcs point outside the vocabulary")
    return csr_array((data, indices, indptr), shape=shape)
