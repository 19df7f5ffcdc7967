"""Neighbours is the scorer of kNN: the training documents themselves, and the labels with which they vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unnaive.core.weighting import Weighting
from unnaive.errors import BadModel
from unnaive.types import Floats, Sparse

BLOCK_CELLS = 1 << 22  # similarities held at once: 32 MB of float64


@dataclass(frozen=True, eq=False)
class Neighbours:
    """score[d, c] = Σ over the k nearest n of d of similarity(d, n)·labels[n, c].

    `documents` (n_train, n_terms) are weighted rows of length 1, `labels` (n_train, n_classes) is 0/1. Where the k-th
    place is tied, the tied share it, so that the order of training documents is irrelevant.
    """

    kind: ClassVar[str] = "neighbours"

    documents: Sparse
    labels: Sparse
    k: int
    weighting: Weighting

    @property
    def link(self) -> str:
        """Summed similarities are no probabilities."""
        return "cosine"

    @property
    def n_classes(self) -> int:
        """Columns of the labels."""
        return int(self.labels.shape[1])

    @property
    def n_terms(self) -> int:
        """Columns of the documents."""
        return int(self.documents.shape[1])

    def scores(self, X: Sparse) -> Floats:
        """Scores of documents X (n_docs, n_terms) → (n_docs, n_classes)."""
        Z, by_term = self.weighting.apply(X), csr_array(self.documents.T)
        block = max(1, BLOCK_CELLS // max(1, self.documents.shape[0]))
        scores = np.zeros((Z.shape[0], self.n_classes))
        for start in range(0, Z.shape[0], block):
            similarity = (Z[start : start + block] @ by_term).toarray()
            scores[start : start + block] = (csr_array(votes(similarity, self.k)) @ self.labels).toarray()
        return scores

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and plain settings from which `from_arrays` makes an equal scorer."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, table in (("documents", csr_array(self.documents)), ("labels", csr_array(self.labels))):
            arrays |= {f"{name}.{part}": getattr(table, part) for part in ("data", "indices", "indptr")}
        if self.weighting.idf is not None:
            arrays["idf"] = self.weighting.idf
        shape = [int(self.documents.shape[0]), self.n_classes, self.n_terms]
        return arrays, {"k": self.k, "tf": self.weighting.tf, "norm": self.weighting.norm, "shape": shape}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> Neighbours:
        """The inverse of `to_arrays`; trusts nothing, since models come from files."""
        try:
            n_train, n_classes, n_terms = (int(size) for size in settings["shape"])
            documents = checked_csr(arrays, "documents", (n_train, n_terms))
            labels = checked_csr(arrays, "labels", (n_train, n_classes))
            weighting, k = Weighting(settings["tf"], arrays.get("idf"), settings["norm"]), int(settings["k"])
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            raise BadModel(f"the neighbours in this model are damaged ({problem}); train it again") from problem
        if k < 1 or (weighting.idf is not None and weighting.idf.shape != (n_terms,)):
            raise BadModel("the neighbours in this model have sizes that do not fit; train it again")
        return cls(documents, labels, k, weighting)


def votes(similarity: Floats, k: int) -> Floats:
    """The similarities of the k nearest of each row, 0 elsewhere; ties at the k-th place share what is left.

    >>> votes(np.array([[0.9, 0.5, 0.5, 0.1]]), 2)
    array([[0.9 , 0.25, 0.25, 0.  ]])
    """
    k = min(k, similarity.shape[1])
    if k == 0:
        return similarity
    last = np.partition(similarity, -k, axis=1)[:, [-k]]
    tied = similarity == last
    share = (k - (similarity > last).sum(axis=1, keepdims=True)) / tied.sum(axis=1, keepdims=True)
    return np.where(similarity > last, similarity, np.where(tied, similarity * share, 0.0))


def checked_csr(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, int]) -> Sparse:
    """A csr_array whose every index was looked at: SciPy reads out of bounds when handed a hostile one."""
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    sound = (
        min(shape) >= 0
        and indptr.shape == (shape[0] + 1,)
        and data.ndim == 1
        and data.shape == indices.shape
        and all(part.dtype.kind in "iu" for part in (indices, indptr))
        and data.dtype.kind in "iuf"
        and indptr[0] == 0
        and indptr[-1] == len(data)
        and bool(np.all(indptr[1:] >= indptr[:-1]))
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
    )
    if not sound:
        raise ValueError(f"its {name} point outside their table")
    return csr_array((data, indices, indptr), shape=shape)
