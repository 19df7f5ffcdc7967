"""Training and prediction on Spark: `fit`, `transform`, an Estimator for pipelines, and exact updates from streams."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.spark.fitting import fit as fit
    from unnaive.spark.pipelines import UnnaiveClassifier as UnnaiveClassifier
    from unnaive.spark.pipelines import UnnaiveModel as UnnaiveModel
    from unnaive.spark.scoring import transform as transform
    from unnaive.spark.session import ship as ship
    from unnaive.spark.streaming import StreamedModel as StreamedModel

_HOMES = {
    "fit": "unnaive.spark.fitting",
    "transform": "unnaive.spark.scoring",
    "ship": "unnaive.spark.session",
    "StreamedModel": "unnaive.spark.streaming",
    "UnnaiveClassifier": "unnaive.spark.pipelines",
    "UnnaiveModel": "unnaive.spark.pipelines",
}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'unnaive.spark' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
