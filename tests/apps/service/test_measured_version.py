"""The card and the page say which version was measured, and which one answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from support.browser import NEEDS_CHROMIUM, open_signed_in, shoot, wait
from support.serving import run_service

from unnaive import TextClassifier, evaluate_file
from unnaive.apps.cli.main import exit_code
from unnaive.apps.service.app import create_app

from .conftest import TOKEN, WITH_TOKEN, options


@pytest.fixture
def measured(small: Path, tmp_path: Path) -> Path:
    """What `unnaive evaluate --json` writes about the small model."""
    data = tmp_path / "test.csv"
    data.write_text("text,label\n" + "a good ball,sport\na fair vote,politics\n" * 5)
    path = tmp_path / "measured.json"
    path.write_text(json.dumps(evaluate_file(small, data).to_dict()))
    return path


def teach(client: Any, text: str = "frobnicator") -> None:
    body = {"documents": [{"text": text, "label": "sport"}]}
    assert client.post("/v1/models/tickets/teach", json=body, headers=WITH_TOKEN).status_code == 200


def test_the_evaluation_is_of_a_version(small: Path, measured: Path) -> None:
    chosen = options(small, evaluations={"tickets": str(measured)})
    with TestClient(create_app(chosen)) as client:

        def shown() -> list[Any]:
            evaluation = client.get("/v1/models/tickets").json()["evaluation"]
            return [evaluation["version"], evaluation["current"], evaluation["measures"]["accuracy"]]

        assert shown() == [0, True, 1.0]
        teach(client)
        assert shown() == [0, False, 1.0]
    with TestClient(create_app(chosen)) as client:  # the file was rewritten, and the record knows the first one
        assert client.get("/v1/models/tickets").json()["evaluation"]["version"] == 0


def test_an_evaluation_of_another_model_is_refused(
    small: Path, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.model"
    TextClassifier("bernoulli").fit(["good ball", "fair vote"] * 3, ["sport", "politics"] * 3).save(other)
    values = json.loads(measured.read_text())
    del values["model_sha256"]
    without = tmp_path / "without.json"
    without.write_text(json.dumps(values))
    for path, model, words in (
        (measured, other, "measured another model than"), (without, small, "does not say which model it measured"),
    ):  # fmt: skip
        for more in ([], ["--read-only"]):
            assert exit_code(["serve", str(model), "--evaluation", str(path), *more]) == 2
            assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@NEEDS_CHROMIUM
def test_an_open_page_follows_the_version_that_answers(browser: Any, small: Path, measured: Path) -> None:
    with (
        run_service("serve", f"tickets={small}", "--port", 0, "--evaluation", measured, token=TOKEN) as service,
        open_signed_in(browser, service.address, TOKEN) as page,
        httpx.Client(base_url=service.address, timeout=300) as client,
    ):
        page.click("#tab-card")
        wait(page, "document.getElementById('card-body').textContent.includes('Evaluation on 10 documents')")
        assert "This was measured on version" not in page.inner_text("#card-body")
        teach(client)
        page.click("#tab-try")
        page.fill("#text", "frobnicator")
        wait(page, "document.getElementById('version').textContent.endsWith('version 1')")
        page.click("#tab-card")
        wait(page, "document.getElementById('card-body').textContent.includes('measured on version 0')")
        shoot(page, "card-measured-on")
