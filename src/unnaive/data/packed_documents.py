"""PackedDocuments: kept documents in the compact form of a model file; they are unpacked and checked when needed.

Documents are sorted by class and written term by term, frequent terms first: for each term the number of documents that
have it, the gaps between their row numbers, and the counts. Gaps and counts are small, so their high bytes are mostly
0: the first bytes of all numbers are written together, then the second bytes, and so on, and the result is deflated.
Pairs of words are written as the followers of each word (followers.py). Character n-grams are omitted if their units,
the strings they were cut from, are known: the units are written in the same way and cut again on reading. Otherwise
only the difference to the n-grams predicted from the words is written: X_grams = X_words · G + rest. Next to
punctuation the prediction is too high, so the rest can be negative.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Arrays, Ids, Label, Sparse
from unnaive.data.array_rules import ArrayRule, Rules, check_keys, check_rules
from unnaive.data.followers import check_followers, list_followers
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_grams import MOST_GRAMS, with_grams, without_grams
from unnaive.text.gram_units import GramKind, GramUnits
from unnaive.text.tokens import BORDERS, LONGEST_NGRAM
from unnaive.text.vocabulary import Vocabulary

INTEGERS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}  # by width in bytes
DEFLATED_AT_MOST = 1100  # maximum ratio of output to input: deflate reaches at most 1,032
SIZES = ("documents", "cells", "codes", "terms", "all_terms", "bytes")
PIECE = 1 << 22  # bytes deflated at a time
CELLS_AT_ONCE = 1 << 22  # cells unpacked at a time for a sample


@dataclass(frozen=True, eq=False)
class PackedDocuments:
    """Documents as arrays from a file, not yet checked.

    arrays      deflated byte planes, by name
    about       the number of documents and cells, and the widths of the numbers, as JSON values
    classes     the classes of the model
    in_use      the vocabulary of the model; it is also that of the documents unless `arrays` has another
    exclusive   whether every document has exactly one label
    verify      raises if the arrays differ from those written; None if they need no check

    >>> from unnaive.data.targets import read_targets
    >>> targets, terms = read_targets(["sport", "news", "sport"], 3), Vocabulary(["ball", "vote"])
    >>> documents = KeptDocuments.of(csr_array([[2, 0], [0, 1], [1, 1]]), targets, terms)
    >>> pack_documents(documents, terms, exclusive=True).documents == documents
    True
    """

    arrays: Arrays
    about: dict[str, Any]
    classes: tuple[Label, ...]
    in_use: Vocabulary
    exclusive: bool
    verify: Callable[[], None] | None = None

    @classmethod
    def from_file(
        cls, arrays: Arrays, about: Any, classes: tuple[Label, ...], in_use: Vocabulary, *, exclusive: bool,
        verify: Callable[[], None] | None = None,
    ) -> PackedDocuments:  # fmt: skip
        """The documents of a model file; the array names are checked now, their content when it is needed."""
        try:
            _check_parts(arrays, about)
        except (ValueError, LookupError, TypeError) as problem:
            raise BadModel(f"the documents kept in this model are damaged ({problem}); train it again") from problem
        return cls(arrays, about, classes, in_use, exclusive, verify)

    @property
    def n_docs(self) -> int:
        """The number of documents according to the file."""
        return int(self.about["documents"])

    @property
    def nbytes(self) -> int:
        """The size in a file, in bytes."""
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def n_terms(self) -> int:
        """The number of terms according to the file."""
        return int(self.about["all_terms"])

    @property
    def predicts_grams(self) -> bool:
        """Whether counts of character n-grams are differences to those predicted from the words."""
        return self.about["grams"] is not None and not _is_early(self.about) and self.about["units"] is None

    @property
    def class_docs(self) -> NDArray[np.int64]:
        """The number of documents of each class (n_classes,); only the labels are unpacked."""
        return np.bincount(self._checked(_read_labels).indices, minlength=len(self.classes))

    @lazy_property
    def documents(self) -> KeptDocuments:
        """The documents; an error if they are damaged."""
        documents: KeptDocuments = self._checked(_unpack)
        return documents

    def take_words(self, rows: Ids) -> KeptDocuments:
        """A sample of the documents, with words only and without weights; `rows` are ascending, in file order.

        This needs a fraction of the memory of all documents.

        >>> from unnaive.data.targets import read_targets
        >>> targets, terms = read_targets(["sport", "news", "sport"], 3), Vocabulary(["ball", "vote"])
        >>> documents = KeptDocuments.of(csr_array([[2, 0], [0, 1], [1, 1]]), targets, terms)
        >>> packed = pack_documents(documents, terms, exclusive=True)            # news first, then sport
        >>> sorted(packed.take_words(np.array([0, 2])).table.toarray().tolist()) in ([[0, 1], [1, 1]], [[0, 1], [2, 0]])
        True
        """
        documents: KeptDocuments = self._checked(lambda packed: _unpack_words(packed, rows))
        return documents

    def _checked(self, read: Callable[[PackedDocuments], Any]) -> Any:
        if self.verify is not None:
            self.verify()
        try:
            return read(self)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, zlib.error) as problem:
            reason = (str(problem).splitlines() or ["no reason given"])[0][:120]
            raise BadModel(f"the documents kept in this model are damaged ({reason}); train it again") from problem


def _check_parts(arrays: Arrays, about: Any) -> None:
    """Raise ValueError unless the arrays match the description and its numbers are valid."""
    check_keys(about, *SIZES, "widths", "grams", *({"border", "units"} & set(about)))
    if _is_early(about) and about.get("units") is not None:
        raise ValueError("their units have no kind")
    for name in SIZES:
        _whole(about[name])
    tables = [""]
    if about.get("units") is not None:
        check_keys(about["units"], "cells", "terms", "bytes")
        tables.append("unit_")
    if about["grams"] is None and about.get("units") is not None:
        raise ValueError("they have units and no character n-grams")
    if "followers" in arrays and about["grams"] is not None and about.get("units") is None:
        raise ValueError("they have both followers and character n-grams predicted from words")
    numbers = {"labels", "codes"} | ({"followers"} if "followers" in arrays else set())
    for start in tables:
        numbers |= {f"{start}df", f"{start}counts", f"{start}{'steps' if f'{start}steps' in arrays else 'gaps'}"}
        numbers |= {f"{start}sizes"} if start or "terms" in arrays else set()
    names = numbers | {name.replace("sizes", "terms") for name in numbers if name.endswith("sizes")}
    rules: Rules = {name: ArrayRule("byte", (f"bytes of {name}",)) for name in names | ({"weight"} & set(arrays))}
    check_rules(arrays, rules)
    check_keys(about["widths"], *numbers)
    for name, width in about["widths"].items():
        if type(width) is not int or width not in INTEGERS:
            raise ValueError(f"their {name} have numbers of {str(width)[:20]} bytes")


def pack_documents(
    documents: KeptDocuments, in_use: Vocabulary, *, exclusive: bool, grams: GramKind | None = None
) -> PackedDocuments:
    """Pack the documents for a file; `grams` gives the sizes and border of the character n-grams among their terms."""
    units, rest = documents.units, documents
    if units is None and grams is not None:
        rest = without_grams(documents, grams)
    predicts_grams = rest is not documents
    kind = grams if predicts_grams else None if units is None else units.kind
    vocabulary = rest.words or Vocabulary()
    first = np.full(rest.n_docs, -1)  # sort by first label: documents of a class share terms, so the gaps are small
    labelled = np.diff(rest.Y.indptr) > 0
    first[labelled] = rest.Y.indices[rest.Y.indptr[:-1][labelled]]
    order = np.argsort(first, kind="stable")
    Y, table = csr_array(rest.Y[order]), csr_array(rest.table[order])
    numbers: dict[str, NDArray[Any]] = {"labels": np.diff(Y.indptr), "codes": Y.indices}
    if rest.followers is not None:
        numbers["followers"] = csr_array(rest.followers[order]).data
    numbers |= _split_cells(table, signed=predicts_grams)
    names, in_units = {"terms": vocabulary} if vocabulary != in_use else {}, None
    if units is not None:
        numbers |= {f"unit_{name}": values for name, values in _split_cells(units.X[order], signed=False).items()}
        names["unit_terms"] = units.vocabulary
        blob = units.vocabulary.to_arrays()[0]
        in_units = {"cells": units.X.nnz, "terms": len(units.vocabulary), "bytes": len(blob)}
    arrays, widths = {}, {}
    for name, terms in names.items():
        blob, offsets = terms.to_arrays()
        arrays[name] = _deflate(blob, zlib.Z_DEFAULT_STRATEGY)
        numbers[name.replace("terms", "sizes")] = np.diff(offsets)
    for name, values in numbers.items():
        arrays[name], widths[name] = _planes(values)
    if rest.weight is not None:
        arrays["weight"] = _deflate(np.ascontiguousarray(rest.weight[order], "<f8").view(np.uint8))
    about = {
        "documents": rest.n_docs, "cells": table.nnz, "codes": Y.nnz, "terms": len(vocabulary), "widths": widths,
        "all_terms": documents.n_terms, "bytes": int(vocabulary.to_arrays()[1][-1]),
        "grams": list(kind[:2]) if kind is not None else None, "border": kind[2] if kind is not None else None,
        "units": in_units,
    }  # fmt: skip
    packed = PackedDocuments(arrays, about, documents.classes, in_use, exclusive)
    packed.__dict__["documents"] = documents  # already known, so nothing needs unpacking
    return packed


def _split_cells(X: Sparse, *, signed: bool) -> dict[str, NDArray[Any]]:
    """The cells of documents, term by term: the number of documents of each term, the gaps between them, and the
    counts.

    Frequent terms come first: similar terms have similar gaps.
    """
    df = np.bincount(X.indices, minlength=X.shape[1])
    by_term = csc_array(csc_array(csr_array(X).tocsc())[:, np.argsort(-df, kind="stable")])
    gaps = np.diff(by_term.indices, prepend=0)
    starts = by_term.indptr[:-1]
    gaps[starts] = by_term.indices[starts]
    counts = _fold_sign(by_term.data) if signed else by_term.data
    return {"df": df, "steps": gaps, "counts": counts}


def _planes(values: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """Deflate non-negative integers: the first bytes of all, then the second bytes, ….

    Also return the width in bytes.
    """
    width = np.min_scalar_type(int(values.max(initial=0))).itemsize
    narrow = values.astype(np.dtype(INTEGERS[width]).newbyteorder("<"))
    return _deflate(narrow.view(np.uint8).reshape(-1, width).T), width


def _deflate(plain: NDArray[np.uint8], strategy: int = zlib.Z_RLE) -> NDArray[np.uint8]:
    """Deflate with run lengths and single bytes.

    Six times as fast as searching repeated strings, which gaps do not have.
    """
    deflate = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    flat = np.ascontiguousarray(plain).reshape(-1)
    pieces = [deflate.compress(flat[start : start + PIECE].data) for start in range(0, flat.size, PIECE)]
    return np.frombuffer(b"".join([*pieces, deflate.flush()]), np.uint8)


def _inflate(packed: NDArray[np.uint8], size: int, name: str) -> NDArray[np.uint8]:
    """Inflate to exactly `size` bytes."""
    if packed.ndim != 1 or packed.dtype != np.uint8 or not 0 <= size <= DEFLATED_AT_MOST * len(packed):
        raise ValueError(f"{len(packed)} bytes cannot hold their {name}")
    inflate = zlib.decompressobj()
    plain = inflate.decompress(packed.tobytes(), size + 1)
    if len(plain) != size or not inflate.eof or inflate.unused_data:
        raise ValueError(f"their {name} have a wrong length")
    return np.frombuffer(plain, np.uint8)


def _unpack(packed: PackedDocuments) -> KeptDocuments:
    """Unpack the documents; every number is checked before it is used as an index."""
    about, arrays = packed.about, packed.arrays
    n_docs, cells, n_terms = (_whole(about[name]) for name in ("documents", "cells", "terms"))

    Y = _read_labels(packed)  # first, since the labels determine the number of documents, whatever the file says
    vocabulary = packed.in_use
    if "terms" in arrays:
        vocabulary = _read_terms(packed, "", n_terms, _whole(about["bytes"]))
    if len(vocabulary) != n_terms:
        raise ValueError(f"they have {n_terms} terms and the vocabulary has {len(vocabulary)}")
    X = _read_cells(packed, "", (n_docs, n_terms), cells, signed=packed.predicts_grams)
    followers = None
    if "followers" in arrays:
        followers = list_followers(_read(packed, "followers", int(X.data.sum()), 0, n_terms + 1), X)
        check_followers(vocabulary, X, followers)
    weight = None
    if "weight" in arrays:
        weight = _inflate(arrays["weight"], 8 * n_docs, "weights").view("<f8").astype(np.float64)
        if not bool(np.all((weight > 0) & (weight < 2.0**1000))):
            raise ValueError("a weight is not above 0")
    documents = KeptDocuments(packed.classes, vocabulary, X, Y, weight, followers=followers)
    if about["grams"] is None:
        return documents.in_order()
    shortest, longest = (_whole(size) for size in about["grams"])
    border = "_" if _is_early(about) else about["border"]
    if not 1 <= shortest <= longest <= LONGEST_NGRAM or border not in BORDERS.values():
        raise ValueError(f"their character n-grams have {shortest} to {longest} characters and the border {border!r}")
    kind = (shortest, longest, border)
    if _is_early(about) or about["units"] is None:
        return with_grams(documents, kind).in_order()
    units = _read_units(packed, n_docs, kind)
    if units.most_grams() > MOST_GRAMS:
        raise ValueError("their units have too many character n-grams")
    return replace(documents, units=units).in_order()


def _unpack_words(packed: PackedDocuments, rows: Ids) -> KeptDocuments:
    """The words and labels of some documents; every number is checked, and only a few terms are unpacked at a time."""
    about = packed.about
    n_docs, cells, n_terms = (_whole(about[name]) for name in ("documents", "cells", "terms"))
    Y, vocabulary = _read_labels(packed), packed.in_use
    if "terms" in packed.arrays:
        vocabulary = _read_terms(packed, "", n_terms, _whole(about["bytes"]))
    if len(vocabulary) != n_terms or packed.predicts_grams:
        # the file is damaged, which `_unpack` reports, or its counts are differences to predicted ones
        documents = _unpack(packed)
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


def _read_units(packed: PackedDocuments, n_docs: int, kind: GramKind) -> GramUnits:
    """The units that character n-grams are cut from."""
    cells, n_terms, size = (_whole(packed.about["units"][name]) for name in ("cells", "terms", "bytes"))
    X = _read_cells(packed, "unit_", (n_docs, n_terms), cells, signed=False)
    X = csr_array((X.data.astype(np.int32), X.indices, X.indptr), shape=X.shape)
    return GramUnits(_read_terms(packed, "unit_", n_terms, size), X, kind)


def _read_terms(packed: PackedDocuments, start: str, n_terms: int, size: int) -> Vocabulary:
    """The terms in the arrays whose names begin with `start`, of `size` bytes in total."""
    blob = _inflate(packed.arrays[f"{start}terms"], size, "terms")
    sizes = _read(packed, f"{start}sizes", n_terms, 0, len(blob) + 1)
    return Vocabulary.from_arrays(blob, np.concatenate([[0], np.cumsum(sizes)]))


def _is_early(about: dict[str, Any]) -> bool:
    """Whether the file predates n-grams across spaces: n-grams are inside words, and no count is negative."""
    return "border" not in about


def _read(packed: PackedDocuments, name: str, size: int, least: int, below: int) -> NDArray[np.int64]:
    """The numbers called `name`; an error unless there are `size` of them, each from `least` to `below` − 1."""
    return _plane_reader(packed, name, size, least, below)(0, size)


def _plane_reader(
    packed: PackedDocuments, name: str, size: int, least: int, below: int
) -> Callable[[int, int], NDArray[np.int64]]:
    """A function (start, end) that reads and checks part of the numbers called `name`."""
    width = packed.about["widths"][name]
    planes = _inflate(packed.arrays[name], size * width, name).reshape(width, size)

    def read(first: int, last: int) -> NDArray[np.int64]:
        part = np.ascontiguousarray(planes[:, first:last].T)
        values = part.view(np.dtype(INTEGERS[width]).newbyteorder("<")).ravel()
        if values.size and (int(values.min()) < least or int(values.max()) >= below):
            raise ValueError(f"their {name} are not all from {least} to {below - 1}")
        return values.astype(np.int64)

    return read


def _read_labels(packed: PackedDocuments) -> Sparse:
    """Y (n_docs, n_classes); exactly one label each if classes are exclusive."""
    n_docs, n_codes, n_classes = _whole(packed.about["documents"]), _whole(packed.about["codes"]), len(packed.classes)
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


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise ValueError(f"{str(value)[:20]} is not a number of documents, cells or terms")
    return value


def _read_cells(packed: PackedDocuments, start: str, shape: tuple[int, int], cells: int, *, signed: bool) -> Sparse:
    """The table in the arrays whose names begin with `start`.

    Rows are cumulative sums of gaps, restarted for each term.
    """
    n_docs, n_terms = shape
    df, order, steps = _read_frequencies(packed, start, shape, cells)
    gaps = _read(packed, steps, cells, 0, n_docs)
    counts = _read(packed, f"{start}counts", cells, 1, 2**32 if signed else 2**31)
    counts = _unfold_sign(counts) if signed else counts
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


def _fold_sign(values: NDArray[Any]) -> NDArray[np.int64]:
    """Map integers to non-negative ones: 0, −1, 1, −2, 2, … → 0, 1, 2, 3, 4, …"""
    wide = values.astype(np.int64)
    return np.where(wide < 0, -2 * wide - 1, 2 * wide)


def _unfold_sign(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The inverse of `_fold_sign`."""
    return np.where(values % 2 == 1, -(values + 1) // 2, values // 2)
