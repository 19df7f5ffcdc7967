"""TextClassifier, and the model file: packing, compression, receipts of unlearning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier as TextClassifier
else:

    def __getattr__(name: str) -> Any:  # imported on first use, so that reading a model file stays fast
        if name == "TextClassifier":
            from unnaive.classifier.text_classifier import TextClassifier

            return TextClassifier
        raise AttributeError(f"module 'unnaive.classifier' has no attribute {name!r}")
