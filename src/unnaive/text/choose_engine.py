"""Choose the native or the reference engine by name; the native modules are imported only if used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.text.reference import LinearArrays, ReferenceEngine, ReferenceScorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.text.characters import CharacterEngine
    from unnaive.text.native import NativeEngine, NativeScorer

    Engine = ReferenceEngine | NativeEngine
    Scorer = ReferenceScorer | NativeScorer


def engine_for(rule: TokenRule, vocabulary: Vocabulary, threads: int, backend: str) -> Engine | CharacterEngine:
    """The engine that `backend` names, over a vocabulary of word terms, character n-grams or both."""
    if rule.analyzer == "word" or backend == "reference":
        return word_engine(rule, vocabulary, threads, backend)
    from unnaive.text.characters import CharacterEngine

    return CharacterEngine(rule, vocabulary, threads, lambda words, terms: word_engine(words, terms, threads, backend))


def word_engine(rule: TokenRule, vocabulary: Vocabulary, threads: int, backend: str) -> Engine:
    """The engine that `backend` names, for word terms."""
    if backend == "reference" or rule.segmenter is not None:  # segmenters are Python
        return ReferenceEngine(rule, vocabulary)
    from unnaive.text.native import NativeEngine

    return NativeEngine(rule, vocabulary, threads)


def scorer_for(rule: TokenRule, vocabulary: Vocabulary, linear: LinearArrays, threads: int, backend: str) -> Scorer:
    """The scorer that `backend` names, with a new engine; the kernel's scorer reads words only."""
    if backend == "reference" or rule.segmenter is not None or rule.analyzer != "word":
        return ReferenceScorer(ReferenceEngine(rule, vocabulary), linear)
    from unnaive.text.native import NativeScorer

    return NativeScorer(rule, vocabulary, linear, threads)
