"""Texts → CSR counts over a growing or fixed vocabulary, by the kernel if it is built, else by tokens.py."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from unnaive.text.buffer import TextBuffer, Texts, as_texts
from unnaive.text.tokens import TokenRule, tokens
from unnaive.text.vocabulary import Vocabulary

__all__ = ["BACKEND", "TextBuffer", "TextCounter", "as_texts"]

BACKEND = "reference"


class _Reference:
    """Counting with tokens.py and a dict: what the kernel must equal."""

    def __init__(self, rule: TokenRule, terms: list[str]) -> None:
        self.rule = rule
        self.ids = {term: place for place, term in enumerate(terms)}

    def count(self, texts: Texts, grow: bool) -> tuple[Any, Any, Any]:
        """(counts, ids, row ends) of the texts, ids ascending in each row."""
        data: list[int] = []
        indices: list[int] = []
        indptr = [0]
        for text in texts:
            terms = tokens(text, self.rule)
            if grow:
                for term in terms:
                    self.ids.setdefault(term, len(self.ids))
            row = sorted(Counter(self.ids[term] for term in terms if term in self.ids).items())
            indices.extend(place for place, _ in row)
            data.extend(count for _, count in row)
            indptr.append(len(indices))
        return np.asarray(data, dtype=np.int32), np.asarray(indices, dtype=np.int32), np.asarray(indptr)

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        return Vocabulary(self.ids)


class TextCounter:
    """Counts the terms of texts; ids are given in the order of first occurrence, whatever the number of threads.

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
        self.rule = rule or TokenRule()
        self.threads = threads
        self._engine = _Reference(self.rule, vocabulary.terms if vocabulary is not None else [])

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms so far, as a value that later counting does not change."""
        return self._engine.vocabulary()

    def count(self, texts: Any, grow: bool = False) -> csr_array:
        """(n_texts, n_terms) counts; terms that are not in the vocabulary join it if `grow`, else they are left out."""
        data, indices, indptr = self._engine.count(as_texts(texts), grow)
        return csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(self._engine.ids)))
