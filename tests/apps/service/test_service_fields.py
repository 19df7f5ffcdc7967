"""Records with fields in the service: objects in its own endpoints, and the page's form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from support.browser import NEEDS_CHROMIUM, open_signed_in, wait
from support.serving import run_service

from unnaive import TextClassifier
from unnaive.apps.service.app import create_app

from .conftest import TOKEN, WITH_TOKEN, options

KINDS = {"subject": "text", "body": "text", "product": "category", "age": "number"}
RECORDS = [
    {"subject": "refund", "body": "charged twice", "product": "Printer", "age": 200},
    {"subject": "crash", "body": "it stops", "product": "App", "age": 3},
    {"subject": "invoice", "body": "wrong sum", "product": None, "age": 220},
    {"subject": "error", "body": "it stops again", "product": "App", "age": 2},
]
LABELS = ["billing", "bug", "billing", "bug"]
NEW = {"subject": "freeze", "body": "nothing moves", "product": "Scanner", "age": 4}


@pytest.fixture
def records_file(tmp_path: Path) -> Path:
    """A model of records."""
    TextClassifier("multinomial", fields=KINDS).fit(RECORDS, LABELS).save(tmp_path / "records.model")
    return tmp_path / "records.model"


@pytest.fixture
def records(records_file: Path) -> Iterator[TestClient]:
    """A client of a service over it."""
    with TestClient(create_app(options(records_file))) as client:
        yield client


def test_objects_are_classified_explained_taught_and_forgotten(records: TestClient, records_file: Path) -> None:
    model = TextClassifier.load(records_file)
    assert records.get("/v1/models", headers=WITH_TOKEN).json()["models"][0]["fields"] == KINDS

    def probabilities() -> list[float]:
        answer = records.post("/v1/classify", json={"texts": [RECORDS[0], "crash", NEW]}).json()
        return [one["classes"][0]["probability"] for one in answer["results"]]

    before = probabilities()
    assert before[0] == model.predict_proba(RECORDS[:1]).max()
    asked = {"text": RECORDS[0], "explain": True}
    found = records.post("/v1/classify", json=asked).json()["results"][0]["explanation"]
    assert found["text"] == "subject: refund\nbody: charged twice\nproduct: Printer\nage: 200"
    assert set(found["fields"]) == set(KINDS)
    taught = {"documents": [{"text": NEW, "label": "bug"}]}
    event = records.post("/v1/models/tickets/teach", json=taught, headers=WITH_TOKEN).json()["event"]
    expected = TextClassifier("multinomial", fields=KINDS).fit([*RECORDS, NEW], [*LABELS, "bug"])
    assert np.isclose(probabilities()[2], expected.predict_proba([NEW]).max(), rtol=0, atol=0)
    records.post("/v1/models/tickets/forget", json={"event": event}, headers=WITH_TOKEN)
    assert probabilities() == before


@pytest.mark.parametrize(
    ("record", "sentence"),
    [({"subject": "hi"}, "there is no field 'body' (text)"), ({**NEW, "age": "old"}, "field 'age' is a number")],
)
def test_a_record_that_cannot_be_read_is_refused(records: TestClient, record: Any, sentence: str) -> None:
    answer = records.post("/v1/classify", json={"text": record})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


def test_a_model_of_texts_takes_no_objects(client: TestClient) -> None:
    answer = client.post("/v1/classify", json={"text": {"subject": "hi"}})
    assert (answer.status_code, "reads texts" in answer.json()["error"]) == (422, True)


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_the_page_has_a_form(browser: Any, records_file: Path) -> None:
    with (
        run_service("serve", records_file, "--port", 0, token=TOKEN) as running,
        open_signed_in(browser, running.address, TOKEN) as page,
    ):
        wait(page, "!document.getElementById('fields').hidden")
        assert page.locator("#fields label").all_inner_texts() == [
            "subject",
            "body",
            "product (category)",
            "age (number)",
        ]
        page.fill("#field-0", "crash")
        page.fill("#field-3", "3")
        wait(page, "document.querySelector('.answer h2')?.textContent === 'bug'")
        wait(page, "document.querySelector('.evidence')?.textContent.startsWith('subject: crash')")
