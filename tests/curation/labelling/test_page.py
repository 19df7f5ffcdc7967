"""The labelling page in a real browser, with the keyboard; no console errors, nothing serious found by axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, collect_problems, find_violations, open_browser, shoot, wait
from support.labelling_page import IDLE, SHOWN, SUGGESTED, next_text
from support.serving import run_service

from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.io.tickets import load_tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

EVIL = "<img src=x onerror=alert(1)> billing"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    texts = [EVIL, *load_tickets().texts[:60]]
    db = tmp_path / "labels.db"
    LabelRecord.create(db, texts, classes=["billing", "bug"]).close()
    with run_service("label", db, "--who", "ann") as running:
        yield running.with_token, db


@pytest.fixture
def page(server: tuple[str, Path]) -> Iterator[Any]:
    with open_browser() as browser:
        page = browser.new_page()
        problems = collect_problems(page)
        page.goto(server[0])
        wait(page, f"{SHOWN} && {IDLE}")
        yield page
        shoot(page, "label")
        assert [one for one in problems if "422" not in one] == []  # of a mistake that the page tells


def press(page: Any, key: str, labelled: int) -> None:
    """Press a key and wait until so many texts are labelled."""
    page.keyboard.press(key)
    wait(page, f"{IDLE} && document.getElementById('progress-words').textContent.startsWith('{labelled} of')")


def test_a_session_with_the_keyboard(page: Any, server: tuple[str, Path]) -> None:
    db = server[1]
    assert page.input_value("#who") == "ann"
    press(page, "1", 1)
    press(page, "2", 2)
    wait(page, "document.querySelector('#classes .number').textContent !== ''")  # probabilities
    wait(page, SUGGESTED)
    press(page, "a", 3)
    first = page.inner_text("#text")
    press(page, "Backspace", 2)
    press(page, "2", 3)
    wait(page, SUGGESTED)
    next_text(page, lambda: page.keyboard.press("x"))
    page.keyboard.press("f")
    wait(page, "document.getElementById('progress-words').textContent.includes('1 flagged')")
    page.keyboard.press("Space")
    wait(page, "document.getElementById('progress-words').textContent.includes('1 skipped')")
    page.keyboard.press("n")
    page.keyboard.type("feature <b>")
    page.keyboard.press("Enter")
    wait(page, "document.querySelectorAll('#classes button').length === 3")
    press(page, "3", 4)
    page.keyboard.press("/")
    page.keyboard.type("onerror")
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('text').textContent.includes('onerror')")
    assert page.evaluate("document.querySelectorAll('#text img').length") == 0
    record = LabelRecord(db)
    kinds = [one.kind for one in record.decisions()]
    assert kinds == ["label", "label", "label", "undo", "label", "reject", "flag", "skip", "class", "label"]
    assert [one.who for one in record.decisions()] == ["ann"] * len(kinds)
    assert record.final_of(record.decisions()[-1].text or 0) == ("feature <b>",)
    assert first != ""


def test_accessible_and_narrow(page: Any) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_search_that_finds_nothing_says_so(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("nowhereatall")
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('status').textContent.includes('o text contains all of')")
