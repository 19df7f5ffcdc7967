"""Our own REST interface says what the model says."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.app import create_app
from unnaive.workflows.describe_model import describe_file

from .conftest import WITH_TOKEN, options, tickets

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

TEXT = "my invoice was charged twice"


def test_one_text(client: TestClient, model_file: Path) -> None:
    model = TextClassifier.load(model_file)
    answer = client.post("/v1/classify", json={"text": TEXT, "top_k": None}).json()
    assert (answer["model"], answer["version"]) == ("tickets", 0)
    (result,) = answer["results"]
    assert result["label"] == model.predict([TEXT])[0]
    found = {one["label"]: one["probability"] for one in result["classes"]}
    expected = dict(zip(model.classes_.tolist(), model.predict_proba([TEXT])[0].tolist(), strict=True))
    assert found == expected
    assert [one["probability"] for one in result["classes"]] == sorted(expected.values(), reverse=True)


def test_batch_keeps_order_and_takes_top_k_and_min_probability(client: TestClient, model_file: Path) -> None:
    model = TextClassifier.load(model_file)
    texts = [TEXT, "cannot log in", "", "how do I export"] * 100
    answer = client.post("/v1/classify", json={"texts": texts, "top_k": 2}).json()["results"]
    assert [one["label"] for one in answer] == model.predict(texts).tolist()
    assert all(len(one["classes"]) == 2 for one in answer)
    sure, unsure = (
        client.post("/v1/classify", json={"text": TEXT, "min_probability": least}).json()["results"][0]
        for least in (0.5, 1)
    )
    assert (sure["label"], unsure["label"], unsure["labels"]) == ("billing", "undecided", ["undecided"])
    assert sure["classes"] == unsure["classes"]


def test_explanation_is_that_of_the_model(client: TestClient, model_file: Path) -> None:
    expected = TextClassifier.load(model_file).explain(TEXT, "bug", against="billing").to_dict()
    asked = {"text": TEXT, "explain": True, "class": "bug", "against": "billing"}
    found = client.post("/v1/classify", json=asked).json()["results"][0]["explanation"]
    assert found == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "either text"),
        ({"text": "a", "texts": ["b"]}, 422, "either text"),
        ({"txt": "a"}, 422, "field txt"),
        ({"text": 3}, 422, "field text"),
        ({"text": "a", "top_k": 0}, 422, "top_k"),
        ({"text": "a", "min_probability": 1.01}, 422, "min_probability"),
        ({"text": "a", "min_probability": -0.1}, 422, "min_probability"),
        ({"text": "a", "model": "nosuch"}, 404, "there are tickets"),
        ({"text": "a", "explain": True, "class": "nosuch"}, 404, "nosuch"),
        ({"text": "a", "explain": True, "class": "bug", "against": "bug"}, 409, "against itself"),
    ],
)
def test_mistakes_get_a_sentence(client: TestClient, body: dict[str, Any], status: int, words: str) -> None:
    answer = client.post("/v1/classify", json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_bodies_that_are_no_json(client: TestClient) -> None:
    for body in (b"", b"{", b"\xff\xfe", b"[]", b"null"):
        answer = client.post("/v1/classify", content=body)
        assert answer.status_code == 422
        assert "error" in answer.json()


def test_stream_answers_line_by_line(client: TestClient, model_file: Path) -> None:
    model = TextClassifier.load(model_file)
    texts = [f"{TEXT} {number}" for number in range(1000)]
    lines = [json.dumps({"text": text}) for text in texts]
    lines[500] = "no json"
    found = client.post("/v1/classify/stream", content="\n".join(lines).encode()).text.splitlines()
    assert len(found) == 1000
    assert "not JSON" in json.loads(found[500])["error"]
    labels = [json.loads(line)["label"] for number, line in enumerate(found) if number != 500]
    assert labels == [label for number, label in enumerate(model.predict(texts).tolist()) if number != 500]


def test_conformal_sets_and_texts_of_no_class(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/v1/classify", json={"text": TEXT, "coverage": 0.9})
    assert answer.status_code == 409  # the model was trained without held-out scores
    texts, labels = tickets()
    model = TextClassifier("nbsvm", calibrate="temperature").fit(texts[:600], labels[:600])
    path = tmp_path / "sure.model"
    model.save(path)
    with TestClient(create_app(options(path, read_only=True))) as sure:
        found = sure.post("/v1/classify", json={"texts": texts[600:650], "coverage": 0.9}).json()["results"]
        novel = sure.post("/v1/classify", json={"texts": texts[600:650], "out_of_scope_rate": 0.3}).json()["results"]
    assert [tuple(one["label_set"]) for one in found] == model.predict_label_set(texts[600:650], 0.9)
    assert [one["label"] for one in novel] == model.predict(texts[600:650], out_of_scope_rate=0.3).tolist()
    assert [one["out_of_scope_score"] for one in novel] == model.out_of_scope_score(texts[600:650]).tolist()
    refused = client.post("/v1/classify", json={"text": TEXT, "out_of_scope_rate": 0.1})
    assert (refused.status_code, "cannot detect texts of no class" in refused.json()["error"]) == (409, True)


def test_cards_and_lists(client: TestClient, model_file: Path) -> None:
    model = TextClassifier.load(model_file)
    assert client.get("/v1/models").json()["models"][0]["classes"] == len(model.classes_)
    card = client.get("/v1/models/tickets?terms=3").json()
    assert card["documents"] == 600
    terms = [(one["term"], one["value"]) for one in card["classes"][0]["terms"]]
    assert terms == model.top_terms(model.classes_[0], 3)
    assert client.get("/v1/models/nosuch").status_code == 404


@pytest.mark.slow
def test_teaching_is_partial_fit_and_forgetting_undoes_it(model_file: Path) -> None:
    documents = [{"text": "frobnicator broken", "label": "bug"}, {"text": "frobnicator invoice", "label": "billing"}]
    before = model_file.read_bytes()
    with TestClient(create_app(options(model_file))) as client:
        answer = client.post("/v1/models/tickets/teach", json={"documents": documents}, headers=WITH_TOKEN)
        assert answer.json()["taught"] == 2
        assert client.get("/v1/models/tickets").json()["documents"] == 602
    expected = model_file.with_name("expected.model")
    expected.write_bytes(before)
    texts, labels = zip(*((one["text"], one["label"]) for one in documents), strict=True)
    model = TextClassifier.load(expected).partial_fit(list(texts), list(labels))
    model.save(expected)
    assert model_file.read_bytes() == expected.read_bytes()
    with TestClient(create_app(options(model_file))) as client:
        assert client.get("/v1/models").json()["models"][0]["version"] == 1
        client.post("/v1/models/tickets/forget", json={"documents": documents}, headers=WITH_TOKEN)
    model.forget(list(texts), list(labels)).save(expected)
    assert model_file.read_bytes() == expected.read_bytes()


def test_new_classes_only_when_told(client: TestClient) -> None:
    body = {"documents": [{"text": "a poem", "label": "poetry"}]}
    answer = client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)
    assert answer.status_code == 409
    assert "poetry" in answer.json()["error"]
    answer = client.post("/v1/models/tickets/teach", json=body | {"new_classes": True}, headers=WITH_TOKEN)
    assert answer.status_code == 200
    classes = client.get("/v1/models/tickets").json()["classes"]
    assert {one["label"]: one["documents"] for one in classes}["poetry"] == 1


def test_documents_never_learnt_cannot_be_forgotten(client: TestClient) -> None:
    body = {"documents": [{"text": "zyzzyva", "label": "bug"}]}
    answer = client.post("/v1/models/tickets/forget", json=body, headers=WITH_TOKEN)
    assert answer.status_code == 409
    versions = client.get("/v1/models/tickets/versions").json()
    assert (versions["current"], versions["versions"]) == (0, [])


def test_idempotency_keys(client: TestClient) -> None:
    body = {"documents": [{"text": "frobnicator", "label": "bug"}]}
    headers = {**WITH_TOKEN, "Idempotency-Key": "one"}
    first = client.post("/v1/models/tickets/teach", json=body, headers=headers).json()
    again = client.post("/v1/models/tickets/teach", json=body, headers=headers).json()
    assert again == first | {"repeated": True}
    assert client.get("/v1/models/tickets").json()["documents"] == 601
    other = client.post(
        "/v1/models/tickets/teach", json={"documents": [{"text": "x", "label": "bug"}]}, headers=headers
    )
    assert other.status_code == 409
    assert "another request" in other.json()["error"]


def test_rollback_is_exact(client: TestClient) -> None:
    def probabilities() -> list[float]:
        classes = client.post("/v1/classify", json={"text": TEXT}).json()["results"][0]["classes"]
        return [one["probability"] for one in classes]

    seen = [probabilities()]
    for number in range(3):
        body = {"documents": [{"text": f"invoice charged {number}", "label": "bug"}]}
        client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)
        seen.append(probabilities())
    assert len({tuple(one) for one in seen}) == 4
    for version in (1, 3, 0):
        answer = client.post("/v1/models/tickets/rollback", json={"version": version}, headers=WITH_TOKEN)
        assert answer.status_code == 200
        assert probabilities() == seen[version]
    assert client.post("/v1/models/tickets/rollback", json={"version": 99}, headers=WITH_TOKEN).status_code == 404


def test_history_shows_texts_only_with_the_token(client: TestClient) -> None:
    body = {"documents": [{"text": "secret words", "label": "bug"}]}
    client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN)
    assert "secret" not in client.get("/v1/models/tickets/versions").text
    assert client.get("/v1/models/tickets/versions?documents=true").status_code == 401
    shown = client.get("/v1/models/tickets/versions?documents=true", headers=WITH_TOKEN).json()["versions"][0]
    assert shown["changes"] == [{"sign": 1, "text": "secret words", "labels": ["bug"], "standing": True}]


@pytest.mark.slow
def test_several_models_and_multilabel(trained: Path, tmp_path: Path) -> None:
    texts = ["red ball", "blue ball", "red and blue", "nothing"] * 5
    tags = [("red",), ("blue",), ("red", "blue"), ()] * 5
    path = tmp_path / "tags.model"
    model = TextClassifier("bernoulli", decision="untuned").fit(texts, tags)
    model.save(path)
    both = options(trained, models={"tickets": str(trained), "tags": str(path)}, read_only=True)
    with TestClient(create_app(both)) as client:
        answer = client.post("/v1/classify", json={"texts": texts[:4], "model": "tags"}).json()["results"]
        assert [set(one["labels"]) for one in answer] == [set(one) for one in model.predict(texts[:4])]
        values = [{one["label"]: one["probability"] for one in result["classes"]} for result in answer]
        found = np.array([[one["blue"], one["red"]] for one in values])
        assert np.array_equal(found, model.predict_proba(texts[:4]))
        answer = client.post("/v1/models/tags/teach", json={"documents": [{"text": "a", "label": "red"}]})
        assert answer.status_code == 401


def test_health_and_metrics(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.post("/v1/classify", json={"texts": ["a", "b"]})
    shown = client.get("/metrics").text
    assert 'unnaive_texts_total{model="tickets"} 2.0' in shown
    assert 'unnaive_requests_total{path="/v1/classify",status="200"} 1.0' in shown


def test_errors_name_what_a_request_has(client: TestClient, tmp_path: Path) -> None:
    """And not what functions and commands have."""
    path = tmp_path / "two.model"
    TextClassifier("svm").fit(["good ball", "fair vote"] * 4, ["sport", "politics"] * 4).save(path)
    with TestClient(create_app(options(path, models={"tickets": str(path)}))) as scores:
        said = [
            one.post(url, json=body, headers=WITH_TOKEN).json()["error"]
            for one in (client, scores)
            for url, body in [
                ("/v1/classify", {"text": "a", "coverage": 0.9}),
                ("/v1/classify", {"text": "a", "out_of_scope_rate": 0.1}),
                ("/v1/models/tickets/teach", {"documents": [{"text": "a", "label": 3}], "new_classes": True}),
                ("/v1/models/tickets/teach", {"documents": [{"text": "a", "label": "x"}]}),
                ("/v1/models/tickets/teach", {"documents": [{"text": "a", "label": " "}], "new_classes": True}),
                ("/v1/models/tickets/forget", {"documents": [{"text": "zyzzyva", "label": "bug"}], "unchecked": True}),
            ]
        ]
        assert (
            "no probabilities"
            in scores.post("/v1/classify", json={"text": "a", "min_probability": 0.5}).json()["error"]
        )
    for sentence in said:
        assert not re.search(r"grow|_function|--reject|with str\b|=True", sentence), sentence


def test_bodies_may_be_compressed(client: TestClient) -> None:
    body = json.dumps({"texts": [TEXT] * 100}).encode()
    zipped, headers = gzip.compress(body), {"Content-Encoding": "gzip"}
    plain = client.post("/v1/classify", content=body).json()
    assert client.post("/v1/classify", content=zipped, headers=headers).json() == plain
    two = gzip.compress(body[:50]) + gzip.compress(body[50:])
    assert client.post("/v1/classify", content=two, headers=headers).json() == plain
    lines = gzip.compress(b'{"text": "a"}\n' * 500)
    assert len(client.post("/v1/classify/stream", content=lines, headers=headers).text.splitlines()) == 500
    for wrong in (zipped[:-9], body, b"", zipped + b"rest"):
        assert client.post("/v1/classify", content=wrong, headers=headers).status_code == 400
    assert client.post("/v1/classify", content=body, headers={"Content-Encoding": "br"}).status_code == 415
    bomb = gzip.compress(bytes(20 << 20))
    refused = client.post("/v1/classify", content=bomb, headers=headers)
    assert (refused.status_code, "larger than 10,485,760 bytes" in refused.json()["error"]) == (413, True)


def test_many_gzip_members(client: TestClient) -> None:
    """As block gzip writes them, but not with next to nothing in each."""
    body = json.dumps({"text": TEXT * 40_000}).encode()
    blocks = b"".join(gzip.compress(body[at : at + 512]) for at in range(0, len(body), 512))
    headers = {"Content-Encoding": "gzip"}
    assert client.post("/v1/classify", content=blocks, headers=headers).status_code == 200
    for member in (b"", b"x"):
        answer = client.post("/v1/classify", content=gzip.compress(member) * 20_000, headers=headers)
        assert answer.status_code == 400
        assert "gzip members with little in them" in answer.json()["error"]


def test_inspect_and_the_service_show_the_same_card(client: TestClient, model_file: Path) -> None:
    fitted = TextClassifier.load(model_file).fitted_
    described = json.loads(json.dumps(describe_file(fitted, model_file, list(fitted.classes), 10)))
    card = client.get("/v1/models/tickets").json()
    for shown, row in zip(card.pop("classes"), described["classes"], strict=True):
        assert [[term["term"], term["value"]] for term in shown.pop("terms")] == row.pop("terms")
        assert shown == {"label": row.pop("class"), **row}
    own = {"name", "version", "version_id", "teachable", "evaluation", "history"}
    usual = {"reading"}  # the card leaves out what every model does
    assert {name: described[name] for name in card.keys() - own - usual} == {
        name: value for name, value in card.items() if name not in own | usual
    }
    assert card["reading"].items() <= described["reading"].items()
