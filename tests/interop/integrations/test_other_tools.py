"""eli5, skl2onnx, datasets and joblib with our estimators."""

import numpy as np
import pytest

from unnaive import MaxEnt, MultinomialNB, TextClassifier

pytestmark = pytest.mark.slow  # these libraries take seconds to import

TEXTS, LABELS = ["good ball game", "fair vote law", "ball game play"] * 3, ["sport", "politics", "sport"] * 3
NEW = ["good ball", "vote 北京 👍🏽", ""]


def weights_of(target):
    return {one.feature: one.weight for one in [*target.feature_weights.pos, *target.feature_weights.neg]}


@pytest.mark.parametrize("name", ["multinomial", "nbsvm", "tan"])
def test_eli5_explains_a_prediction_with_our_evidence(name):
    eli5 = pytest.importorskip("eli5", reason="eli5 is not installed")
    model = TextClassifier(name).fit(TEXTS, LABELS)
    found = eli5.explain_prediction(model, "good ball vote")
    assert [target.target for target in found.targets] == ["politics", "sport"]
    for target in found.targets:
        own = model.explain("good ball vote", target.target)
        expected = {"<BIAS>": own.base} | {one.term: one.value for one in own.evidence}
        assert weights_of(target) == {term: value for term, value in expected.items() if value}
        assert target.score == own.score
    assert "ball" in eli5.format_as_text(found)
    assert len(eli5.explain_prediction(model, "ball", top_targets=1).targets) == 1


def test_eli5_explains_weights_with_the_top_terms():
    eli5 = pytest.importorskip("eli5", reason="eli5 is not installed")
    model = TextClassifier("nbsvm").fit(TEXTS, LABELS)
    (target,) = eli5.explain_weights(model, top=2, targets=["sport"]).targets
    assert weights_of(target) == dict(model.top_terms("sport", 2))
    assert target.feature_weights.pos_remaining == len(model.top_terms("sport", 100)) - 2


def run_onnx(model, texts, types):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == [name for name, _ in types]
    return session.run(None, {types[0][0]: np.array(texts, dtype=object).reshape(-1, 1)})


@pytest.mark.parametrize("name", ["multinomial", "auto"])
def test_skl2onnx_converts_a_classifier_of_texts(name):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    model = TextClassifier(name, analyzer="both").fit(TEXTS, LABELS)
    types = [("text", skl2onnx.common.data_types.StringTensorType([None, 1]))]
    converted = skl2onnx.convert_sklearn(model, initial_types=types, options={"zipmap": False})
    labels, probabilities = run_onnx(converted, NEW, types)
    assert list(labels) == list(model.predict(NEW))
    assert np.allclose(probabilities, model.predict_proba(NEW), atol=1e-6)


@pytest.mark.parametrize("estimator", [MultinomialNB(), MaxEnt()], ids=repr)
def test_skl2onnx_converts_an_estimator_on_counts_in_a_pipeline(estimator):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(lowercase=False), estimator).fit(TEXTS, [0, 1, 0] * 3)
    types = [("text", skl2onnx.common.data_types.StringTensorType([None, 1]))]
    converted = skl2onnx.convert_sklearn(model, initial_types=types, options={id(estimator): {"zipmap": False}})
    labels, probabilities = run_onnx(converted, ["good ball", "fair vote"], types)
    assert list(labels) == [0, 1]
    assert np.allclose(probabilities, model.predict_proba(["good ball", "fair vote"]), atol=1e-6)


def test_datasets_go_in_and_predictions_go_out(tmp_path):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    from datasets.fingerprint import Hasher
    from typer.testing import CliRunner

    from unnaive.apps.cli.main import build_app

    table = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
    model = TextClassifier("multinomial").fit(table["text"], table["label"])
    same = TextClassifier("multinomial").fit(TEXTS, LABELS)
    assert np.array_equal(model.scores(NEW), same.scores(NEW))
    assert Hasher.hash(model) == Hasher.hash(same)  # so that what was mapped is found in the cache again
    labelled = table.map(lambda batch: {"predicted": model.predict(batch["text"])}, batched=True)
    assert list(labelled["predicted"]) == list(model.predict(TEXTS))
    table.save_to_disk(tmp_path / "saved")
    command = ["train", str(tmp_path / "saved"), "-o", str(tmp_path / "model"), "--model", "multinomial"]
    assert CliRunner().invoke(build_app(), command).exit_code == 0
    assert np.array_equal(TextClassifier.load(tmp_path / "model").scores(NEW), model.scores(NEW))


def test_caches_of_joblib_know_an_equal_model(tmp_path):
    import joblib

    model, same = (TextClassifier("nbsvm").fit(TEXTS, LABELS) for _ in range(2))
    model.predict(NEW)  # which makes what is derived from the model
    assert joblib.hash(model) == joblib.hash(same)
    assert joblib.hash(model) != joblib.hash(TextClassifier("nbsvm").fit(TEXTS[:-1], LABELS[:-1]))
    calls = []

    def predict(classifier, texts):
        calls.append(texts)
        return classifier.predict(texts)

    cached = joblib.Memory(tmp_path, verbose=0).cache(predict)
    assert list(cached(model, NEW)) == list(cached(same, NEW))
    assert len(calls) == 1
    joblib.dump(model, tmp_path / "model.joblib")
    assert np.array_equal(joblib.load(tmp_path / "model.joblib").scores(NEW), model.scores(NEW))
