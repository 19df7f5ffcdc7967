"""Thousands of labels: every verb says by the best classes alone what it says by the scores of all."""

from dataclasses import replace
from itertools import chain
from types import SimpleNamespace

import numpy as np
import orjson
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from unnaive import TextClassifier
from unnaive.apps.service.answers import Answers, TopAnswers
from unnaive.apps.service.rendering import plain_rows
from unnaive.base.errors import BadData
from unnaive.classifier.compress import compress_model, file_size
from unnaive.data.targets import label_sets
from unnaive.evaluation import evaluate as evaluation
from unnaive.evaluation.evaluation_page import evaluation_page
from unnaive.learning import top_tuning
from unnaive.learning.calibration import Platt, Temperature
from unnaive.learning.decisions import Argmax, Thresholds, TopK
from unnaive.learning.top_labels import tells_by_best
from unnaive.learning.tuning import TUNINGS
from unnaive.linear import scorer as scorer_module
from unnaive.linear.scorer import Scorer
from unnaive.linear.top_scores import TopScores
from unnaive.models.label_tree.scorer import LabelTreeScorer
from unnaive.scaleout.spark.scoring import batch_scorer, decided_labels, predicted_labels
from unnaive.workflows.predictor import Predictor

pytestmark = pytest.mark.slow

N_LABELS = 40


def texts_and_labels(n_docs=240, seed=0):
    """Words of a document's labels, one or two of 40, and of all."""
    rng = np.random.default_rng(seed)
    sets = [set(rng.integers(0, N_LABELS, 1 + row % 2).tolist()) for row in range(n_docs)]
    texts = [
        " ".join([*(f"w{label}x{rng.integers(0, 3)}" for label in one for _ in range(3)), f"c{rng.integers(0, 9)}"])
        for one in sets
    ]
    return texts, [{f"l{label:02d}" for label in one} for one in sets]


@pytest.fixture(scope="module")
def multilabel():
    texts, labels = texts_and_labels()
    return TextClassifier("label-tree", levels=2, beam=2).fit(texts, labels).fitted_


@pytest.fixture(scope="module")
def single():
    texts, labels = texts_and_labels()
    return TextClassifier("label-tree", levels=2, beam=2).fit(texts, [min(one) for one in labels]).fitted_


DECISIONS = [
    Argmax(), TopK(1), TopK(3), Thresholds((0.0,) * N_LABELS),
    Thresholds(tuple(np.linspace(-30, 2, N_LABELS).tolist())),
]  # fmt: skip
TEXTS = [*texts_and_labels(30, seed=1)[0], "", "nothing known"]


@pytest.mark.parametrize("decision", DECISIONS, ids=str)
@pytest.mark.parametrize("calibration", [None, Temperature(2.0, exclusive=False), Temperature(0.5, 0.3, False)])
def test_labels_of_multilabel_models_are_those_by_all_scores(multilabel, decision, calibration):
    fitted = replace(multilabel, decision=decision, calibration=calibration)
    scores = fitted.scores(TEXTS)
    p = fitted.probabilities(scores)
    top = fitted.top_labels(TEXTS, 4)
    assert top.label_sets(fitted.classes) == label_sets(fitted.decide(scores), fitted.classes, scores)
    assert (top.decisions() != fitted.decide(scores)).nnz == 0
    np.testing.assert_array_equal(top.values, p[top.top.documents, top.top.classes])
    np.testing.assert_array_equal(top.known, fitted.known_terms(TEXTS))
    np.testing.assert_array_equal(top.top.classes[top.first_cells()], fitted.first_labels(scores))
    np.testing.assert_array_equal(top.top.classes[top.best_cells(4)], fitted.best_classes(scores, p, 4))
    assert fitted.predict(TEXTS) == label_sets(fitted.decide(scores), fitted.classes, scores)
    for target_type in ("indicator", "sparse"):
        found = csr_array(replace(fitted, target_type=target_type).predict(TEXTS))
        assert (found != fitted.decide(scores)).nnz == 0


@pytest.mark.parametrize("calibration", [None, Temperature(2.0)])
def test_probabilities_of_exclusive_labels_are_those_by_all_scores(single, calibration):
    fitted = replace(single, calibration=calibration)
    scores = fitted.scores(TEXTS)
    top = fitted.top_labels(TEXTS, 3)
    np.testing.assert_allclose(top.values, fitted.probabilities(scores)[top.top.documents, top.top.classes], rtol=1e-9)
    assert fitted.predict(TEXTS).tolist() == [fitted.classes[c] for c in scores.argmax(axis=1)]


def test_what_takes_all_scores_is_not_told_by_the_best(multilabel, single):
    platt = Platt((1.0,) * N_LABELS, (0.0,) * N_LABELS, exclusive=False)
    at_least_one = Thresholds((0.0,) * N_LABELS, at_least_one=True)
    relative = Thresholds((0.9,) * N_LABELS, "relative")
    for fitted in (
        replace(multilabel, calibration=platt),
        *(replace(multilabel, decision=one) for one in (at_least_one, relative)),
        TextClassifier("multinomial").fit(["ball goal", "vote law"], ["x", "y"]).fitted_,
    ):
        assert not tells_by_best(fitted)
        assert fitted.top_labels(["w1x1"], 2) is None
    assert tells_by_best(single)


def by_all_scores(monkeypatch, fitted):
    """The model, made to score all classes."""
    monkeypatch.setattr(LabelTreeScorer, "top_scores", Scorer.top_scores)
    return fitted


@pytest.mark.parametrize("more", [{}, {"top_k": 3}, {"min_probability": 0.6}, {"undecided": "none"}], ids=str)
def test_predict_writes_what_it_writes_by_all_scores(multilabel, single, monkeypatch, more):
    ids = [str(row) for row in range(len(TEXTS))]
    found = [Predictor(fitted, **more).predict(ids, TEXTS) for fitted in (multilabel, single)]
    columns = Predictor(single, **more).predict_columns(TEXTS)
    with monkeypatch.context() as patch:
        expected = [Predictor(by_all_scores(patch, one), **more).predict(ids, TEXTS) for one in (multilabel, single)]
        other = Predictor(single, **more).predict_columns(TEXTS)
    for one, two in zip(chain(*found), chain(*expected), strict=True):
        assert one["labels"] == two["labels"]
        assert one["values"] == pytest.approx(two["values"], rel=1e-9)
        assert one["known_terms"] == two["known_terms"]
        assert [label for label, _ in one.get("top", ())] == [label for label, _ in two.get("top", ())]
    assert (columns[0], columns[2]) == (other[0], other[2])
    assert columns[1] == pytest.approx(other[1], rel=1e-9)


def test_the_service_answers_what_it_answers_by_all_scores(multilabel, single):
    for fitted in (multilabel, single):
        answers = Answers.of(fitted, fitted.scores(TEXTS))
        top = TopAnswers(fitted, fitted.top_labels(TEXTS, 3))
        for one, two in zip(plain_rows(top, 3), plain_rows(answers, 3), strict=True):
            assert one["labels"] == two["labels"]
            assert [row["label"] for row in one["classes"]] == [row["label"] for row in two["classes"]]
            p, q = ([row["probability"] for row in each["classes"]] for each in (one, two))
            assert p == pytest.approx(q, rel=1e-9)
        assert orjson.dumps(plain_rows(top, 3))


def test_spark_labels_are_those_by_all_scores(multilabel, single):
    for fitted in (multilabel, single, replace(multilabel, decision=Argmax())):
        assert predicted_labels(fitted, TEXTS).equals(decided_labels(fitted, fitted.scores(TEXTS)))


def test_spark_finds_the_highest_probability_without_all_scores(multilabel, single, monkeypatch):
    column = pa.array([*TEXTS[:5], None, *TEXTS[5:]])

    def score(shared, *new):
        """The new columns by name, as `transform` gets them."""
        (found,) = batch_scorer(shared, *new)([column])
        return dict(zip([name for name in new if name is not None], found.flatten(), strict=True))

    for fitted in (multilabel, single, replace(multilabel, decision=Argmax())):
        shared = SimpleNamespace(value=fitted)
        whole = score(shared, "label", "p", None, "best")
        with monkeypatch.context() as patch:
            patch.setattr(LabelTreeScorer, "scores", None)
            found = score(shared, "label", None, None, "best")
        assert found["label"].equals(whole["label"])
        assert found["best"][5].as_py() is None
        np.testing.assert_allclose(found["best"].drop_null(), whole["best"].drop_null(), rtol=1e-9)
        highest = [max(row) for row in whole["p"].drop_null().to_pylist()]
        np.testing.assert_allclose(whole["best"].drop_null(), highest, rtol=1e-12)


def test_explanations_in_parts_are_those_at_once(multilabel, single, monkeypatch):
    text = TEXTS[0]
    whole = [fitted.explain(text) for fitted in (multilabel, single)]
    monkeypatch.setattr(scorer_module, "MOST_CELLS", 2 * N_LABELS)
    assert [fitted.explain(text) for fitted in (multilabel, single)] == whole


@pytest.mark.parametrize("tuning", ["scut", "rcut", "best", "pcut"])
def test_decisions_tuned_on_all_of_the_best_classes_are_those_tuned_on_all_scores(tuning):
    rng = np.random.default_rng(0)
    Y = csr_array(rng.random((120, 6)) < 0.3)
    scores = Y.toarray() + rng.normal(0, 0.6, Y.shape)
    assert top_tuning.tune_top(tuning, TopScores.of(scores, 6), Y) == TUNINGS[tuning](scores, Y, "log-odds", None)


def test_classes_beyond_the_best_are_missed():
    """Document 1 has class 1, which is not among its one best: 2 of 3 labels can be found, by the first class alone."""
    Y = csr_array([[1, 0], [1, 1]])
    top = TopScores.of(np.array([[2.0, 1.0], [3.0, 1.0]]), 1)
    assert top_tuning.rcut_top(top, Y) == TopK(1)
    assert top_tuning.scut_top(top, Y).values == (2.0, 2.0)


def test_training_tunes_without_the_scores_of_all_classes(monkeypatch):
    texts, labels = texts_and_labels()
    usual = TextClassifier("label-tree", levels=2).fit(texts, labels)
    monkeypatch.setattr(top_tuning, "MOST_CELLS", 0)
    monkeypatch.setattr(LabelTreeScorer, "scores", None)  # nothing asks for them
    model = TextClassifier("label-tree", levels=2).fit(texts, labels)
    assert model.fitted_.scorer.weights.nnz == usual.fitted_.scorer.weights.nnz
    assert isinstance(model.fitted_.decision, (Thresholds, TopK))
    found = model.predict(texts)
    assert np.mean([set(one) == two for one, two in zip(found, labels, strict=True)]) > 0.9
    limit = file_size(model.fitted_, frozen=True) - 2000
    assert compress_model(model.fitted_, limit).bytes <= limit
    with pytest.raises(BadData, match="calibration needs the scores of 240 held-out documents for all 40 classes"):
        TextClassifier("label-tree", levels=2, calibrate="temperature").fit(texts, labels)


@pytest.mark.slow
def test_evaluation_by_the_best_classes_agrees_with_that_by_all_scores(multilabel, single, monkeypatch):
    texts, sets = texts_and_labels(80, seed=2)
    sets[3] = {"never seen"}
    for fitted, labels in ((multilabel, sets), (single, [min(one) for one in sets])):
        monkeypatch.setattr(evaluation, "MOST_CELLS", 1 << 25)
        whole = evaluation.evaluate(fitted, texts, labels)
        monkeypatch.setattr(evaluation, "MOST_CELLS", 0)
        best = evaluation.evaluate(fitted, texts, labels)
        names = ("micro-f1", "macro-f1", "accuracy", "precision@1", "precision@3", "precision@5", "psp@3", "micro-f1@2")
        assert {name: best.measure(name) for name in names} == {name: whole.measure(name) for name in names}
        assert best.scores is None
        assert set(best.measures) < set(whole.measures)
        assert best.confused_pairs() == whole.confused_pairs()
        assert [(one.row, one.wrong) for one in best.mistakes(3)] == [(one.row, one.wrong) for one in whole.mistakes(3)]
        assert "Most confident mistakes" in evaluation_page(best)
        assert best.render("json")
        with pytest.raises(BadData, match="needs the scores of 80 documents for all 41 classes"):
            best.measure("auc")
