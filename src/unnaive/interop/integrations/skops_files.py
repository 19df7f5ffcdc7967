"""skops: a TextClassifier is stored as its parameters and the bytes of its model file, which are checked on loading.

Therefore only one type, `TRUSTED`, must be trusted for any model. Otherwise a file would contain a dozen of our types
with unchecked arrays.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from unnaive.classifier.model_bytes import model_to_bytes
from unnaive.classifier.text_classifier import MODEL_FILE, TextClassifier

TRUSTED = [f"{TextClassifier.__module__}.{TextClassifier.__qualname__}"]  # for `skops.io.load(path, trusted=…)`


def join(package: ModuleType) -> None:
    """Register this form with skops; reading needs no registration."""
    from skops.io._utils import _get_state

    _get_state.register(TextClassifier)(_state)


def _state(model: TextClassifier, save_context: Any) -> dict[str, Any]:
    from skops.io._utils import get_module, get_state

    attributes = dict(vars(model))
    fitted = attributes.pop("fitted_", None)
    if fitted is not None:
        attributes[MODEL_FILE] = model_to_bytes(fitted)
    return {
        "__class__": type(model).__name__,
        "__module__": get_module(type(model)),
        "__loader__": "ObjectNode",
        "content": get_state(attributes, save_context),
    }
