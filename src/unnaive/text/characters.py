"""Character n-grams, counted natively through the chunks or words (units) that they are cut from.

X_grams = X_units · G, where row u of G has the n-grams of unit u. The kernel counts units, cuts each distinct unit
once, and sums the n-grams of a document's units. tokens.py is the specification.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from unnaive.base.locks import fork_safe_lock
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


class CharacterEngine:
    """Counts character n-grams, and with analyzer "both" also word terms; in every call word terms come first.

    `make` builds the engine that counts word terms by a rule.
    """

    def __init__(
        self, rule: TokenRule, vocabulary: Vocabulary, threads: int, make: Callable[[TokenRule, Vocabulary], Any]
    ) -> None:
        self.rule, self.threads = rule, threads
        self._parts, self._size = [vocabulary], len(vocabulary)
        is_gram = which_are_grams(vocabulary)
        self._kind = (*rule.char_ngrams, BORDERS[rule.char_borders])
        self._grams = make_grams(self._kind, vocabulary, np.flatnonzero(is_gram))
        self._term_engine: Any = None
        self._term_columns = NO_CELLS
        if rule.analyzer == "both":
            word_ids = np.flatnonzero(~is_gram)
            self._term_engine = make(replace(rule, analyzer="word"), vocabulary.take(word_ids))
            self._term_columns = word_ids.astype(np.int32)
        self._lock = fork_safe_lock()  # counting caches units, even if the vocabulary is fixed
        self._unit_engine = self._make_unit_engine()

    def __len__(self) -> int:
        return self._size

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        with self._lock:
            if len(self._parts) > 1:
                arrays = [part.to_arrays() for part in self._parts]
                sizes = np.concatenate([np.diff(offsets) for _, offsets in arrays])
                offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
                self._parts = [Vocabulary.trusted(np.concatenate([blob for blob, _ in arrays]), offsets)]
            return self._parts[0]

    def count(self, texts: Texts, grow: bool) -> KernelRows:
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
        with self._lock:
            words = self._count_terms(texts, grow)
            units = self._count_units(texts, grow)
            return work(MixedRows(self._grams, units, words))

    def _count_terms(self, texts: Texts, grow: bool) -> tuple[Any, Any, Any, Any]:
        if self._term_engine is None:
            return NO_CELLS, NO_CELLS, np.zeros(len(texts) + 1, np.int64), NO_CELLS
        before = len(self._term_engine)
        counts, ids, ends = self._term_engine.count(texts, grow)
        more = len(self._term_engine) - before
        if more:
            self._term_columns = np.concatenate([self._term_columns, np.arange(len(self), len(self) + more)]).astype(
                np.int32
            )
            self._append(self._term_engine.vocabulary().since(before))
        return counts, ids.astype(np.int32, copy=False), ends.astype(np.int64), self._term_columns

    def _count_units(self, texts: Texts, grow: bool) -> KernelRows:
        full = len(self._unit_engine) > REMEMBERED or self._grams.cells() > REMEMBERED_CELLS
        if full or (grow and self._grams.partial()):
            self._grams.forget()
            self._unit_engine = self._make_unit_engine()
        counts, ids, ends = self._unit_engine.count(texts, True)
        before = len(self._grams)
        size = self._grams.learn(self._unit_engine.kernel, grow=grow, next=len(self))
        if size > len(self):
            self._append(Vocabulary.trusted(*self._grams.terms(before, ord(GRAM))))
        return counts, ids.astype(np.int32, copy=False), ends.astype(np.int64)

    def _append(self, terms: Vocabulary) -> None:
        self._parts.append(terms)
        self._size += len(terms)

    def _make_unit_engine(self) -> NativeEngine:
        units = replace(
            self.rule, analyzer="word", ngrams=(1, 1), min_length=1, stopwords=None, stem=None, unspaced="whole",
            segmenter=None, fields=None if self.rule.fields is None else shared_fields(self.rule.fields),
        )  # fmt: skip
        return NativeEngine(units, Vocabulary(), self.threads, chunks=self.rule.char_borders == "spaces")
