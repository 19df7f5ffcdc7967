"""Teaching is safe: what was taught is forgotten once, by its event; classes are made only where that is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.app import create_app
from unnaive.apps.service.teaching import find_similar
from unnaive.classifier.model_file import save
from unnaive.data.text_hashes import TextHashes

from .conftest import WITH_TOKEN, options

pytestmark = pytest.mark.slow  # `make quick` stays under a minute

BILL = {"text": "frobnicator charged twice", "label": "billing"}
PATH = "/v1/models/tickets"


def post(client: TestClient, verb: str, status: int = 200, key: str | None = None, **body: Any) -> dict[str, Any]:
    """The answer of a change, which must have this status."""
    headers = WITH_TOKEN | ({} if key is None else {"Idempotency-Key": key})
    answer = client.post(f"{PATH}/{verb}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def documents(client: TestClient) -> float:
    """How many documents the model has."""
    return float(client.get(f"{PATH}?terms=0").json()["documents"])


def test_an_event_is_forgotten_once(client: TestClient) -> None:
    taught = post(client, "teach", documents=[BILL, BILL])
    assert (taught["event"], taught["version"], documents(client)) == (1, 1, 602)
    assert post(client, "forget", event=1)["undoes"] == 1
    assert documents(client) == 600
    for verb in ("forget", "undo"):
        assert "already been undone" in post(client, verb, 409, event=1)["error"]
    assert "no event 99" in post(client, "forget", 404, event=99)["error"]
    assert documents(client) == 600
    post(client, "undo", event=2)  # taught again, by taking the forgetting back
    assert documents(client) == 602
    post(client, "undo", 409, event=2)
    post(client, "undo", event=1)
    assert documents(client) == 600


def test_some_documents_of_an_event(client: TestClient) -> None:
    other = {"text": "frobnicator broken", "label": "bug"}
    post(client, "teach", documents=[BILL, other])
    post(client, "forget", event=1, documents=[other])
    assert "did not teach" in post(client, "forget", 409, event=1, documents=[other])["error"]
    assert post(client, "undo", event=1)["forgotten"] == 1  # what is left of it
    assert documents(client) == 600


def test_a_text_that_was_never_taught_is_not_forgotten(client: TestClient) -> None:
    """All of its words are in the model, so counts alone could not tell."""
    invoice = {"text": "invoice", "label": "billing"}
    for _ in range(2):
        assert "never taught" in post(client, "forget", 409, documents=[invoice])["error"]
    post(client, "teach", documents=[BILL])
    post(client, "forget", documents=[BILL])
    for _ in range(2):
        post(client, "forget", 409, documents=[BILL])
    assert documents(client) == 600
    post(client, "forget", documents=[invoice], unchecked=True)
    assert documents(client) == 599
    assert "give event" in post(client, "forget", 422)["error"]


def test_documents_of_the_training_can_be_forgotten_where_the_model_knows_them(tmp_path: Path) -> None:
    path = tmp_path / "tickets.model"
    texts, labels = ["good ball", "fair vote", "ball ball", "law and vote"] * 3, ["sport", "politics"] * 6
    TextClassifier("nbsvm").fit(texts, labels).save(path)  # which keeps documents
    with TestClient(create_app(options(path))) as client:
        for _ in range(3):
            post(client, "forget", documents=[{"text": "good ball", "label": "sport"}])
        post(client, "forget", 409, documents=[{"text": "good ball", "label": "sport"}])
        post(client, "undo", event=3)
        assert documents(client) == 10


def test_hashes_of_texts_tell_what_the_model_was_trained_with(tmp_path: Path) -> None:
    """As often as it was, and beside what was taught here."""
    path = tmp_path / "tickets.model"
    texts, labels = ["good ball", "fair vote", "ball ball", "law and vote"] * 2, ["sport", "politics"] * 4
    fitted = TextClassifier("multinomial").fit(texts, labels).fitted_
    save(replace(fitted, text_hashes=TextHashes.of(texts)), path)
    ball, vote = {"text": "good ball", "label": "sport"}, {"text": "ball vote", "label": "politics"}
    with TestClient(create_app(options(path))) as client:
        post(client, "teach", documents=[vote])
        post(client, "forget", 409, documents=[vote | {"label": "sport"}])  # taught with another label
        post(client, "forget", 409, documents=[ball] * 3)
        post(client, "forget", documents=[ball, vote, ball])
        post(client, "forget", 409, documents=[ball])
        assert documents(client) == 6


def test_rollback_takes_events_back_and_an_event_it_took_back_stays_so(client: TestClient) -> None:
    for label in ("bug", "billing"):
        post(client, "teach", documents=[{"text": f"frobnicator {label}", "label": label}])
    post(client, "rollback", version=0)
    for event in (1, 2):
        post(client, "undo", 409, event=event)
    post(client, "undo", event=3)
    assert documents(client) == 602
    shown = client.get(f"{PATH}/versions?documents=true", headers=WITH_TOKEN).json()["versions"]
    assert [(one["event"], one["undone"], one["restorable"]) for one in shown] == [
        (4, False, True), (3, True, True), (2, False, True), (1, False, True),
    ]  # fmt: skip
    assert shown[2]["changes"] == [{"sign": 1, "text": "frobnicator billing", "labels": ["billing"], "standing": True}]


def test_keys_are_kept_over_a_restart(model_file: Path) -> None:
    found = []
    for _ in range(2):
        with TestClient(create_app(options(model_file))) as client:
            found += [post(client, "teach", key="one", documents=[BILL]) for _ in range(2)]
            found.append(post(client, "undo", key="two", event=1))
            assert documents(client) == 600
    assert found[1] == found[0] | {"repeated": True}
    assert found[3:] == [found[1], found[1], found[2] | {"repeated": True}]


def test_a_class_that_looks_like_another_is_asked_about(client: TestClient) -> None:
    document = {"text": "frobnicator", "label": "Billing "}
    asked = post(client, "teach", 409, documents=[document], new_classes=True)
    assert asked["similar"] == {"Billing ": "billing"}
    assert "resembles the class 'billing'" in asked["error"]
    post(client, "teach", 409, documents=[document], new_classes=["Billing"])
    assert post(client, "teach", documents=[document], new_classes=["Billing "])["new_classes"] == ["Billing "]
    refused = post(client, "teach", 409, documents=[{"text": "a poem", "label": "poetry"}], new_classes=["prose"])
    assert refused["unknown"] == ["poetry"]
    assert "new_classes" in refused["error"]
    assert "grow" not in refused["error"]
    assert find_similar(["Ångström"], ["A\N{COMBINING RING ABOVE}ngstro\N{COMBINING DIAERESIS}m"])


@pytest.fixture
def numbers(tmp_path: Path) -> Iterator[TestClient]:
    """A service whose classes are numbers."""
    path = tmp_path / "numbers.model"
    TextClassifier("multinomial").fit(["good ball", "fair vote"] * 3, [1, 2] * 3).save(path)
    with TestClient(create_app(options(path))) as client:
        yield client


def test_classes_that_are_numbers(numbers: TestClient) -> None:
    """A page and other tools send strings."""
    post(numbers, "teach", documents=[{"text": "frobnicator", "label": "2"}])
    assert post(numbers, "teach", documents=[{"text": "frob", "label": "3"}], new_classes=True)["new_classes"] == [3]
    post(numbers, "forget", documents=[{"text": "frob", "label": "3"}])
    found = numbers.post("/v1/classify", json={"text": "frobnicator"}).json()["results"][0]
    assert [one["label"] for one in found["classes"]] == [2, 1]


def test_answers_name_the_model_and_its_version(client: TestClient) -> None:
    """In headers, also where the shape of another server has no place for it; in a stream also in every line."""

    def version(method: str, path: str, **body: Any) -> str:
        answer = client.request(method, path, headers=WITH_TOKEN, **body)
        assert answer.headers["unnaive-model"] == "tickets", path
        return answer.headers["unnaive-version"]

    post(client, "teach", documents=[BILL])
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]}
    asked = [
        ("/v1/classify", {"text": "a"}), ("/", {"inputs": "a"}), ("/models/tickets", {"inputs": ["a"]}),
        ("/predict", {"inputs": "a"}), ("/predict", {"tasks": [{"data": {"text": "a"}}]}),
        ("/invocations", {"inputs": ["a"]}), ("/v2/models/tickets/infer", {"inputs": [tensor]}),
        ("/v1/classify/stream", {"text": "a"}), (f"{PATH}/forget", {"event": 99}),
    ]  # fmt: skip
    for path, body in asked:
        assert version("POST", path, json=body) == "1", path
    for path in (PATH, f"{PATH}/versions", "/info", "/v2/models/tickets", "/v2/models/tickets/ready"):
        assert version("GET", path) == "1", path
    assert version("POST", f"{PATH}/undo", json={"event": 1}) == "2"
    line = client.post("/v1/classify/stream", json={"text": "a"}).json()
    assert (line["model"], line["version"]) == ("tickets", 2)
    for path in ("/healthz", "/"):
        assert "unnaive-model" not in client.get(path).headers


CONFIG = '<View><Text name="t" value="$message"/><Choices name="queue" toName="t"/></View>'


def annotate(client: TestClient, label: str, path: str = "/webhook", **more: Any) -> int:
    """Send what Label Studio sends for an annotation of a task with several texts; the status of the answer."""
    result = [{"type": "choices", "value": {"choices": [label]}}]
    task = {"data": {"message": "frobnicator zyzzyva", "text": "another thing"}}
    event = {"action": "ANNOTATION_CREATED", "annotation": {"id": 7, "result": result}, "task": task, **more}
    return client.post(path, json=event, headers=WITH_TOKEN).status_code


def test_label_studio_s_configuration_survives_a_restart(model_file: Path) -> None:
    with TestClient(create_app(options(model_file))) as client:
        assert annotate(client, "bug") == 409  # which of the two fields it is about is not known
        assert annotate(client, "bug", project={"label_config": CONFIG}) == 200  # or said by the webhook itself
        client.post(f"{PATH}/undo", json={"event": 1}, headers=WITH_TOKEN)
        client.post("/setup", json={"schema": CONFIG}, headers=WITH_TOKEN)
    with TestClient(create_app(options(model_file))) as client:
        assert annotate(client, "bug") == 200
        shown = client.get(f"{PATH}/versions?documents=true&limit=1", headers=WITH_TOKEN).json()["versions"][0]
        assert shown["changes"][0]["text"] == "frobnicator zyzzyva"


def test_annotations_make_classes_only_where_allowed(client: TestClient, numbers: TestClient, trained: Path) -> None:
    client.post("/setup", json={"schema": CONFIG}, headers=WITH_TOKEN)
    before = documents(client)
    assert annotate(client, "bgu") == annotate(client, "Billing", "/webhook?new_classes=true") == 409
    assert documents(client) == before
    assert annotate(client, "poetry", "/webhook?new_classes=true") == 200
    assert annotate(numbers, "2", project={"label_config": CONFIG}) == 200
    copy = trained.with_name("grown.model")
    copy.write_bytes(trained.read_bytes())
    with TestClient(create_app(options(copy, new_classes=True))) as grown:
        assert annotate(grown, "poetry", project={"label_config": CONFIG}) == 200
        assert annotate(grown, "Poetry", project={"label_config": CONFIG}) == 409
