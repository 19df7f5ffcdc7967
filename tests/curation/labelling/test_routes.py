"""The routes of the labelling page: the token guards them, errors are sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

testclient = pytest.importorskip("fastapi.testclient", reason="the extra serve is not installed")

from unnaive.apps.common.web.tokens import Token, Tokens, TokenScope  # noqa: E402
from unnaive.apps.labelling.page import make_label_app  # noqa: E402
from unnaive.apps.labelling.people import person_tokens  # noqa: E402
from unnaive.base.errors import UnnaiveError  # noqa: E402
from unnaive.curation.labelling.label_log import LabelRecord  # noqa: E402
from unnaive.curation.labelling.labelling_session import Labelling  # noqa: E402

TOKEN = "t" * 24


@pytest.fixture
def client(tmp_path: Path) -> Any:
    record = LabelRecord.create(tmp_path / "l.db", ["good ball", "fair vote", "ball", "vote"], classes=["a", "b"])
    app = make_label_app(Labelling(record), "ann", Tokens([Token.of(TOKEN)]), secret=TOKEN)
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
    assert client.get("/label/agreement").json() == {"agreement": [], "alpha": None}
    assert client.get("/label/standing").json()["accuracy"] is None  # nothing is labelled now


def test_the_next_text_is_fetched_ahead(client: Any) -> None:
    first = client.post("/label/next", json={"who": "ann"}).json()["text"]
    ahead = client.post("/label/ahead", json={"who": "ann", "after": first["number"]}).json()
    assert ahead["text"]["number"] != first["number"]
    assert ahead["keys"] == {"1": "a", "2": "b"}
    answer = {"who": "ann", "text": first["number"], "seen": first["seen"], "kind": "label", "labels": ["a"]}
    assert client.post("/label/answer", json=answer).json()["text"] == ahead["text"]
    again = client.post("/label/ahead", json={"who": "ann", "after": first["number"]}).json()
    assert again["text"] is None  # it was answered


def test_a_full_disk_is_a_sentence_and_the_answer_can_be_given_again(tmp_path: Path) -> None:
    record = LabelRecord.create(tmp_path / "l.db", [f"word{number} ball" for number in range(40)], classes=["a", "b"])
    app = make_label_app(Labelling(record), "ann", Tokens([Token.of(TOKEN)]), secret=TOKEN)
    client = testclient.TestClient(app, base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"})
    shown = client.post("/label/next", json={"who": "ann"}).json()["text"]
    answer = {"who": "ann", "text": shown["number"], "seen": shown["seen"], "kind": "label", "labels": ["b"]}
    record._data.execute("PRAGMA max_page_count = 1")  # SQLite raises it to the pages that there are
    for number in range(20):  # there is room in the pages that there are
        found = client.post("/label/class", json={"who": "ann", "label": f"{number}" * 400})
        if found.status_code != 200:
            break
    assert found.status_code == 503
    assert found.json()["error"].startswith("the file of labels cannot be written: database or disk is full")
    record._data.execute("PRAGMA max_page_count = 100000")
    assert client.post("/label/answer", json=answer).status_code == 200
    assert [one.kind for one in record.decisions()].count("label") == 1


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


def test_elsewhere_than_on_loopback_everybody_needs_a_token(tmp_path: Path) -> None:
    from unnaive.apps.common.web.running import ListenOptions
    from unnaive.apps.labelling.page import serve_page

    record = LabelRecord.create(tmp_path / "l.db", ["good ball"])
    with pytest.raises(UnnaiveError, match="everybody needs a token"):
        serve_page(Labelling(record), "ann", ListenOptions("0.0.0.0"))


@pytest.fixture
def team(tmp_path: Path) -> Any:
    """A function that sends a request as ann or bob, who label, or deniz, who reviews."""
    record = LabelRecord.create(tmp_path / "l.db", [f"word{number} ball" for number in range(40)], classes=["a", "b"])
    given = person_tokens(["ann", "bob", "deniz:review"], "secret")
    tokens = Tokens(Token.of(token, name, scope) for name, (token, scope) in given.items())
    assert {name: scope for name, (_, scope) in given.items()}["deniz"] is TokenScope.ADMIN
    app = make_label_app(Labelling(record, double=0.0), "owner", tokens, secret=TOKEN, people=True, hosts=())
    client = testclient.TestClient(app, base_url="http://192.168.0.7")

    def send(person: str, path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {given[person][0]}"}
        path = f"/label/{path}"
        return client.post(path, json={"who": "x", **body}, headers=headers) if body or path.split("/")[-1] in (
            "next", "undo") else client.get(path, headers=headers)  # fmt: skip

    send.record = record  # type: ignore[attr-defined]
    return send


def test_a_token_says_who_answers_and_undoes(team: Any) -> None:
    shown = team("ann", "next", who="deniz").json()
    assert shown["who"] == "ann"
    text = shown["text"]
    answer = {"text": text["number"], "seen": text["seen"], "kind": "label", "labels": ["a"]}
    assert team("ann", "answer", who="bob", **answer).status_code == 200
    assert [one.who for one in team.record.decisions()] == ["ann"]
    assert team("bob", "undo", who="ann").status_code == 422  # nothing of bob's to undo
    assert team("ann", "undo").status_code == 200
    assert team("bob", "who").json() == {"who": "bob", "fixed": True, "reviews": False}


def test_only_a_reviewer_sees_others_decides_and_changes_classes(team: Any) -> None:
    record = team.record
    for who, label in (("ann", "a"), ("bob", "b")):
        record.add(who, "label", 3, [label])
    record.add("bob", "flag", 4)
    for change in ({"kind": "rename", "names": ["a", "c"]}, {"kind": "guidelines", "names": ["read"]}):
        assert team("ann", "classes", **change).status_code == 403
    assert team("ann", "open", text=3, decide=True).status_code == 403
    mine = team("ann", "browse", state="all").json()
    assert [(row["number"], [one["who"] for one in row["answers"]]) for row in mine["texts"]] == [(3, ["ann"])]
    assert (mine["texts"][0]["labels"], mine["people"]) == (None, ["ann"])
    left = team("ann", "browse", state="unlabelled").json()
    assert (left["number"], len(left["texts"])) == (39, 39)
    assert all(row["answers"] == [] for row in left["texts"])  # bob's flag is not shown
    review = team("deniz", "browse", state="review").json()
    assert [(row["number"], row["reasons"]) for row in review["texts"]] == [(4, ["flagged"]), (3, ["disagreed"])]
    opened = team("deniz", "open", text=3, decide=True).json()["text"]
    assert [(one["who"], one["labels"]) for one in opened["answers"]] == [("ann", ["a"]), ("bob", ["b"])]
    answer = {"text": 3, "seen": opened["seen"], "kind": "label", "labels": ["a"]}
    assert team("deniz", "answer", **answer).status_code == 200
    assert record.final() == {3: ("a",)}
    assert [row["number"] for row in team("deniz", "browse", state="review").json()["texts"]] == [4]
    assert team("deniz", "classes", kind="rename", names=["a", "c"]).json()["classes"][0]["name"] == "c"


def test_a_list_is_labelled_at_once_and_undone_at_once(team: Any) -> None:
    found = team("ann", "browse", state="unlabelled", words="ball").json()
    assert found["number"] == 40
    bulk = {"state": "unlabelled", "words": "ball", "labels": ["b"]}
    assert team("ann", "bulk", number=39, **bulk).status_code == 409  # the list has changed
    done = team("ann", "bulk", number=40, **bulk).json()
    assert done == {"labelled": 38, "left_out": 2}  # a tenth of those after the first twenty measures the model
    assert len(team.record.final()) == 38
    assert team("ann", "undo").status_code == 200
    assert team.record.final() == {}


def test_a_class_spelt_alike_is_a_question(team: Any) -> None:
    found = team("ann", "class", label="A")
    assert (found.status_code, "spelt much like the class 'a'" in found.json()["error"]) == (409, True)
    assert team("ann", "class", label="A", alike=True).json()["classes"] == ["a", "b", "A"]
