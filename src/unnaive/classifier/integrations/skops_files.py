"""skops: a TextClassifier in a skops file is its parameters and the bytes of its model file, with all of that's checks.

So one type is to be trusted, `TRUSTED`, whatever the model; without this a file would hold a dozen of our types, whose
arrays nobody had looked at.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from unnaive.classifier.model_bytes import model_to_bytes
from unnaive.classifier.text_classifier import MODEL_FILE, TextClassifier

TRUSTED = [f"{TextClassifier.__module__}.{TextClassifier.__qualname__}"]  # for `skops.io.load(path, trusted=…)`


def join(package: ModuleType) -> None:
    """Have skops write a TextClassifier in this way; reading needs no help."""
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
