"""Linear computes scores: one sparse product, then a link. Rules create it, everything else reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import UnnaiveError, choose, refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csr_array, issparse
from unnaive.base.types import Arrays, Floats, Sparse
from unnaive.data.array_rules import (
    ABOVE_ZERO,
    LARGEST,
    LARGEST_IDF,
    ArrayRule,
    Rules,
    TableRule,
    check_keys,
    check_rules,
    read_whole,
)
from unnaive.data.arrays import StoredMatrix, csr_arrays, lazy_matrices, read_csr, read_stored, stored
from unnaive.data.products import product
from unnaive.data.weighting import Weighting
from unnaive.linear.links import LINKS
from unnaive.linear.scorer import Contributions, Scorer
from unnaive.text.scoring import TfIdfPart

DENSE_CELLS = 1 << 24  # up to 128 MB of float64; above that a product stays sparse
FULL_CELLS = 1 << 26  # 512 MB: the maximum for rules that cannot keep their weights sparse


@lazy_matrices("sparse_weights")
@dataclass(frozen=True, eq=False)
class Linear(Scorer):
    """Scores of documents for classes, stored as offsets and sparse weights.

    weight[c, t] = sparse_weights[c, t] + class_offset[c] + term_offset[t]
    score[d, c]  = bias[c] + Σ_t z[d, t] · weight[c, t],   z = weighting(x)

    Smoothing gives every unseen (class, term) the same value up to a class part and a term part, so `sparse_weights`
    (n_classes, n_terms) stores only seen cells: memory follows the data, not classes × terms. It is a csr_array, or a
    dense array if a learner fills it. `link` names the meaning of a score (see links.py). With a `step` (n_classes,),
    the sparse weights of a class are integer multiples of it, which files store in 8 or 16 bits.

    >>> ball = Linear(csr_array([[1.0, 0.0], [0.0, 2.0]]), bias=np.zeros(2))
    >>> ball.scores(csr_array([[3, 1]]))
    array([[3., 2.]])
    """

    kind: ClassVar[str] = "linear"

    sparse_weights: Sparse
    bias: Floats
    class_offset: Floats | None = None
    term_offset: Floats | None = None
    weighting: Weighting = field(default_factory=Weighting)
    link: str = "softmax"
    step: Floats | None = None

    @property
    def n_classes(self) -> int:
        """The number of rows of the weights."""
        return int(self.stored_weights.shape[0])

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """The number of columns of the weights."""
        return int(self.stored_weights.shape[1])

    @property
    def stored_weights(self) -> Any:
        """`sparse_weights`, or its arrays as a StoredMatrix until more is needed."""
        return stored(self, "sparse_weights")

    @property
    def counts_alone(self) -> bool:
        """Whether scores are sums over the words of a text, each with its weight: no idf, no document length."""
        weighting = self.weighting
        return weighting.tf in ("raw", "binary") and weighting.idf is None and weighting.norm is None

    @property
    def adds_up(self) -> bool:
        """Whether the score of a document is the sum of its cells' scores, also of cells of the same term."""
        return self.weighting.tf == "raw" and self.weighting.norm is None

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        Z = self.weighting.apply(X)
        scores = np.asarray(self._product(Z), np.float64)
        scores += self.bias
        if self.class_offset is not None:
            scores += np.outer(Z.sum(axis=1), self.class_offset)
        if self.term_offset is not None:
            scores += (Z @ self.term_offset)[:, None]
        return scores

    def tf_idf_parts(self) -> tuple[Floats, list[TfIdfPart]] | None:
        """This model, if its weights are a table over tf-idf."""
        if self.tf_idf_table is None:
            return None
        return np.zeros(self.n_classes), [TfIdfPart(None, *self.tf_idf_table, self.bias, self.weighting.norm or "l2")]

    @lazy_property
    def tf_idf_table(self) -> tuple[Floats, Floats] | None:
        """(idf, weights term by term (n_terms, n_classes)) of a table over tf-idf; None for any other model."""
        weighting, offsets = self.weighting, (self.class_offset, self.term_offset)
        tf_idf = weighting.tf == "log" and weighting.norm is not None and weighting.idf is not None
        if not tf_idf or issparse(self.sparse_weights) or any(offset is not None for offset in offsets):
            return None
        return np.ascontiguousarray(weighting.idf, np.float64), np.ascontiguousarray(self.sparse_weights.T)

    def weights(self, terms: NDArray[Any] | None = None) -> Floats:
        """The full weights of `terms` (all by default), dense (n_classes, len(terms))."""
        sparse = self.sparse_weights if terms is None else self.sparse_weights[:, terms]
        dense: Floats = sparse.toarray() if issparse(sparse) else np.array(sparse)
        if self.class_offset is not None:
            dense = dense + self.class_offset[:, None]
        if self.term_offset is not None:
            dense = dense + (self.term_offset if terms is None else self.term_offset[terms])
        return dense

    def contributions(
        self, document: Sparse, chosen: int, rival: int | None, possible: NDArray[np.bool_] | None = None
    ) -> Contributions:
        """The summands of the score: z_t · (weight of the class − that of the reference).

        The reference is the rival, else the mean over the `possible` exclusive classes (n_classes,), by default those
        with documents, else zero: log-odds, cosines and margins have a meaning by themselves.
        """
        features = self.weighting.apply(document)
        weights = self.weights(features.indices).astype(np.float64, copy=False)  # files may contain float32
        base, values = self.bias[chosen], weights[chosen]
        if rival is not None:
            base, values = base - self.bias[rival], values - weights[rival]
        elif self.meaning.exclusive:
            possible = np.isfinite(self.bias) if possible is None else possible
            base, values = base - self.bias[possible].mean(), values - weights[possible].mean(axis=0)
        return Contributions(float(base), features.data * values)

    def strongest_terms(
        self, chosen: int, frequency: Floats | None, limit: int, possible: NDArray[np.bool_] | None = None
    ) -> list[tuple[int, float]]:
        """Ranked by occurrences per document of the class × value², which puts informative words before both rare and
        frequent ones; by value only if counts were not kept.
        """
        row = csr_array(self.sparse_weights[[chosen], :])
        columns = row.indices if row.nnz else np.arange(0)
        weights = self.weights(columns)
        possible = np.isfinite(self.bias) if possible is None else possible
        values = weights[chosen] - (weights[possible].mean(axis=0) if self.meaning.exclusive else 0.0)
        rank = np.maximum(values, 0) ** 2 * (1.0 if frequency is None else frequency[columns])
        best = [int(at) for at in np.lexsort((columns, -rank))[:limit] if values[at] > 0]
        return [(int(columns[at]), float(values[at])) for at in best]

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and plain settings, from which `from_arrays` restores an equal Linear."""
        arrays: Arrays = {"bias": self.bias}
        weights = self.stored_weights
        if self.step is not None:
            arrays |= _pack_multiples(self.sparse_weights, self.step)
        elif isinstance(weights, StoredMatrix) or issparse(weights):
            # sums and differences may have wider indices; the same model gives the same bytes
            index = np.int32 if max(weights.nnz, self.n_terms) < 1 << 31 else np.int64
            arrays |= csr_arrays("weights", weights, index=index)
        else:
            arrays["weights"] = np.asarray(weights)
        optional = {"class_offset": self.class_offset, "term_offset": self.term_offset, "idf": self.weighting.idf}
        arrays |= {name: values for name, values in optional.items() if values is not None}
        shape = [self.n_classes, self.n_terms]
        return arrays, {"link": self.link, "tf": self.weighting.tf, "norm": self.weighting.norm, "shape": shape}

    @classmethod
    def from_arrays(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`; every value is checked, since models come from files."""
        with refuse_damaged("the scorer in this model is"):
            check_keys(settings, "link", "tf", "norm", "shape")
            n_classes, n_terms = (read_whole(size, "shape") for size in settings["shape"])
            link = choose(list(LINKS), settings["link"], "link")
            weighting = Weighting(settings["tf"], arrays.get("idf"), settings["norm"])
            check_rules(arrays, cls.array_rules(arrays), classes=n_classes, terms=n_terms)
            step = arrays.get("step")
            read = read_stored if step is None else read_csr
            weights = arrays["weights"] if "weights" in arrays else read(arrays, "weights", (n_classes, n_terms))
            weights = weights if step is None else _unpack_multiples(weights, step, (n_classes, n_terms))
        offsets = (arrays.get("class_offset"), arrays.get("term_offset"))
        return cls(weights, arrays["bias"], *offsets, weighting, link, step)

    @classmethod
    def array_rules(cls, arrays: Arrays) -> Rules:
        """The rules for the arrays of a file, by which arrays there are; only the bias of an absent class is −∞."""
        return linear_rules(arrays)

    @lazy_property
    def _by_term(self) -> Sparse:
        """Weights (n_terms, n_classes): dense if small, because the dense product is faster."""
        if not issparse(self.sparse_weights):
            return np.ascontiguousarray(self.sparse_weights.T, np.float64)  # files may contain float32
        small = self.n_classes * self.n_terms <= DENSE_CELLS
        return np.ascontiguousarray(self.sparse_weights.toarray().T) if small else csr_array(self.sparse_weights.T)

    def _product(self, Z: Sparse) -> Any:
        weights = self._by_term
        return (Z @ weights).toarray() if issparse(weights) else product(Z, weights)

    def __getstate__(self) -> dict[str, Any]:
        """The fields to pickle, without derived values."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


def linear_rules(arrays: Arrays, *, least: float = -LARGEST) -> Rules:
    """The rules of a linear scorer with weights of at least `least`: sparse or dense, quantised or not."""
    step = ArrayRule("float", ("classes",), ABOVE_ZERO, LARGEST / 2**15)
    kind, bounds = ("float", (least, LARGEST)) if "step" not in arrays else ("short", (max(least, -(2**15)), 2**15))
    full = ArrayRule(kind, ("classes", "terms"), *bounds)
    return {
        "bias": ArrayRule("float", ("classes",), or_minus_infinity=True),
        "weights": full if "weights" in arrays else TableRule("classes", "terms", kind, *bounds),
        "class_offset": ArrayRule("float", ("classes",), optional=True),
        "term_offset": ArrayRule("float", ("terms",), optional=True),
        "idf": ArrayRule("float", ("terms",), 0, LARGEST_IDF, optional=True),
    } | ({"step": step} if "step" in arrays else {})


def _pack_multiples(weights: Any, step: Floats) -> Arrays:
    """Weights that are multiples of a step of each class, as integers of 8 or 16 bits."""
    if not issparse(weights):
        return {"weights": _shortest(np.rint(weights / step[:, None])), "step": step}
    table = csr_array(weights)
    numbers = _shortest(np.rint(table.data / np.repeat(step, np.diff(table.indptr))))
    index = np.uint16 if table.shape[1] <= 1 << 16 else np.int32 if table.shape[1] < 1 << 31 else np.int64
    parts = {"data": numbers, "indices": table.indices.astype(index), "indptr": table.indptr.astype(np.int64)}
    return {f"weights.{name}": part for name, part in parts.items()} | {"step": step}


def _shortest(numbers: Floats) -> NDArray[Any]:
    return numbers.astype(np.int8 if np.abs(numbers).max(initial=0) <= 127 else np.int16)


def _unpack_multiples(numbers: Any, step: Floats, shape: tuple[int, int]) -> Any:
    """The inverse of `_pack_multiples`; the arrays must have passed `check_rules`."""
    if not issparse(numbers):
        return numbers * step[:, None]
    indices = numbers.indices.astype(np.int32 if max(numbers.nnz, shape[1]) < 1 << 31 else np.int64)
    data = numbers.data * np.repeat(step, np.diff(numbers.indptr))
    return csr_array((data, indices, numbers.indptr.astype(indices.dtype)), shape=shape)


def refuse_full_table(n_classes: int, n_terms: int, what: str) -> None:
    """Raise an error if `what`, which needs a weight for every class and term, would not fit in memory."""
    if n_classes * n_terms > FULL_CELLS:
        raise UnnaiveError(
            f"{what} needs a number for every class and term, and {n_classes} classes × {n_terms} "
            "terms exceed the maximum "
            f"of {FULL_CELLS:,}; select fewer terms, or use the multinomial model"
        )
