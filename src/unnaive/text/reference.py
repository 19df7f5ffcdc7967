"""Counting and scoring in plain Python: the slow reference that the kernel must equal."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.base.errors import BadData
from unnaive.base.locks import fork_safe_lock
from unnaive.base.sparse import csr_array
from unnaive.base.types import Floats
from unnaive.text.buffer import LARGEST_TEXT, Texts
from unnaive.text.tokens import TokenRule, tokens
from unnaive.text.vocabulary import Vocabulary

_CHUNK = 1024  # texts whose scores are in memory at a time while finding the best class
CsrParts = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]


class ReferenceEngine:
    """Term ids in a dict, by first occurrence; in every call word terms come before character n-grams."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary) -> None:
        self.rule = rule
        self._passes = [
            replace(rule, analyzer=analyzer) for analyzer in ("word", "char") if rule.analyzer in (analyzer, "both")
        ]
        self.ids = {term: number for number, term in enumerate(vocabulary)}
        self._growing = fork_safe_lock()  # two threads must not give one id to two terms

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, texts: Texts, grow: bool, ordered: bool = True) -> CsrParts:  # always ordered
        """(counts, ids, row offsets) of the texts; ids ascend in each row."""
        for number, text in enumerate(texts):
            if len(text) > LARGEST_TEXT:
                raise BadData(
                    f"text {number} has {len(text)} characters, more than the maximum of {LARGEST_TEXT}; split it"
                )
        with self._growing if grow else nullcontext():
            passes = [[self._row(tokens(text, rule), grow) for text in texts] for rule in self._passes]
        rows = [sorted(sum(parts, Counter()).items()) for parts in zip(*passes, strict=True)]
        cells = [cell for row in rows for cell in row]
        ends = np.cumsum([0, *map(len, rows)])
        width = np.int32 if ends[-1] < 1 << 31 else np.int64
        ids, counts = [term_id for term_id, _ in cells], [count for _, count in cells]
        return np.asarray(counts, np.int32), np.asarray(ids, np.int32), ends.astype(width)

    def _row(self, terms: list[str], grow: bool) -> Counter[int]:
        if grow:
            return Counter(self.ids.setdefault(term, len(self.ids)) for term in terms)
        return Counter(self.ids[term] for term in terms if term in self.ids)

    def vocabulary(self) -> Vocabulary:
        """The terms so far."""
        with self._growing:
            return Vocabulary(self.ids)

    final_vocabulary = vocabulary  # the reference has no native table to hand over


@dataclass(frozen=True, eq=False)
class LinearArrays:
    """A linear model as arrays: weights `arcs` (n_classes, n_terms), dense or sparse; dense backgrounds and bias."""

    arcs: Any
    class_background: Floats
    term_background: Floats
    bias: Floats
    binary: bool


class ReferenceScorer:
    """Scores as the product of sparse counts with the weights."""

    def __init__(self, engine: ReferenceEngine, linear: LinearArrays) -> None:
        self.engine = engine
        self.linear = replace(linear, arcs=linear.arcs.tocsr()) if hasattr(linear.arcs, "tocsr") else linear

    def scores_and_known(self, texts: Texts, clear: float = np.inf) -> tuple[Floats, NDArray[np.int64]]:
        """(n_texts, n_classes) scores, and (n_texts,) the number of known term occurrences of each text.

        The kernel may skip exact scores if the best class leads by more than `clear`; this engine ignores `clear`.
        """
        counts, ids, ends = self.engine.count(texts, grow=False)
        n_known = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])[ends])
        counts = np.ones_like(counts) if self.linear.binary else counts
        x = csr_array((counts.astype(np.float64), ids, ends), shape=(len(texts), len(self.engine)))
        seen = x @ self.linear.arcs.T
        seen = seen.toarray() if hasattr(seen, "toarray") else seen
        shared = np.outer(x.sum(axis=1), self.linear.class_background) + (x @ self.linear.term_background)[:, None]
        return np.asarray(seen + (shared + self.linear.bias)), n_known

    def best(self, texts: Texts) -> NDArray[np.int64]:
        """(n_texts,) the class with the highest score; the first of equal ones."""
        chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
        classes = [self.scores_and_known(chunk)[0].argmax(axis=1) for chunk in chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *classes])
