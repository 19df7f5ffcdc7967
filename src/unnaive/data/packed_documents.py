"""PackedDocuments: kept documents in the compact form of a model file; they are unpacked and checked when needed.

Documents are sorted by class and written term by term, frequent terms first: for each term the number of documents that
have it, the gaps between their row numbers, and the counts, all as deflated integers (byte_planes.py). Pairs of words
are written as the followers of each word (followers.py). Character n-grams are omitted if their units, the strings they
were cut from, are known: the units are written in the same way and cut again on reading. Otherwise only the difference
to the n-grams predicted from the words is written: X_grams = X_words · G + rest. Next to punctuation the prediction is
too high, so the rest can be negative. The numbers of vectors are written column by column, 0 for no vector.
unpack_documents.py reads them back.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadModel, refuse_damaged
from unnaive.base.lazy import lazy_property
from unnaive.base.sparse import csc_array, csr_array
from unnaive.base.types import Arrays, Ids, Label, Sparse
from unnaive.data.array_rules import ArrayRule, Rules, check_keys, check_rules
from unnaive.data.byte_planes import INTEGERS, NUMBER, deflate, deflate_integers, fold_sign, most_unpacked
from unnaive.data.kept_documents import KeptDocuments
from unnaive.data.packed_grams import without_grams
from unnaive.data.unpack_documents import check_whole, is_early, unpack_documents, unpack_labels, unpack_words
from unnaive.data.vector_rows import pack_cells, without_vectors
from unnaive.text.gram_units import GramKind
from unnaive.text.vocabulary import Vocabulary

SIZES = ("documents", "cells", "codes", "terms", "all_terms", "bytes")


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
        with refuse_damaged("the documents kept in this model are"):
            _check_parts(arrays, about)
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
    def most_unpacked(self) -> int:
        """The most bytes that any of the arrays may take in memory; `pack_documents` stays below it."""
        return most_unpacked(self.nbytes)

    @property
    def n_terms(self) -> int:
        """The number of terms according to the file."""
        return int(self.about["all_terms"])

    @property
    def predicts_grams(self) -> bool:
        """Whether counts of character n-grams are differences to those predicted from the words."""
        return self.about["grams"] is not None and not is_early(self.about) and self.about["units"] is None

    @property
    def class_docs(self) -> NDArray[np.int64]:
        """The number of documents of each class (n_classes,); only the labels are unpacked."""
        return np.bincount(self._checked(unpack_labels).indices, minlength=len(self.classes))

    @lazy_property
    def documents(self) -> KeptDocuments:
        """The documents; an error if they are damaged."""
        documents: KeptDocuments = self._checked(unpack_documents)
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
        documents: KeptDocuments = self._checked(lambda packed: unpack_words(packed, rows))
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
    check_keys(about, *SIZES, "widths", "grams", *({"border", "units", "vectors"} & set(about)))
    if is_early(about) and about.get("units") is not None:
        raise ValueError("their units have no kind")
    for name in SIZES:
        check_whole(about[name])
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
    if about.get("vectors") is not None:
        check_keys(about["vectors"], "terms", "bytes")
        numbers |= {"vectors", "vector_sizes"}
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
    names, in_units = {"terms": vocabulary} if vocabulary != without_vectors(in_use) else {}, None
    if units is not None:
        numbers |= {f"unit_{name}": values for name, values in _split_cells(units.X[order], signed=False).items()}
        names["unit_terms"] = units.vocabulary
        blob = units.vocabulary.to_arrays()[0]
        in_units = {"cells": units.X.nnz, "terms": len(units.vocabulary), "bytes": len(blob)}
    if rest.vectors is not None:
        numbers["vectors"], names["vector_terms"] = pack_cells(rest.vectors.cells[order].T), rest.vectors.terms
    arrays, widths = {}, {}
    for name, terms in names.items():
        blob, offsets = terms.to_arrays()
        arrays[name] = deflate(blob, zlib.Z_DEFAULT_STRATEGY)
        numbers[name.replace("terms", "sizes")] = np.diff(offsets)
    if rest.weight is not None:
        arrays["weight"] = deflate(np.ascontiguousarray(rest.weight[order], "<f8").view(np.uint8))
    for name, values in numbers.items():
        arrays[name], widths[name] = deflate_integers(values)
    longest = max(values.size for values in numbers.values())
    if NUMBER * longest > most_unpacked(sum(array.nbytes for array in arrays.values())):
        # millions of copies of a few texts: without runs, a number takes at least one bit, which is not refused
        for name, values in numbers.items():
            arrays[name], widths[name] = deflate_integers(values, zlib.Z_HUFFMAN_ONLY)
    about = {
        "documents": rest.n_docs, "cells": table.nnz, "codes": Y.nnz, "terms": len(vocabulary), "widths": widths,
        "all_terms": documents.n_terms, "bytes": int(vocabulary.to_arrays()[1][-1]),
        "grams": list(kind[:2]) if kind is not None else None, "border": kind[2] if kind is not None else None,
        "units": in_units,
    }  # fmt: skip
    if rest.vectors is not None:
        blob = rest.vectors.terms.to_arrays()[0]
        about["vectors"] = {"terms": len(rest.vectors.terms), "bytes": len(blob)}
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
    counts = fold_sign(by_term.data) if signed else by_term.data
    return {"df": df, "steps": gaps, "counts": counts}
