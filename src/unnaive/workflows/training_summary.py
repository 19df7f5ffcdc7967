"""The result of training: sizes, measures and the search of auto, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.learning.fitted import FittedModel

UNEVEN = 10  # times as many documents in the largest class as in the smallest


def describe_training(
    model: str,
    fitted: FittedModel,
    output: Path,
    *,
    n_docs: int | None,
    seconds: float,
    read: str,
    sizes: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The model in the file `output` and its training, as plain values.

    model    its name in the catalogue
    n_docs   number of training documents; None if they were not counted
    seconds  from the first document read to the file
    read     which columns were read, for people
    sizes    documents of each label, if they were counted
    """
    from unnaive.classifier.model_file import documents_bytes

    return {
        "model": model,
        "file": str(output),
        "bytes": output.stat().st_size,
        "documents_bytes": documents_bytes(output),
        "documents": n_docs,
        "classes": len(fitted.classes),
        "terms": fitted.scorer.n_terms,
        "multilabel": fitted.multilabel,
        "seconds": round(seconds, 3),
        "read": read,
        "decides": describe_aim(fitted, sizes or {}),
        **describe_search(fitted),
    }


def describe_aim(fitted: FittedModel, sizes: Mapping[str, int]) -> str:
    """The aim of the decision, and a hint at --optimise for imbalanced classes; "" for the default."""
    from unnaive.base.errors import count_noun

    optimise = fitted.spec.optimise
    if isinstance(optimise, dict):
        return "the decision minimises the expected cost (--optimise)"
    weights = getattr(fitted.decision, "weights", None)
    if optimise == "macro-f1" and weights:
        return (
            f"the decision maximises macro F1 (--optimise), with class weights from {min(weights):.2g} to "
            f"{max(weights):.2g}, tuned on held-out documents"
        )
    if optimise is not None or fitted.multilabel or not sizes:
        return ""
    small, large = min(sizes, key=lambda label: sizes[label]), max(sizes, key=lambda label: sizes[label])
    if sizes[large] < UNEVEN * sizes[small]:
        return ""
    return (
        f"the classes are imbalanced ({large}: {count_noun(sizes[large], 'document')}, {small}: {sizes[small]:,}), "
        "and the decision maximises accuracy; --optimise macro-f1 predicts rare classes more often, "
        "--optimise COST.csv minimises the cost of mistakes"
    )


def describe_search(fitted: FittedModel) -> dict[str, Any]:
    """The search of auto, as stored in the model; empty for other models."""
    report = fitted.provenance.report
    return {"search": report} if report else {}


def search_lines(summary: dict[str, Any]) -> list[str]:
    """The search of auto, for people."""
    if not summary.get("search"):
        return []
    from unnaive.models.auto.report import report_lines

    return report_lines(summary["search"])
