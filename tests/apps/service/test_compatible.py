"""Other servers' interfaces, with their real clients where one is on the package index."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.base.open_files import hash_file

from .conftest import WITH_TOKEN

pytestmark = pytest.mark.slow  # `make test` runs these; `make quick` stays under a minute

TEXTS = ["my invoice was charged twice", "cannot log in"]
CONFIG = '<View><Text name="t" value="$body"/><Choices name="queue" toName="t"><Choice value="bug"/></Choices></View>'


@pytest.mark.slow
def test_hugging_face_client(address: str, trained: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    model = TextClassifier.load(trained)
    found = hub.InferenceClient(address).text_classification(TEXTS[0], top_k=3)
    best = np.sort(model.predict_proba(TEXTS[:1])[0])[::-1][:3]
    assert found[0].label == model.predict(TEXTS[:1])[0]
    assert [one.score for one in found] == pytest.approx(best.tolist(), abs=1e-12)


@pytest.mark.slow
def test_open_inference_client(address: str, trained: Path) -> None:
    client = pytest.importorskip("tritonclient.http")
    model = TextClassifier.load(trained)
    patient = {"connection_timeout": 600.0, "network_timeout": 600.0}  # its own minute is short on a busy machine
    server = client.InferenceServerClient(address.removeprefix("http://"), **patient)
    assert server.is_server_live()
    assert server.is_server_ready()
    assert server.is_model_ready("tickets")
    for binary in (True, False):
        tensor = client.InferInput("text", [2], "BYTES")
        tensor.set_data_from_numpy(np.array([one.encode() for one in TEXTS], dtype=object), binary_data=binary)
        answer = server.infer("tickets", [tensor], outputs=[client.InferRequestedOutput("probabilities")])
        assert np.array_equal(answer.as_numpy("probabilities"), model.predict_proba(TEXTS))
    labels = server.infer("tickets", [tensor]).as_numpy("label")
    assert [one.decode() if isinstance(one, bytes) else str(one) for one in labels] == model.predict(TEXTS).tolist()


def test_text_embeddings_inference(client: TestClient, trained: Path) -> None:
    model = TextClassifier.load(trained)
    single = client.post("/predict", json={"inputs": TEXTS[0]}).json()
    assert single[0]["label"] == model.predict(TEXTS[:1])[0]
    assert sum(one["score"] for one in single) == pytest.approx(1.0)
    batch = client.post("/predict", json={"inputs": [[one] for one in TEXTS]}).json()
    assert [one[0]["label"] for one in batch] == model.predict(TEXTS).tolist()
    assert client.get("/info").json()["model_id"] == "tickets"
    assert client.post("/predict", json={}).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {"inputs": TEXTS},
        {"instances": TEXTS},
        {"inputs": {"text": TEXTS}},
        {"inputs": [[one] for one in TEXTS]},
        {"inputs": [{"id": 1, "text": one} for one in TEXTS]},
        {"dataframe_split": {"columns": ["id", "text"], "data": [[1, TEXTS[0]], [2, TEXTS[1]]]}},
        {"dataframe_records": [{"id": 1, "text": one} for one in TEXTS]},
    ],
)
@pytest.mark.slow
def test_mlflow(client: TestClient, trained: Path, body: dict[str, Any]) -> None:
    expected = TextClassifier.load(trained).predict(TEXTS).tolist()
    assert client.post("/invocations", json=body).json() == {"predictions": expected}
    assert client.get("/ping").status_code == 200


@pytest.mark.slow
def test_mlflow_client(address: str, trained: Path) -> None:
    """MLflow's own client of its scoring server, with a data frame and with an array."""
    clients = pytest.importorskip("mlflow.pyfunc.scoring_server.client", reason="mlflow is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model = TextClassifier.load(trained)
    host, _, port = address.removeprefix("http://").partition(":")
    server = clients.ScoringServerClient(host, int(port))
    server.wait_server_ready(timeout=300)
    for data in (pandas.DataFrame({"id": [1, 2], "text": TEXTS}), np.array(TEXTS)):
        found = server.invoke(data).get_predictions(predictions_format="ndarray")
        assert found.ravel().tolist() == model.predict(TEXTS).tolist()


def test_mlflow_mistakes(client: TestClient) -> None:
    for body in ({}, {"inputs": [1, 2]}, {"dataframe_split": {"columns": ["a", "b"], "data": [["x", "y"]]}}):
        assert client.post("/invocations", json=body).status_code == 422


def test_label_studio(client: TestClient, trained: Path) -> None:
    model = TextClassifier.load(trained)
    setup = client.post("/setup", json={"project": "1.0", "schema": CONFIG, "hostname": ""}, headers=WITH_TOKEN)
    assert setup.json() == {"model_version": f"tickets-{hash_file(trained)[:16]}"}
    asked = {"tasks": [{"id": 1, "data": {"body": TEXTS[0], "other": "x"}}], "label_config": CONFIG}
    (found,) = client.post("/predict", json=asked).json()["results"]
    assert found["result"][0]["from_name"] == "queue"
    assert found["result"][0]["value"]["choices"] == model.predict(TEXTS[:1]).tolist()
    assert found["score"] == model.predict_proba(TEXTS[:1]).max()


def test_label_studio_teaches_changes_and_forgets(client: TestClient) -> None:
    client.post("/setup", json={"schema": CONFIG}, headers=WITH_TOKEN)

    def send(action: str, **more: Any) -> None:
        assert client.post("/webhook", json={"action": action, **more}, headers=WITH_TOKEN).status_code == 200

    def annotation(label: str) -> dict[str, Any]:
        return {"id": 7, "result": [{"from_name": "queue", "type": "choices", "value": {"choices": [label]}}]}

    def counts() -> dict[str, float]:
        return {one["label"]: one["documents"] for one in client.get("/v1/models/tickets").json()["classes"]}

    before, task = counts(), {"id": 3, "data": {"body": "frobnicator", "other": "x"}}
    send("ANNOTATION_CREATED", annotation=annotation("bug"), task=task)
    assert counts() == before | {"bug": before["bug"] + 1}
    send("ANNOTATION_CREATED", annotation=annotation("bug"), task=task)  # sent again
    assert counts() == before | {"bug": before["bug"] + 1}
    send("ANNOTATION_UPDATED", annotation=annotation("billing"), task=task)
    assert counts() == before | {"billing": before["billing"] + 1}
    send("ANNOTATIONS_DELETED", annotations=[{"id": 7}])
    assert counts() == before
    send("ANNOTATIONS_DELETED", annotations=[{"id": 7}])
    send("PROJECT_UPDATED")
    send("START_TRAINING", project={"id": 1})
    assert client.post("/webhook", json={"annotations": [], "project": "1.2"}, headers=WITH_TOKEN).status_code == 200
    assert client.get("/health").json()["status"] == "UP"
    assert counts() == before
    assert client.post("/webhook", json={"action": "ANNOTATION_CREATED"}).status_code == 401


def test_label_studio_connects_with_the_token_and_keeps_no_refused_configuration(client: TestClient) -> None:
    assert client.post("/setup", json={"schema": CONFIG}).status_code == 401
    assert client.post("/setup", json={"schema": CONFIG}, headers=WITH_TOKEN).status_code == 200
    for wrong in ("<View/>", "<View", "<!DOCTYPE x><View/>"):
        assert client.post("/setup", json={"schema": wrong}, headers=WITH_TOKEN).status_code == 422
    annotation = {"id": 7, "result": [{"type": "choices", "value": {"choices": ["bug"]}}]}
    task = {"data": {"body": "frobnicator", "other": "x"}}  # two strings: only the configuration says which is the text
    event = {"action": "ANNOTATION_CREATED", "annotation": annotation, "task": task}
    assert client.post("/webhook", json=event, headers=WITH_TOKEN).json()["status"] == "done"


@pytest.mark.parametrize("data", [[["a"], 5], [["a"], None], [["a"], {"b": 1}], ["a", ["b"]], [5], [[["a"]], ["b"]]])
def test_open_inference_refuses_data_that_is_no_tensor(client: TestClient, data: Any) -> None:
    body = {"inputs": [{"name": "text", "shape": [2], "datatype": "BYTES", "data": data}]}
    answer = client.post("/v2/models/tickets/infer", json=body)
    assert answer.status_code == 400
    assert "the input 'text'" in answer.json()["error"]


@pytest.mark.parametrize("length", ["9" * 5000, "99999", "-1", "²", "5.0", ""])
def test_open_inference_refuses_a_length_that_is_none(client: TestClient, length: str) -> None:
    body = b'{"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}'
    headers = [(b"Inference-Header-Content-Length", length.encode("latin-1"))]
    answer = client.post("/v2/models/tickets/infer", content=body, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert "a number up to 80" in answer.json()["error"]
    assert len(answer.json()["error"]) < 200
    headers = [(b"Inference-Header-Content-Length", b"80")]
    assert client.post("/v2/models/tickets/infer", content=body, headers=headers).status_code == 200  # type: ignore[arg-type]


def test_triton_s_versions_and_configuration(client: TestClient) -> None:
    body = {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}]}
    (version,) = client.get("/v2/models/tickets").json()["versions"]
    assert version == client.get("/v1/models").json()["models"][0]["version_id"]
    assert client.post(f"/v2/models/tickets/versions/{version}/infer", json=body).json()["model_version"] == version
    for path in ("", "/ready", "/config"):
        assert client.get(f"/v2/models/tickets/versions/{version}{path}").status_code == 200
        assert client.get(f"/v2/models/tickets/versions/7{path}").status_code == 404
    assert (
        f"is not served; the current one is {version}"
        in client.post("/v2/models/tickets/versions/7/infer", json=body).json()["error"]
    )
    config = client.get("/v2/models/tickets/config").json()
    assert config["input"] == [{"name": "text", "data_type": "TYPE_STRING", "dims": [-1]}]
    assert [one["name"] for one in config["output"]] == ["label", "probabilities", "classes"]


def test_mlflow_tables(client: TestClient, trained: Path) -> None:
    texts = [TEXTS[0], 'a "ticket",\nüber two lines']
    out = io.StringIO()
    csv.writer(out).writerows([("id", "text"), *enumerate(texts)])
    expected = {"predictions": TextClassifier.load(trained).predict(texts).tolist()}
    for encoding, kind in (("utf-8", "text/csv"), ("utf-8-sig", "Text/CSV"), ("latin-1", "text/csv; charset=latin-1")):
        headers = {"Content-Type": kind}
        answer = client.post("/invocations", content=out.getvalue().encode(encoding), headers=headers)
        assert answer.json() == expected, kind
    for wrong in (b"", b"a,b\n1,2\n", b"id,text\n1\n", b"text\n\xff\n", b'text\n"open\n'):
        answer = client.post("/invocations", content=wrong, headers={"Content-Type": "text/csv"})
        assert answer.status_code == 422, wrong


@pytest.mark.parametrize("name", ["punycode", "idna", "unicode_escape", "undefined", "zlib", "x" * 100_000])
def test_tables_in_other_encodings_are_refused(client: TestClient, name: str) -> None:
    """Among them punycode, which takes a minute for a megabyte."""
    headers = {"Content-Type": f"text/csv; charset={name}"}
    answer = client.post("/invocations", content=b"text\nab-" + b"z" * 1000, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"] == (
        f"there is no encoding of tables called {name[:40]!r}; give its encoding: text/csv; charset=latin-1"
    )
