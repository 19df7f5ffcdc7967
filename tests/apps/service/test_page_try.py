"""The page in a real browser: long texts, code that runs, tables that are not UTF-8, and the pages of the interface."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, find_violations, open_signed_in, shoot, wait
from support.serving import run_service

from unnaive import TextClassifier

from .conftest import TOKEN, tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

MARKED = 20_000  # characters of a text whose evidence is shown


@pytest.fixture(scope="module")
def server(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that needs the token for everything."""
    copy = tmp_path_factory.mktemp("try") / "tickets.model"
    copy.write_bytes(trained.read_bytes())
    with run_service("serve", copy, "--host", "0.0.0.0", "--port", 0, token=TOKEN) as running:
        yield running.address.replace("0.0.0.0", "127.0.0.1")


@pytest.fixture
def page(browser: Any, server: str) -> Iterator[Any]:
    """The page, signed in; a test fails if anything was written to the console, or asked of another host."""
    asked = set()
    with open_signed_in(browser, server, TOKEN) as page:
        page.on("request", lambda one: asked.add(one.url.split("/")[2]) if one.url.startswith("http") else None)
        page.reload()
        wait(page, "document.getElementById('version').textContent !== ''")
        yield page
    assert asked == {server.split("/")[2]}


def try_text(page: Any, text: str) -> None:
    page.fill("#text", text)
    wait(page, f"document.querySelector('.evidence')?.textContent.length === {len(text.encode('utf-16-le')) // 2}")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")


def test_a_long_text_is_shown_whole_and_marked_at_its_beginning(page: Any, trained: Path) -> None:
    """192 kB: the classes of all of it, the evidence of the first 20,000 characters, and the page still answers."""
    words = " ".join(tickets()[0]).split()
    random.Random(0).shuffle(words)
    text = "😀 " + " ".join(words * 9)[:192_000]
    model = TextClassifier.load(trained)
    try_text(page, text)
    assert page.evaluate("document.querySelector('.evidence').textContent") == text
    assert page.inner_text("#answers h2 >> nth=0") == model.predict([text])[0]
    assert "first 20,000 characters" in page.inner_text("#answers")
    last = page.evaluate("[...document.querySelectorAll('.evidence button')].at(-1).textContent")
    rest = page.evaluate("document.querySelector('.evidence').lastChild.textContent")
    assert rest == text[MARKED:]
    places = [place for one in model.explain(text).evidence for place in one.places if place[1] <= MARKED]
    start, end = max(places)
    assert text[start:end] == last
    shoot(page, "long")
    try_text(page, "my invoice")  # and goes on at once
    assert page.locator(".evidence button").count() == 2
    assert "characters" not in page.inner_text("#answers")


@pytest.mark.parametrize(
    "text",
    ["it's \"my\" $HOME invoice `id` \\ 'twice'", "فاتورة\ninvoice 😀\t\u2028 charged"],
    ids=["quotes", "unicode"],
)
def test_the_code_runs_as_it_is_shown(page: Any, text: str, trained: Path, tmp_path: Path) -> None:
    label = TextClassifier.load(trained).predict([text])[0]
    try_text(page, text)
    page.click("#code summary")
    found = {}
    for language in ("curl", "Python", "JavaScript"):
        page.get_by_role("button", name=language, exact=True).click()
        found[language] = page.evaluate("document.getElementById('snippet').textContent")
    shoot(page, "code")
    assert find_violations(page) == []
    environment = {**os.environ, "UNNAIVE_TOKEN": TOKEN}

    def run(*command: str) -> str:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert run(sys.executable, "-c", found["Python"]).startswith(label)
    if shutil.which("curl"):
        assert json.loads(run("sh", "-c", found["curl"]))["results"][0]["label"] == label
    if shutil.which("node"):
        (tmp_path / "asked.mjs").write_text(found["JavaScript"], encoding="utf-8")
        assert run("node", str(tmp_path / "asked.mjs")).startswith(label)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("latin-1", "as Windows-1252"), ("cp1252", "as Windows-1252"), ("utf-16", "as UTF-16"), ("utf-8-sig", "")],
)
def test_tables_that_are_not_utf8(page: Any, tmp_path: Path, encoding: str, said: str) -> None:
    rows = tmp_path / "rows.csv"
    dash = "–" if encoding == "cp1252" else "-"
    rows.write_bytes(f"text;ärger\r\nRechnung für Müller {dash} größer;1\r\n".encode(encoding))
    page.click("#tab-table")
    page.set_input_files("#file", str(rows))
    wait(page, "document.getElementById('progress-words').textContent.includes('1 row')")
    assert said in page.inner_text("#progress-words")
    assert page.locator("#column option").all_inner_texts() == ["text", "ärger"]
    page.click("#start")
    page.wait_for_selector("#rows tbody tr")
    assert page.inner_text("#rows tbody td.text") == f"Rechnung für Müller {dash} größer"


def test_the_pages_of_the_interface(page: Any, server: str) -> None:
    """Made of the OpenAPI description alone, without a network; every request can be opened, and sent."""
    page.click("text=API")
    page.wait_for_selector(".operation")
    described = page.request.get(f"{server}openapi.json").json()["paths"]
    assert page.locator(".operation").count() == sum(len(one) for one in described.values())
    assert find_violations(page) == []
    page.evaluate("for (const one of document.querySelectorAll('.operation')) one.open = true")
    wait(page, "[...document.querySelectorAll('.operation')].every(one => one.querySelector('form'))")
    assert find_violations(page) == []
    page.evaluate("for (const one of document.querySelectorAll('.operation')) one.open = false")
    page.fill("#filter", "post /v1/classify")
    classify = page.locator(".operation").first
    classify.locator("summary").first.click()
    shown = json.loads(classify.locator("textarea").input_value())
    classify.locator("textarea").fill(json.dumps({**shown, "text": "my invoice was charged twice", "model": "tickets"}))
    classify.get_by_role("button", name="Send").click()
    classify.locator("pre").wait_for()
    answer = json.loads(classify.locator("pre").inner_text())
    assert answer["results"][0]["label"] == "billing"
    shoot(page, "api")
    page.fill("#filter", "get /v1/models/{name}/versions")
    versions = page.locator(".operation").first
    versions.locator("summary").first.click()
    assert versions.locator("input").first.input_value() == "tickets"
    versions.get_by_role("button", name="Send").click()
    versions.locator("pre").wait_for()
    assert "200 GET /v1/models/tickets/versions" in versions.inner_text()
    answer = json.loads(versions.locator("pre").inner_text())
    assert (answer["current"], answer["versions"], answer["next"]) == (0, [], None)


def test_the_direction_of_a_text_is_its_own(page: Any) -> None:
    try_text(page, "فاتورة مرتين invoice")
    for place in ("#text", ".evidence"):
        assert page.evaluate(f"getComputedStyle(document.querySelector('{place}')).direction") == "rtl"
    for place in ("#teach-text", "#teach-label", "#correct-label", "#filter-words"):
        assert page.get_attribute(place, "dir") == "auto"
