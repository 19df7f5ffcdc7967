"""PackedDocuments → KeptDocuments: every number of the file is checked before it is used as an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Ids, Sparse
from unnaive.data.byte_planes import INTEGERS, NUMBER, inflate, unfold_sign
from unnaive.data.followers import check_followers, list_followers
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_grams import MOST_GRAMS, with_grams
from unnaive.data.vector_rows import MOST_PACKED, VectorRows, unpack_cells, without_vectors
from unnaive.text.fixed_point import which_are_vectors
from unnaive.text.gram_units import GramKind, GramUnits
from unnaive.text.tokens import BORDERS, LONGEST_NGRAM
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.data.packed_documents import PackedDocuments

CELLS_AT_ONCE = 1 << 22  # cells unpacked at a time for a sample


def unpack_documents(packed: PackedDocuments) -> KeptDocuments:
    """All documents, in the order of KeptDocuments."""
    about, arrays = packed.about, packed.arrays
    n_docs, cells, n_terms = (check_whole(about[name]) for name in ("documents", "cells", "terms"))

    Y = unpack_labels(packed)  # first, since the labels determine the number of documents, whatever the file says
    vocabulary = without_vectors(packed.in_use)
    if "terms" in arrays:
        vocabulary = _read_terms(packed, "", n_terms, check_whole(about["bytes"]))
    if len(vocabulary) != n_terms:
        raise ValueError(f"they have {n_terms} terms and the vocabulary has {len(vocabulary)}")
    X = _read_cells(packed, "", (n_docs, n_terms), cells, signed=packed.predicts_grams)
    followers = None
    if "followers" in arrays:
        followers = list_followers(_read(packed, "followers", int(X.data.sum()), 0, n_terms + 1), X)
        check_followers(vocabulary, X, followers)
    weight = None
    if "weight" in arrays:
        weight = inflate(arrays["weight"], 8 * n_docs, "weights").view("<f8").astype(np.float64)
        if not bool(np.all((weight > 0) & (weight < 2.0**1000))):
            raise ValueError("a weight is not above 0")
    vectors = None if about.get("vectors") is None else _read_vectors(packed, n_docs)
    documents = KeptDocuments(packed.classes, vocabulary, X, Y, weight, followers=followers, vectors=vectors)
    if about["grams"] is None:
        return documents.in_order()
    shortest, longest = (check_whole(size) for size in about["grams"])
    border = "_" if is_early(about) else about["border"]
    if not 1 <= shortest <= longest <= LONGEST_NGRAM or border not in BORDERS.values():
        raise ValueError(f"their character n-grams have {shortest} to {longest} characters and the border {border!r}")
    kind = (shortest, longest, border)
    if is_early(about) or about["units"] is None:
        return with_grams(documents, kind).in_order()
    units = _read_units(packed, n_docs, kind)
    if units.most_grams() > MOST_GRAMS:
        raise ValueError("their units have too many character n-grams")
    return replace(documents, units=units).in_order()


def unpack_words(packed: PackedDocuments, rows: Ids) -> KeptDocuments:
    """The words and labels of some documents; every number is checked, and only a few terms are unpacked at a time."""
    about = packed.about
    n_docs, cells, n_terms = (check_whole(about[name]) for name in ("documents", "cells", "terms"))
    Y, vocabulary = unpack_labels(packed), without_vectors(packed.in_use)
    if "terms" in packed.arrays:
        vocabulary = _read_terms(packed, "", n_terms, check_whole(about["bytes"]))
    if len(vocabulary) != n_terms or packed.predicts_grams:
        # the file is damaged, which `unpack_documents` reports, or its counts are differences to predicted ones
        documents = unpack_documents(packed)
        return KeptDocuments(documents.classes, documents.words, csr_array(documents.table[rows]), documents.Y[rows])
    df, order, steps = _read_frequencies(packed, "", (n_docs, n_terms), cells)
    gaps, counts = _plane_reader(packed, steps, cells, 0, n_docs), _plane_reader(packed, "counts", cells, 1, 2**31)
    sample_row_of = np.full(n_docs, -1, np.int32)
    sample_row_of[rows] = np.arange(len(rows))
    ends = np.concatenate([[0], np.cumsum(df)])
    cuts = np.unique([*np.searchsorted(ends, np.arange(0, cells, CELLS_AT_ONCE)), n_terms])
    parts: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.int64),) * 3]
    for first, last in pairwise(cuts.tolist()):
        start, end = int(ends[first]), int(ends[last])
        sample_rows = sample_row_of[_find_rows(gaps(start, end), ends[first : last + 1] - start, n_docs)]
        sampled = np.flatnonzero(sample_rows >= 0)
        terms = np.repeat(np.arange(first, last), df[first:last])[sampled]
        parts.append((counts(start, end)[sampled], sample_rows[sampled], terms if order is None else order[terms]))
    values, places, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
    table = csr_array((values, (places, columns)), shape=(len(rows), n_terms))
    return KeptDocuments(packed.classes, vocabulary, table, csr_array(Y[rows]))


def unpack_labels(packed: PackedDocuments) -> Sparse:
    """Y (n_docs, n_classes); exactly one label each if classes are exclusive."""
    n_docs, n_codes, n_classes = (
        check_whole(packed.about["documents"]),
        check_whole(packed.about["codes"]),
        len(packed.classes),
    )
    least, most = (1, 1) if packed.exclusive else (0, n_classes)
    each = _read(packed, "labels", n_docs, least, most + 1)
    if int(each.sum()) != n_codes:
        raise ValueError("the number of labels is wrong")
    codes = _read(packed, "codes", n_codes, 0, n_classes).astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(each)])
    Y = csr_array((np.ones(n_codes, np.int64), codes, ends), shape=(n_docs, n_classes))
    if not Y.has_canonical_format:
        raise ValueError("a document has a label twice")
    return Y


def _read_units(packed: PackedDocuments, n_docs: int, kind: GramKind) -> GramUnits:
    """The units that character n-grams are cut from."""
    cells, n_terms, size = (check_whole(packed.about["units"][name]) for name in ("cells", "terms", "bytes"))
    X = _read_cells(packed, "unit_", (n_docs, n_terms), cells, signed=False)
    X = csr_array((X.data.astype(np.int32), X.indices, X.indptr), shape=X.shape)
    return GramUnits(_read_terms(packed, "unit_", n_terms, size), X, kind)


def _read_vectors(packed: PackedDocuments, n_docs: int) -> VectorRows:
    """The numbers of vector fields."""
    n_columns, size = (check_whole(packed.about["vectors"][name]) for name in ("terms", "bytes"))
    terms = _read_terms(packed, "vector_", n_columns, size)
    if not bool(which_are_vectors(terms).all()):
        raise ValueError("a column of their vectors has the name of a term")
    numbers = _read(packed, "vectors", n_docs * n_columns, 0, MOST_PACKED)
    return VectorRows(terms, np.ascontiguousarray(unpack_cells(numbers).reshape(n_columns, n_docs).T))


def _read_terms(packed: PackedDocuments, start: str, n_terms: int, size: int) -> Vocabulary:
    """The terms in the arrays whose names begin with `start`, of `size` bytes in total."""
    if size > packed.most_unpacked:
        raise ValueError(f"{packed.nbytes} bytes cannot hold {size} bytes of terms")
    blob = inflate(packed.arrays[f"{start}terms"], size, "terms")
    sizes = _read(packed, f"{start}sizes", n_terms, 0, len(blob) + 1)
    return Vocabulary.from_arrays(blob, np.concatenate([[0], np.cumsum(sizes)]))


def _read_cells(packed: PackedDocuments, start: str, shape: tuple[int, int], cells: int, *, signed: bool) -> Sparse:
    """The table in the arrays whose names begin with `start`.

    Rows are cumulative sums of gaps, restarted for each term.
    """
    n_docs, n_terms = shape
    df, order, steps = _read_frequencies(packed, start, shape, cells)
    gaps = _read(packed, steps, cells, 0, n_docs)
    counts = _read(packed, f"{start}counts", cells, 1, 2**32 if signed else 2**31)
    counts = unfold_sign(counts) if signed else counts
    ends = np.concatenate([[0], np.cumsum(df)])
    rows = _find_rows(gaps, ends, n_docs)
    by_term = csc_array((counts, rows.astype(np.int32), ends), shape=(n_docs, n_terms))
    return csr_array(by_term.tocsr() if order is None else by_term[:, np.argsort(order)].tocsr())


def _read_frequencies(
    packed: PackedDocuments, start: str, shape: tuple[int, int], cells: int
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, str]:
    """The document frequencies in the order of the file, the terms in that order, and the name of the gaps.

    The order is None for an early file, whose terms are in the order of the vocabulary.
    """
    n_docs, n_terms = shape
    df = _read(packed, f"{start}df", n_terms, 1, n_docs + 1)
    if int(df.sum()) != cells:
        raise ValueError("the number of cells of the terms is wrong")
    if f"{start}steps" not in packed.arrays:
        return df, None, f"{start}gaps"
    order = np.argsort(-df, kind="stable")
    return df[order], order, f"{start}steps"


def _find_rows(gaps: NDArray[np.int64], ends: NDArray[np.int64], n_docs: int) -> NDArray[np.int64]:
    """The row of each cell: cumulative sums of gaps, restarted for each term; the cells of the terms end at `ends`."""
    starts = np.zeros(len(gaps), np.bool_)
    starts[ends[:-1]] = True
    if not bool(np.all(starts | (gaps > 0))):
        raise ValueError("a document has a term twice")
    sums = np.cumsum(gaps)
    rows: NDArray[np.int64] = sums - np.repeat(sums[ends[:-1]] - gaps[ends[:-1]], np.diff(ends))
    if len(rows) and int(rows.max()) >= n_docs:
        raise ValueError(f"a term is in a document beyond the last of {n_docs}")
    return rows


def _read(packed: PackedDocuments, name: str, size: int, least: int, below: int) -> NDArray[np.int64]:
    """The numbers called `name`; an error unless there are `size` of them, each from `least` to `below` − 1."""
    return _plane_reader(packed, name, size, least, below)(0, size)


def _plane_reader(
    packed: PackedDocuments, name: str, size: int, least: int, below: int
) -> Callable[[int, int], NDArray[np.int64]]:
    """A function (start, end) that reads and checks part of the numbers called `name`."""
    width = packed.about["widths"][name]
    if NUMBER * size > packed.most_unpacked:
        raise ValueError(f"{packed.nbytes} bytes cannot hold {size} {name}")
    planes = inflate(packed.arrays[name], size * width, name).reshape(width, size)

    def read(first: int, last: int) -> NDArray[np.int64]:
        part = np.ascontiguousarray(planes[:, first:last].T)
        values = part.view(np.dtype(INTEGERS[width]).newbyteorder("<")).ravel()
        if values.size and (int(values.min()) < least or int(values.max()) >= below):
            raise ValueError(f"their {name} are not all from {least} to {below - 1}")
        return values.astype(np.int64)

    return read


def is_early(about: dict[str, Any]) -> bool:
    """Whether the file predates n-grams across spaces: n-grams are inside words, and no count is negative."""
    return "border" not in about


def check_whole(value: Any) -> int:
    """The number of documents, cells, terms or bytes that a file states; an error if it cannot be one."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise ValueError(f"{str(value)[:20]} is not a number of documents, cells or terms")
    return value
