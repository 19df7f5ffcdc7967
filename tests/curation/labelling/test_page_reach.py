"""The labelling page for everybody: what a screen reader is told, shortcuts that can be switched off, and evidence by
keyboard and by touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, find_violations, open_browser, wait
from support.labelling_page import IDLE, SHOWN, answers_of
from support.serving import run_service

from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.io.tickets import load_tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

EVIDENCE = "document.querySelector('#text button') !== null"  # there is a suggestion, with its evidence


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The page's address, and a record with six labels, so that there are suggestions."""
    corpus = load_tickets()
    db = tmp_path / "labels.db"
    record = LabelRecord.create(db, corpus.texts[:200], classes=sorted({labels[0] for labels in corpus.labels[:6]}))
    for text, labels in enumerate(corpus.labels[:6]):
        record.add("cem", "label", text, labels, way="start")
    record.close()
    with run_service("label", db, "--who", "ann", "--double", "0") as running:
        yield running.with_token, db


def open_page(browser: Any, served: tuple[str, Path], **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    page.goto(served[0])
    wait(page, f"{SHOWN} && {IDLE}")
    return page


def seek_evidence(page: Any) -> None:
    """Skip texts until one has a suggestion: texts that measure the model have none."""
    for _ in range(20):
        wait(page, IDLE)
        if page.evaluate(EVIDENCE):
            return
        before = page.inner_text("#way")
        page.click("#skip")
        wait(page, f"document.getElementById('way').textContent !== {before!r}")
    raise AssertionError("no text has a suggestion")


def test_the_next_text_is_announced(browser: Any, served: tuple[str, Path]) -> None:
    page = open_page(browser, served)
    seek_evidence(page)
    assert page.get_attribute("#announced", "aria-live") == "polite"
    for _ in range(3):
        before = page.inner_text("#text")
        page.click("#skip")
        wait(page, f"{IDLE} && document.getElementById('text').innerText !== {before!r}")
        said = page.evaluate("document.getElementById('announced').textContent")
        shown = page.evaluate("document.getElementById('text').textContent")
        assert page.inner_text("#way") in said
        assert shown.strip()[:1000] in said
        assert said.endswith(page.evaluate("document.getElementById('suggestion').textContent"))


def test_shortcuts_can_be_switched_off_and_stay_off(browser: Any, served: tuple[str, Path]) -> None:
    page = open_page(browser, served)
    assert page.locator("#accept kbd").is_visible()
    page.uncheck("#shortcuts")
    assert not page.locator("#accept kbd").is_visible()
    page.reload()
    wait(page, f"{SHOWN} && {IDLE}")
    assert not page.is_checked("#shortcuts")
    assert [name[:2] for name in page.locator("#classes .name").all_inner_texts() if name[:1].isdigit()] == []
    page.focus("#text")
    for key in ("1", "f", "x", "Space", "Enter", "Backspace", "m", "n", "/", "b", "p"):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == "text", key
    assert page.evaluate(f"{IDLE} && !document.getElementById('panel-label').hidden")
    page.click("#flag")  # buttons still do what they say
    wait(page, "document.getElementById('progress-words').textContent.includes('1 flagged')")
    assert len(answers_of(served[1])) == 1  # no key was an answer
    page.check("#shortcuts")
    page.keyboard.press("f")
    wait(page, "document.getElementById('progress-words').textContent.includes('2 flagged')")


def test_evidence_by_keyboard(browser: Any, served: tuple[str, Path]) -> None:
    page = open_page(browser, served)
    seek_evidence(page)
    buttons = page.locator("#text button")
    assert page.locator("#text button[tabindex='0']").count() == 1
    assert not [words for words in buttons.all_text_contents() if not any(map(str.isalnum, words))]
    page.focus("#text")
    page.keyboard.press("Tab")
    word = page.evaluate("document.activeElement.textContent.trim()")
    told = page.inner_text("#weight")
    assert told.startswith(f"{word}: ")
    assert told.endswith("of the strongest evidence")
    for _ in range(buttons.count()):  # one of them is the strongest
        if " >99.9 % of" in page.inner_text("#weight"):
            break
        page.keyboard.press("ArrowRight")
    assert " >99.9 % of" in page.inner_text("#weight")
    page.keyboard.press("Enter")  # presses the word, and is no answer
    assert page.evaluate("document.activeElement.closest('#text') !== null")
    page.keyboard.press("Tab")  # out of the text at once
    assert page.evaluate("document.activeElement.closest('#text')") is None
    assert find_violations(page) == []
    before = len(answers_of(served[1]))
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("f")  # from a word too, a letter is an answer
    wait(page, "document.getElementById('progress-words').textContent.includes('1 flagged')")
    assert len(answers_of(served[1])) == before + 1


def test_evidence_by_touch(browser: Any, served: tuple[str, Path]) -> None:
    page = open_page(browser, served, has_touch=True, viewport={"width": 390, "height": 800})
    seek_evidence(page)
    word = page.locator("#text button").first
    word.tap()
    assert page.inner_text("#weight").startswith(f"{word.text_content().strip()}: ")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
