"""The words of a text by keyboard and by touch: one stop for Tab, arrow keys between them, weights for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, find_violations, open_signed_in, wait
from support.serving import run_service

from unnaive import TextClassifier

from .conftest import TOKEN, tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]
TEXT = "my invoice, was charged twice! " * 40


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service of a model of characters, whose evidence also lies on spaces and punctuation."""
    path = tmp_path_factory.mktemp("evidence") / "tickets.model"
    texts, labels = tickets()
    TextClassifier("multinomial", analyzer="char").fit(texts[:600], labels[:600]).save(path)
    with run_service("serve", path, "--port", 0, "--read-only", token=TOKEN) as service:
        yield service.address


def show(page: Any) -> None:
    page.fill("#text", TEXT)
    page.wait_for_selector(".evidence button")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")


def test_tab_passes_the_words_and_arrows_move_between_them(browser: Any, address: str) -> None:
    with open_signed_in(browser, address, TOKEN) as page:
        show(page)
        assert page.locator(".evidence").text_content() == TEXT
        buttons = page.locator(".evidence button")
        assert buttons.count() > 100
        assert not [words for words in buttons.all_text_contents() if not any(map(str.isalnum, words))]
        assert page.locator(".evidence button[tabindex='0']").count() == 1
        buttons.first.focus()
        first = page.inner_text(".number-line")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.start") == buttons.nth(1).get_attribute("data-start")
        assert page.inner_text(".number-line") != first
        page.keyboard.press("End")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.evidence')") is None
        page.keyboard.press("Shift+Tab")  # back to the word that was left
        assert page.evaluate("document.activeElement.dataset.start") == buttons.last.get_attribute("data-start")
        page.keyboard.press("Enter")
        page.wait_for_selector(".evidence .struck")
        wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")
        assert page.evaluate("document.activeElement.className") == "struck"  # the focus stays where it was
        assert find_violations(page) == []


def test_a_touch_shows_the_weight_and_a_second_one_ignores_the_word(browser: Any, address: str) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(f"{address}#token={TOKEN}")
    wait(page, "document.getElementById('version').textContent !== ''")
    show(page)
    word = page.locator(".evidence button", has_text="invoice").first
    word.tap()
    assert "invoice" in page.inner_text(".number-line")
    assert page.locator(".evidence .struck").count() == 0
    word.tap()
    page.wait_for_selector(".evidence .struck")
    context.close()
