"""What clients of other servers send is answered as they mean it, or refused; and the description is valid OpenAPI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.app import create_app

from .conftest import WITH_TOKEN, options

TEXT = "my invoice was charged twice"


def test_the_description_is_valid_and_complete(client: TestClient) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is not installed")
    description = client.get("/openapi.json").json()
    validator.validate(description)
    for path, methods in description["paths"].items():
        for method, about in methods.items():
            schema = next(iter(about["responses"]["200"]["content"].values()))["schema"]
            assert schema, (method, path)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/", {"inputs": TEXT, "parameters": {"candidate_labels": ["a", "b"]}}, "parameters.candidate_labels"),
        ("/", {"inputs": TEXT, "parameters": {"function_to_apply": "none"}}, "parameters.function_to_apply"),
        ("/models/tickets", {"inputs": TEXT, "parameter": {"top_k": 1}}, "parameter"),
        ("/predict", {"inputs": TEXT, "top_k": 1}, "top_k"),
        ("/invocations", {"inputs": [TEXT], "params": {"top_k": 1}}, "params.top_k"),
        ("/invocations", {"inputs": [TEXT], "frame": []}, "frame"),
        ("/v1/classify", {"fields": {"subject": "hi"}}, "fields"),
    ],
)
def test_what_we_do_not_know_is_refused(client: TestClient, path: str, body: dict[str, Any], field: str) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert f"field {field} of the request" in answer.json()["error"]


def test_nulls_and_what_changes_nothing_are_accepted(client: TestClient) -> None:
    for path, body in (
        ("/", {"inputs": TEXT, "parameters": {"top_k": 1, "function_to_apply": None}, "options": {"use_cache": True}}),
        ("/predict", {"inputs": TEXT, "truncate": True, "raw_scores": False}),
        ("/invocations", {"inputs": [TEXT], "params": {}}),
    ):
        assert client.post(path, json=body).status_code == 200
    said = client.post("/v1/classify", json={"fields": {"subject": "hi"}}).json()["error"]
    assert 'send the fields of a record in the place of a text: {"text": {"FIELD": VALUE, …}}' in said


def test_what_is_not_there_is_404_and_what_cannot_be_done_409(client: TestClient) -> None:
    for verb, body in (("undo", {"event": 9}), ("forget", {"event": 9}), ("rollback", {"version": 9})):
        assert client.post(f"/v1/models/tickets/{verb}", json=body, headers=WITH_TOKEN).status_code == 404
    assert client.post("/v1/classify", json={"text": "a", "explain": True, "class": "nosuch"}).status_code == 404
    assert client.get("/v1/models/tickets/network?label=bug").status_code in (404, 409)


def test_repository_and_statistics(client: TestClient) -> None:
    client.post("/v1/classify", json={"texts": [TEXT] * 3})
    version = client.get("/v1/models").json()["models"][0]["version_id"]
    ready = {"name": "tickets", "version": version, "state": "READY", "reason": ""}
    assert client.post("/v2/repository/index", json={}).json() == [ready]
    statistics = {"model_stats": [{"name": "tickets", "version": version, "inference_count": 3}]}
    for path in ("/v2/models/stats", "/v2/models/tickets/stats"):
        assert client.get(path).json() == statistics
    assert client.get("/v2/models/nosuch/stats").status_code == 404


def test_binary_tensors_of_a_model_with_fields(tmp_path: Path) -> None:
    """As tritonclient sends them: the sizes are in the JSON part, the values behind it."""
    rows = [{"body": "good ball", "age": 3.0}, {"body": "fair vote", "age": 40.0}] * 6
    model = TextClassifier("multinomial", fields={"body": "text", "age": "number"}).fit(rows, ["sport", "politics"] * 6)
    path = tmp_path / "fields.model"
    model.save(path)
    texts = b"".join(len(words).to_bytes(4, "little") + words for words in (b"good ball", b"fair vote"))
    ages = np.array([3, 40], "<i4").tobytes()

    def send(client: TestClient, age: dict[str, Any], data: bytes) -> Any:
        inputs = [
            {"name": "body", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(texts)}},
            {"name": "age", "shape": [2], "datatype": "INT32", "parameters": {"binary_data_size": len(ages)}} | age,
        ]
        head = json.dumps({"inputs": inputs}).encode()
        headers = {"Inference-Header-Content-Length": str(len(head))}
        return client.post("/v2/models/fields/infer", content=head + data, headers=headers)

    with TestClient(create_app(options(path, models={"fields": str(path)}, read_only=True))) as client:
        answer = send(client, {}, texts + ages)
        assert answer.json()["outputs"][0]["data"] == model.predict(rows[:2]).tolist()
        for age, data, words in (
            ({}, texts, "0 bytes are left"), ({"parameters": {}}, texts + ages, "its binary_data_size is None"),
            ({"datatype": "DATE"}, texts + ages, "there are BYTES, FP64"),
            ({"parameters": {"binary_data_size": 7}}, texts + ages, "not a multiple of a value's size"),
        ):  # fmt: skip
            refused = send(client, age, data)
            assert (refused.status_code, words in refused.json()["error"]) == (422, True), refused.text


CONFIG = """<View><Text name="t" value="$text"/>
<Choices name="mood" toName="t"><Choice value="angry"/><Choice value="bug"/></Choices>
<Choices name="queue" toName="t"><Choice value="bug"/><Choice value="billing"/></Choices></View>"""


def test_only_the_control_of_the_model_teaches(client: TestClient) -> None:
    """A person also says how the writer feels; the model learns the queue."""

    def send(config: str | None, *results: tuple[str, str]) -> Any:
        body = {
            "action": "ANNOTATION_CREATED", "task": {"id": 3, "data": {"text": "frobnicator"}},
            "annotation": {
                "id": 7, "result": [{"from_name": name, "value": {"choices": [label]}} for name, label in results],
            },
            **({} if config is None else {"project": {"label_config": config}}),
        }  # fmt: skip
        return client.post("/webhook?new_classes=true", json=body, headers=WITH_TOKEN)

    assert send(CONFIG, ("mood", "angry"), ("queue", "bug")).json()["status"] == "done"
    versions = client.get("/v1/models/tickets/versions?documents=true", headers=WITH_TOKEN).json()["versions"]
    assert [change["labels"] for version in versions for change in version["changes"]] == [["bug"]]
    refused = send(None, ("mood", "angry"), ("queue", "bug"))
    assert refused.status_code == 409
    assert "choices of 2 controls (mood, queue)" in refused.json()["error"]
