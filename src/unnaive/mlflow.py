"""An MLflow flavor: `save_model`, `log_model` and `load_model` for TextClassifier, without pickle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from unnaive.interop.integrations.mlflow_flavor import load_model as load_model
    from unnaive.interop.integrations.mlflow_flavor import log_model as log_model
    from unnaive.interop.integrations.mlflow_flavor import save_model as save_model

_NAMES = ("load_model", "log_model", "save_model")

if not TYPE_CHECKING:  # else a type checker would take any name for one of ours
    # MLflow calls _load_pyfunc
    __getattr__ = lazy_names(
        __name__, dict.fromkeys((*_NAMES, "_load_pyfunc"), "unnaive.interop.integrations.mlflow_flavor")
    )


def __dir__() -> list[str]:
    return sorted(_NAMES)
