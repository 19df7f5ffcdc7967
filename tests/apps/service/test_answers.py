"""The first class that is listed is the one that the model decides for: service, command line and predict agree."""

from __future__ import annotations

import numpy as np
import pytest
from apps.service.conftest import options
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.answers import Answers
from unnaive.apps.service.app import create_app
from unnaive.workflows.predictor import Predictor

TEXTS = ["ball goal", "ball ball", "vote law", "goal ball", "soup", "ball vote", "law ball", "ball goal soup"] * 8
LABELS = ["sport", "sport", "politics", "sport", "food", "politics", "politics", "sport"] * 8
COSTS = {
    "sport": {"sport": 0, "food": 1, "politics": 1},
    "food": {"sport": 90, "food": 0, "politics": 9},
    "politics": {"sport": 9, "food": 1, "politics": 0},
}
NEW = ["ball", "goal", "ball goal goal", "soup ball", "law", ""]


@pytest.mark.parametrize("limit", [1, 2, 3, None])
@pytest.mark.parametrize("model", ["multinomial", "svm"])
def test_the_decided_class_comes_first(model, limit):
    fitted = TextClassifier(model, optimise=COSTS).fit(TEXTS, LABELS).fitted_
    answers = Answers.of(fitted, fitted.scores(NEW))
    predicted = fitted.predict(NEW).tolist()
    most_probable = [fitted.classes[best] for best in answers.values.argmax(axis=1)]
    assert most_probable != predicted  # else this shows nothing
    ranked = list(answers.ranked(limit))
    assert [row[0][0] for row in ranked] == predicted
    for row, values in zip(ranked, answers.values, strict=True):
        assert len({label for label, _ in row}) == len(row) == min(limit or 3, 3)
        assert [value for _, value in row[1:]] == sorted((value for _, value in row[1:]), reverse=True)
        assert all(value == values[fitted.classes.index(label)] for label, value in row)


def test_the_best_of_many_classes_are_answered_like_all_classes():
    rng = np.random.default_rng(0)
    labels = [f"class{number:02}" for number in range(40)]
    texts = [" ".join(f"word{word}" for word in rng.integers(0, 30, 6)) for _ in range(200)]
    model = TextClassifier("multinomial", optimise="macro-f1").fit(texts, [labels[n % 40] for n in range(200)])
    answers = Answers.of(model.fitted_, model.scores(texts))
    whole, values = answers.best(None)
    for limit in (1, 2, 9):
        np.testing.assert_array_equal(answers.best(limit)[1], values[:, :limit])  # of equals, either may come first
        np.testing.assert_array_equal(answers.best(limit)[0][:, 0], whole[:, 0])
    assert [model.fitted_.classes[first] for first in whole[:, 0]] == model.predict(texts).tolist()


def test_service_and_command_line_list_the_decided_class_first(tmp_path):
    model = TextClassifier("multinomial", optimise=COSTS).fit(TEXTS, LABELS)
    model.save(tmp_path / "costs.model")
    with TestClient(create_app(options(tmp_path / "costs.model"))) as client:
        results = client.post("/v1/classify", json={"texts": NEW}).json()["results"]
    predicted = model.predict(NEW).tolist()
    assert [one["label"] for one in results] == [one["classes"][0]["label"] for one in results] == predicted
    records = Predictor(model.fitted_, top_k=3).predict([str(row) for row in range(len(NEW))], NEW)
    assert [record["top"][0][0] for record in records] == predicted


@pytest.mark.parametrize("calibrate", [None, "isotonic"])
def test_labels_of_multilabel_models_come_as_predict_has_them(calibrate):
    """By score: probabilities that are calibrated class by class, or are 1 to the last digit, have another order."""
    sets = [(label, "news") if row % 3 else (label,) for row, label in enumerate(LABELS)]
    fitted = TextClassifier("multinomial", calibrate=calibrate).fit(TEXTS, sets).fitted_
    many = [" ".join([text] * 40) for text in NEW[:-1]]
    answers = Answers.of(fitted, fitted.scores(many))
    assert [tuple(labels) for labels in answers.labels()] == fitted.predict(many)
    assert max(map(len, fitted.predict(many))) > 1
    records = Predictor(fitted).predict([str(row) for row in range(len(many))], many)
    assert [tuple(record["labels"]) for record in records] == fitted.predict(many)
