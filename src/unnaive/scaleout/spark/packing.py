"""Counts of a part of the documents as bytes that travel between machines, cut by term and merged again.

A partition's counts are cut into runs by a hash of the term. All runs with the same hash meet on one machine, which
adds them up; no machine ever holds the vocabularies of all partitions, and the driver gets each term once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from scipy.sparse import csr_array

from unnaive.base.types import Arrays, Ids, Label, Sparse
from unnaive.classifier.packing import narrow
from unnaive.data.counts import Counts
from unnaive.data.named_counts import NamedCounts
from unnaive.data.targets import sorted_classes
from unnaive.text.vocabulary import Vocabulary

MERGED_AT_ONCE = 16  # runs that are added in one go: memory follows the largest of them, not how many there are
MULTIPLIER = 0x01000193  # of FNV, a hash that has no seed: every machine cuts alike


@dataclass(frozen=True, eq=False)
class Run:
    """Sums over some documents of some terms; those of all partitions add up to the counts of all documents.

    labels   the rows of the tables, in any order
    terms    a pyarrow large_string array, the columns
    counts   the sums; documents are counted in one run of each partition only
    missing  rows without a text or a label
    """

    labels: tuple[Label, ...]
    terms: Any
    counts: Counts
    missing: int = 0

    def to_bytes(self) -> bytes:
        """The run in the form that `from_bytes` reads: safetensors, in which nothing can be run."""
        counts = self.counts
        arrays: Arrays = {
            "labels": np.frombuffer(json.dumps(list(self.labels)).encode(), np.uint8),
            "blob": term_bytes(self.terms)[0],
            "offsets": term_bytes(self.terms)[1],
            "class_docs": counts.class_docs,
            "terms": counts.terms,
            "df": counts.df,
            "docs": np.array([counts.n_docs, self.missing], np.int64),
        }
        for name in ("class_terms", "class_df"):
            table = getattr(counts, name)
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}.{part}"] = getattr(table, part)
        return bytes(save_arrays({name: np.ascontiguousarray(narrow(array)) for name, array in arrays.items()}))

    @classmethod
    def from_bytes(cls, packed: bytes) -> Run:
        """The run that `to_bytes` packed."""
        arrays = load_arrays(packed)
        labels = tuple(json.loads(arrays.pop("labels").tobytes()))
        blob = arrays.pop("blob")
        arrays = {name: array.astype(np.int64) for name, array in arrays.items()}
        shape = len(labels), len(arrays["df"])
        class_terms, class_df = (
            csr_array(tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")), shape=shape)
            for name in ("class_terms", "class_df")
        )
        n_docs, missing = arrays["docs"]
        counts = Counts(n_docs, arrays["class_docs"], class_terms, class_df, arrays["terms"], arrays["df"])
        return cls(labels, term_array(blob, arrays["offsets"]), counts, int(missing))

    def cut(self, n_cuts: int) -> Iterator[tuple[int, Run]]:
        """The run by hash of the term: (hash, its part). Documents are counted in the first part."""
        if n_cuts == 1:
            yield 0, self
            return
        places = term_hashes(*term_bytes(self.terms)) % np.uint32(n_cuts)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(n_cuts + 1))
        by_term = self.counts.class_terms.tocsc(), self.counts.class_df.tocsc()
        for cut in range(n_cuts):
            columns = order[ends[cut] : ends[cut + 1]]
            if cut and not len(columns):
                continue
            class_terms, class_df = (csr_array(table[:, columns]) for table in by_term)
            first = cut == 0
            docs = self.counts.class_docs if first else np.zeros_like(self.counts.class_docs)
            counts = Counts(
                self.counts.n_docs if first else np.int64(0), docs, class_terms, class_df,
                self.counts.terms[columns], self.counts.df[columns],
            )  # fmt: skip
            yield cut, Run(self.labels, self.terms.take(pa.array(columns)), counts, self.missing if first else 0)

    def named(self) -> NamedCounts:
        """The counts by name, terms and classes in order."""
        classes = sorted_classes(self.labels)
        places = {label: place for place, label in enumerate(classes)}
        rows = np.array([places[label] for label in self.labels], np.int64)
        columns = np.empty(len(self.terms), np.int64)
        order = pc.sort_indices(self.terms).to_numpy()  # by bytes of UTF-8, which is by code point
        columns[order] = np.arange(len(order))
        counts = self.counts.placed(rows, columns, len(classes), len(columns))
        return NamedCounts(classes, Vocabulary.trusted(*term_bytes(self.terms.take(pa.array(order)))), counts)


def merge_runs(runs: Sequence[Run]) -> Run:
    """The sums of all of them.

    >>> table = csr_array(np.array([[2]]))
    >>> counts = Counts(np.int64(1), np.array([1]), table, table, np.array([2]), np.array([1]))
    >>> one, two = (Run((label,), pa.array(["x"], pa.large_string()), counts) for label in ("a", "b"))
    >>> both = merge_runs([one, two])
    >>> both.labels, both.terms.to_pylist(), both.counts.terms
    (('a', 'b'), ['x'], array([4]))
    """
    if len(runs) == 1:
        return runs[0]
    labels = tuple(dict.fromkeys(label for run in runs for label in run.labels))
    row_of = {label: place for place, label in enumerate(labels)}
    rows = [np.array([row_of[label] for label in run.labels], np.int64) for run in runs]
    found = pa.chunked_array([run.terms for run in runs], pa.large_string()).combine_chunks()
    found = found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
    encoded = found.dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    columns = np.split(codes, np.cumsum([len(run.terms) for run in runs])[:-1])
    n_terms, shape = len(encoded.dictionary), (len(labels), len(encoded.dictionary))

    def total(name: str) -> NDArray[np.int64]:
        values = np.concatenate([getattr(run.counts, name) for run in runs])
        where, size = (codes, n_terms) if name != "class_docs" else (np.concatenate(rows), len(labels))
        out = np.zeros(size, np.int64)
        np.add.at(out, where, values)
        return out

    def table(name: str) -> Sparse:
        cells = [getattr(run.counts, name).tocoo() for run in runs]
        row = np.concatenate([place[cell.coords[0]] for cell, place in zip(cells, rows, strict=True)])
        column = np.concatenate([place[cell.coords[1]] for cell, place in zip(cells, columns, strict=True)])
        return csr_array((np.concatenate([cell.data for cell in cells]), (row, column)), shape=shape)

    counts = Counts(
        np.int64(sum(int(run.counts.n_docs) for run in runs)), total("class_docs"), table("class_terms"),
        table("class_df"), total("terms"), total("df"),
    )  # fmt: skip
    return Run(labels, encoded.dictionary, counts, sum(run.missing for run in runs))


def merge_all(runs: Iterable[Run]) -> Run | None:
    """The sums of any number of runs, some at a time; None of none."""
    waiting: list[Run] = []
    for run in runs:
        waiting.append(run)
        if len(waiting) == MERGED_AT_ONCE:
            waiting = [merge_runs(waiting)]
    return merge_runs(waiting) if waiting else None


def term_array(blob: NDArray[np.uint8], offsets: Ids) -> Any:
    """Terms as an Arrow array over the arrays of a Vocabulary, without a copy."""
    return pa.LargeStringArray.from_buffers(
        len(offsets) - 1,
        pa.py_buffer(np.ascontiguousarray(offsets, np.int64)),
        pa.py_buffer(np.ascontiguousarray(blob)),
    )


def term_bytes(terms: Any) -> tuple[NDArray[np.uint8], Ids]:
    """The inverse of `term_array`: one blob of UTF-8 and where each term starts, the last ends."""
    _, ends, data = terms.buffers()
    offsets = (
        np.frombuffer(ends, np.int64)[terms.offset : terms.offset + len(terms) + 1] if ends else np.zeros(1, np.int64)
    )
    blob = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]] if data else np.zeros(0, np.uint8)
    return blob, offsets - offsets[0]


def term_hashes(blob: NDArray[np.uint8], offsets: Ids) -> NDArray[np.uint32]:
    """A hash of each term (n_terms,): Σ_i byte_i · m^i, mixed; the same on every machine.

    >>> one, other = term_hashes(*Vocabulary(["ab", "ba"]).to_arrays())
    >>> bool(one == other), bool(one == term_hashes(*Vocabulary(["x", "ab"]).to_arrays())[1])
    (False, True)
    """
    sizes = np.diff(offsets)
    if not len(sizes):
        return np.zeros(0, np.uint32)
    powers = np.cumprod(np.full(int(sizes.max(initial=1)) + 1, MULTIPLIER, np.uint32), dtype=np.uint32)
    inside = np.arange(len(blob)) - np.repeat(offsets[:-1], sizes)
    sums = np.concatenate([[0], np.cumsum((blob + np.uint32(1)) * powers[inside], dtype=np.uint32)]).astype(np.uint32)
    values = sums[offsets[1:]] - sums[offsets[:-1]]
    values ^= values >> np.uint32(15)
    values *= np.uint32(0x2C1B3C6D)
    values ^= values >> np.uint32(12)
    return np.asarray(values, np.uint32)
