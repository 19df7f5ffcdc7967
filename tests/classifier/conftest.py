"""What tests of model files share."""

import pytest
from support.model_files import LABELS, TEXTS

from unnaive import TextClassifier


@pytest.fixture
def saved(tmp_path):
    """The file of a small model."""
    path = tmp_path / "tickets.model"
    TextClassifier("multinomial").fit(TEXTS, LABELS).save(path)
    return path
