"""Making anew models that are calibrated or tuned: done on kept documents, refused where only counts were kept."""

import warnings

import pytest

from unnaive import TextClassifier, UnnaiveError, UnnaiveWarning
from unnaive.classifier.receipts import model_hash

TEXTS = ["ball goal", "vote law", "ball vote", "goal goal", "law soup", "soup ball"] * 12
LABELS = ["sport", "politics", "sport", "sport", "politics", "sport"] * 12
SETS = [(label,) for label in LABELS]
COSTS = {"sport": {"sport": 0.0, "politics": 1.0}, "politics": {"sport": 5.0, "politics": 0.0}}


@pytest.mark.parametrize("asked", [{"calibrate": "platt"}, {"optimise": "macro-f1"}, {"optimise": COSTS}])
def test_tuning_of_counts_is_refused_and_nothing_changes(asked):
    for first in ({}, {"calibrate": "temperature"}):
        model = TextClassifier("multinomial", documents_limit=0, **first).fit(TEXTS, LABELS)
        before = model_hash(model.fitted_)
        with pytest.raises(UnnaiveError, match="keeps only counts, and calibration and tuning need documents"):
            model.remake(**asked)
        assert model_hash(model.fitted_) == before


def test_a_calibration_of_counts_is_not_dropped_without_a_word():
    model = TextClassifier("multinomial", calibrate="temperature", documents_limit=0).fit(TEXTS, LABELS)
    with pytest.raises(UnnaiveError, match=r"or use calibrate='none'$"):
        model.remake(alpha=0.5)
    plain = TextClassifier("multinomial", alpha=0.5, calibrate="none", documents_limit=0).fit(TEXTS, LABELS)
    assert model_hash(model.remake(alpha=0.5, calibrate="none").fitted_) == model_hash(plain.fitted_)


@pytest.mark.parametrize("limit", [0, 500_000_000])
def test_making_the_same_model_anew_gives_what_was_tuned(limit):
    options = {"optimise": "macro-f1", "calibrate": "isotonic", "documents_limit": limit}
    model = TextClassifier("multinomial", **options).fit(TEXTS, LABELS)
    before = model_hash(model.fitted_)
    assert model_hash(model.remake().fitted_) == before


def test_calibrated_counts_keep_the_documents_that_another_calibration_needs():
    made = (
        TextClassifier("multinomial", calibrate="temperature").fit(TEXTS, LABELS).remake(alpha=0.5, calibrate="platt")
    )
    plain = TextClassifier("multinomial", alpha=0.5, calibrate="platt").fit(TEXTS, LABELS)
    assert model_hash(made.fitted_) == model_hash(plain.fitted_)


def test_tuned_thresholds_that_are_lost_are_announced():
    model = TextClassifier("multinomial", documents_limit=0).fit(TEXTS, SETS)
    with pytest.warns(UnnaiveWarning, match="the tuned decision is lost"):
        model.remake(alpha=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TextClassifier("multinomial", decision="untuned").fit(TEXTS, SETS).remake(alpha=0.5)


@pytest.mark.parametrize("asked", [{"calibrate": "platt"}, {"optimise": "macro-f1"}, {"optimise": COSTS}])
def test_kept_documents_are_held_out_whatever_they_become(asked):
    """A model of documents becomes one of counts, calibrated on the documents that it kept."""
    made = TextClassifier("knn", k=3).fit(TEXTS, LABELS).remake(model="multinomial", **asked).fitted_
    assert made.calibration is not None
    assert model_hash(made) == model_hash(TextClassifier("multinomial", **asked).fit(TEXTS, LABELS).fitted_)
