"""Counting and scoring with tokens.py and a dict: slow, plain, and what the kernel must equal."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.text.buffer import Texts
from unnaive.text.tokens import TokenRule, tokens
from unnaive.text.vocabulary import Vocabulary

Rows = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]


class ReferenceEngine:
    """Term ids in a dict, in the order of first occurrence."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary) -> None:
        self.rule = rule
        self.ids = {term: place for place, term in enumerate(vocabulary)}

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, texts: Texts, grow: bool) -> Rows:
        """(counts, ids, where rows end) of the texts; ids ascend in each row."""
        counts: list[int] = []
        ids: list[int] = []
        ends = [0]
        for text in texts:
            row = sorted(self._row(tokens(text, self.rule), grow).items())
            ids.extend(place for place, _ in row)
            counts.extend(count for _, count in row)
            ends.append(len(ids))
        return np.asarray(counts, dtype=np.int32), np.asarray(ids, dtype=np.int32), np.asarray(ends)

    def _row(self, terms: list[str], grow: bool) -> Counter[int]:
        if grow:
            return Counter(self.ids.setdefault(term, len(self.ids)) for term in terms)
        return Counter(self.ids[term] for term in terms if term in self.ids)

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        return Vocabulary(self.ids)
