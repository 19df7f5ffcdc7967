"""A class without documents scores −∞: it has no part in predictions, probabilities, calibrations and explanations."""

import numpy as np
import pytest

from unnaive import TextClassifier
from unnaive.io.tickets import load_tickets
from unnaive.models.catalogue import find_model

SETTINGS = {"hierarchical": {"restarts": 2, "average": 1}, "auto": {"budget": "fast"}, "maxent": {"max_iter": 30}}
NEVER_PREDICTED = [
    "multinomial", "bernoulli", "maxent", "tan", "superparent", "selective", "diagnostic", "power-ratio", "auto",
]  # fmt: skip


@pytest.fixture(scope="module")
def tickets():
    corpus = load_tickets("queue").part("train").take(np.arange(0, 651, 3))
    return list(corpus.texts), [names[0] for names in corpus.labels]


def fit(name, texts, labels, **options):
    return TextClassifier(name, **SETTINGS.get(name, {}), **options).fit(texts, labels)


@pytest.mark.parametrize(
    "name", ["multinomial", "tan", "superparent", "selective", "diagnostic", "power-ratio", "auto"]
)
@pytest.mark.slow
def test_a_class_of_one_document_hardly_changes_the_temperature(tickets, name):
    """The folds that hold the document out have never learnt its class."""
    texts, labels = tickets
    without = fit(name, texts, labels, calibrate="temperature")
    alone = fit(name, [*texts, "a lonely zebra on the violet bridge"], [*labels, "zebra"], calibrate="temperature")
    before, after = (model.fitted_.calibration.value for model in (without, alone))
    assert 0.8 < after / before < 1.25  # as any further document; it was 2 to 400,000 times as high


@pytest.mark.parametrize("name", NEVER_PREDICTED)
def test_it_scores_minus_infinity_and_the_explanations_of_the_others_leave_it_out(tickets, name, tmp_path):
    texts, labels = tickets
    gone = labels[0]
    model = fit(name, texts, labels, class_weight={gone: 0.0})
    at = list(model.classes_).index(gone)
    assert (model.fitted_.scores(texts)[:, at] == -np.inf).all()
    assert gone not in model.predict(texts)
    if find_model(name).traits.probabilistic:
        p = model.predict_proba(texts)
        assert (p[:, at] == 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)
    explained = model.explain(texts[1])
    assert abs(explained.score) < 1000
    assert np.isfinite([explained.base, *(item.value for item in explained.evidence)]).all()
    assert model.explain(texts[1], gone).score == -np.inf
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(TextClassifier.load(tmp_path / "model").scores(texts), model.scores(texts))


def test_a_class_that_all_documents_have_keeps_finite_log_odds():
    texts = ["ball goal", "ball game", "vote ball", "goal game"] * 3
    labels = [["all", "some"] if "goal" in text else ["all"] for text in texts]
    for name in ("tan", "superparent", "selective", "diagnostic"):
        assert np.isfinite(TextClassifier(name).fit(texts, labels).fitted_.scores(texts)).all()
