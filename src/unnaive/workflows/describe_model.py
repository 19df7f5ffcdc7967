"""A model and its file as plain values: settings, reading, decision, and the strongest terms of each class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


def describe_file(fitted: FittedModel, path: Path, labels: list[Any], terms: int) -> dict[str, Any]:
    """A model and its file, as plain values."""
    from unnaive.classifier.model_file import documents_bytes
    from unnaive.learning.calibration import Temperature
    from unnaive.workflows.model_card import class_thresholds, describe_decision
    from unnaive.workflows.training_result import find_search

    statistic, spec, search = fitted.statistic, fitted.spec, find_search(fitted)
    documents = {} if statistic is None else dict(zip(fitted.classes, statistic.class_docs.tolist(), strict=True))
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "model": spec.model.traits.name,
        "title": spec.model.traits.title,
        "settings": spec.model.changed_settings(),
        "reading": {name: value for name, value in fitted.reading.items() if value not in (None, False)},
        "training": spec.changed_options(),
        "min_df": spec.min_df,
        "select": spec.select,
        "labels": "any number for each document" if fitted.multilabel else "one for each document",
        "decision": describe_decision(fitted.decision),
        "thresholds": class_thresholds(fitted),
        "calibration": fitted.calibration and fitted.calibration.kind,
        "temperature": fitted.calibration.value if isinstance(fitted.calibration, Temperature) else None,
        "optimised_for": describe_objective(spec.optimise),
        "probabilistic": fitted.probabilistic,
        "calibrated": fitted.calibrated,
        "held_out_documents": fitted.conformal and fitted.conformal.n_documents,
        "documents": None if statistic is None else _plain_number(statistic.n_docs),
        "documents_bytes": documents_bytes(path),
        "terms": fitted.scorer.n_terms,
        "terms_seen": None if statistic is None else statistic.n_terms,
        "can_be_updated": statistic is not None,
        **({} if search is None else {"search": search}),
        "classes": [
            {
                "class": label,
                "documents": documents.get(label),
                "threshold": class_thresholds(fitted).get(str(label)),
                "terms": fitted.strongest_terms(label, terms),
            }
            for label in labels
        ],
    }


def describe_objective(optimise: Any) -> str:
    """The aim of the decision, in words."""
    if isinstance(optimise, dict):
        return "least expected cost"
    return {"macro-f1": "macro F1"}.get(optimise, str(optimise or "accuracy"))


def _plain_number(value: Any) -> float | int:
    return int(value) if value == int(value) else float(value)
