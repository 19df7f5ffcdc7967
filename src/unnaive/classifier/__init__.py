"""TextClassifier, and the model file: packing, compression, receipts of unlearning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unnaive.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from unnaive.classifier.text_classifier import TextClassifier as TextClassifier
else:  # imported on first use, so that reading a model file stays fast
    __getattr__ = lazy_names(__name__, {"TextClassifier": "unnaive.classifier.text_classifier"})
