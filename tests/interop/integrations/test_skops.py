"""skops: one type to trust, the checks of a model file, and a card."""

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.base.errors import BadModel
from unnaive.interop.integrations.skops_files import TRUSTED

pytestmark = pytest.mark.slow  # skops takes seconds to import

TEXTS, LABELS = ["good ball", "fair vote", "ball game"] * 3, ["sport", "politics", "sport"] * 3


@pytest.fixture
def skops_io():
    return pytest.importorskip("skops.io", reason="skops is not installed")


@pytest.mark.parametrize("name", ["multinomial", "nbsvm", "auto", "tan"])
def test_a_classifier_in_a_skops_file_comes_back_and_needs_one_trusted_type(skops_io, name):
    model = TextClassifier(name).fit(TEXTS, LABELS)
    data = skops_io.dumps(model)
    assert skops_io.get_untrusted_types(data=data) == TRUSTED
    again = skops_io.loads(data, trusted=TRUSTED)
    assert np.array_equal(again.scores(TEXTS), model.scores(TEXTS))
    assert again.get_params() == model.get_params()
    assert again.partial_fit(["a new vote"], ["politics"]).predict(["new"]) == ["politics"]


def test_a_classifier_that_has_not_learnt_and_one_in_a_pipeline_come_back_too(skops_io):
    from sklearn.pipeline import make_pipeline

    blank = skops_io.loads(skops_io.dumps(TextClassifier("bernoulli", alpha=2.0)), trusted=TRUSTED)
    assert repr(blank) == "TextClassifier(model='bernoulli', alpha=2.0)"
    piped = make_pipeline(TextClassifier("multinomial")).fit(TEXTS, LABELS)
    assert list(skops_io.loads(skops_io.dumps(piped), trusted=TRUSTED).predict(["vote"])) == ["politics"]


def test_damaged_bytes_in_a_skops_file_are_refused(skops_io, monkeypatch):
    from unnaive.interop.integrations import skops_files

    whole = skops_files.model_to_bytes
    monkeypatch.setattr(skops_files, "model_to_bytes", lambda fitted: whole(fitted)[:-8])
    data = skops_io.dumps(TextClassifier("multinomial").fit(TEXTS, LABELS))
    with pytest.raises(BadModel, match="ends too early"):
        skops_io.loads(data, trusted=TRUSTED)


def test_a_card_of_skops_shows_parameters_and_the_model():
    card = pytest.importorskip("skops.card", reason="this version of skops has no cards")
    text = card.Card(TextClassifier("multinomial", alpha=0.5).fit(TEXTS, LABELS)).render()
    assert "TextClassifier" in text
    assert "alpha" in text
