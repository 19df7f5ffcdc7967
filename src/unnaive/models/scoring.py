"""Texts → scores by any Scorer: fused in one pass where the model is linear in counts, else through a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from unnaive.core.linear import Linear
from unnaive.core.scorer import Scorer
from unnaive.text.counting import TextCounter, TextScorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary
from unnaive.types import Floats

CHUNK_CELLS = 1 << 22  # scores held at a time: 32 MB of float64
CHUNK_TEXTS = 1 << 14


class TextReader:
    """A scorer with the eyes to read: a token rule and the vocabulary of its columns. Built once, used often."""

    def __init__(self, rule: TokenRule, vocabulary: Vocabulary, scorer: Scorer, threads: int | None = None) -> None:
        self.rule, self.vocabulary, self.scorer, self.threads = rule, vocabulary, scorer, threads

    @property
    def fused(self) -> TextScorer | None:
        """The scorer that needs no matrix, where there can be one."""
        return self._fused

    @cached_property
    def _fused(self) -> TextScorer | None:
        if not isinstance(self.scorer, Linear) or not counts_alone(self.scorer):
            return None
        return TextScorer(
            self.rule,
            self.vocabulary,
            self.scorer.arcs,
            self.scorer.class_background,
            self.scorer.term_background,
            self.scorer.bias,
            binary=self.scorer.weighting.tf == "binary",
            threads=self.threads,
        )

    @cached_property
    def _counter(self) -> TextCounter:
        return TextCounter(self.rule, self.vocabulary, threads=self.threads)

    def matrix(self, texts: Sequence[str]) -> Any:
        """Counts of the scorer's terms, csr_array (n_texts, n_terms)."""
        return self._counter.count(texts)

    def scores(self, texts: Sequence[str]) -> Floats:
        """Scores of every class (n_texts, n_classes)."""
        return self._fused.scores(texts) if self._fused else self.scorer.scores(self.matrix(texts))

    def chunks(self, texts: Sequence[str]) -> Iterator[Floats]:
        """Scores of the texts, some at a time, so that memory stays bounded with many classes."""
        size = max(1, min(CHUNK_TEXTS, CHUNK_CELLS // max(1, self.scorer.n_classes)))
        for start in range(0, len(texts), size):
            yield self.scores(texts[start : start + size])


def counts_alone(scorer: Linear) -> bool:
    """Whether scores are sums over the words of a text, each with its weight: no idf, no length.

    >>> counts_alone(Linear(np.zeros((2, 3)), np.zeros(2)))
    True
    """
    weighting = scorer.weighting
    return weighting.tf in ("raw", "binary") and weighting.idf is None and weighting.norm is None
