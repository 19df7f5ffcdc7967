"""The routes of the labelling page: the token guards them, errors are sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

testclient = pytest.importorskip("fastapi.testclient", reason="the extra serve is not installed")

from unnaive.apps.labelling.routes import make_label_app  # noqa: E402
from unnaive.base.errors import UnnaiveError  # noqa: E402
from unnaive.curation.labelling.label_log import LabelRecord  # noqa: E402
from unnaive.curation.labelling.labelling_session import Labelling  # noqa: E402

TOKEN = "t" * 24


@pytest.fixture
def client(tmp_path: Path) -> Any:
    record = LabelRecord.create(tmp_path / "l.db", ["good ball", "fair vote", "ball", "vote"], classes=["a", "b"])
    app = make_label_app(Labelling(record), "ann", TOKEN, secret=TOKEN)
    return testclient.TestClient(app, base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"})


def test_nothing_without_the_token(client: Any) -> None:
    for path in ("/label/next", "/label/answer", "/label/undo"):
        found = client.post(path, json={"who": "x"}, headers={"Authorization": "Bearer no"})
        assert found.status_code == 401
    assert client.get("/label/who", headers={"Authorization": ""}).status_code == 401
    assert client.get("/", headers={"Authorization": ""}).status_code == 200  # says nothing of the texts
    assert client.post("/label/next", json={"who": "x"}, headers={"Host": "evil.example"}).status_code == 421


def test_a_session(client: Any) -> None:
    first = client.post("/label/next", json={"who": "ann"}).json()
    assert (first["classes"], first["text"]["suggested"]) == (["a", "b"], None)
    number = first["text"]["number"]
    first_answer = {"who": "ann", "text": number, "seen": 0, "kind": "label", "labels": ["a"]}
    second = client.post("/label/answer", json=first_answer).json()
    assert second["summary"]["labelled"] == 1
    assert second["text"]["number"] != number
    other = client.post("/label/next", json={"who": "bob"}).json()
    assert other["text"]["number"] not in (second["text"]["number"],)
    back = client.post("/label/undo", json={"who": "ann"}).json()
    assert (back["text"]["number"], back["summary"]["labelled"]) == (number, 0)
    assert client.get("/label/agreement").json() == {"agreement": []}
    assert client.get("/label/standing").json()["accuracy"] is None  # nothing is labelled now


def test_the_answer_of_a_second_tab_is_a_conflict(client: Any) -> None:
    first = client.post("/label/next", json={"who": "ann"}).json()["text"]
    answer = {"who": "ann", "text": first["number"], "seen": first["seen"], "kind": "label", "labels": ["a"]}
    assert client.post("/label/answer", json=answer).status_code == 200
    found = client.post("/label/answer", json=answer | {"labels": ["b"]})
    assert found.status_code == 409
    assert "ann labelled this text 'a' after it was shown here" in found.json()["error"]
    again = client.post("/label/undo", json={"who": "ann"}).json()
    assert (again["text"]["number"], again["summary"]["labelled"]) == (first["number"], 0)
    assert client.post("/label/answer", json=answer).status_code == 409  # it was undone since
    assert client.post("/label/answer", json=answer | {"seen": again["text"]["seen"]}).status_code == 200


def test_a_new_name_gives_back_the_text_of_the_old_one(client: Any) -> None:
    first = client.post("/label/next", json={"who": "root"}).json()["text"]["number"]
    numbers = [client.post("/label/next", json={"who": "ann", "before": "root"}).json()["text"]["number"]]
    for _ in range(3):
        body = {"who": "ann", "text": numbers[-1], "seen": 0, "kind": "label", "labels": ["a"]}
        numbers.append(client.post("/label/answer", json=body).json()["text"]["number"])
    assert sorted(numbers) == [0, 1, 2, 3]
    assert first in numbers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("undo", {"who": "ann"}), ("class", {"who": "ann", "label": " "}), ("class", {"who": "ann", "label": "a"}),
        ("look", {"who": "ann", "label": "a"}), ("look", {"who": "ann", "words": "nowhere"}),
        ("answer", {"who": "ann", "text": 99, "seen": 0, "kind": "skip"}),
        ("answer", {"who": "ann", "text": 0, "seen": 0, "kind": "?"}),
        ("answer", {"who": "ann", "text": 0, "kind": "skip"}),
        ("next", {"who": ""}), ("next", {}),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(client: Any, path: str, body: dict[str, Any]) -> None:
    found = client.post(f"/label/{path}", json=body)
    assert found.status_code == 422
    assert found.json()["error"]


def test_the_page_is_served_on_loopback_only(tmp_path: Path) -> None:
    from unnaive.apps.labelling.routes import serve_page

    record = LabelRecord.create(tmp_path / "l.db", ["good ball"])
    with pytest.raises(UnnaiveError, match="loopback"):
        serve_page(Labelling(record), "ann", host="0.0.0.0", port=0)
