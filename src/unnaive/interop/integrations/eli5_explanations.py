"""eli5: `explain_weights` and `explain_prediction` of a TextClassifier, from our own explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from unnaive.base.types import Label
from unnaive.classifier.text_classifier import TextClassifier

TOP = 20  # shown terms of a class, as in eli5


def join(package: ModuleType) -> None:
    """Register both functions for TextClassifier."""
    from eli5.explain import explain_prediction, explain_weights

    explain_weights.register(TextClassifier)(_explain_weights)
    explain_prediction.register(TextClassifier)(_explain_prediction)


def _explain_weights(
    classifier: TextClassifier, vec: Any = None, top: Any = TOP, targets: Sequence[Label] | None = None, **_: Any
) -> Any:
    """The strongest terms of each class, with what one occurrence adds to its score."""
    from eli5.base import Explanation, TargetExplanation

    n_terms = len(classifier.vocabulary_)
    shown = [
        TargetExplanation(label, _weights(classifier.top_terms(label, n_terms), top))
        for label in _labels(classifier, targets)
    ]
    about = "Strongest terms of each class; the weight is what one occurrence adds to its score."
    return Explanation(repr(classifier), description=about, method="term weights", targets=shown)


def _explain_prediction(
    classifier: TextClassifier, doc: str, vec: Any = None, top: Any = None, targets: Sequence[Label] | None = None,
    top_targets: int | None = None, **_: Any,
) -> Any:  # fmt: skip
    """The contribution of each term of a text to the score of each class; <BIAS> is the rest of the score."""
    from eli5.base import Explanation, TargetExplanation

    parts = [classifier.explain(doc, label) for label in _labels(classifier, targets)]
    shown = [
        TargetExplanation(
            part.label,
            _weights([("<BIAS>", part.base), *((evidence.term, evidence.value) for evidence in part.evidence)], top),
            part.probability,
            part.score,
        )
        for part in parts
    ]
    if targets is None and top_targets is not None:
        shown = sorted(shown, key=lambda target: -target.score)[:top_targets]
    about = "What each term adds to the score of a class; the sum is the score."
    return Explanation(repr(classifier), description=about, method="term contributions", targets=shown)


def _labels(classifier: TextClassifier, targets: Sequence[Label] | None) -> list[Label]:
    return list(classifier.fitted_.classes) if targets is None else list(targets)


def _weights(terms: Iterable[tuple[str, float]], top: int | tuple[int, int] | None) -> Any:
    """The strongest `top` terms, or (for, against), with how many others there are."""
    from eli5.base import FeatureWeight, FeatureWeights

    ordered = sorted(terms, key=lambda pair: -abs(pair[1]))
    signs = [[pair for pair in ordered if pair[1] > 0], [pair for pair in ordered if pair[1] < 0]]
    if isinstance(top, tuple):
        shown = [side[:limit] for side, limit in zip(signs, top, strict=True)]
    else:
        first = ordered[:top]
        shown = [[pair for pair in first if pair[1] > 0], [pair for pair in first if pair[1] < 0]]
    weights = [[FeatureWeight(term, value) for term, value in side] for side in shown]
    return FeatureWeights(*weights, *(len(side) - len(some) for side, some in zip(signs, shown, strict=True)))
