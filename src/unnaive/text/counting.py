"""Texts → CSR counts over a growing or fixed vocabulary, by the kernel if it is built, otherwise by reference.py."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.sparse import csr_array
from unnaive.base.thread_count import thread_count
from unnaive.text.backend import BACKEND, engine_kind
from unnaive.text.buffer import TextBuffer, Texts, as_texts
from unnaive.text.choose_engine import engine_for
from unnaive.text.fixed_point import add_columns, decode_vectors, vector_keys, vector_terms
from unnaive.text.scoring import TextScorer
from unnaive.text.small_files import read_files
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.text.gram_units import GramUnits
    from unnaive.text.native import SummedTexts

__all__ = ["BACKEND", "TextBuffer", "TextCounter", "TextScorer", "as_texts", "read_files"]


class TextCounter:
    """Counts the terms of texts; ids follow the order of first occurrence, whatever the number of threads.

    >>> counter = TextCounter()
    >>> counter.count(["good ball, good game", "fair vote"], grow=True).toarray()
    array([[2, 1, 1, 0, 0],
           [0, 0, 0, 1, 1]], dtype=int32)
    >>> counter.vocabulary.terms, counter.count(["a fair ball and a new rule"]).toarray()
    (['good', 'ball', 'game', 'fair', 'vote'], array([[0, 1, 0, 1, 0]], dtype=int32))
    """

    def __init__(
        self,
        rule: TokenRule | None = None,
        vocabulary: Vocabulary | None = None,
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        self.rule = rule if rule is not None else TokenRule()
        self.threads = thread_count(threads)
        self.backend = engine_kind(backend)
        self._vector_keys = vector_keys(self.rule.fields)
        terms = Vocabulary() if vocabulary is None else vocabulary
        if vocabulary is None:  # the columns of vectors come first, so that later terms do not move them
            for key in self._vector_keys:
                terms = terms.followed_by(vector_terms(*key))
        self._engine = engine_for(self.rule, terms, self.threads, self.backend)
        self._vector_columns = [terms.ids(vector_terms(*key)).astype(np.int32) for key in self._vector_keys]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, also in other processes, start from the present vocabulary."""
        return TextCounter, (self.rule, self.vocabulary, self.threads, self.backend)

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms so far, as a value that later counting does not change."""
        return self._engine.vocabulary()

    def final_vocabulary(self) -> Vocabulary:
        """The vocabulary of a counter that learns no more, with the kernel's table of it for a scorer."""
        return self._engine.final_vocabulary()

    def count(self, texts: Any, grow: bool = False, *, ordered: bool = True) -> csr_array:
        """(n_texts, n_terms) counts; new terms are added to the vocabulary if `grow`, otherwise they are ignored.

        Without `ordered`, the terms of a row may be in any order: this is faster, and enough for sums over texts.
        """
        return self._table([self._engine.count(chunk, grow, ordered) for chunk in _chunks(texts)], texts, ordered)

    def sum_classes(self, texts: Any, classes: NDArray[np.int32], n_classes: int) -> SummedTexts | None:
        """The sums of texts with one class each, by a new counter, which then learns no more.

        None if only `count` can read them: without the kernel, for character n-grams, vectors, texts in several
        buffers, or if a sum might exceed 32 bits.

        >>> sums = TextCounter().sum_classes(["good ball", "fair vote", "good"], np.array([1, 0, 1], np.int32), 2)
        >>> sums.vocabulary.terms, sums.ends.tolist(), sums.columns, sums.sums
        (['ball', 'fair', 'good', 'vote'], [0, 2, 4], array([1, 3, 0, 2], dtype=int32), array([1, 1, 1, 2]))
        """
        chunks = _chunks(texts)
        if len(chunks) != 1 or self._vector_keys or not hasattr(self._engine, "sum_classes"):
            return None
        sums: SummedTexts | None = self._engine.sum_classes(chunks[0], classes, n_classes)
        return sums

    def count_with_units(self, texts: Any) -> tuple[csr_array, GramUnits | None]:
        """`count` with a growing vocabulary, and the units of character n-grams; None without the kernel."""
        if not hasattr(self._engine, "count_with_units"):
            return self.count(texts, grow=True), None
        parts = [self._engine.count_with_units(chunk) for chunk in _chunks(texts)]
        units = reduce(add, [units for _, units in parts]) if parts else None
        return self._table([rows for rows, _ in parts], texts), units

    def count_arrays(self, texts: Any, grow: bool = False) -> tuple[Any, Any, Any, tuple[int, int]]:
        """(data, indices, indptr, shape) of the result of `count`, without importing SciPy."""
        parts = [self._engine.count(chunk, grow) for chunk in _chunks(texts)]
        if not self._vector_keys:
            return self._arrays(parts)
        table = self._table(parts, texts)
        return table.data, table.indices, table.indptr, table.shape

    def _table(self, parts: list[Any], texts: Any, ordered: bool = True) -> csr_array:
        *arrays, shape = self._arrays(parts)
        counts = csr_array(tuple(arrays), shape=shape)
        if ordered:
            counts.has_canonical_format = True  # known, so SciPy need not check it
        for (key, n_dims), columns in zip(self._vector_keys, self._vector_columns, strict=True):
            known = columns >= 0
            counts = add_columns(counts, decode_vectors(as_texts(texts), key, n_dims)[:, known], columns[known])
        return counts

    def _arrays(self, parts: list[Any]) -> tuple[Any, Any, Any, tuple[int, int]]:
        data, indices, indptr = _joined(parts)
        return data, indices, indptr, (len(indptr) - 1, len(self._engine))


def _chunks(texts: Any) -> Sequence[Texts]:
    """The existing buffers that hold the texts."""
    documents = as_texts(texts)
    return documents.chunks if isinstance(documents, TextBuffer) else (documents,)


def _joined(parts: list[Any]) -> Any:
    """Concatenate several parts (counts, ids, row offsets)."""
    if len(parts) == 1:
        return parts[0]
    ends = [parts[0][2][:1]] if parts else [np.zeros(1, np.int64)]
    for _, _, indptr in parts:
        ends.append(indptr[1:] + ends[-1][-1])
    empty = np.zeros(0, np.int32)
    data, indices = (np.concatenate([part[number] for part in parts] or [empty]) for number in (0, 1))
    return data, indices, np.concatenate(ends)
