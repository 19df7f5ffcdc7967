"""The routes of Annif's `http` backend, asked as it asks; `make hosts` asks them with Annif itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from unnaive import TextClassifier
from unnaive.apps.service.annif import _score
from unnaive.apps.service.app import create_app

from .conftest import options

SPORT, LAW = "http://example.org/sport", "http://example.org/law"
TEXTS = ["good ball", "fair vote", "ball vote"] * 4
LABELS = [[SPORT], [LAW], [SPORT, LAW]] * 4


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    """A multilabel model whose classes are URIs."""
    TextClassifier("maxent").fit(TEXTS, LABELS).save(tmp_path / "corpus.model")
    return tmp_path / "corpus.model"


@pytest.fixture
def asked(model_path: Path) -> Iterator[TestClient]:
    """A client of the service over it."""
    with TestClient(create_app(options(model_path, models={"corpus": str(model_path)}))) as client:
        yield client


def suggest(client: TestClient, **form: Any) -> Any:
    return client.post("/v1/projects/corpus/suggest", data=form)


def test_suggestions_are_the_classes_with_their_probabilities(asked: TestClient, model_path: Path) -> None:
    p = TextClassifier.load(model_path).predict_proba(["good ball"])[0]
    (law, sport) = p.tolist()
    assert sport > law
    answer = suggest(asked, text="good ball", limit="5", project="corpus", metadata_title="a title")
    assert answer.status_code == 200
    assert answer.json() == {"results": [
        {"uri": SPORT, "label": SPORT, "notation": None, "score": pytest.approx(sport)},
        {"uri": LAW, "label": LAW, "notation": None, "score": pytest.approx(law)},
    ]}  # fmt: skip
    assert [hit["uri"] for hit in suggest(asked, text="good ball", limit=1).json()["results"]] == [SPORT]
    assert [hit["uri"] for hit in suggest(asked, text="good ball", threshold=sport).json()["results"]] == [SPORT]
    assert len(suggest(asked, text="").json()["results"]) == 2  # an empty text too


def test_a_project_says_that_it_is_trained_and_since_when(asked: TestClient, model_path: Path) -> None:
    about = asked.get("/v1/projects/corpus").json()
    written = datetime.fromisoformat(about.pop("modification_time"))
    assert written.timestamp() == int(model_path.stat().st_mtime)
    assert written.tzinfo is not None
    assert about == {
        "project_id": "corpus", "name": "corpus", "language": "en", "backend": {"backend_id": "unnaive"},
        "is_trained": True,
    }  # fmt: skip


def test_mistakes_are_sentences(asked: TestClient) -> None:
    for form, match in (
        ({}, "the form has no field text"),
        ({"text": "a", "limit": "0"}, "limit is 0"),
        ({"text": "a", "limit": "-1"}, "limit is -1"),
        ({"text": "a", "limit": "2.5"}, "limit is '2.5'; give a whole number"),
        ({"text": "a", "limit": "9" * 400}, "give a whole number"),
        ({"text": "a", "threshold": "nan"}, "threshold is 'nan'; give a number"),
        ({"text": "a", **{f"m{i}": "" for i in range(1001)}}, "more than 1000 fields"),
    ):
        answer = suggest(asked, **form) if form else asked.post(
            "/v1/projects/corpus/suggest", content=b"", headers={"content-type": "application/x-www-form-urlencoded"}
        )  # fmt: skip
        assert (answer.status_code, match in answer.json()["error"]) == (422, True), answer.text
    path = "/v1/projects/corpus/suggest"
    form_type = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert asked.post(path, content=b"text=%ff", headers=form_type).status_code == 422
    assert asked.post(path, content=b"text=\xff", headers=form_type).status_code == 422
    assert asked.post(path, json={"text": "a"}).status_code == 415
    assert asked.post("/v1/projects/none/suggest", data={"text": "a"}).status_code == 404
    assert asked.get("/v1/projects/none").status_code == 404
    assert "there is no model called 'none'; there are corpus" in asked.get("/v1/projects/none").json()["error"]


def test_texts_in_other_scripts_arrive_whole(asked: TestClient) -> None:
    for text in ("iyi bir maç ball", "अच्छा ball", "ball\nvote", "a+b=c&d ball"):
        whole = asked.post("/v1/classify", json={"text": text}).json()["results"][0]["classes"]
        found = suggest(asked, text=text).json()["results"]
        assert {hit["label"]: hit["score"] for hit in found} == {one["label"]: one["probability"] for one in whole}
        assert urlencode({"text": text}) != text


def test_scores_without_probabilities_are_between_0_and_1() -> None:
    assert _score(0.3, True) == 0.3
    assert [_score(value, False) for value in (-1e9, 0.0, 1e9)] == [pytest.approx(0.0), 0.5, 1.0]
