"""MLflow: our own flavor, and `mlflow.sklearn` with our estimators."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from unnaive import MultinomialNB, TextClassifier
from unnaive import mlflow as flavor
from unnaive.base.errors import UnnaiveError

pytestmark = pytest.mark.slow  # MLflow takes seconds to import

TEXTS, LABELS = ["good ball", "fair vote", "ball game"] * 3, ["sport", "politics", "sport"] * 3


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """MLflow with a folder as tracking server, which needs no database."""
    library = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    # MLflow imports pyspark if there is one, which ends the process where the main module is no file: in a test worker
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "pytest", raising=False)
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    library.set_tracking_uri((tmp_path / "runs").as_uri())
    yield library
    library.set_tracking_uri(None)


@pytest.fixture
def model():
    return TextClassifier("multinomial", alpha=0.5).fit(TEXTS, LABELS)


def test_a_saved_model_comes_back_with_its_signature_and_as_a_python_function(mlflow, model, tmp_path):
    flavor.save_model(model, tmp_path / "saved", input_example=["good ball"])
    again = flavor.load_model(tmp_path / "saved")
    assert np.array_equal(again.scores(TEXTS), model.scores(TEXTS))
    assert again.get_params() == model.get_params()
    again.partial_fit(["a new vote"], ["politics"])

    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert list(function.predict(["ball", "vote"])) == ["sport", "politics"]
    assert list(function.predict(pandas.DataFrame({"text": ["ball"]}))) == ["sport"]
    table = function.predict(["ball"], params={"predict_method": "predict_proba"})
    assert list(table.columns) == ["politics", "sport"]
    assert np.array_equal(table.to_numpy(), model.predict_proba(["ball"]))
    signature = function.metadata.signature
    assert [column.type.name for column in signature.inputs] == ["string"]
    assert signature.params.params[0].name == "predict_method"
    assert not list((tmp_path / "saved").rglob("*.pkl"))


def test_several_labels_leave_the_python_function_as_lists(mlflow, tmp_path):
    model = TextClassifier("multinomial").fit(TEXTS, [("a", "b") if "ball" in text else ("c",) for text in TEXTS])
    flavor.save_model(model, tmp_path / "saved")
    function = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert function.predict(["ball", "vote"]) == [list(labels) for labels in model.predict(["ball", "vote"])]


def test_a_logged_model_is_found_by_its_address(mlflow, model):
    with mlflow.start_run():
        address = flavor.log_model(model, name="tickets", input_example=["good ball"]).model_uri
    assert np.array_equal(flavor.load_model(address).scores(TEXTS), model.scores(TEXTS))


def test_what_the_flavor_does_not_save_is_a_sentence(mlflow, tmp_path, model):
    with pytest.raises(UnnaiveError, match=r"saves a TextClassifier, and a MultinomialNB came; use mlflow\.sklearn"):
        flavor.save_model(MultinomialNB(), tmp_path / "saved")
    with pytest.raises(UnnaiveError, match="is not fitted yet"):
        flavor.save_model(TextClassifier(), tmp_path / "saved")
    flavor.save_model(model, tmp_path / "two")
    with pytest.raises(Exception, match="no predict_method called 'nothing'"):
        mlflow.pyfunc.load_model(str(tmp_path / "two")).predict(["a"], params={"predict_method": "nothing"})


def test_what_the_model_refuses_reaches_the_client_of_the_scoring_server(mlflow, model, tmp_path):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient
    from mlflow.pyfunc import scoring_server

    flavor.save_model(model, tmp_path / "saved")
    client = TestClient(scoring_server.init(mlflow.pyfunc.load_model(str(tmp_path / "saved"))))
    answer = client.post("/invocations", json={"inputs": ["good ball"]})
    assert (answer.status_code, answer.json()) == (200, {"predictions": ["sport"]})
    # MLflow itself makes the word "None" of a null among "inputs"
    nulls = {"dataframe_split": {"columns": ["text"], "data": [["ball"], [None]]}}
    method = {"inputs": ["ball"], "params": {"predict_method": "nothing"}}
    for body, problem in ((nulls, "text 1 is missing"), (method, "no predict_method called 'nothing'")):
        refused = client.post("/invocations", json=body)
        assert refused.status_code == 400
        assert problem in refused.json()["message"]


def _autolog(mlflow, fit):
    mlflow.sklearn.autolog(log_models=False, silent=True)
    try:
        with mlflow.start_run() as run:
            fit()
    finally:
        mlflow.sklearn.autolog(disable=True)
    return mlflow.get_run(run.info.run_id).data


def test_autolog_records_parameters_and_metrics_as_for_a_pipeline(mlflow):
    from sklearn.pipeline import make_pipeline

    model = TextClassifier("multinomial", alpha=0.5)
    alone = _autolog(mlflow, lambda: model.fit(TEXTS, LABELS))
    piped = _autolog(mlflow, lambda: make_pipeline(model).fit(TEXTS, LABELS))
    assert alone.params == {name: str(value) for name, value in model.get_params().items()}
    assert alone.metrics == piped.metrics
    assert alone.metrics["training_accuracy_score"] == 1
    assert alone.tags["estimator_name"] == "TextClassifier"
    assert alone.params == {
        name.removeprefix("textclassifier__"): value for name, value in piped.params.items() if "__" in name
    }


def test_autolog_records_estimators_on_counts(mlflow):
    recorded = _autolog(mlflow, lambda: MultinomialNB(alpha=0.1).fit(np.eye(2), ["a", "b"]))
    assert recorded.params["alpha"] == "0.1"
    assert recorded.metrics["training_accuracy_score"] == 1


@pytest.mark.parametrize("piped", [False, True])
def test_the_flavor_of_scikit_learn_saves_a_text_classifier(mlflow, model, tmp_path, piped):
    pytest.importorskip("skops", reason="skops, in whose format mlflow.sklearn saves, is not installed")
    from sklearn.pipeline import make_pipeline

    mlflow.sklearn.save_model(
        make_pipeline(model) if piped else model, tmp_path / "saved", pip_requirements=["unnaive"]
    )
    code = f"import mlflow.sklearn; print(mlflow.sklearn.load_model({str(tmp_path / 'saved')!r}).predict(['vote']))"
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert elsewhere.stdout == "['politics']\n"
