"""k nearest neighbours, a baseline. Its scorer holds the training documents and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.base.errors import refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.settings import setting
from unnaive.base.types import Floats, ProgressCallback, Sparse
from unnaive.data.array_rules import LARGEST_IDF, ArrayRule, Rules, TableRule, check_keys, check_rules, read_whole
from unnaive.data.arrays import csr_arrays, read_csr
from unnaive.data.weighting import DOCUMENT_WEIGHTINGS, Weighting, document_weighting
from unnaive.learning.learnt import Learnt
from unnaive.learning.traits import Traits
from unnaive.linear.scorer import Scorer
from unnaive.models.estimator import UnweightedDocumentsModel

BLOCK_CELLS = 1 << 22  # similarities held at once: 32 MB of float64
TIE_DIGITS = 10  # similarities that agree to this many digits are ties


RULES: Rules = {
    "documents": TableRule("documents", "terms"),
    "labels": TableRule("documents", "classes", "number", 0, 1),
    "idf": ArrayRule("float", ("terms",), 0, LARGEST_IDF, optional=True),
}


@dataclass(frozen=True, eq=False)
class Neighbours(Scorer):
    """score[d, c] = Σ over the k nearest n of d of similarity(d, n)·labels[n, c].

    `documents` (n_train, n_terms) are weighted rows of length 1, `labels` (n_train, n_classes) is 0/1. Ties at the k-th
    neighbour share its vote, so that the order of training documents is irrelevant.
    """

    link = "cosine"  # summed similarities are not probabilities
    kind: ClassVar[str] = "neighbours"

    documents: Sparse
    labels: Sparse
    k: int
    weighting: Weighting

    @property
    def n_classes(self) -> int:
        """Columns of the labels."""
        return int(self.labels.shape[1])

    @property
    def n_terms(self) -> int:  # type: ignore[override]  # a field of other scorers
        """Columns of the documents."""
        return int(self.documents.shape[1])

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        Z = self.weighting.apply(X)
        block = max(1, BLOCK_CELLS // max(1, self.documents.shape[0]))
        scores = np.zeros((Z.shape[0], self.n_classes))
        for start in range(0, Z.shape[0], block):
            similarity = (Z[start : start + block] @ self._by_term).toarray()
            scores[start : start + block] = (csr_array(votes(similarity, self.k)) @ self.labels).toarray()
        return scores

    @lazy_property
    def _by_term(self) -> Sparse:
        """The documents by term (n_terms, n_train), for the products of all calls."""
        return csr_array(self.documents.T)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings for `from_arrays`."""
        arrays = csr_arrays("documents", self.documents) | csr_arrays("labels", self.labels)
        if self.weighting.idf is not None:
            arrays["idf"] = self.weighting.idf
        shape = [int(self.documents.shape[0]), self.n_classes, self.n_terms]
        return arrays, {"k": self.k, "tf": self.weighting.tf, "norm": self.weighting.norm, "shape": shape}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Neighbours:
        """The inverse of `to_arrays`; the input is checked, since it comes from a file."""
        with refuse_damaged("the neighbours in this model are"):
            check_keys(settings, "k", "tf", "norm", "shape")
            n_train, n_classes, n_terms = (read_whole(size, "shape") for size in settings["shape"])
            check_rules(arrays, RULES, documents=n_train, classes=n_classes, terms=n_terms)
            documents = read_csr(arrays, "documents", (n_train, n_terms))
            labels = read_csr(arrays, "labels", (n_train, n_classes))
            weighting, k = (
                Weighting(settings["tf"], arrays.get("idf"), settings["norm"]),
                read_whole(settings["k"], "k", least=1),
            )
        return cls(documents, labels, k, weighting)


def votes(similarity: Floats, k: int) -> Floats:
    """The similarities of the k nearest of each row, 0 elsewhere; ties at the k-th share the remaining votes.

    >>> votes(np.array([[0.9, 0.5, 0.5, 0.1]]), 2)
    array([[0.9 , 0.25, 0.25, 0.  ]])
    """
    k = min(k, similarity.shape[1])
    if k == 0:
        return similarity
    rounded = np.round(
        similarity, TIE_DIGITS
    )  # equal documents may differ in the last bits because of the order of summation
    last = np.partition(rounded, -k, axis=1)[:, [-k]]
    tied, nearer = rounded == last, rounded > last
    share = (k - nearer.sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True)
    return np.where(nearer, similarity, np.where(tied, similarity * share, 0.0))


class NearestNeighbours(UnweightedDocumentsModel):
    """The k most similar training documents vote, each with its cosine similarity.

    score[d, c] = Σ over the k nearest n of d of cos(d, n)·Y[n, c]. Yang and Liu (1999), A re-examination of text
    categorization methods, eq. 3.

    >>> NearestNeighbours(k=1).fit([[3, 0], [0, 2]], ["sport", "politics"]).predict([[1, 0]]).tolist()
    ['sport']
    """

    traits = Traits(
        "knn",
        "k nearest neighbours",
        "documents",
        scorer_kinds=("neighbours",),
        probabilistic=False,
        generative=False,
        takes_sample_weight=False,
    )

    k: int = setting("Number of neighbours that vote.", default=30, at_least=1)
    weights: str = setting(
        "Weighting of terms in a document.", default="auto", choices=DOCUMENT_WEIGHTINGS,
        more="auto is tf-idf for whole numbers; fractions, such as those of TfidfVectorizer, are not weighted again.",
    )  # fmt: skip

    def learn(
        self, X: Sparse, Y: Sparse, *, exclusive: bool = True, sample_weight: Floats | None = None,
        progress: ProgressCallback | None = None,
    ) -> Learnt:  # fmt: skip
        """The weighted documents and their labels."""
        weighting = document_weighting(self.weights, X)
        unit = Weighting(weighting.tf, weighting.idf, "l2")
        return Learnt(Neighbours(csr_array(unit.apply(X)), csr_array(Y), int(self.k), unit))
