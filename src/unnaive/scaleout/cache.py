"""The counted matrix on disk: documents are read and counted once, and learners pass over a memory map of it.

The folder holds X (CSR: counts, columns, row ends) and Y (columns, row ends) as raw arrays, and the vocabulary; where
there are character n-grams, what they were cut from too, in the same form. Its manifest has the labels, a checksum of
every array, and what tells whether the cache is of the same data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unnaive.base.errors import BadData
from unnaive.base.sparse import csr_array
from unnaive.base.types import Arrays, Sparse
from unnaive.data.array_folder import ArrayWriter, is_whole, open_arrays
from unnaive.data.arrays import find_csr_problem
from unnaive.data.targets import Targets, sorted_classes
from unnaive.text.gram_units import GramKind, GramUnits
from unnaive.text.vocabulary import Vocabulary

NARROW = 1 << 31  # entries up to which indices have 32 bits


class MatrixWriter:
    """Writes X and Y batch by batch; `finish` adds the vocabulary and the labels.

    >>> import tempfile
    >>> writer = MatrixWriter(Path(tempfile.mkdtemp()) / "cache")
    >>> writer.add(csr_array([[2, 1]], dtype=np.int32), csr_array([[1]]))
    >>> writer.finish(Vocabulary(["ball", "goal"]), ["sport"], {"files": []})
    >>> cached = open_matrix(writer.folder)
    >>> cached.X.toarray().tolist(), cached.vocabulary.terms, cached.targets(multilabel=False).classes
    ([[2, 1]], ['ball', 'goal'], ('sport',))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer = ArrayWriter(folder)
        self._sizes: dict[str, list[Any]] = {"X": [], "Y": []}
        self._units: Vocabulary | None = None
        self._kind: GramKind | None = None
        self.n_entries = 0

    def add(self, X: Sparse, Y: Sparse, units: GramUnits | None = None) -> None:
        """Some documents X (n_docs, n_terms so far) and their labels Y (n_docs, n_classes so far).

        `units` are what character n-grams were cut from: of all documents, or of none.
        """
        if units is not None:
            self._add_units(units)
        self.n_entries += X.nnz
        self._writer.append("X.data", X.data.astype(np.int32, copy=False))
        self._writer.append("X.indices", X.indices.astype(np.int32, copy=False))
        self._writer.append("Y.indices", Y.indices.astype(np.int32, copy=False))
        for name, table in (("X", X), ("Y", Y)):
            self._sizes[name].append(np.diff(table.indptr).astype(np.int32))

    def _add_units(self, units: GramUnits) -> None:
        self._kind = units.kind
        self._units, places = (Vocabulary() if self._units is None else self._units).union(units.vocabulary)
        self._writer.append("units.data", units.X.data.astype(np.int32, copy=False))
        self._writer.append("units.indices", places[units.X.indices].astype(np.int32))
        self._sizes.setdefault("units", []).append(np.diff(units.X.indptr).astype(np.int32))

    def finish(self, vocabulary: Vocabulary, labels: Sequence[Any], of: dict[str, Any]) -> None:
        """The rest; then the folder is whole."""
        for name, sizes in self._sizes.items():
            ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *sizes]), dtype=np.int64)
            self._writer.append(f"{name}.indptr", ends.astype(np.int32) if ends[-1] < NARROW else ends)
        for name, terms in (("vocabulary", vocabulary), ("units", self._units)):
            if terms is not None:
                blob, offsets = terms.to_arrays()
                self._writer.append(f"{name}.bytes", blob)
                self._writer.append(f"{name}.offsets", offsets)
        self._writer.finish({"labels": list(labels), "of": of, "grams": self._kind})

    def abandon(self) -> None:
        """Remove what was written."""
        self._writer.abandon()


@dataclass(frozen=True, eq=False)
class CachedMatrix:
    """X (n_docs, n_terms) and Y (n_docs, n_labels) over memory maps, the labels of Y's columns, the terms of X's.

    `units` are what character n-grams were cut from, where there are any.
    """

    X: Sparse
    Y: Sparse
    labels: list[Any]
    vocabulary: Vocabulary
    of: dict[str, Any]
    units: GramUnits | None = None

    @property
    def multilabel(self) -> bool:
        """Whether documents may have any number of labels."""
        return bool(self.of.get("multilabel"))

    def targets(self, *, multilabel: bool) -> Targets:
        """Y with its classes sorted, as `read_targets` makes it of the labels."""
        classes = sorted_classes(self.labels)
        place = {label: position for position, label in enumerate(classes)}
        places = np.array([place[label] for label in self.labels], np.int64)
        ones, ends = (part.astype(np.int64) for part in (self.Y.data, self.Y.indptr))  # as `read_targets` has them
        Y = csr_array((ones, places[self.Y.indices], ends), shape=(self.Y.shape[0], len(classes)))
        Y.sort_indices()
        return Targets(classes, Y, "sets" if multilabel else "single")


def open_matrix(folder: Path) -> CachedMatrix:
    """The matrix in a folder, checked whole; its tables stay on disk."""
    arrays, about = open_arrays(folder)
    vocabulary = _vocabulary(arrays, "vocabulary")
    rows = len(arrays["X.indptr"]) - 1
    labels = about["labels"]
    arrays["Y.data"] = np.ones(len(arrays["Y.indices"]), np.int8)
    tables = {"X": (arrays["X.data"], (rows, len(vocabulary))), "Y": (arrays["Y.data"], (rows, len(labels)))}
    of_units = _vocabulary(arrays, "units") if about.get("grams") else None
    if of_units is not None:
        tables["units"] = arrays["units.data"], (rows, len(of_units))
    for name, (data, shape) in tables.items():
        problem = find_csr_problem(data, arrays[f"{name}.indices"], arrays[f"{name}.indptr"], shape)
        if problem:
            raise BadData(f"the matrix in {folder} {problem}; remove the folder and count again")
    X = _table(arrays, "X", tables["X"][1])
    X.has_canonical_format = True
    Y = _table(arrays, "Y", tables["Y"][1])
    units = None
    if of_units is not None:
        units = GramUnits(of_units, _table(arrays, "units", tables["units"][1]), tuple(about["grams"]))
    return CachedMatrix(X, Y, labels, vocabulary, about["of"], units)


def _vocabulary(arrays: Arrays, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(np.asarray(arrays[f"{name}.bytes"]), np.asarray(arrays[f"{name}.offsets"]))


def _table(arrays: Arrays, name: str, shape: tuple[int, int]) -> Sparse:
    return csr_array(tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")), shape=shape, copy=False)


def find_matrix(folder: Path, of: dict[str, Any]) -> CachedMatrix | None:
    """The matrix that is kept in a folder, if it is of the same data read in the same way."""
    if not is_whole(folder):
        return None
    found = open_matrix(folder)
    same = all(found.of.get(name) == value for name, value in json.loads(json.dumps(of)).items())
    return found if same else None
