"""docs/prediction.schema.json: predictions of the command line, of REST and of JavaScript have these keys and forms."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from unnaive import TextClassifier, export_file, predict_file, write_tickets

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "prediction.schema.json").read_text(encoding="utf-8"))
KINDS = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
TEXT = "I was charged twice, please refund me"


def check(value, schema):
    """Check a value by the words of JSON Schema that ours uses."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert isinstance(value, tuple(KINDS[kind] for kind in kinds if not isinstance(KINDS[kind], tuple))) or any(
        isinstance(value, KINDS[kind]) for kind in kinds
    ), (value, schema)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value)
        for name, part in schema.get("properties", {}).items():
            if name in value:
                check(value[name], part)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            check(item, schema["items"])
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from unnaive import train_file

    folder = write_tickets(tmp_path_factory.mktemp("shape"))
    path = folder / "shape.model"
    train_file(folder / "train.csv", TextClassifier("nbsvm", calibrate="temperature"), label="queue", output=path)
    return path


@pytest.mark.slow
def test_the_command_line_rest_and_javascript_give_one_shape(model, tmp_path):
    found = {"command line": by_command(model), "REST": by_rest(model), "JavaScript": by_javascript(model, tmp_path)}
    answers = {name: answer for name, answer in found.items() if answer is not None}
    for answer in answers.values():
        check(answer, SCHEMA)
    shared = [{key: answer[key] for key in ("labels", "label_set")} for answer in answers.values()]
    assert all(one == shared[0] for one in shared), answers
    top = [[one["label"] for one in answer["classes"]] for answer in answers.values() if "classes" in answer]
    assert all(one == top[0] for one in top)


def by_command(model):
    (row,) = predict_file(model, model, documents=[TEXT], top_k=3, coverage=0.9).rows
    assert {"labels", "classes", "label_set", "known_terms"} <= set(row)
    return json.loads(json.dumps(row))


def by_rest(model):
    pytest.importorskip("fastapi", reason="the service needs the extra `serve`")
    from fastapi.testclient import TestClient

    from unnaive.apps.service.app import ServiceOptions, create_app

    with TestClient(create_app(ServiceOptions(models={"m": str(model)}, token="t" * 16, read_only=True))) as client:
        answer = client.post(
            "/v1/classify", json={"text": TEXT, "top_k": 3, "coverage": 0.9, "out_of_scope_rate": 0.01}
        )
    (result,) = answer.json()["results"]
    assert {"label", "labels", "classes", "label_set", "out_of_scope_score"} <= set(result)
    return result


def by_javascript(model, folder):
    node = shutil.which("node")
    if node is None:
        return None
    export_file(model, "js", folder / "js")
    script = f"import {{ classify }} from {json.dumps((folder / 'js' / 'model.js').as_uri())}; "
    script += f"console.log(JSON.stringify(classify({json.dumps(TEXT)}, {{ coverage: 0.9 }})))"
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert {"label", "labels", "label_set", "known_terms"} <= set(answer)
    return answer
