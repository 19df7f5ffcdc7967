"""A Linear that keeps the paths behind its weights: the intermediate terms between a term and a class.

Higher-order smoothing creates it (learner.py); explain.py uses its evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.types import Floats, Sparse
from unnaive.data.array_rules import TableRule, check_rules, read_whole
from unnaive.data.arrays import read_csr
from unnaive.linear.linear import Linear

MIDDLES = 3  # maximum number of middle terms that an explanation names


RULES = {
    "documents": TableRule("documents", "terms", "number", 0, ones=True),
    "labels": TableRule("documents", "classes", "number", 0, 1, ones=True),
}


@dataclass(frozen=True)
class PathEvidence:
    """The second-order paths from a term to a class, by the term in their middle.

    occurrences  documents of the class that have the term; if 0, the paths are the only evidence
    paths        φ, the weight of all paths: their number, unless they have log-tf or tf-idf weights
    middles      (term, weight of the paths through it), heaviest first; ties by term
    """

    occurrences: int
    paths: float
    middles: tuple[tuple[int, float], ...]


@dataclass(frozen=True, eq=False)
class PathScorer(Linear):
    """Scores like Linear, and keeps the training documents as they entered the paths.

    documents  X, weighted (n_docs, n_terms)
    labels     Y (n_docs, n_classes)

    Only term ids are kept, neither their order nor the texts; still, anybody who has the scorer can tell which terms
    occurred together. `frozen` gives the same scores without them.
    """

    kind: ClassVar[str] = "paths"

    documents: Sparse = None
    labels: Sparse = None

    @classmethod
    def of(cls, linear: Linear, documents: Sparse, labels: Sparse) -> PathScorer:
        """The scorer `linear`, learnt from these documents and labels."""
        parts = {field.name: getattr(linear, field.name) for field in fields(Linear)}
        return cls(**parts, documents=documents, labels=csr_array(labels))

    def frozen(self) -> Linear:
        """The same scores without the training documents."""
        return Linear(**{field.name: getattr(self, field.name) for field in fields(Linear)})

    def evidence_details(self, document: Sparse, chosen: int) -> dict[int, dict[str, Any]]:
        """`paths` and `middles` of each term that never occurred in the class."""
        details, of_class = {}, self._of_class(chosen)
        for column in document.indices.tolist():
            evidence = self._path_evidence(column, *of_class, MIDDLES)
            if not evidence.occurrences:
                details[column] = {"paths": evidence.paths, "middles": evidence.middles}
        return details

    def path_evidence(self, term: int, class_index: int, limit: int | None = None) -> PathEvidence:
        """The paths from a term to a class, and the `limit` terms that most of them pass through.

        paths through k = Σ_d x_di·x_dk·(F_kc − x_dk·y_dc),  k ≠ i; over all k they sum to φ_ic

        >>> X, Y = csr_array([[1.0, 1, 0], [0, 1, 1]]), csr_array([[1, 0], [0, 1]])
        >>> scorer = PathScorer.of(Linear(np.zeros((2, 3)), np.zeros(2)), X, Y)
        >>> scorer.path_evidence(0, 1)     # term 0 is in no document of class 1, but term 1, which occurs with it, is
        PathEvidence(occurrences=0, paths=1.0, middles=((1, 1.0),))
        """
        return self._path_evidence(term, *self._of_class(class_index), limit)

    def _path_evidence(self, term: int, member: Floats, first: Floats, limit: int | None) -> PathEvidence:
        """`path_evidence` of the class that has these members and sums."""
        start, stop = self._postings.indptr[term : term + 2]
        rows, share = self._postings.indices[start:stop], self._postings.data[start:stop]
        inside, around = member[rows], self.documents[rows]
        squared = csr_array((around.data**2, around.indices, around.indptr), shape=around.shape)
        weight = (share @ around) * first - (share * inside) @ squared
        weight[term] = 0.0
        heaviest = np.lexsort((np.arange(len(weight)), -weight))[:limit]
        middles = tuple((int(k), float(weight[k])) for k in heaviest if weight[k] > 0)
        return PathEvidence(int(inside.sum()), float(weight.sum()), middles)

    def _of_class(self, class_index: int) -> tuple[Floats, Floats]:
        """A class's column y of the labels (n_docs,), and its sums F_c = Xᵀy (n_terms,)."""
        start, stop = self._labels_by_class.indptr[class_index : class_index + 2]
        member = np.zeros(self.labels.shape[0])
        member[self._labels_by_class.indices[start:stop]] = self._labels_by_class.data[start:stop]
        return member, np.asarray(member @ self._postings, np.float64)

    @lazy_property
    def _postings(self) -> Sparse:
        return self.documents.tocsc()

    @lazy_property
    def _labels_by_class(self) -> Sparse:
        return self.labels.tocsc()

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`; ones are not stored."""
        arrays, settings = super().to_arrays()
        for name, table in (("documents", self.documents), ("labels", self.labels)):
            arrays |= {f"{name}.indices": table.indices, f"{name}.indptr": table.indptr}
            if not bool(np.all(table.data == 1)):
                arrays[f"{name}.data"] = table.data
        return arrays, settings | {"documents": int(self.documents.shape[0])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> PathScorer:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the paths in this model are"):
            n_docs = read_whole(settings["documents"], "documents")
            rest = {name: value for name, value in arrays.items() if not name.startswith(("documents.", "labels."))}
            linear = Linear.from_arrays(rest, {name: value for name, value in settings.items() if name != "documents"})
            tables = {name: value for name, value in arrays.items() if name not in rest}
            check_rules(tables, RULES, documents=n_docs, terms=linear.n_terms, classes=linear.n_classes)
            documents = _table(arrays, "documents", (n_docs, linear.n_terms))
            labels = _table(arrays, "labels", (n_docs, linear.n_classes))
        return cls.of(linear, documents, labels)


def _table(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, int]) -> Sparse:
    """A table with every index checked; cells without a value are ones."""
    ones = {f"{name}.data": np.ones(arrays[f"{name}.indices"].shape)}
    table = read_csr(ones | arrays, name, shape)
    if not table.has_canonical_format or not bool(np.all(np.isfinite(table.data))):
        raise ValueError(f"its {name} have a repeated cell or a value that is not finite")
    return table.astype(np.float64)
