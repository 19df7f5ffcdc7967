"""The card of a model as plain values: settings, sizes, decision, classes and their strongest terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unnaive.base.types import Label
from unnaive.learning.decisions import Thresholds, TopK
from unnaive.learning.fitted import FittedModel
from unnaive.text.tokens import TokenRule

SCALES = {"scores": "score", "probabilities": "probability", "relative": "score relative to the best"}
DECISION_WORDS = {
    "argmax": "the best class",
    "weighted-argmax": "the class with the highest weighted probability, rare classes weighing more",
    "least-cost": "the class with the least expected cost",
    "proportional": "each class goes to its share of the documents",
}


def model_card(fitted: FittedModel, terms: int, labels: Sequence[Label] | None = None) -> dict[str, Any]:
    """The model card as plain values, which `inspect` and the service show.

    labels  the classes to list; all by default
    """
    statistic = fitted.statistic
    documents = {} if statistic is None else dict(zip(fitted.classes, statistic.class_docs.tolist(), strict=True))
    usual = TokenRule().to_dict()
    thresholds = class_thresholds(fitted)
    return {
        "model": fitted.spec.model.traits.name,
        "title": fitted.spec.model.traits.title,
        "settings": fitted.spec.model.changed_settings(),
        "reading": {name: value for name, value in fitted.reading.items() if value != usual.get(name)},
        "multilabel": fitted.multilabel,
        "probabilistic": fitted.probabilistic,
        "calibrated": fitted.calibrated,
        "decision": describe_decision(fitted.decision),
        "network": has_network(fitted),
        "documents": None if statistic is None else _plain_number(statistic.n_docs),
        "terms": fitted.scorer.n_terms,
        "classes": [
            {
                "label": label,
                "documents": documents.get(label),
                "threshold": thresholds.get(str(label)),
                "terms": [{"term": term, "value": value} for term, value in fitted.strongest_terms(label, terms)],
            }
            for label in (fitted.classes if labels is None else labels)
        ],
    }


def _plain_number(value: Any) -> float | int:
    return int(value) if value == int(value) else float(value)


def has_network(fitted: FittedModel) -> bool:
    """Whether the model has a Bayesian network to display."""
    from unnaive.workflows.network_views import VIEWS

    return fitted.scorer.kind in VIEWS


def describe_decision(decision: Any) -> str:
    """How scores become labels, in words.

    >>> from unnaive import TopK
    >>> describe_decision(TopK(2))
    'the 2 best classes of every document'
    """
    if isinstance(decision, TopK):
        return f"the {best_classes(decision.k)} of every document"
    if isinstance(decision, Thresholds):
        return f"every class that reaches its threshold of {SCALES[decision.on]}"
    return DECISION_WORDS.get(decision.kind, str(decision))


def best_classes(k: int) -> str:
    """The number of best classes in words.

    >>> best_classes(1), best_classes(2)
    ('best class', '2 best classes')
    """
    return "best class" if k == 1 else f"{k} best classes"


def class_thresholds(fitted: FittedModel) -> dict[str, float]:
    """The threshold of each class; empty if the decision has none."""
    decision = fitted.decision
    if not isinstance(decision, Thresholds):
        return {}
    return dict(zip(map(str, fitted.classes), decision.values, strict=True))
