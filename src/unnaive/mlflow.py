"""An MLflow flavor: `save_model`, `log_model` and `load_model` for TextClassifier, without pickle."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.classifier.integrations.mlflow_flavor import load_model as load_model
    from unnaive.classifier.integrations.mlflow_flavor import log_model as log_model
    from unnaive.classifier.integrations.mlflow_flavor import save_model as save_model

_NAMES = ("load_model", "log_model", "save_model")

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _NAMES and name != "_load_pyfunc":  # which MLflow calls
            raise AttributeError(f"module 'unnaive.mlflow' has no attribute {name!r}")
        return getattr(import_module("unnaive.classifier.integrations.mlflow_flavor"), name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
