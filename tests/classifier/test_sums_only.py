"""Models of sums are trained on rows whose terms are in any order; everything else on ordered rows."""

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.data.training_data import TrainingData
from unnaive.learning.train import train
from unnaive.text.tokens import TokenRule

RNG = np.random.default_rng(0)
TEXTS = [" ".join(f"w{n}" for n in RNG.geometric(0.02, 40)) for _ in range(120)]
LABELS = [f"c{n % 3}" for n in range(120)]


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"class_weight": "balanced"}, {"calibrate": True}])
def test_the_model_is_the_same_as_with_ordered_rows(options):
    classifier = TextClassifier("multinomial", **options)
    data = TrainingData.of_texts(TEXTS, LABELS, classifier.token_rule)
    expected = train(data, classifier.spec())
    fitted = classifier.fit(TEXTS, LABELS).fitted_
    assert fitted.counts == expected.counts
    assert fitted.counts.counts.class_terms.has_canonical_format
    assert np.array_equal(fitted.predict_proba(TEXTS), expected.predict_proba(TEXTS))


def test_rows_are_ordered_where_a_document_may_have_several_labels():
    labels = [[f"c{n % 3}", "c1"] for n in range(120)]
    for targets, ordered in ((labels, True), (LABELS, False)):
        X = TrainingData.of_texts(TEXTS, targets, TokenRule(), sums_only=True).rows.X
        assert bool(X.has_sorted_indices) == ordered
