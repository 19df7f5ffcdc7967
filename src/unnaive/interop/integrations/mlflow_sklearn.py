"""`mlflow.sklearn` with our estimators: autolog records their fits, and save_model trusts a TextClassifier.

MLflow patches only the estimators that scikit-learn lists, which are its own, and it saves with skops, which loads only
trusted types.
"""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import Any

from unnaive.base.sklearn_protocol import Protocol
from unnaive.classifier.text_classifier import TextClassifier
from unnaive.interop.integrations.skops_files import TRUSTED
from unnaive.models.catalogue import MODELS, find_model


def join(flavor: Any) -> None:
    """Register our estimators with `mlflow.sklearn`; autologging is restarted with them if it is already on."""
    from mlflow.utils.autologging_utils import AUTOLOGGING_INTEGRATIONS

    flavor._gen_estimators_to_patch = _with_ours(flavor._gen_estimators_to_patch)
    flavor.save_model = _trusting(flavor.save_model)
    running = AUTOLOGGING_INTEGRATIONS.get(flavor.FLAVOR_NAME)
    if running and not running.get("disable", False):
        flavor.autolog(**running)


def _with_ours(list_estimators: Any) -> Any:
    @wraps(list_estimators)
    def list_all() -> list[type]:
        ours = [find_model(name) for name in MODELS]
        return [*list_estimators(), TextClassifier, *(model for model in ours if not model.traits.imported)]

    return list_all


def _trusting(save_model: Any) -> Any:
    @wraps(save_model)
    def save(*positional: Any, **named: Any) -> Any:
        call = signature(save_model).bind(*positional, **named)
        if _has_classifier(call.arguments["sk_model"]):
            trusted = call.arguments.get("skops_trusted_types") or ()
            call.arguments["skops_trusted_types"] = list(dict.fromkeys([*trusted, *TRUSTED]))
        return save_model(*call.args, **call.kwargs)

    return save


def _has_classifier(model: Any) -> bool:
    """Whether it is a TextClassifier, or contains one, as pipelines and searches do."""
    if isinstance(model, Protocol):
        return isinstance(model, TextClassifier)
    parts = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    return any(isinstance(part, TextClassifier) for part in parts)
