"""Teaching from the page in a real browser: each text once, undone once, with any kind of class; by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.browser import NEEDS_CHROMIUM, find_violations, open_signed_in, shoot, wait
from support.serving import run_service

from unnaive import TextClassifier

from .conftest import TOKEN, WITH_TOKEN

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

TEXT = "my invoice was charged twice"
STARS = (["awful broken thing", "fine I suppose", "great lovely thing"] * 3, [1, 2, 3] * 3)
TAGS = (["red ball", "blue ball", "red vote"] * 3, [("red", "sport"), ("sport",), ("red",)] * 3)


@pytest.fixture(scope="module")
def server(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Three models: texts as classes, numbers as classes, multilabel."""
    folder = tmp_path_factory.mktemp("teaching")
    first = folder / "tickets.model"
    first.write_bytes(trained.read_bytes())
    TextClassifier("multinomial").fit(*STARS).save(folder / "stars.model")
    TextClassifier("multinomial").fit(*TAGS).save(folder / "tags.model")
    measured = folder / "stars.csv"
    measured.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(*STARS, strict=True)))
    command = ("serve", first, folder / "stars.model", folder / "tags.model", "--port", 0)
    with run_service(*command, "--measure-on", f"stars={measured}", token=TOKEN) as running:
        yield running.address


@pytest.fixture
def page(browser: Any, server: str) -> Iterator[Any]:
    """The page, signed in; nothing may be written to the console but requests that were refused on purpose."""
    with open_signed_in(browser, server, TOKEN, allowed="409") as page:
        yield page


def events(server: str, model: str = "tickets") -> list[dict[str, Any]]:
    """What the record has, the newest first."""
    answer = httpx.get(f"{server}v1/models/{model}/versions?documents=true", headers=WITH_TOKEN, timeout=300)
    found: list[dict[str, Any]] = answer.json()["versions"]
    return found


def open_teach(page: Any) -> None:
    page.click("#tab-teach")
    page.wait_for_selector("#teach-form:not([hidden])")


def try_text(page: Any, text: str) -> None:
    page.fill("#text", text)
    wait(page, f"document.querySelector('.evidence')?.textContent === {text!r}")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")


def said(page: Any, words: str, place: str = "taught") -> None:
    wait(page, f"document.getElementById('{place}').textContent.startsWith('{words}')")


def test_the_teach_tab_follows_the_text_that_was_tried_last(page: Any) -> None:
    for text in (TEXT, "the app crashes"):
        page.click("#tab-try")
        try_text(page, text)
        open_teach(page)
        wait(page, f"document.getElementById('teach-text').value === {text!r}")
        wait(page, "document.getElementById('teach-label').value === ''")
        page.fill("#teach-label", "bug")
    page.fill("#teach-text", "my own words")
    page.click("#tab-try")
    open_teach(page)
    assert page.input_value("#teach-text") == "my own words"  # nothing else was tried since


def test_a_double_click_teaches_once(page: Any, server: str) -> None:
    keys: list[str] = []
    page.on("request", lambda one: keys.append(one.headers.get("idempotency-key")) if "/teach" in one.url else None)
    open_teach(page)
    before = len(events(server))
    page.fill("#teach-text", "twiddle")
    page.fill("#teach-label", "brand-new")  # which is a class when the second press comes
    page.dblclick("#teach-form button")
    said(page, "This was already taught")
    page.click("#teach-form button")  # a third press, when the answer has come
    wait(page, "document.getElementById('history').textContent.includes('twiddle')")
    assert len(events(server)) == before + 1
    assert len(set(keys)) == 1
    assert None not in keys
    page.locator("#taught button", has_text="Undo").click()
    said(page, "Forgotten")
    page.click("#teach-form button")  # what was forgotten may be taught again
    said(page, "Taught")
    assert [one["kind"] for one in events(server)[:3]] == ["teach", "undo", "teach"]


def test_forgetting_is_done_once_by_its_event(page: Any, browser: Any, server: str) -> None:
    open_teach(page)
    for _ in range(2):  # the same text twice, on purpose: two events
        httpx.post(
            f"{server}v1/models/tickets/teach",
            json={"documents": [{"text": "gizmo", "label": "bug"}]},
            headers=WITH_TOKEN,
            timeout=300,
        )
    page.reload()
    open_teach(page)
    page.wait_for_selector("#history button")
    other = page.context.new_page()  # where the same button is still there afterwards
    other.goto(server)
    wait(other, "document.getElementById('version').textContent !== ''")
    open_teach(other)
    other.wait_for_selector("#history button")
    before = len(events(server))
    page.evaluate("for (let n = 0; n < 3; n += 1) document.querySelector('#history button').click()")
    said(page, "Forgotten")
    found = events(server)
    assert len(found) == before + 1
    assert [one["undone"] for one in found[1:3]] == [True, False]  # the other one of the same text stands
    other.locator("#history button").first.click()
    wait(other, "document.getElementById('status').textContent !== ''")
    assert len(events(server)) == before + 1
    shoot(page, "forgotten")
    page.locator("#history button", has_text="Teach it again").first.click()
    said(page, "Taught again")
    assert len(events(server)) == before + 2


def test_a_class_that_looks_like_another_is_asked_about(page: Any, server: str) -> None:
    open_teach(page)
    page.fill("#teach-text", "widget")
    page.fill("#teach-label", "Billing")
    before = len(events(server))
    page.click("#teach-form button")
    said(page, "There is already a class billing.")
    assert len(events(server)) == before
    shoot(page, "similar")
    page.locator("#taught button", has_text="Teach billing").click()
    said(page, "Taught")
    assert events(server)[0]["changes"][0]["labels"] == ["billing"]
    page.click("#teach-form button")
    said(page, "There is already a class billing.")
    page.locator("#taught button", has_text="Make Billing a new class").click()
    said(page, "Taught")
    assert events(server)[0]["changes"][0]["labels"] == ["Billing"]
    page.locator("#taught button", has_text="Undo").click()
    said(page, "Forgotten")


def test_classes_that_are_numbers(page: Any, server: str) -> None:
    page.select_option("#model", "stars")
    open_teach(page)
    for given, label in (("3", 3), ("5", 5)):
        page.fill("#teach-text", f"marvel {given}")
        page.fill("#teach-label", given)
        page.click("#teach-form button")
        wait(page, f"document.getElementById('history').textContent.includes('marvel {given}')")
        assert events(server, "stars")[0]["changes"][0]["labels"] == [label]
    page.click("#tab-try")
    try_text(page, "great thing")
    page.locator(".bars button", has_text="2").first.click()
    wait(page, "[...document.querySelectorAll('#answers h2')].some(one => one.textContent.endsWith(' 2'))")


def test_multilabel(page: Any, server: str) -> None:
    page.select_option("#model", "tags")
    open_teach(page)
    page.fill("#teach-text", "crimson goal")
    page.fill("#teach-label", "red; sport")
    page.click("#teach-form button")
    said(page, "Taught")
    assert sorted(events(server, "tags")[0]["changes"][0]["labels"]) == ["red", "sport"]
    page.locator("#history button", has_text="Forget it").first.click()
    said(page, "Forgotten")


def test_a_correction_on_the_try_tab(page: Any, server: str) -> None:
    try_text(page, "sprocket sprocket")
    first = page.inner_text("#answers h2 >> nth=0")
    right = "bug" if first != "bug" else "sales"
    page.fill("#correct-label", right)
    page.dblclick("#correct-form button")
    wait(page, "document.getElementById('corrected').textContent !== ''")
    wait(page, f"document.querySelector('#answers h2').textContent === '{right}'")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")
    found = events(server)
    assert found[0]["changes"][0] == {"sign": 1, "text": "sprocket sprocket", "labels": [right], "standing": True}
    shoot(page, "corrected")
    assert find_violations(page) == []
    page.locator("#corrected button", has_text="Undo").click()
    said(page, "Forgotten", "corrected")
    wait(page, f"document.querySelector('#answers h2').textContent === '{first}'")
    assert len(events(server)) == len(found) + 1
    try_text(page, "something else")
    assert page.inner_text("#corrected") == ""


def test_rolling_back_on_the_card(page: Any, server: str) -> None:
    """The versions, how good each of them is, and the way back, which asks once more."""
    for number in range(2):
        document = {"text": f"awful {number}", "label": 1}
        httpx.post(f"{server}v1/models/stars/teach", json={"documents": [document]}, headers=WITH_TOKEN, timeout=300)
    newest = events(server, "stars")[0]["version"]
    page.select_option("#model", "stars")
    measured = f"document.querySelector('#versions tbody td:nth-child(5)')?.textContent === '1.000' && {newest}"
    for _ in range(600):  # versions are measured when there is time
        page.click("#tab-card")
        page.wait_for_selector("#versions tbody tr")
        if page.evaluate(measured):
            break
        page.wait_for_timeout(200)
    else:
        raise AssertionError("the versions were not measured")
    assert "accuracy" in page.inner_text("#versions thead")
    assert "evaluated on 9 documents" in page.inner_text("#card-body")
    assert page.inner_text("#versions tbody tr >> nth=0").endswith("now")
    page.click(f"[aria-label='Roll back to version {newest - 1}']")
    shoot(page, "rollback")
    assert find_violations(page) == []
    page.get_by_role("button", name="No", exact=True).click()
    assert events(server, "stars")[0]["version"] == newest
    page.click(f"[aria-label='Roll back to version {newest - 1}']")
    page.get_by_role("button", name="Yes, undo 1 change").click()
    wait(page, f"document.querySelector('#versions tbody td')?.textContent === '{newest + 1}'")
    found = events(server, "stars")[0]
    assert found["kind"].startswith("rollback")
    assert [one["text"] for one in found["changes"]] == ["awful 1"]
    page.click("[aria-label='Roll back to version 0']")
    page.locator("#versions button", has_text="Yes").click()
    wait(page, f"document.querySelector('#versions tbody td')?.textContent === '{newest + 2}'")


def test_once_through_by_keyboard_alone(browser: Any, server: str) -> None:
    """Sign in, try a text, strike a word out, correct, undo, see the card, sign out; no pointer is used."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.goto(server)
    wait(page, "document.getElementById('version').textContent !== ''")

    def reach(selector: str, key: str = "Tab") -> None:
        for _ in range(80):
            if page.evaluate(f"document.activeElement?.matches({selector!r})"):
                return
            page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached by {key}")

    reach("#sign-in-open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "token"
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")
    wait(page, "!document.getElementById('sign-out').hidden")
    reach("#text")
    page.keyboard.type("my doodad was charged")
    page.wait_for_selector(".evidence button")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")
    reach(".evidence button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".evidence .struck")
    wait(page, "!document.getElementById('answers').hasAttribute('aria-busy')")
    reach("#correct-label")
    page.keyboard.type("howto")
    page.keyboard.press("Enter")
    said(page, "Taught", "corrected")
    reach("#corrected button")
    page.keyboard.press("Enter")
    said(page, "Forgotten", "corrected")
    reach("summary")
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('snippet').textContent.includes('doodad')")
    reach("#tab-try", "Shift+Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#teach-form:not([hidden])")
    assert page.evaluate("document.activeElement.id") == "tab-teach"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#versions tbody tr")
    reach("#versions button")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # No
    reach("#sign-out", "Shift+Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    wait(page, "!document.getElementById('sign-in-open').hidden")
    assert [one["kind"] for one in events(server)[:2]] == ["undo", "teach"]
    context.close()
