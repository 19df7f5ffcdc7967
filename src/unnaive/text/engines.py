"""Either engine by name; the kernel's module is only looked at where there is a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.text.reference import LinearArrays, ReferenceEngine, ReferenceScorer
from unnaive.text.tokens import TokenRule
from unnaive.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unnaive.text.native import NativeEngine, NativeScorer

    Engine = ReferenceEngine | NativeEngine
    Scorer = ReferenceScorer | NativeScorer


def engine_for(rule: TokenRule, vocabulary: Vocabulary, threads: int, backend: str) -> Engine:
    """The engine that `backend` names, over a vocabulary."""
    if backend == "reference":
        return ReferenceEngine(rule, vocabulary)
    from unnaive.text.native import NativeEngine

    return NativeEngine(rule, vocabulary, threads)


def scorer_for(engine: Engine, linear: LinearArrays) -> Scorer:
    """A scorer over the engine's terms."""
    if isinstance(engine, ReferenceEngine):
        return ReferenceScorer(engine, linear)
    from unnaive.text.native import NativeScorer

    return NativeScorer(engine, linear)
