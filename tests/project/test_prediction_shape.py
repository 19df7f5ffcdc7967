"""docs/prediction.schema.json: a prediction has one shape in the command line, REST, JavaScript, ONNX and Spark."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from unnaive import TextClassifier, export_file, predict_file, train_file, write_tickets
from unnaive.apps.cli.main import exit_code

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "prediction.schema.json").read_text(encoding="utf-8"))
TEXTS = ["I was charged twice, please refund me", "the api is down, urgent: refund", "zzz"]
SHARED = ("label", "labels", "probability")  # keys that every surface has
COVERAGE = 0.9


def check(answers):
    """Check answers by the schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for answer in answers:
        assert [problem.message for problem in validator.iter_errors(answer)] == [], answer


def same(answers, others, tolerance=1e-9):
    """Whether answers agree in the shared keys, and in every other key of the schema that both have."""
    for answer, other in zip(answers, others, strict=True):
        for key in {*SHARED, *(set(answer) & set(other) & set(SCHEMA["properties"]) - {"classes", "explanation"})}:
            expected = answer[key]
            if isinstance(expected, float):
                expected = pytest.approx(expected, abs=tolerance)
            assert other[key] == expected, key
        for one, two in zip(answer.get("classes", ()), other.get("classes", ()), strict=False):
            assert two == {"label": one["label"], "probability": pytest.approx(one["probability"], abs=tolerance)}


@pytest.fixture(scope="module", params=["queue", "tags"])
def model(request, tmp_path_factory):
    """A model of one label for each document, and one of several."""
    folder = write_tickets(tmp_path_factory.mktemp("shape"))
    path = folder / "shape.model"
    several = {"label_separator": ";"} if request.param == "tags" else {}
    classifier = TextClassifier("nbsvm", calibrate="temperature" if request.param == "queue" else "platt")
    from unnaive.io.datafiles import DataFile

    train_file(DataFile(str(folder / "train.csv"), label=request.param, separator=several.get("label_separator")),
               classifier, output=path)  # fmt: skip
    return path


@pytest.fixture(scope="module")
def by_command(model):
    rows = predict_file(model, model, documents=TEXTS, top_k=3, coverage=COVERAGE).rows
    return json.loads(json.dumps(rows))


@pytest.mark.slow
def test_the_command_line(model, by_command):
    check(by_command)
    assert {*SHARED, "classes", "label_set", "known_terms"} <= set(by_command[0])
    undecided = predict_file(model, model, documents=TEXTS, min_probability=1.0, undecided="ask").rows
    check(undecided)
    assert undecided[2]["label"] == "ask"
    assert undecided[2]["labels"] == ["ask"]
    scores = TextClassifier("nbsvm").fit(["a ball", "a law"], ["sport", "politics"])
    (row,) = predict_file(scores, model, documents=["a ball"]).rows
    check([row])
    assert "probability" not in row
    assert row["score"] > 0


@pytest.mark.slow
def test_rest(model, by_command):
    pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import ServiceOptions, create_app

    with TestClient(create_app(ServiceOptions(models={"m": str(model)}, token="t" * 16, read_only=True))) as client:

        def classify(**options):
            results = client.post("/v1/classify", json={"texts": TEXTS, "top_k": 3} | options).json()["results"]
            check(results)
            return results

        same(by_command, classify())
        same(by_command, classify(coverage=COVERAGE))
        same(
            predict_file(model, model, documents=TEXTS, top_k=3, min_probability=0.999).rows,
            classify(min_probability=0.999),
        )


@pytest.mark.slow
def test_javascript(model, by_command, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    export_file(model, "js", tmp_path / "js")
    script = f"import {{ classify }} from {json.dumps((tmp_path / 'js' / 'model.js').as_uri())}; "
    script += f"console.log(JSON.stringify({json.dumps(TEXTS)}.map((text) => classify(text, {{ coverage: 0.9 }}))))"
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout)
    check(answers)
    assert {*SHARED, "known_terms", "label_set"} <= set(answers[0])
    same(by_command, answers)


@pytest.mark.slow
def test_onnx(model, by_command):
    """The metadata name the output of each key."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    import numpy as np

    from unnaive.classifier.model_file import load_model
    from unnaive.interop.export.onnx_target import onnx_model, open_session
    from unnaive.interop.export.portable import portable_model

    session = open_session(onnx_model(portable_model(load_model(model), "onnx")))
    metadata = session.get_modelmeta().custom_metadata_map
    classes, output = json.loads(metadata["classes"]), json.loads(metadata["prediction"])
    names = [one.name for one in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"text": np.array(TEXTS, dtype=object)}), strict=True))
    answers = []
    for row in range(len(TEXTS)):
        values = found[output["classes"]][row]
        chosen = np.flatnonzero(found[output["labels"]][row])
        decided = [classes[at] for at in sorted(chosen, key=lambda at: -found["scores"][row][at])]
        label = str(found[output["label"]][row]) or None
        answers.append({
            "label": label, "labels": decided, "known_terms": int(found[output["known_terms"]][row]),
            "probability": None if label is None else float(values[classes.index(label)]),
        })  # fmt: skip
    check(answers)
    same(by_command, answers, 1e-6)


@pytest.mark.slow
def test_spark(model, by_command, tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    given, out = tmp_path / "texts.jsonl", tmp_path / "out.jsonl"
    given.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    words = ["predict", str(model), str(given), "--engine", "spark", "--set", "master=local[1]"]
    assert exit_code([*words, "-o", str(out), "--quiet"]) == 0
    lines = [line for part in sorted(out.glob("part-*")) for line in part.read_text().splitlines()]
    by_text = {answer["text"]: answer for answer in map(json.loads, lines)}
    answers = [by_text[text] for text in TEXTS]
    for answer in answers:  # Spark leaves nulls out
        answer.setdefault("label", None)
        if answer["label"] is None:
            answer["probability"] = None
    check(answers)
    same(by_command, answers)
