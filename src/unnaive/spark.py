"""Spark: `fit`, `transform`, `filter_texts`, an Estimator for pipelines, and exact updates from streams."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.scaleout.spark.filtering import filter_texts as filter_texts
    from unnaive.scaleout.spark.fitting import fit as fit
    from unnaive.scaleout.spark.pipelines import UnnaiveClassifier as UnnaiveClassifier
    from unnaive.scaleout.spark.pipelines import UnnaiveModel as UnnaiveModel
    from unnaive.scaleout.spark.scoring import transform as transform
    from unnaive.scaleout.spark.session import ship as ship
    from unnaive.scaleout.spark.session import start_session as start_session
    from unnaive.scaleout.spark.streaming import StreamedModel as StreamedModel

__path__: list[str] = []  # `unnaive.spark.session` was a module: base/moved_modules.py finds it

_HOMES = {
    "filter_texts": "filtering",
    "fit": "fitting",
    "transform": "scoring",
    "ship": "session",
    "start_session": "session",
    "StreamedModel": "streaming",
    "UnnaiveClassifier": "pipelines",
    "UnnaiveModel": "pipelines",
}

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'unnaive.spark' has no attribute {name!r}")
        return getattr(import_module(f"unnaive.scaleout.spark.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
