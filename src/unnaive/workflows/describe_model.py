"""A model and its file as plain values: settings, reading, decision, and the strongest terms of each class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel


def describe_file(fitted: FittedModel, path: Path, labels: list[Any], terms: int) -> dict[str, Any]:
    """The card of a model, with its file, how it was trained, and whether it can be updated."""
    from unnaive.classifier.model_file import documents_bytes
    from unnaive.learning.calibration import Temperature
    from unnaive.workflows.model_card import class_thresholds, model_card
    from unnaive.workflows.training_result import find_search

    statistic, spec, search = fitted.statistic, fitted.spec, find_search(fitted)
    card = model_card(fitted, terms, labels)
    classes = [
        {"class": row.pop("label"), **row, "terms": [(one["term"], one["value"]) for one in row["terms"]]}
        for row in card.pop("classes")
    ]
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        **card,
        "reading": {name: value for name, value in fitted.reading.items() if value not in (None, False)},
        "training": spec.changed_options(),
        "min_df": spec.min_df,
        "select": spec.select,
        "labels": "any number for each document" if fitted.multilabel else "one for each document",
        "thresholds": class_thresholds(fitted),
        "calibration": fitted.calibration and fitted.calibration.kind,
        "temperature": fitted.calibration.value if isinstance(fitted.calibration, Temperature) else None,
        "optimised_for": describe_objective(spec.optimise),
        "held_out_documents": fitted.conformal and fitted.conformal.n_documents,
        "documents_bytes": documents_bytes(path),
        "terms_seen": None if statistic is None else statistic.n_terms,
        "can_be_updated": statistic is not None,
        **({} if search is None else {"search": search}),
        "classes": classes,
    }


def describe_objective(optimise: Any) -> str:
    """The aim of the decision, in words."""
    if isinstance(optimise, dict):
        return "least expected cost"
    return {"macro-f1": "macro F1"}.get(optimise, str(optimise or "accuracy"))
