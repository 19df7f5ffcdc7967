"""Three people with a token each: by keyboard alone, a disagreement, a decision, a rename, a list labelled at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.browser import NEEDS_CHROMIUM, collect_problems, find_violations, open_browser, shoot, wait
from support.labelling_page import SHOWN, next_text, settle
from support.serving import run_service

from unnaive.curation.labelling.label_log import LabelRecord
from unnaive.io.tickets import load_tickets

pytestmark = [pytest.mark.slow, NEEDS_CHROMIUM]


@contextmanager
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """The page of one person, in a browser profile of its own; an error if the console said anything unexpected."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    problems = collect_problems(page)
    page.goto(address)
    wait(page, SHOWN)
    settle(page)
    yield page
    context.close()
    assert [one for one in problems if "422" not in one and "409" not in one] == []


@pytest.fixture
def team(tmp_path: Path) -> Iterator[tuple[dict[str, Any], LabelRecord]]:
    """A page for each person, and the record."""
    db = tmp_path / "labels.db"
    LabelRecord.create(db, load_tickets().texts[:60], classes=["billing", "bug"]).close()
    with (
        run_service("label", db, "--person=ann", "--person=bob", "--person=deniz:review", "--double", "1") as running,
        ExitStack() as stack,
    ):
        lines = [running.process.stdout.readline() for _ in range(2)]  # type: ignore[union-attr]
        addresses = [running.with_token, *(re.search(r"http://\S+", line)[0] for line in lines)]  # type: ignore[index]
        browser = stack.enter_context(open_browser())
        names = ("ann", "bob", "deniz")
        pages = {
            name: stack.enter_context(open_page(browser, address))
            for name, address in zip(names, addresses, strict=True)
        }
        yield pages, LabelRecord(db)


def press(page: Any, keys: str) -> None:
    """Press keys one after the other, each when the answer to the one before has come."""
    for key in keys:
        next_text(page, lambda key=key: page.keyboard.press(key))


def move_focus(page: Any, until: str, key: str = "Tab") -> None:
    """Press Tab until something has the focus."""
    for _ in range(60):
        if page.evaluate(until):
            return
        page.keyboard.press(key)
    raise AssertionError(until)


def test_three_people_by_keyboard_alone(team: tuple[dict[str, Any], LabelRecord]) -> None:
    pages, record = team
    ann, bob, deniz = pages["ann"], pages["bob"], pages["deniz"]
    assert [page.input_value("#who") for page in pages.values()] == ["ann", "bob", "deniz"]
    assert ann.evaluate("document.getElementById('who').readOnly")
    first = ann.inner_text("#text")
    press(ann, "1f")
    press(bob, "1")  # the text that bob had; then the one that ann labelled, without a suggestion
    wait(bob, "document.getElementById('way').textContent.includes('another person')")
    assert (bob.inner_text("#text"), bob.inner_text("#suggestion")) == (first, "")
    press(bob, "2")
    assert len(record.decisions()) == 4
    assert {one.who for one in record.decisions()} == {"ann", "bob"}

    deniz.keyboard.press("b")  # earlier answers
    move_focus(deniz, "document.activeElement.id === 'browse-state'")
    with deniz.expect_response("**/label/browse"):
        deniz.keyboard.type("to r")
    wait(deniz, "document.getElementById('browse-found').textContent === '2 texts'")
    assert "people disagree" in deniz.inner_text("#rows")
    assert "ann: billing" in deniz.inner_text("#rows")
    shoot(deniz, "label-review")
    assert find_violations(deniz) == []
    move_focus(deniz, "document.activeElement.textContent === 'Decide'")
    deniz.keyboard.press("Enter")
    wait(deniz, "!document.getElementById('panel-label').hidden && !document.getElementById('votes').hidden")
    assert deniz.inner_text("#text") == first
    assert "bob: bug" in deniz.inner_text("#votes")
    press(deniz, "1")
    assert record.final()[record.decisions()[0].text or 0] == ("billing",)
    assert record.decisions()[-1].way == "review"
    press(deniz, "2")  # an answer of the own turn again
    assert record.decisions()[-1].way != "review"
    deniz.keyboard.press("Backspace")
    wait(deniz, "document.getElementById('way').textContent.includes('Undone')")

    deniz.keyboard.press("g")  # classes and guidelines
    wait(deniz, "document.querySelectorAll('#class-list > li').length === 2")
    move_focus(deniz, "document.activeElement.closest('#class-list') && document.activeElement.tagName === 'SUMMARY'")
    deniz.keyboard.press("Enter")
    move_focus(deniz, "(document.activeElement.getAttribute('aria-label') || '').startsWith('New name of billing')")
    deniz.keyboard.press("Control+a")
    deniz.keyboard.type("payments")
    deniz.keyboard.press("Tab")
    deniz.keyboard.press("Enter")
    wait(deniz, "document.getElementById('class-list').textContent.includes('payments')")
    shoot(deniz, "label-classes")
    assert find_violations(deniz) == []
    assert record.classes() == ["payments", "bug"]
    deniz.keyboard.press("Escape")
    press(ann, "1")  # ann's page did not know the new name yet
    assert record.decisions()[-1].labels == ("payments",)

    deniz.keyboard.press("p")
    wait(deniz, "document.getElementById('pairs').textContent.includes('ann and bob')")
    shoot(deniz, "label-progress")
    assert find_violations(deniz) == []


def test_a_list_is_labelled_and_undone(team: tuple[dict[str, Any], LabelRecord]) -> None:
    pages, record = team
    ann = pages["ann"]
    ann.click("#tab-answers")
    assert not ann.is_visible("#browse-by")  # the answers of others are not ann's to see
    ann.select_option("#browse-state", "unlabelled")
    ann.fill("#browse-words", "invoice")
    ann.keyboard.press("Enter")
    bodies = "[...document.querySelectorAll('#rows .body')].map((one) => one.textContent.toLowerCase())"
    wait(ann, f"{bodies}.length && {bodies}.every((words) => words.includes('invoice'))")
    number = int(ann.inner_text("#browse-found").split()[0])
    assert number > 1
    ann.select_option("#bulk-label", "billing")
    ann.click("#bulk-apply")
    wait(ann, "document.getElementById('browse-found').textContent.includes('labelled billing')")
    assert number - 4 <= len(record.final()) <= number
    ann.click("#bulk-undo")
    wait(ann, f"document.getElementById('browse-found').textContent === '{number} texts'")
    assert record.final() == {}


def test_a_class_spelt_alike_is_asked_about(team: tuple[dict[str, Any], LabelRecord]) -> None:
    pages, record = team
    ann = pages["ann"]
    ann.keyboard.press("n")
    ann.keyboard.type("Bug")
    ann.keyboard.press("Enter")
    wait(ann, "document.getElementById('status').textContent.includes('spelt much like')")
    settle(ann)
    assert record.classes() == ["billing", "bug"]
    ann.keyboard.press("Enter")
    wait(ann, "document.querySelectorAll('#classes button').length === 3")
    assert record.classes() == ["billing", "bug", "Bug"]
