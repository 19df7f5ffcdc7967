"""Character n-grams, counted natively through the chunks or words (units) that they are cut from.

X_grams = X_units · G, where row u of G has the n-grams of unit u. The kernel counts units, cuts each distinct unit
once, and sums the n-grams of a document's units. tokens.py is the specification.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unnaive.base.locks import Unnested, fork_safe_lock
from unnaive.base.sparse import csr_array
from unnaive.text.buffer import Texts
from unnaive.text.gram_units import GramUnits, make_grams, which_are_grams
from unnaive.text.native import NativeEngine
from unnaive.text.sections import shared_fields
from unnaive.text.tokens import BORDERS, GRAM, TokenRule
from unnaive.text.vocabulary import Vocabulary

REMEMBERED = 1 << 20  # distinct units whose n-grams are cached between calls
REMEMBERED_CELLS = 1 << 26  # most n-grams of all cached units
KernelRows = tuple[Any, Any, Any]  # counts, ids, row offsets
NO_CELLS = np.zeros(0, np.int32)


class MixedRows:
    """Documents in the kernel: rows of units, the table that cuts them into n-grams, and rows of word terms."""

    def __init__(self, grams: Any, units: KernelRows, words: tuple[Any, Any, Any, Any]) -> None:
        self.grams, self.units, self.words = grams, units, words


class Known(NamedTuple):
    """What an engine has given columns to; replaced as a whole, so that an interrupted call leaves no half of it.

    parts         the terms, in parts
    size          their number
    term_columns  the column of each term of the engine of words
    n_grams       the number of distinct n-grams in the kernel's table
    """

    parts: tuple[Vocabulary, ...]
    size: int
    term_columns: NDArray[np.int32]
    n_grams: int

    def followed_by(self, terms: Vocabulary, **changes: Any) -> Known:
        """The same with more terms."""
        return self._replace(parts=(*self.parts, terms), size=self.size + len(terms), **changes)


class CharacterEngine:
    """Counts character n-grams, and with analyzer "both" also word terms; in every call word terms come first.

    `make` builds the engine that counts word terms by a rule.
    """

    def __init__(
        self, rule: TokenRule, vocabulary: Vocabulary, threads: int, make: Callable[[TokenRule, Vocabulary], Any]
    ) -> None:
        self.rule, self.threads = rule, threads
        is_gram = which_are_grams(vocabulary)
        self._kind = (*rule.char_ngrams, BORDERS[rule.char_borders])
        self._grams = make_grams(self._kind, vocabulary, np.flatnonzero(is_gram))
        self._term_engine: Any = None
        term_columns = NO_CELLS
        if rule.analyzer == "both":
            word_ids = np.flatnonzero(~is_gram)
            self._term_engine = make(replace(rule, analyzer="word"), vocabulary.take(word_ids))
            term_columns = word_ids.astype(np.int32)
        self._known = Known((vocabulary,), len(vocabulary), term_columns, len(self._grams))
        self._lock = fork_safe_lock()  # counting caches units, even if the vocabulary is fixed
        self._unnested = Unnested()
        self._unit_engine = self._make_unit_engine()

    def __len__(self) -> int:
        return self._known.size

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        with self._lock:
            if len(self._known.parts) > 1:
                arrays = [part.to_arrays() for part in self._known.parts]
                sizes = np.concatenate([np.diff(offsets) for _, offsets in arrays])
                offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
                whole = Vocabulary.trusted(np.concatenate([blob for blob, _ in arrays]), offsets)
                self._known = self._known._replace(parts=(whole,))
            return self._known.parts[0]

    final_vocabulary = vocabulary  # a scorer of n-grams needs other tables

    def count(self, texts: Texts, grow: bool, ordered: bool = True) -> KernelRows:  # always ordered
        """(counts, ids, row offsets) of the texts; ids ascend in each row."""
        return self.use(texts, grow, lambda rows: rows.grams.join(rows.units, rows.words, len(self), self.threads))  # type: ignore[no-any-return]

    def count_with_units(self, texts: Texts) -> tuple[KernelRows, GramUnits]:
        """`count` with a growing vocabulary, and the units that the n-grams were cut from."""

        def work(rows: MixedRows) -> tuple[KernelRows, GramUnits]:
            counts, ids, ends = rows.units
            X = csr_array((counts, ids, ends), shape=(len(ends) - 1, len(self._unit_engine)))
            units = GramUnits(self._unit_engine.vocabulary(), X, self._kind)
            return rows.grams.join(rows.units, rows.words, len(self), self.threads), units

        return self.use(texts, True, work)  # type: ignore[no-any-return]

    def use(self, texts: Texts, grow: bool, work: Callable[[MixedRows], Any]) -> Any:
        """Call `work` on the rows of the texts, holding the lock on the cached units."""
        with self._lock, self._unnested:
            words = self._count_terms(texts, grow)
            units = self._count_units(texts, grow)
            return work(MixedRows(self._grams, units, words))

    def _count_terms(self, texts: Texts, grow: bool) -> tuple[Any, Any, Any, Any]:
        if self._term_engine is None:
            return NO_CELLS, NO_CELLS, np.zeros(len(texts) + 1, np.int64), NO_CELLS
        counts, ids, ends = self._term_engine.count(texts, grow)
        before = len(self._known.term_columns)
        if len(self._term_engine) > before:
            terms = self._term_engine.vocabulary().since(before)
            columns = np.arange(len(self), len(self) + len(terms), dtype=np.int32)
            columns = np.concatenate([self._known.term_columns, columns])
            self._known = self._known.followed_by(terms, term_columns=columns)
        return counts, ids.astype(np.int32, copy=False), ends.astype(np.int64), self._known.term_columns

    def _count_units(self, texts: Texts, grow: bool) -> KernelRows:
        full = len(self._unit_engine) > REMEMBERED or self._grams.cells() > REMEMBERED_CELLS
        if full or (grow and self._grams.partial()):
            self._grams.forget()
            self._unit_engine = self._make_unit_engine()
        counts, ids, ends = self._unit_engine.count(texts, True)
        before = self._known.n_grams
        self._grams.learn(self._unit_engine.kernel, grow=grow, next=len(self), known=before)
        if len(self._grams) > before:
            terms = Vocabulary.trusted(*self._grams.terms(before, ord(GRAM)))
            self._known = self._known.followed_by(terms, n_grams=len(self._grams))
        return counts, ids.astype(np.int32, copy=False), ends.astype(np.int64)

    def _make_unit_engine(self) -> NativeEngine:
        units = replace(
            self.rule, analyzer="word", ngrams=(1, 1), min_length=1, stopwords=None, stem=None, unspaced="whole",
            segmenter=None, fields=None if self.rule.fields is None else shared_fields(self.rule.fields),
        )  # fmt: skip
        return NativeEngine(units, Vocabulary(), self.threads, chunks=self.rule.char_borders == "spaces")
