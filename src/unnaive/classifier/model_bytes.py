"""A model file as bytes, for containers that hold bytes: with all checks of the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from unnaive.classifier.model_file import load_model, save
from unnaive.learning.fitted import FittedModel


def model_to_bytes(fitted: FittedModel) -> bytes:
    """The bytes of the file that `save` writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        save(fitted, file)
        return file.read_bytes()


def model_from_bytes(data: bytes) -> FittedModel:
    """The model in the bytes of a model file; damaged or hostile bytes are an error of one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        file.write_bytes(data)
        return load_model(file)
