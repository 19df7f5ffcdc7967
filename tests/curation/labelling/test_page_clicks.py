"""The labelling page with mouse and keyboard together, in two tabs, with 77 classes, and with a network that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, find_violations, open_browser, shoot, wait
from support.labelling_page import AHEAD, SHOWN, SUGGESTED, accept, next_text, settle
from support.labelling_page import answers_of as kinds
from support.serving import run_service

from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.io.tickets import load_tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]

CLASSES = ["billing", "bug"]
MANY = [f"intent {number:02}" for number in range(77)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """The page's address, and the record; two texts are labelled, so that there is a suggestion."""
    classes = getattr(request, "param", CLASSES)
    db = tmp_path / "labels.db"
    record = LabelRecord.create(db, load_tickets().texts[:200], classes=classes)
    for text, label in enumerate(classes):
        record.add("cem", "label", text, [label], way="start")
    record.close()
    with run_service("label", db, "--who", "ann", "--double", "0") as running:
        yield running.with_token, db


@pytest.fixture
def page(browser: Any, served: tuple[str, Path]) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(served[0])
    wait(page, SHOWN)
    settle(page)
    yield page
    context.close()


def test_a_key_after_a_click_is_that_key(page: Any, served: tuple[str, Path]) -> None:
    accept(page, lambda: page.click("#accept"))
    next_text(page, lambda: page.keyboard.press("Space"))
    next_text(page, lambda: page.click("#skip"))
    accept(page, lambda: page.keyboard.press("Enter"))
    next_text(page, lambda: page.click("#classes button"))
    next_text(page, lambda: page.keyboard.press("f"))
    assert [kind for kind, _ in kinds(served[1], 6)] == ["label", "skip", "skip", "label", "label", "flag"]
    assert page.evaluate("document.activeElement.id") == "text"


def test_ten_fast_keys_are_ten_answers(page: Any, served: tuple[str, Path]) -> None:
    page.keyboard.type("1212121212")
    assert kinds(served[1], 10) == [("label", "ann")] * 10
    settle(page)
    wait(page, SUGGESTED)
    page.dblclick("#accept")
    settle(page)
    assert len(kinds(served[1], 11)) == 11


@pytest.mark.parametrize("served", [MANY], indirect=True)
def test_the_next_text_is_on_the_screen_before_the_answer_is_recorded(page: Any, served: tuple[str, Path]) -> None:
    """With 77 classes the number keys change with the text: those of the text on the screen count."""
    wait(page, AHEAD)
    held: list[Any] = []
    slow = True  # the network
    page.route("**/label/answer", lambda route: held.append(route) if slow else route.continue_())
    before = page.inner_text("#text")
    page.keyboard.press("1")
    following, keys = page.inner_text("#text"), page.locator("#classes li .name").all_inner_texts()
    assert following != before
    assert kinds(served[1]) == []
    page.keyboard.press("3")  # for the text on the screen
    page.keyboard.press("4")  # for one that nobody has seen
    while not held:
        page.wait_for_timeout(20)
    slow = False
    held[0].continue_()
    settle(page)
    assert kinds(served[1], 2) == [("label", "ann")] * 2
    record = LabelRecord(served[1])
    second = [one for one in record.decisions() if one.who == "ann"][1]
    assert second.text is not None
    assert "".join(record.texts()[second.text].split()) == "".join(following.split())
    assert [f"3 {label}" for label in second.labels] == [keys[2]]
    record.close()


def test_a_text_whose_answer_did_not_arrive_comes_back(page: Any, served: tuple[str, Path]) -> None:
    wait(page, AHEAD)
    before = page.inner_text("#text")
    page.route("**/label/answer", lambda route: route.abort())
    page.keyboard.press("1")
    wait(page, "document.getElementById('status').textContent !== ''")
    settle(page)
    assert page.inner_text("#text") == before
    assert kinds(served[1]) == []


def test_a_name_tab_and_enter_neither_sign_out_nor_label(page: Any, served: tuple[str, Path]) -> None:
    page.fill("#who", "deniz")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    page.fill("#who", "ece")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    settle(page)
    assert page.evaluate(SHOWN)
    assert kinds(served[1]) == []
    next_text(page, lambda: page.keyboard.press("1"))
    assert kinds(served[1], 1) == [("label", "ece")]


def test_links_buttons_and_summaries_reached_with_tab_are_pressed_by_the_browser(
    page: Any, served: tuple[str, Path]
) -> None:
    move_focus(page, "Shift+Tab", "document.activeElement.className === 'skip'")
    page.keyboard.press("Enter")
    move_focus(page, "Tab", "document.activeElement.id === 'more'")
    next_text(page, lambda: page.keyboard.press("Space"))
    assert page.get_attribute("#more", "aria-pressed") == "true"
    page.keyboard.press("g")
    move_focus(page, "Tab", "document.activeElement.tagName === 'SUMMARY'")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("Escape")
    settle(page)
    assert kinds(served[1]) == []


def move_focus(page: Any, key: str, until: str) -> None:
    for _ in range(40):
        if page.evaluate(until):
            return
        page.keyboard.press(key)
    raise AssertionError(until)


def test_the_answer_of_a_second_tab_is_refused_with_a_sentence(page: Any, served: tuple[str, Path]) -> None:
    other = page.context.new_page()
    other.goto(served[0])
    wait(other, SHOWN)
    next_text(page, lambda: page.keyboard.press("1"))
    shown = other.inner_text("#text")
    other.keyboard.press("2")
    wait(other, "document.getElementById('status').textContent.includes('after it was shown here')")
    wait(other, f"document.getElementById('text').innerText !== {shown!r}")
    settle(other)
    assert kinds(served[1], 1) == [("label", "ann")]
    next_text(other, lambda: other.keyboard.press("2"))
    assert len(kinds(served[1], 2)) == 2


def test_an_answer_that_did_not_arrive_is_said_and_can_be_given_again(page: Any, served: tuple[str, Path]) -> None:
    page.route("**/label/answer", lambda route: route.abort())
    page.keyboard.type("111")
    wait(page, "document.getElementById('status').textContent.includes('does not answer')")
    settle(page)
    assert kinds(served[1]) == []
    page.unroute("**/label/answer")
    next_text(page, lambda: page.keyboard.press("1"))
    assert kinds(served[1], 1) == [("label", "ann")]
    page.route("**/label/answer", lambda route: (route.fetch(), route.abort()))  # recorded, but the page is not told
    page.keyboard.press("2")
    wait(page, "document.getElementById('status').textContent.includes('does not answer')")
    settle(page)
    page.unroute("**/label/answer")
    page.keyboard.press("2")
    wait(page, "document.getElementById('status').textContent.includes('after it was shown here')")
    assert len(kinds(served[1], 2)) == 2


@pytest.mark.parametrize("served", [MANY], indirect=True)
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_with_77_classes_what_accept_gives_is_on_the_screen(
    page: Any, served: tuple[str, Path], width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.reload()
    wait(page, "document.getElementById('suggestion').textContent.startsWith('Suggested: intent')")
    shoot(page, f"label-77-{width}")
    for part in ("#suggestion", "#accept", "#reject", "#text"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + min(box["height"], 40) <= height, part
    listed = page.locator("#classes .name").all_inner_texts()
    assert [words.split(" ")[0] for words in listed] == list("12345678")
    assert page.inner_text("#suggestion strong").startswith(listed[0].split(" ", 1)[1])
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.keyboard.press(":")
    page.keyboard.type("tent 63")
    assert page.inner_text("#found-words") == "Enter: intent 63"
    next_text(page, lambda: page.keyboard.press("Enter"))
    record = LabelRecord(served[1])
    assert record.decisions()[-1].labels == ("intent 63",)
    assert page.evaluate("document.activeElement.id") == "text"
    assert find_violations(page) == []
